//! Routes of a single step, which most tests of conditions, patterns and actions put in force one after the other.

use corral_testkit::Daemon;
use serde_json::{Value, json};

/// A step that answers 200 where `conditions` hold; what does not match is 404.
pub(crate) fn matching(conditions: &Value) -> Value {
    json!({ "match": conditions, "action": { "return": 200 } })
}

/// Makes this the only step.
#[track_caller]
pub(crate) fn put_step(server: &Daemon, step: &Value) {
    server.control().put("/config/routes", &json!([step])).expect_done();
}

/// Fails unless this step is refused in words that hold `detail`.
#[track_caller]
pub(crate) fn refuse_step(server: &Daemon, step: &Value, detail: &str) {
    let reply = server.control().put("/config/routes", &json!([step]));
    let found = reply.expect_refused(400, "Invalid configuration.");
    assert!(found.contains(detail), "{step}: {found}");
}
