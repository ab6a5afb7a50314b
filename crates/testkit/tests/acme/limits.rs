//! Limits of an authority, which it says by 429 and `Retry-After`.

use std::process::Command;

use corral_testkit::pebble::{Front, Options, Refusal};
use serde_json::json;

use crate::ordering::Ordering;

#[test]
fn a_limit_is_waited_for() {
    let ordering = Ordering::start(Options::default());
    let front = Front::start(&ordering.pebble);
    ordering.upload("front", &front.root_ca_pem());
    let detail = "too many certificates already issued";
    let refusal = Refusal { status: 429, kind: "rateLimited", detail, retry_after: Some("7200") };
    front.refuse("/order-plz", refusal);
    let names = ["a.example.org", "b.example.org", "c.example.org"];
    ordering.order(&json!({ "names": names, "directory": front.directory_url(), "ca": "front" }));
    let status = ordering.await_status(names[0], "it failed", |status| status["next_try"].is_string());
    let error = status["last_error"].as_str().expect("a text");
    assert!(error.contains("a limit that is reached") && error.contains(detail), "{error}");
    let next_try = status["next_try"].as_str().expect("a time");
    assert!(next_try > &*in_minutes(110) && next_try < &*in_minutes(180), "{next_try}");
    // Names that were asked for at the same time are refused as well; then no order is made.
    let n_orders = front.count("/order-plz");
    assert!(n_orders <= names.len(), "{n_orders} orders");
}

/// The time so many minutes from now, in the form of the status.
fn in_minutes(minutes: u32) -> String {
    let minutes = format!("+{minutes} minutes");
    let output = Command::new("date").args(["-u", "-d", &minutes, "+%Y-%m-%dT%H:%M:%SZ"]).output();
    String::from_utf8(output.expect("date runs").stdout).expect("text").trim().to_owned()
}
