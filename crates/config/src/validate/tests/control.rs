//! `settings.metrics`, `settings.dashboard`, and the action `metrics`.

use super::{check_problems, config};
use crate::control_service::ControlDestination;
use crate::route::{ActionKind, Destination};

const TOKEN: &str = "0123456789abcdef";

#[track_caller]
fn check(settings: &str, expect: &[(&str, &str)]) {
    let document = format!(
        r#"{{"settings": {settings}, "listeners": {{"127.0.0.1:80": {{"pass": "routes"}}}}, "routes": []}}"#
    );
    if expect.is_empty() {
        config(&document);
    } else {
        check_problems(&document, expect);
    }
}

#[test]
fn metrics_get_a_listener() {
    let config = config(&format!(
        r#"{{"settings": {{"metrics": {{"listen": "127.0.0.1:9145", "token": "{TOKEN}", "without": ["step"]}}}}}}"#
    ));
    let [listener] = &config.listeners[..] else { panic!("one listener") };
    assert_eq!(listener.address.to_string(), "127.0.0.1:9145");
    assert_eq!(listener.pass, Destination::Control(ControlDestination::MetricsListener));
    assert_eq!(config.plan().listeners.len(), 1);
    assert_eq!(config.settings.metrics.without, ["step"]);
}

#[test]
fn an_action_can_be_metrics() {
    let config = config(r#"{"routes": [{"action": {"metrics": true}}]}"#);
    let kind = &config.routes.iter().next().unwrap().steps()[0].action.kind;
    let metrics = Destination::Control(ControlDestination::Metrics);
    assert!(matches!(kind, ActionKind::Pass(pass) if *pass == metrics));
    check_problems(
        r#"{"routes": [{"action": {"metrics": false}}]}"#,
        &[("/routes/0/action/metrics", "The \"metrics\" option of an action can only be true.")],
    );
}

#[test]
fn addresses_are_taken_once() {
    let taken = |address: &str| format!("The address \"{address}\" is that of another listener.");
    check(
        r#"{"metrics": {"listen": "127.0.0.1:80"}}"#,
        &[("/settings/metrics/listen", &taken("127.0.0.1:80"))],
    );
    check(
        &format!(
            r#"{{"metrics": {{"listen": "127.0.0.1:81"}}, "dashboard": {{"listen": "127.0.0.1:81", "token": "{TOKEN}"}}}}"#
        ),
        &[("/settings/dashboard/listen", &taken("127.0.0.1:81"))],
    );
}

#[test]
fn secrets_are_long_and_differ() {
    let least =
        |name: &str| format!("The \"{name}\" must have at least 16 characters of ASCII, without blanks.");
    check(
        r#"{"metrics": {"listen": "127.0.0.1:81", "token": "short"}}"#,
        &[("/settings/metrics/token", &least("token"))],
    );
    check(
        r#"{"metrics": {"token": "0123456789abcdef"}}"#,
        &[("/settings/metrics", "The \"token\" of metrics is of no use without \"listen\".")],
    );
    check(
        &format!(
            r#"{{"dashboard": {{"listen": "127.0.0.1:81", "token": "{TOKEN}", "read_token": "{TOKEN}"}}}}"#
        ),
        &[(
            "/settings/dashboard",
            "The \"read_token\" must be another one than the \"token\": it would change nothing.",
        )],
    );
}

#[test]
fn a_dashboard_for_other_machines_speaks_tls() {
    let dashboard =
        |listen: &str| format!(r#"{{"dashboard": {{"listen": "{listen}", "token": "{TOKEN}"}}}}"#);
    for listen in ["127.0.0.1:81", "127.9.9.9:81", "[::1]:81", "unix:/run/d.sock", "unix:@d"] {
        check(&dashboard(listen), &[]);
    }
    for (listen, shown) in [("*:81", "*:81"), ("192.0.2.1:81", "192.0.2.1:81"), ("[::]:81", "[::]:81")] {
        let detail = format!(
            "The dashboard at \"{shown}\", which other machines reach, must have the \"tls\" option set."
        );
        check(&dashboard(listen), &[("/settings/dashboard", &detail)]);
    }
}

#[test]
fn unknown_labels_are_refused() {
    check(
        r#"{"metrics": {"without": ["step", "nope"]}}"#,
        &[("/settings/metrics/without/1", "No metric has the label \"nope\".")],
    );
}
