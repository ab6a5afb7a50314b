//! `sticky`: clients that stay with the server that has answered them first.

use std::collections::HashSet;

use corral_testkit::{Daemon, Origin, Request, assert_says, daemon};
use serde_json::{Value, json};

use super::upstreams::{servers, start};

/// Two servers, and this `sticky`.
fn pool(a: &Origin, b: &Origin, sticky: Value) -> Value {
    let mut pool = servers(&[(a, 1.0), (b, 1.0)]);
    pool["sticky"] = sticky;
    pool
}

/// The server that answers a client with this cookie, and the cookie that it gets.
fn ask(server: &Daemon, cookie: &str) -> (String, Option<String>) {
    let request = Request::get("/");
    let request = if cookie.is_empty() { request } else { request.field("Cookie", cookie) };
    let reply = server.send(&request).expect(200);
    (reply.text(), reply.field("Set-Cookie").map(str::to_owned))
}

/// Name and value of a `Set-Cookie`.
fn pair(cookie: &str) -> &str {
    cookie.split(';').next().expect("there is a first part")
}

/// Options: upstreams.{N}.sticky, upstreams.{N}.sticky.cookie
#[test]
fn a_client_stays_with_its_server() {
    let (a, b) = (Origin::saying("a"), Origin::saying("b"));
    let server = start(&pool(&a, &b, json!({ "cookie": "node" })));
    let mut seen = HashSet::new();
    for _ in 0..4 {
        let (body, cookie) = ask(&server, "");
        let cookie = cookie.expect("a new client gets a cookie");
        assert!(cookie.starts_with("node=") && cookie.ends_with("; Path=/; HttpOnly"), "{cookie}");
        assert!(!cookie.contains("127.0.0.1") && !cookie.contains(&a.port().to_string()), "{cookie}");
        for _ in 0..3 {
            let with = format!("x=1; {}; y=2", pair(&cookie));
            assert_eq!(ask(&server, &with), (body.clone(), None), "and no second cookie");
        }
        seen.insert(body);
    }
    assert_eq!(seen.len(), 2, "new clients are shared out as before");
}

#[test]
fn a_value_that_was_not_given_names_no_server() {
    let (a, b) = (Origin::saying("a"), Origin::saying("b"));
    let server = start(&pool(&a, &b, json!({ "cookie": "node" })));
    let address = a.address();
    for value in ["", "0", "1", &address, &a.url(), "../../x", "%00", &"x".repeat(3000)] {
        let (_, cookie) = ask(&server, &format!("node={value}"));
        assert!(cookie.is_some(), "{value}");
    }
    let answers: HashSet<_> = (0..4).map(|_| ask(&server, &format!("node={address}")).0).collect();
    assert_eq!(answers.len(), 2, "it is a new client each time");
}

#[test]
fn a_client_whose_server_is_gone_gets_another_one() {
    let (a, b) = (Origin::saying("a"), Origin::saying("b"));
    let server = start(&pool(&a, &b, json!({ "cookie": "node" })));
    let (body, cookie) = ask(&server, "");
    let cookie = cookie.expect("a new client gets a cookie");
    let (own, other) = if body == "a" { (&a, "b") } else { (&b, "a") };
    let down = format!("/config/upstreams/pool/servers/{}/down", own.address());
    server.control().put(&down, &json!(true)).expect_done();
    let (moved, new) = ask(&server, pair(&cookie));
    assert_eq!(moved, other);
    let new = new.expect("it names another server now");
    server.control().put(&down, &json!(false)).expect_done();
    assert_eq!(ask(&server, pair(&new)), (other.to_owned(), None), "and stays there");
    assert_eq!(ask(&server, pair(&cookie)), (body, None), "the value is still the server's");
}

#[test]
fn the_server_that_answers_in_the_end_is_the_one_that_is_named() {
    let a = Origin::saying("a");
    let dead = Origin::start(|peer| {
        peer.read_request();
    });
    let mut pool = pool(&a, &dead, json!({ "cookie": "node" }));
    pool["max_fails"] = json!(0);
    let server = start(&pool);
    let cookies: HashSet<_> = (0..4).map(|_| ask(&server, "").1.expect("a cookie")).collect();
    assert_eq!(cookies.len(), 1, "{cookies:?}");
}

