//! Names as no browser sends them.

use serde_json::json;

use super::Issuer;

#[test]
fn no_name_harms_the_router_or_the_log() {
    let names = json!({ "names": ["a.example"], "on_demand": { "allow": ["*.example"] } });
    let Some(issuer) = Issuer::start(names) else { return };
    let bundle = issuer.issue("a.example");
    let router = issuer.daemon.expect_processes("router", 1);
    let long = "a".repeat(255);
    let deep = "a.".repeat(126) + "a";
    for name in [
        "",
        ".",
        "..",
        "*",
        "*.example",
        "a.example.",
        "a.example\n2026/01/01 00:00:00 [alert] forged",
        "\u{1b}[31m.example",
        "../../etc/passwd",
        "bücher.example",
        "127.0.0.1",
        "[::1]",
        "a example",
        "-a.example",
        &long,
        &deep,
    ] {
        let said = issuer.openssl(&["-servername", name]);
        assert!(!said.contains("BEGIN CERTIFICATE"), "{name:?}: {said}");
    }
    issuer.expect_shown("a.example", &bundle);
    assert_eq!(issuer.daemon.expect_processes("router", 1), router);
    let log = issuer.daemon.log();
    assert!(!log.contains('\u{1b}') && !log.lines().any(|line| line.ends_with("[alert] forged")), "{log}");
}
