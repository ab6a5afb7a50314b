//! Limits for clients: where they are, and what is wrong with them.

use std::num::NonZeroU32;
use std::time::Duration;

use super::{check_problems, config};
use crate::table::Key;
use crate::throttle::{RequestRate, Throttle, ThrottleBound, ThrottleKey};

/// The limits of a document with an action that has this one.
#[track_caller]
fn throttle(limit: &str) -> Throttle {
    let action = format!(r#"{{"routes": [{{"action": {{"return": 200, {limit}}}}}]}}"#);
    config(&action).tables.throttles.into_values().remove(0)
}

#[test]
fn limits_have_defaults() {
    let requests = throttle(r#""limit_requests": {"rate": "10/s"}"#);
    assert_eq!((requests.key, requests.status, requests.dry_run), (ThrottleKey::Client, 429, false));
    assert_eq!(requests.place, "/routes/0/action/limit_requests");
    assert!(!requests.exempt.matches(None));
    let rate = RequestRate {
        interval: Duration::from_millis(100),
        burst: 0,
        delay: None,
        headers: false,
        entries: 100_000,
    };
    assert_eq!(requests.bound, ThrottleBound::Rate(rate));
    let connections = throttle(r#""limit_connections": {"connections": 3}"#);
    assert_eq!((connections.key, connections.status, connections.dry_run), (ThrottleKey::Client, 503, false));
    assert_eq!(connections.bound, ThrottleBound::Concurrency(NonZeroU32::new(3).unwrap()));
}

#[test]
fn the_client_s_address_is_a_key_of_its_own() {
    let key = |key: &str| throttle(&format!(r#""limit_requests": {{"rate": "1/s", "key": "{key}"}}"#)).key;
    assert_eq!([key("$remote_addr"), key("${remote_addr}")], [ThrottleKey::Client, ThrottleKey::Client]);
    assert!(
        matches!(key("$remote_addr$uri"), ThrottleKey::Text(_)) && matches!(key(""), ThrottleKey::Text(_))
    );
}

#[test]
fn places_name_their_limits() {
    let config = config(
        r#"{
        "listeners": {"*:80": {"pass": "routes", "limit_requests": {"rate": "1/s"}}, "*:81": {"pass": "routes"}},
        "routes": [{"action": {
            "share": "/x", "limit_requests": {"rate": "2/s"}, "limit_connections": {"connections": 2},
            "fallback": {"return": 404, "limit_requests": {"rate": "3/s"}}
        }}],
        "applications": {
            "one": {"type": "php", "root": "/"},
            "two": {"type": "php", "limit_requests": {"rate": "4/s"}, "targets": {
                "a": {"root": "/"}, "b": {"root": "/", "worker": {"script": "x.php"}}
            }}
        }
    }"#,
    );
    let throttles = &config.tables.throttles;
    assert_eq!(throttles.len(), 5, "{throttles:?}");
    let at = |limits: &[Key<_>]| limits.iter().map(|key| throttles[*key].place.as_str()).collect::<Vec<_>>();
    assert_eq!(at(&config.listeners[0].limits), ["/listeners/*:80/limit_requests"]);
    assert!(config.listeners[1].limits.is_empty());
    assert_eq!(
        at(&config.routes.values()[0].steps()[0].action.options.limits),
        ["/routes/0/action/limit_requests", "/routes/0/action/limit_connections"]
    );
    assert!(throttles.find(|one| one.place == "/routes/0/action/fallback/limit_requests").is_some());
    // Processes of their own do not set targets apart.
    let two = ["/applications/two/limit_requests"];
    let names: Vec<_> = config.applications.iter().map(|app| app.name.as_str()).collect();
    assert_eq!(names, ["one", "two", "two/b"]);
    let limits: Vec<_> = config.app_policies.iter().map(|policy| at(&policy.limits)).collect();
    assert_eq!(limits, [vec![], two.to_vec(), two.to_vec()]);
}

#[test]
fn several_limits_can_be_in_one_place_and_one_in_several() {
    let config = config(
        r#"{
        "listeners": {"*:80": {"pass": "routes", "limit_requests": "site"}},
        "routes": [{"action": {
            "return": 200,
            "limit_requests": ["site", {"rate": "1/s", "burst": 9, "delay": 4}],
            "limit_connections": "busy"
        }}],
        "limit_zones": {"site": {"rate": "100/s", "status": 503}, "busy": {"connections": 7, "key": "$host"}}
    }"#,
    );
    let throttles = &config.tables.throttles;
    let at = |limits: &[Key<_>]| limits.iter().map(|key| throttles[*key].place.as_str()).collect::<Vec<_>>();
    assert_eq!(at(&config.listeners[0].limits), ["/limit_zones/site"]);
    let limits = &config.routes.values()[0].steps()[0].action.options.limits;
    assert_eq!(at(limits), ["/limit_zones/site", "/routes/0/action/limit_requests/1", "/limit_zones/busy"]);
    let ThrottleBound::Rate(rate) = &throttles[limits[1]].bound else { panic!("it is a rate") };
    assert_eq!((rate.burst, rate.delay), (9, Some(4)));
    assert_eq!(throttles.len(), 3);
}

#[test]
fn names_of_zones_are_checked() {
    let check = |limit: &str, at: &str, detail: &str| {
        let document = format!(
            r#"{{
            "limit_zones": {{"site": {{"rate": "1/s"}}, "busy": {{"connections": 1}}}},
            "routes": [{{"action": {{"return": 200, {limit}}}}}]}}"#
        );
        check_problems(&document, &[(&format!("/routes/0/action/{at}"), detail)]);
    };
    check(
        r#""limit_requests": ["site", "sit"]"#,
        "limit_requests/1",
        "The \"limit_requests\" value \"sit\" is not the name of a limit in \"limit_zones\".",
    );
    check(
        r#""limit_requests": "busy""#,
        "limit_requests",
        "The limit \"busy\" of \"limit_zones\" is not one for \"limit_requests\".",
    );
    check(
        r#""limit_connections": ["site"]"#,
        "limit_connections/0",
        "The limit \"site\" of \"limit_zones\" is not one for \"limit_connections\".",
    );
    check(
        r#""limit_connections": [1]"#,
        "limit_connections/0",
        "The \"limit_connections\" value must be either a string or an object, but not an integer number.",
    );
    check_problems(
        r#"{"limit_zones": {"a": {"rat": "1/s"}, "b": 1}}"#,
        &[
            ("/limit_zones/a", "A limit needs either \"rate\" or \"connections\"."),
            ("/limit_zones/b", "The \"limit_zones\" value must be an object, but not an integer number."),
        ],
    );
}

#[test]
fn mistakes_are_found_where_they_are() {
    let check = |limit: &str, at: &str, detail: &str| {
        let document = format!(r#"{{"routes": [{{"action": {{"return": 200, {limit}}}}}]}}"#);
        check_problems(&document, &[(&format!("/routes/0/action/{at}"), detail)]);
    };
    check(
        r#""limit_requests": {"rate": "10/x"}"#,
        "limit_requests/rate",
        "The \"rate\" value \"10/x\" is not a number of requests in a time.",
    );
    check(
        r#""limit_requests": {"rate": "0/s"}"#,
        "limit_requests/rate",
        "The \"rate\" value \"0/s\" is not between 1 and 1000000 requests.",
    );
    check(
        r#""limit_requests": {"rate": "1/s", "burst": 61, "delay": true}"#,
        "limit_requests/burst",
        "With \"delay\", the last request of the burst would wait for more than 60 seconds.",
    );
    // What is answered at once does not wait.
    throttle(r#""limit_requests": {"rate": "1/s", "burst": 61, "delay": 1}"#);
    check(
        r#""limit_requests": {"rate": "1/s", "burst": 63, "delay": 2}"#,
        "limit_requests/burst",
        "With \"delay\", the last request of the burst would wait for more than 60 seconds.",
    );
    check(
        r#""limit_requests": {"rate": "1/s", "delay": -1}"#,
        "limit_requests/delay",
        "The \"delay\" number must not be negative.",
    );
    check(
        r#""limit_requests": {"rate": "1/s", "burst": 1000001}"#,
        "limit_requests/burst",
        "The \"burst\" number must not exceed 1000000.",
    );
    check(
        r#""limit_connections": {"connections": 0}"#,
        "limit_connections/connections",
        "The \"connections\" number must be equal to or greater than 1.",
    );
    check(
        r#""limit_connections": {"connections": 1, "status": 600}"#,
        "limit_connections/status",
        "The \"status\" number must not exceed 599.",
    );
    check(
        r#""limit_connections": {}"#,
        "limit_connections",
        "Required parameter \"connections\" is missing.",
    );
}
