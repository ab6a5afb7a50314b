//! Section 5: the members of a configuration, and the checks that all objects share.

use corral_testkit::{Daemon, assert_says, daemon};
use serde_json::{Value, json};

#[track_caller]
fn check(server: &Daemon, document: &Value, detail: &str) {
    let got = server.control().put("/config", document).expect_refused(400, "Invalid configuration.");
    assert_says(&got, detail);
}

/// Options: settings, listeners, routes, applications, upstreams, access_log
#[test]
fn every_member_has_its_type() {
    let server = daemon().start_unconfigured();
    let object = |name: &str| format!("The \"{name}\" value must be an object, but not an array.");
    for name in ["settings", "listeners", "applications", "upstreams"] {
        check(&server, &json!({ name: [] }), &object(name));
    }
    let routes = "The \"routes\" value must be either an array or an object, but not a string.";
    check(&server, &json!({ "routes": "x" }), routes);
    server.control().put("/config", &json!({})).expect_done();
    server.control().put("/config", &json!({ "settings": {}, "upstreams": {}, "routes": {} })).expect_done();
}

#[test]
fn the_root_is_an_object() {
    let server = daemon().start_unconfigured();
    for (root, kind) in [
        (json!(null), "a null"),
        (json!(true), "a boolean"),
        (json!(1), "an integer number"),
        (json!(1.5), "a fractional number"),
        (json!("x"), "a string"),
        (json!([]), "an array"),
    ] {
        check(&server, &root, &format!("The configuration must be an object, but not {kind}."));
    }
}

#[test]
fn the_shared_checks_have_unit_s_words() {
    let server = daemon().start_unconfigured();
    check(&server, &json!({ "unknown": 1 }), "Unknown parameter \"unknown\".");
    check(&server, &json!({ "access_log": {} }), "Required parameter \"path\" is missing.");
    let location = json!({ "routes": [{ "action": { "return": 301, "location": "$nothing" } }] });
    check(&server, &location, "Unknown variable \"nothing\" in the \"location\" value.");
    let null = json!({ "routes": [{ "action": { "return": null } }] });
    check(&server, &null, "The \"return\" value must be an integer number, but not a null.");
}

#[test]
fn what_unit_notices_late_is_a_500_with_a_detail() {
    let server = daemon().start_unconfigured();
    let late = |document: Value| {
        server.control().put("/config", &document).expect_refused(500, "Failed to apply new configuration.")
    };
    assert!(!late(json!({ "routes": [{}] })).is_empty());
    assert!(!late(json!({ "listeners": { "127.0.0.1:1": {} } })).is_empty());
}
