//! Options of groups whose servers speak FastCGI.

use corral_testkit::{PhpFpm, Request, daemon, site};
use serde_json::json;

/// A process with a name.
fn named(name: &str) -> PhpFpm {
    PhpFpm::at_socket(&format!("pm = static\npm.max_children = 1\nenv[NAME] = {name}"))
}

/// `?fail=NAME` fails at the server with this name.
const SCRIPT: &str = "<?php $name = getenv('NAME'); if (($_GET['fail'] ?? '') === $name) http_response_code(503);\
    setcookie('x', '1', ['path' => '/old']); echo $name;";

#[test]
fn sticky_retries_and_rewrites_are_as_for_http() {
    let (site, a, b) = (site().file("index.php", SCRIPT), named("a"), named("b"));
    let pool = json!({
        "protocol": "fastcgi",
        "servers": { a.address(): {}, b.address(): {} },
        "max_fails": 0,
        "sticky": { "cookie": "node" },
        "retry_on": 503,
        "rewrite_cookies": { "path": "/new" },
    });
    let action = json!({ "fastcgi": "upstreams/pool", "root": site.root() });
    let config = json!({ "upstreams": { "pool": pool }, "routes": [{ "action": action }] });
    let server = daemon().config(config).start();
    let first = server.get("/").expect(200);
    let cookies: Vec<_> = first.all("Set-Cookie").collect();
    let node = cookies.iter().find(|cookie| cookie.starts_with("node=")).expect("a new client gets a cookie");
    assert!(cookies.contains(&"x=1; path=/new") || cookies.contains(&"x=1; Path=/new"), "{first}");
    let pair = node.split(';').next().expect("a pair").to_owned();
    for _ in 0..4 {
        server.send(&Request::get("/").field("Cookie", &pair)).expect(200).expect_body(first.text());
    }
    for (failing, other) in [("a", "b"), ("b", "a")] {
        for _ in 0..4 {
            server.get(&format!("/?fail={failing}")).expect(200).expect_body(other);
        }
    }
}
