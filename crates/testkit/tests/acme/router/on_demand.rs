//! Names that clients ask for without being in the configuration.

use corral_testkit::eventually;
use serde_json::json;

use super::{Issuer, UNRECOGNISED};

fn start() -> Option<Issuer> {
    Issuer::start(json!({ "names": ["a.example"], "on_demand": { "allow": ["*.demand.example"] } }))
}

/// Names that main was told of by the last line about them.
fn n_wanted(issuer: &Issuer) -> usize {
    let log = issuer.daemon.log();
    let lines = log.lines().filter(|line| line.contains("which a client wants"));
    let unsaid = |line: &str| line.split_once("(and ")?.1.split_once(' ')?.0.parse::<usize>().ok();
    lines.map(|line| 1 + unsaid(line).unwrap_or(0)).sum()
}

#[test]
fn main_is_told_of_a_name_once_in_a_while() {
    let Some(issuer) = start() else { return };
    for _ in 0..20 {
        issuer.expect_alert("x.demand.example", UNRECOGNISED);
        issuer.expect_alert("X.Demand.Example", UNRECOGNISED);
    }
    issuer.daemon.expect_log("there is no certificate for \"x.demand.example\" yet, which a client wants");
    assert!(n_wanted(&issuer) < 10, "{}", issuer.daemon.log());
    let bundle = issuer.issue("x.demand.example");
    issuer.expect_shown("x.demand.example", &bundle);
    issuer.expect_alert("y.x.demand.example", UNRECOGNISED);
    // Names of the configuration are ordered without anybody's asking.
    issuer.expect_alert("a.example", UNRECOGNISED);
    issuer.daemon.expect_log("there is no certificate for \"a.example\" yet: see /status/certificates");
    issuer.expect_alert_to(&issuer.client().without_name(), "a.example", "MissingExtension");
}

#[test]
fn a_flood_of_names_does_not_reach_main() {
    let Some(issuer) = start() else { return };
    for n in 0..500 {
        issuer.expect_alert(&format!("n{n}.demand.example"), UNRECOGNISED);
    }
    eventually("the client is heard again", || {
        issuer.expect_alert("later.demand.example", UNRECOGNISED);
        issuer.daemon.log().contains("\"later.demand.example\" yet, which a client wants").then_some(())
    });
    // 20 for one client in 5 seconds; on a busy machine the flood lasts longer.
    let n_wanted = n_wanted(&issuer);
    assert!((20..=250).contains(&n_wanted), "{n_wanted}");
}

#[test]
fn what_no_authority_knows_is_not_ordered() {
    let Some(issuer) = start() else { return };
    for name in ["localhost", "a_b.demand.example"] {
        issuer.expect_alert(name, UNRECOGNISED);
    }
    issuer.daemon.expect_log("is not a name that is served");
    assert_eq!(n_wanted(&issuer), 0);
}
