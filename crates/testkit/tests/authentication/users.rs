//! The user of a request: in conditions, variables, logs and applications, and never by the word of a client.

use corral_testkit::{Address, Client, Http2, Request, daemon, eventually, php_app, python_app, site};
use serde_json::json;

use crate::{as_user, output};

fn users() -> String {
    let line = |user: &str| output("htpasswd", &["-nbBC", "4", user, "secret"], "").trim().to_owned();
    [line("alice"), line("bob")].join("\n")
}

/// Options: routes[].match.remote_user
#[test]
fn later_steps_go_by_the_user() {
    let site = site().file("users", users());
    let server = daemon()
        .config(json!({ "routes": {
            "main": [
                { "match": { "remote_user": "*" }, "action": { "return": 200, "body": "too early" } },
                { "action": { "authenticate": { "basic": { "file": site.path("users") } }, "pass": "routes/inside" } }
            ],
            "inside": [
                { "match": { "remote_user": ["alice", "carol"] }, "action": { "return": 200, "body": "one of them" } },
                { "match": { "remote_user": "!alice" }, "action": { "return": 200, "body": "not alice: $remote_user" } }
            ]
        } }))
        .start();
    let body = |user: &str| server.send(&as_user("/", user, "secret")).expect(200).text();
    assert_eq!(body("alice"), "one of them");
    assert_eq!(body("bob"), "not alice: bob");
    server.get("/").expect(401);
}

/// Options: listeners.{addr}.authenticate
#[test]
fn a_listener_asks_for_all_of_its_requests() {
    let site = site().file("users", users());
    let (inner, outer) = (Address::fresh(), Address::fresh());
    let authenticate = json!({ "basic": { "file": site.path("users") } });
    let server = daemon()
        .config(json!({
            "listeners": {
                inner.to_string(): { "pass": "routes" },
                outer.to_string(): { "pass": "routes", "authenticate": authenticate }
            },
            "routes": [{ "match": { "remote_user": "alice" }, "action": { "return": 200 } },
            { "action": { "return": 204 } }]
        }))
        .start();
    let send = |address: &Address, request: &Request| Client::connect(address.socket()).send(request).status;
    let alice = as_user("/", "alice", "secret");
    assert_eq!([send(&outer, &Request::get("/")), send(&outer, &alice)], [401, 200]);
    assert_eq!(send(&outer, &as_user("/", "bob", "secret")), 204);
    assert_eq!([send(&inner, &Request::get("/")), send(&inner, &alice)], [204, 204]);
    drop(server);
}

/// Streams of one connection are one client each.
#[test]
fn http2_asks_the_same() {
    let site = site().file("users", users());
    let address = Address::fresh();
    let action = json!({
        "authenticate": { "basic": { "file": site.path("users") } }, "return": 200, "body": "hello $remote_user"
    });
    let server = daemon()
        .config(json!({
            "listeners": { address.to_string(): { "pass": "routes", "http2": "prior_knowledge" } },
            "routes": [{ "action": action }]
        }))
        .start();
    let mut client = Http2::connect(address.socket());
    for user in ["alice", "bob", "alice"] {
        client.send(&as_user("/", user, "secret")).expect(200).expect_body(format!("hello {user}"));
        let refused = client.send(&as_user("/", user, "wrong")).expect(401);
        assert!(
            refused.field("www-authenticate").is_some_and(|field| field.starts_with("Basic realm=")),
            "{refused:?}"
        );
        client.send(&Request::post("/").body("x")).expect(401);
    }
    drop(server);
}

#[test]
fn the_access_log_has_the_user() {
    let site = site().file("users", users()).writable_folder("logs");
    let log = site.path("logs/access.log");
    let server = daemon()
        .config(json!({
            "access_log": { "path": log, "format": "[$remote_user] $uri" },
            "routes": [{ "action": { "authenticate": { "basic": { "file": site.path("users") } }, "return": 204 } }]
        }))
        .start();
    server.send(&as_user("/a", "alice", "secret")).expect(204);
    server.send(&as_user("/b", "mallory", "secret")).expect(401);
    let logged = || std::fs::read_to_string(&log).unwrap_or_default();
    // Each event loop writes its own lines when it gets to it.
    let lines = eventually("both are logged", || {
        let logged = logged();
        let mut lines: Vec<_> = logged.lines().map(str::to_owned).collect();
        lines.sort();
        (lines.len() == 2).then_some(lines)
    });
    assert_eq!(lines, ["[-] /b", "[alice] /a"]);
}

#[test]
fn applications_know_the_user() {
    let site = site()
        .file("users", users())
        .file(
            "index.php",
            "<?php echo $_SERVER['REMOTE_USER'] ?? 'none', ' ', $_SERVER['AUTH_TYPE'] ?? 'none', ' ', \
            $_SERVER['PHP_AUTH_USER'] ?? 'none';",
        )
        .file(
            "app.py",
            "def application(environ, start_response):\n    start_response('200 OK', [])\n    return \
            [f\"{environ.get('REMOTE_USER', 'none')} {environ.get('AUTH_TYPE', 'none')}\".encode()]\n",
        );
    let authenticate = json!({ "basic": { "file": site.path("users") } });
    let server = daemon()
        .config(json!({
            "applications": { "php": php_app(&site).value(), "python": python_app(&site).value() },
            "routes": [
                { "match": { "uri": "/open/php" }, "action": { "rewrite": "/", "pass": "applications/php" } },
                { "match": { "uri": "/open/python" }, "action": { "pass": "applications/python" } },
                { "match": { "uri": "/php" }, "action": { "authenticate": authenticate, "rewrite": "/",
                "pass": "applications/php" } },
                { "action": { "authenticate": authenticate, "pass": "applications/python" } }
            ]
        }))
        .start();
    server.send(&as_user("/php", "alice", "secret")).expect(200).expect_body("alice Basic alice");
    server.send(&as_user("/python", "bob", "secret")).expect(200).expect_body("bob Basic");
    // No client was asked there, and no field makes a user.
    let forged = |target: &str| {
        Request::get(target)
            .field("Remote-User", "root")
            .field("REMOTE_USER", "root")
            .field("Auth-Type", "Basic")
    };
    server.send(&forged("/open/php")).expect(200).expect_body("none none none");
    server.send(&forged("/open/python")).expect(200).expect_body("none none");
}

/// An application that was meant to hear of the user by a field hears of no other.
#[test]
fn fields_for_servers_are_set_anew() {
    let origin = corral_testkit::Origin::echo();
    let site = site().file("users", users());
    let server = daemon()
        .routes(json!([{ "action": {
            "authenticate": { "basic": { "file": site.path("users") } },
            "request_headers": { "X-User": "$remote_user", "Authorization": null },
            "proxy": origin.url()
        } }]))
        .start();
    let told = server.send(&as_user("/", "alice", "secret").field("X-User", "root")).expect(200).text();
    assert!(
        told.contains("X-User: alice") && !told.contains("root") && !told.contains("Authorization"),
        "{told}"
    );
}
