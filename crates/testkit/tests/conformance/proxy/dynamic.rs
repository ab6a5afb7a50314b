//! `proxy` with variables: servers that requests name, as far as `allow` permits.

use corral_testkit::{Daemon, Origin, Request, assert_says, daemon};
use serde_json::{Value, json};

/// A daemon that sends requests to the server which `X-Backend` names.
fn start(url: &str, allow: &Value) -> Daemon {
    let action = json!({ "proxy": url, "proxy_options": { "allow": allow } });
    let config = json!({ "settings": { "listen_threads": 1 }, "routes": [{ "action": action }] });
    daemon().config(config).start()
}

fn ask(server: &Daemon, backend: &str) -> u16 {
    server.send(&Request::get("/").field("X-Backend", backend)).status
}

/// Options: …action.proxy_options.allow
#[test]
fn a_request_names_its_server() {
    let (a, b) = (Origin::saying("a"), Origin::saying("b"));
    let server = start("http://$header_x_backend", &json!(["127.0.0.0/8", "localhost"]));
    let get = |backend: &str| server.send(&Request::get("/x").field("X-Backend", backend)).expect(200).text();
    for _ in 0..3 {
        assert_eq!((get(&a.address()), get(&b.address())), ("a".to_owned(), "b".to_owned()));
    }
    assert_eq!((a.n_connections(), b.n_connections()), (1, 1), "connections are kept");
    assert_eq!(get(&format!("localhost:{}", a.port())), "a");
    assert_eq!(get(&format!("LocalHost.:{}", b.port())), "b");
}

#[test]
fn other_servers_are_not_reached() {
    let origin = Origin::saying("a");
    let port = origin.port();
    let server = start(
        &format!("http://$header_x_backend:{port}"),
        &json!(["10.0.0.0/8", "*.internal.example", "0.0.0.0/0"]),
    );
    for backend in [
        "127.0.0.1",
        "localhost",
        "169.254.169.254",
        "0.0.0.0",
        "[::1]",
        "[::ffff:127.0.0.1]",
        "internal.example",
        "evilinternal.example",
    ] {
        assert_eq!(ask(&server, backend), 403, "{backend}");
    }
    server.expect_log("\"http://127.0.0.1:");
    for backend in [
        "",
        "a b",
        "a/b",
        "a?b",
        "user@127.0.0.1",
        "127.0.0.1:80/x#",
        "127.1",
        "2130706433",
        "0x7f.0.0.1",
        "[::1",
        "unix:/run/x",
        "a..internal.example",
        "..",
        "%31%32%37.0.0.1",
        &"a".repeat(3000),
    ] {
        assert!(matches!(ask(&server, backend), 403 | 502), "{backend}");
    }
    let server = start("http://$header_x_backend", &json!("*.internal.example"));
    for backend in ["unix:/run/x", "unix:@x", "", ":80"] {
        assert!(matches!(ask(&server, backend), 403 | 502), "{backend}");
    }
    assert_eq!(origin.n_connections(), 0);
}

/// The address counts, not only the name: `localhost` is this machine.
#[test]
fn an_allowed_name_does_not_lead_to_this_machine() {
    let origin = Origin::saying("a");
    let url = format!("http://$header_x_backend:{}", origin.port());
    let server = start(&url, &json!("localhost"));
    assert_eq!(ask(&server, "localhost"), 502);
    server.expect_log("the name stands for addresses that are not in \"allow\"");
    assert_eq!(origin.n_connections(), 0);
    let server = start(&url, &json!(["localhost", "127.0.0.1", "::1"]));
    assert_eq!(ask(&server, "localhost"), 200);
}

/// As many servers are kept as the bound says, and the oldest are forgotten.
#[test]
fn many_names_do_no_harm() {
    let origin = Origin::saying("a");
    let url = format!("http://$header_x_backend:{}", origin.port());
    let server = start(&url, &json!("127.0.0.0/8"));
    for number in 0..600 {
        let backend = format!("127.0.{}.{}", number / 250, number % 250 + 1);
        let expect = if backend == "127.0.0.1" { 200 } else { 502 };
        assert_eq!(ask(&server, &backend), expect, "{backend}");
    }
    assert_eq!(ask(&server, "127.0.0.1"), 200);
}

#[test]
fn variables_and_allow_go_together() {
    let server = daemon().routes(json!([])).start();
    let check = |action: Value, detail: &str| {
        let reply = server.control().put("/config/routes", &json!([{ "action": action }]));
        assert_says(&reply.expect_refused(400, "Invalid configuration."), detail);
    };
    let together = "An address with variables in \"proxy\" and \"allow\" in \"proxy_options\" go together.";
    check(json!({ "proxy": "http://$host:80" }), together);
    check(json!({ "proxy": "http://$host:80", "proxy_options": { "allow": [] } }), together);
    check(json!({ "proxy": "http://a:80", "proxy_options": { "allow": "a" } }), together);
    check(
        json!({ "proxy": "$arg_x", "proxy_options": { "allow": "a" } }),
        "A \"proxy\" address with variables must begin with \"http://\" or \"https://\".",
    );
    for entry in ["*", "", "http://a", "10.0.0.0/99", "a:80"] {
        let action = json!({ "proxy": "http://$host:80", "proxy_options": { "allow": entry } });
        let reply = server.control().put("/config/routes", &json!([{ "action": action }]));
        reply.expect_refused(400, "Invalid configuration.");
    }
    check(json!({ "proxy": "http://$nope:80" }), "Unknown variable \"nope\" in the \"proxy\" value.");
}
