//! Entry points for fuzzing: any bytes may go in, and nothing may panic or contradict itself.

use crate::cors::OriginPattern;
use crate::json::{self, Value, edit};
use crate::pattern::address::AddressPatternSet;
use crate::pattern::{Flavor, PatternSet};
use crate::template::Template;
use crate::{Known, validate};

/// Checks that every accepted document survives printing in both forms.
pub fn fuzz_json(input: &[u8]) {
    let Ok(value) = json::parse(input) else { return };
    assert_eq!(json::parse(&value.compact()).as_ref(), Ok(&value), "compact print");
    assert_eq!(json::parse(&value.pretty()).as_ref(), Ok(&value), "pretty print");
}

/// The first line is the path of a request, the rest a document: what is put there is found there, what is
/// removed is gone, and what is refused changes nothing.
pub fn fuzz_edit(input: &[u8]) {
    let mut lines = input.splitn(2, |&byte| byte == b'\n');
    let (Some(target), Some(text)) = (lines.next(), lines.next()) else { return };
    let (Some(path), Ok(document)) = (edit::segments(target), json::parse(text)) else { return };
    let value = Value::from("put here");
    let mut changed = document.clone();
    match edit::put(&mut changed, &path, value.clone()) {
        Ok(()) => assert_eq!(edit::get(&changed, &path), Ok(&value), "what was put"),
        Err(_) => assert_eq!(changed, document, "a refused put"),
    }
    assert!(changed.depth() <= json::MAX_DEPTH, "too deep");
    let mut changed = document.clone();
    let is_there = edit::get(&document, &path).is_ok();
    assert_eq!(edit::delete(&mut changed, &path).is_ok(), is_there || path.is_empty(), "delete");
    let mut changed = document.clone();
    if edit::post(&mut changed, &path, value).is_err() {
        assert_eq!(changed, document, "a refused post");
    }
}

/// The first line is a pattern, the rest a value; a negation must turn the answer around.
pub fn fuzz_pattern(input: &[u8]) {
    let mut lines = input.splitn(2, |&byte| byte == b'\n');
    let (Some(pattern), Some(value)) = (lines.next(), lines.next()) else { return };
    for flavor in [Flavor::Plain, Flavor::CaseInsensitive, Flavor::UpperCased, Flavor::PercentEncoded] {
        let (mut plain, mut negated) = (PatternSet::default(), PatternSet::default());
        let added = plain.add(pattern, flavor);
        if pattern.starts_with(b"!") || added.is_err() {
            continue;
        }
        negated.add(&[b"!", pattern].concat(), flavor).expect("the pattern itself was accepted");
        match plain.matches(value) {
            Ok(matches) => assert_eq!(negated.matches(value), Ok(!matches), "negation"),
            Err(given_up) => assert_eq!(negated.matches(value), Err(given_up), "negation"),
        }
    }
}

/// A pattern of addresses; no address may match both it and its negation.
pub fn fuzz_address(input: &[u8]) {
    let (mut plain, mut negated) = (AddressPatternSet::default(), AddressPatternSet::default());
    if input.starts_with(b"!") || plain.add(input).is_err() {
        return;
    }
    negated.add(&[b"!", input].concat()).expect("the pattern itself was accepted");
    for address in ["0.0.0.0:0", "127.0.0.1:80", "255.255.255.255:65535", "[::1]:80", "[2001:db8::1]:443"] {
        let address = address.parse().ok();
        assert_ne!(plain.matches(address), negated.matches(address), "negation for {address:?}");
    }
    assert_ne!(plain.matches(None), negated.matches(None), "negation for a Unix socket");
}

/// The first line is a pattern of origins, the rest the origin of a request: what matches is one.
pub fn fuzz_origin(input: &[u8]) {
    let mut lines = input.splitn(2, |&byte| byte == b'\n');
    let (Some(pattern), Some(origin)) = (lines.next(), lines.next()) else { return };
    let Some(pattern) = str::from_utf8(pattern).ok().and_then(|text| OriginPattern::parse(text).ok()) else {
        return;
    };
    if pattern.matches(origin) {
        let text = str::from_utf8(origin).expect("origins are ASCII");
        assert!(OriginPattern::parse(text).is_ok() && !text.contains('*'), "{pattern:?} {text:?}");
    }
}

/// A template without variables must be constant.
pub fn fuzz_template(input: &[u8]) {
    let Ok(template) = Template::parse(input) else { return };
    let varies = template.variables().next().is_some() || template.script().is_some();
    assert_eq!(template.is_constant().is_none(), varies, "constant template");
    assert_eq!(template.script().is_some(), input.starts_with(b"`"), "script");
    assert!(!varies || Template::is_dynamic(input), "what varies shows it");
}

/// Whatever a document says is either in the configuration or among the problems.
pub fn fuzz_document(input: &[u8]) {
    let Ok(document) = json::parse(input) else { return };
    let count = |name: &str| document.member(name).and_then(Value::as_object).map_or(0, json::Object::len);
    match validate(&document, &Known::validated_elsewhere()) {
        Err(problems) => assert!(!problems.is_empty(), "a refusal without a reason"),
        Ok(config) => {
            assert_eq!(config.listeners.len(), count("listeners"), "listeners");
            assert!(config.applications.len() >= count("applications"), "applications");
            let n_logs = match document.member("access_log") {
                Some(Value::Array(logs)) => logs.len(),
                log => usize::from(log.is_some()),
            };
            assert_eq!(config.access_logs.len(), n_logs, "access logs");
            let n_steps = document.member("routes").map_or(0, count_steps);
            assert_eq!(
                config.routes.iter().map(|route| route.steps().len()).sum::<usize>(),
                n_steps,
                "steps"
            );
            let plan = config.plan();
            assert_eq!(plan.listeners.len(), config.listeners.len(), "sockets of the plan");
        }
    }
}

fn count_steps(routes: &Value) -> usize {
    match routes {
        Value::Array(steps) => steps.len(),
        Value::Object(named) => named.values().filter_map(Value::as_array).map(<[Value]>::len).sum(),
        _ => 0,
    }
}
