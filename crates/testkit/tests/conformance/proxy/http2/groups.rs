//! Options of groups whose servers speak HTTP/2.

use corral_testkit::{Daemon, Request, daemon};
use serde_json::json;

/// A server with a name, which speaks HTTP/2. `/fail?NAME` fails at it.
fn named(name: &str) -> Daemon {
    let server = daemon().start_unconfigured();
    let address = server.address().to_string();
    let cookie = json!({ "Set-Cookie": "x=1; Path=/old" });
    let routes = json!([
        { "match": { "uri": "/fail", "query": name }, "action": { "return": 503 } },
        { "match": { "uri": "/moved" }, "action": { "return": 302, "location": format!("http://{address}/there") } },
        { "action": { "return": 200, "body": name, "response_headers": cookie } },
    ]);
    let listeners = json!({ &address: { "pass": "routes", "http2": "prior_knowledge" } });
    server.control().put("/config", &json!({ "listeners": listeners, "routes": routes })).expect_done();
    server
}

#[test]
fn sticky_retries_and_rewrites_are_as_for_http1() {
    let (a, b) = (named("a"), named("b"));
    let server = super::upstream(&json!({
        "servers": { a.address().to_string(): {}, b.address().to_string(): {} },
        "http2": true,
        "max_fails": 0,
        "sticky": { "cookie": "node" },
        "retry_on": 503,
        "rewrite_location": true,
        "rewrite_cookies": { "path": "/new" },
    }));
    let first = server.get("/").expect(200);
    let cookies: Vec<_> = first.all("Set-Cookie").collect();
    let node = cookies.iter().find(|cookie| cookie.starts_with("node=")).expect("a new client gets a cookie");
    assert!(cookies.contains(&"x=1; Path=/new"), "{first}");
    let pair = node.split(';').next().expect("a pair").to_owned();
    for _ in 0..4 {
        server.send(&Request::get("/").field("Cookie", &pair)).expect(200).expect_body(first.text());
    }
    for (failing, other) in [("a", "b"), ("b", "a")] {
        for _ in 0..4 {
            server.get(&format!("/fail?{failing}")).expect(200).expect_body(other);
        }
    }
    let moved = server.send(&Request::get("/moved").field("Host", "site.example")).expect(302);
    assert_eq!(moved.field("Location"), Some("http://site.example/there"));
}
