//! Every option is in the index, and has a test that proves it.

mod claims;
mod numbers;

use std::collections::{BTreeMap, BTreeSet};

use corral_testkit::options;
use serde_json::Value;

#[test]
fn every_option_has_a_test_and_every_test_names_options_that_exist() {
    let claims = claims::claims();
    let known: BTreeSet<String> = options::options().iter().map(|row| row.path.to_owned()).collect();
    // A test of an option inside an object is one of the object.
    let is_claimed = |option: &str| claims.keys().any(|claim| is_or_is_in(claim, option));
    let is_tested = |option: &String| is_claimed(option) || is_claimed(&twin(option));
    let untested: Vec<_> = known.iter().filter(|option| !is_tested(option)).collect();
    let unknown: Vec<_> = claims.iter().filter(|(option, _)| !known.contains(*option)).collect();
    assert!(
        untested.is_empty() && unknown.is_empty(),
        "no test has these on an `Options:` line of its documentation: {untested:#?}\n\
         these are named there and not in options.txt: {unknown:#?}"
    );
}

/// Upstreams have the options of `proxy_options` among their own members, read by the same tables.
fn twin(option: &str) -> String {
    option.replace("upstreams.{N}.", "routes[].action.proxy_options.")
}

fn is_or_is_in(option: &str, outer: &str) -> bool {
    option.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
}

/// The tables that read documents and the index of options have the same options, each with the same types: so every
/// option that there is gets walked, and none is walked that is gone.
#[test]
fn the_index_has_what_the_tables_read() {
    let mut read = BTreeMap::new();
    flatten(&schema(), "", &mut read);
    let mut indexed = BTreeMap::<_, BTreeSet<String>>::new();
    for row in options::options() {
        indexed.entry(plain_path(row.path)).or_default().extend(types(row.columns[0]));
    }
    // One place of objects that may be at several is enough.
    let known: BTreeSet<_> = indexed.keys().map(|path| ending(path)).collect();
    let missing: Vec<_> = read.keys().filter(|path| !known.contains(&ending(path))).collect();
    let is_option = |path: &String| !path.ends_with("[]") && !path.ends_with("{}");
    let gone: Vec<_> = indexed.keys().filter(|path| is_option(path) && !read.contains_key(*path)).collect();
    let wrong = indexed.iter().filter_map(|(path, types)| {
        // The code that reads a value of any type says itself what it takes.
        let is_settled = |other: &BTreeSet<String>| !other.is_empty() && !other.contains("null");
        let other = read.get(path).filter(|other| is_settled(other) && *other != types)?;
        Some(format!("{path}: {types:?}, but the tables take {other:?}"))
    });
    let wrong: Vec<_> = wrong.collect();
    assert!(
        missing.is_empty() && gone.is_empty() && wrong.is_empty(),
        "missing in options.txt: {missing:#?}\nthere, and in no table: {gone:#?}\nwith other types: {wrong:#?}"
    );
}

/// A member with the object that it is in, wherever that is. Every action is one of a route's, and so are defaults.
fn ending(path: &str) -> String {
    let path = path.replace("[]", "").replace("routes.{}", "routes");
    let path =
        path.replace("errors.{}", "action").replace("fallback.", "action.").replace("defaults.", "action.");
    let steps: Vec<_> = path.split('.').collect();
    steps[steps.len().saturating_sub(2)..].join(".")
}

/// The schema of configurations, which is made of the tables.
fn schema() -> Value {
    serde_json::from_slice(&corral_config::configuration_schema().compact()).expect("it is JSON")
}

/// Notes all members below a schema with their types.
fn flatten(schema: &Value, path: &str, found: &mut BTreeMap<String, BTreeSet<String>>) {
    if !path.is_empty() && !path.ends_with("[]") {
        let types = match &schema["type"] {
            Value::Array(several) => several.iter().filter_map(Value::as_str).flat_map(numbers).collect(),
            one => one.as_str().into_iter().flat_map(numbers).collect(),
        };
        found.insert(path.to_owned(), types);
    }
    let below = |name: &str| if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
    for (name, member) in schema["properties"].as_object().into_iter().flatten() {
        flatten(member, &below(name), found);
    }
    if schema["additionalProperties"].is_object() {
        flatten(&schema["additionalProperties"], &below("{}"), found);
    }
    if schema["items"].is_object() {
        flatten(&schema["items"], &format!("{path}[]"), found);
    }
}

/// A type of the schema as the index calls it.
fn numbers(name: &str) -> Vec<String> {
    let names: &[&str] = if name == "number" { &["fraction", "integer"] } else { &[name] };
    names.iter().map(|name| (*name).to_owned()).collect()
}

/// A path of the index with one spelling for all free names.
fn plain_path(path: &str) -> String {
    let steps = path.split('.').map(|step| if step.starts_with('{') { "{}" } else { step });
    steps.collect::<Vec<_>>().join(".")
}

/// The types of a column.
fn types(column: &str) -> BTreeSet<String> {
    column.split(", ").map(|name| name.trim_start_matches('+').to_owned()).collect()
}