/// Options: upstreams.{N}.sticky.secret
#[test]
fn a_secret_makes_the_same_values_everywhere() {
    let (a, b) = (Origin::saying("a"), Origin::saying("b"));
    let values = |secret: Value| {
        let mut sticky = json!({ "cookie": "node" });
        if !secret.is_null() {
            sticky["secret"] = secret;
        }
        let server = start(&pool(&a, &b, sticky));
        let cookies: HashSet<_> = (0..4).map(|_| ask(&server, "").1.expect("a cookie")).collect();
        assert_eq!(cookies.len(), 2);
        cookies
    };
    assert_eq!(values(json!("a secret of any kind")), values(json!("a secret of any kind")));
    assert!(values(json!("a secret of any kind")).is_disjoint(&values(json!("another secret here"))));
    assert!(values(json!(null)).is_disjoint(&values(json!(null))));
}

/// Options: upstreams.{N}.sticky.domain, upstreams.{N}.sticky.path, upstreams.{N}.sticky.max_age
/// Options: upstreams.{N}.sticky.secure, upstreams.{N}.sticky.httponly, upstreams.{N}.sticky.same_site
#[test]
fn the_cookie_has_the_attributes_that_are_wanted() {
    let (a, b) = (Origin::saying("a"), Origin::saying("b"));
    let attributes = |sticky: Value| {
        let cookie = ask(&start(&pool(&a, &b, sticky)), "").1.expect("a cookie");
        cookie.split_once("; ").expect("it has attributes").1.to_owned()
    };
    let all = json!({ "cookie": "c", "domain": "example.com", "path": "/app", "max_age": 60, "secure": true,
        "httponly": false, "same_site": "none" });
    assert_eq!(attributes(all), "Path=/app; Domain=example.com; Max-Age=60; Secure; SameSite=None");
    let few = json!({ "cookie": "c", "secure": false, "same_site": "strict" });
    assert_eq!(attributes(few), "Path=/; HttpOnly; SameSite=Strict");
}

#[test]
fn error_pages_and_other_actions_have_no_cookie() {
    let (a, b) = (Origin::answering("HTTP/1.1 404 x\r\nContent-Length: 0\r\n\r\n"), Origin::saying("page"));
    let config = json!({
        "upstreams": { "pool": { "servers": { a.address(): {} }, "sticky": { "cookie": "node" } } },
        "routes": [{ "action": {
            "pass": "upstreams/pool",
            "errors": { "intercept": true, "404": { "proxy": b.url() } }
        }}]
    });
    let server = daemon().config(config).start();
    server.get("/").expect(404).expect_body("page").expect_no_field("Set-Cookie");
    let dead = start(&json!({ "servers": { "127.0.0.1:1": {} }, "sticky": { "cookie": "node" } }));
    dead.get("/").expect(502).expect_no_field("Set-Cookie");
}

#[test]
fn wrong_cookies_are_refused() {
    let server = daemon().routes(json!([])).start();
    let check = |sticky: Value, detail: &str| {
        let upstreams = json!({ "one": { "servers": {}, "sticky": sticky } });
        let reply = server.control().put("/config/upstreams", &upstreams);
        assert_says(&reply.expect_refused(400, "Invalid configuration."), detail);
    };
    check(json!({}), "Required parameter \"cookie\" is missing.");
    for name in ["a b", "a=b", "a;b", "\u{e9}", "a\r\nb"] {
        check(
            json!({ "cookie": name }),
            "The \"cookie\" string must be the name of a cookie: letters, digits, \"-\" and \"_\".",
        );
    }
    check(
        json!({ "cookie": "c", "secret": "short" }),
        "The \"secret\" string must have at least 16 characters.",
    );
    for path in ["", "a", "/a;b", "/a b", "/a\r\nSet-Cookie: x"] {
        let reply = server.control().put(
            "/config/upstreams",
            &json!({ "one": { "servers": {}, "sticky": { "cookie": "c", "path": path } } }),
        );
        reply.expect_refused(400, "Invalid configuration.");
    }
    check(
        json!({ "cookie": "c", "domain": "a; Path=/" }),
        "The \"domain\" string must be the name of a host.",
    );
    check(
        json!({ "cookie": "c", "same_site": "None" }),
        "The \"same_site\" value must be \"strict\", \"lax\", or \"none\".",
    );
    check(
        json!({ "cookie": "c", "same_site": "none", "secure": false }),
        "Browsers drop a cookie whose \"same_site\" is \"none\" if it is not \"secure\".",
    );
}
