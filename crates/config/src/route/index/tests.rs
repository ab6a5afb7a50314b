//! The index against a scan of all steps.

use proptest::prelude::*;

use super::StepIndex;
use crate::json::parse;
use crate::route::sample::Sample;
use crate::route::{Route, RouteStep};
use crate::{Known, validate};

fn route(steps: &[String]) -> Route {
    let steps: Vec<_> =
        steps.iter().map(|step| format!(r#"{{"match": {step}, "action": {{"return": 200}}}}"#)).collect();
    let document = format!(r#"{{"routes": [{}]}}"#, steps.join(", "));
    let document = parse(document.as_bytes()).unwrap();
    validate(&document, &Known::validated_elsewhere()).unwrap().routes.into_values().remove(0)
}

/// The number of the step that a scan finds.
fn scan(route: &Route, sample: &Sample) -> Option<usize> {
    route.steps.iter().position(|step| step.conditions.matches(&mut sample.clone()).unwrap())
}

/// The number of the step that the index finds.
fn look_up(index: &StepIndex, route: &Route, sample: &Sample) -> Option<usize> {
    let step = index.choose(&route.steps, &mut sample.clone()).unwrap()?;
    route.steps.iter().position(|other| std::ptr::eq(other, step))
}

#[track_caller]
fn check(steps: &[&str], requests: &[(&str, &str, Option<usize>)]) {
    let steps: Vec<_> = steps.iter().map(|step| (*step).to_owned()).collect();
    let route = route(&steps);
    let index = StepIndex::new(&route.steps);
    for (host, path, expect) in requests {
        let sample = Sample::get(host, path);
        assert_eq!(look_up(&index, &route, &sample), *expect, "index: {host} {path}");
        assert_eq!(scan(&route, &sample), *expect, "scan: {host} {path}");
    }
}

/// Compares the choice of the index for a path on which `~^/(a+)+$` is given up: a step, none, or unknown.
#[track_caller]
fn check_undecided(steps: &[&str], host: &str, expect: Result<Option<usize>, ()>) {
    let steps: Vec<_> = steps.iter().map(|step| (*step).to_owned()).collect();
    let route = route(&steps);
    let index = StepIndex::new(&route.steps);
    let mut sample = Sample::get(host, &format!("/{}!", "a".repeat(64)));
    let found = index.choose(&route.steps, &mut sample).map_err(drop);
    let number = |step: &RouteStep| route.steps.iter().position(|other| std::ptr::eq(other, step));
    assert_eq!(found.map(|step| step.and_then(number)), expect, "{host}");
}

#[test]
fn a_step_that_nobody_can_decide_on_ends_the_search_where_it_stands() {
    let undecided = r#"{"uri": "~^/(a+)+$"}"#;
    let of_host = r#"{"host": "a", "uri": "!~^/(a+)+$"}"#;
    check_undecided(&[undecided, r#"{"host": "a"}"#], "a", Err(()));
    check_undecided(&[r#"{"host": "a"}"#, undecided], "a", Ok(Some(0)));
    check_undecided(&[r#"{"host": "a"}"#, undecided], "b", Err(()));
    // The list of the host is tried before that of the path.
    check_undecided(&[r#"{"uri": "/aa*"}"#, of_host], "a", Ok(Some(0)));
    check_undecided(&[of_host, r#"{"uri": "/aa*"}"#], "a", Err(()));
    check_undecided(&[of_host, r#"{"uri": "/aa*"}"#], "b", Ok(Some(1)));
    check_undecided(&[of_host], "b", Ok(None));
}

#[test]
fn the_first_match_wins_wherever_it_is_filed() {
    check(
        &[
            r#"{"host": "a", "uri": "/x"}"#,
            r#"{"uri": "/x*"}"#,
            r#"{"host": ["a", "b", "a"]}"#,
            r#"{"host": "*.a"}"#,
            r#"{"uri": "*.php"}"#,
            r#"{"host": "!a", "uri": "!/y"}"#,
            r#"{"method": "GET", "uri": "~y$"}"#,
            "{}",
        ],
        &[
            ("a", "/x", Some(0)),
            ("a", "/xy", Some(1)),
            ("a", "/y", Some(2)),
            ("b", "/x", Some(1)),
            ("w.a", "/", Some(3)),
            ("w.a", "/x", Some(1)),
            ("c", "/z.php", Some(4)),
            ("c", "/", Some(5)),
            ("c", "/y", Some(6)),
            ("", "/y", Some(6)),
        ],
    );
}

#[test]
fn nested_prefixes_are_all_found() {
    check(
        &[
            r#"{"uri": "/a/b/c*", "host": "x"}"#,
            r#"{"uri": "/a/b*", "host": "y"}"#,
            r#"{"uri": "/a*", "host": "z"}"#,
            r#"{"uri": "/a/bb*"}"#,
            r#"{"uri": "/*"}"#,
        ],
        &[
            ("x", "/a/b/c/d", Some(0)),
            ("y", "/a/b/c/d", Some(1)),
            ("z", "/a/b/c/d", Some(2)),
            ("z", "/a/b/bz", Some(2)),
            ("q", "/a/bbz", Some(3)),
            ("q", "/a/b/c", Some(4)),
            ("q", "", None),
        ],
    );
}

/// Few letters, so that patterns and values meet.
fn pattern(letters: &'static str) -> impl Strategy<Value = String> {
    let plain =
        proptest::string::string_regex(&format!("!?\\*?{letters}{{0,3}}(\\*{letters}{{1,2}})?\\*?")).unwrap();
    prop_oneof![8 => plain, 1 => Just("~a".to_owned())].prop_filter("two stars", |text| !text.contains("**"))
}

fn patterns(letters: &'static str) -> impl Strategy<Value = String> {
    prop::collection::vec(pattern(letters), 0..4).prop_map(|patterns| {
        format!("[{}]", patterns.iter().map(|text| format!("\"{text}\"")).collect::<Vec<_>>().join(", "))
    })
}

fn step() -> impl Strategy<Value = String> {
    let members = (
        prop::option::weighted(0.6, patterns("[ab.]").prop_map(|patterns| format!("\"host\": {patterns}"))),
        prop::option::weighted(0.6, patterns("[ab/]").prop_map(|patterns| format!("\"uri\": {patterns}"))),
        prop::option::weighted(0.2, Just("\"method\": \"POST\"".to_owned())),
        prop::option::weighted(0.2, Just("\"if\": \"$host\"".to_owned())),
    );
    members.prop_map(|(host, uri, method, condition)| {
        let members: Vec<_> = [host, uri, method, condition].into_iter().flatten().collect();
        format!("{{{}}}", members.join(", "))
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn the_index_finds_what_a_scan_finds(
        steps in prop::collection::vec(step(), 1..40),
        requests in prop::collection::vec(("[ab.]{0,5}", "[ab/]{0,5}", any::<bool>()), 1..40),
    ) {
        let route = route(&steps);
        let index = StepIndex::new(&route.steps);
        for (host, path, is_post) in requests {
            let mut sample = Sample::get(&host, &path);
            if is_post {
                "POST".clone_into(&mut sample.method);
            }
            prop_assert_eq!(look_up(&index, &route, &sample), scan(&route, &sample), "{} {} {:#?}", host, path, steps);
        }
    }
}
