//! `rewrite_location` and `rewrite_cookies`: headers of responses in which a server speaks of itself.

use corral_testkit::{Daemon, Origin, Request, assert_says, daemon};
use serde_json::{Value, json};

use super::proxy_with;

/// Answers with these headers, in which `SELF` is its own address, and what is asked for as `/CODE`.
fn saying(headers: &str) -> Origin {
    let headers = headers.to_owned();
    Origin::start(move |peer| {
        while let Some(request) = peer.read_request() {
            let request = String::from_utf8_lossy(&request).into_owned();
            let fields = request.lines().filter_map(|line| line.split_once(": "));
            let mut own =
                fields.filter(|(name, _)| name.eq_ignore_ascii_case("X-Self")).map(|(_, value)| value);
            let headers = headers.replace("SELF", own.next().unwrap_or_default());
            peer.write(format!("HTTP/1.1 302 Found\r\nContent-Length: 0\r\n{headers}\r\n\r\n").as_bytes());
        }
    })
}

/// The value of a header of the answer to a client that has asked `site.example`.
#[track_caller]
fn header(origin: &Origin, options: Value, name: &str) -> String {
    let server = proxy_with(origin, options);
    let request = Request::get("/").field("Host", "site.example").field("X-Self", &origin.address());
    server.send(&request).expect(302).field(name).expect("it has the header").to_owned()
}

#[track_caller]
fn check(rule: Value, location: &str, expect: &str) {
    let origin = saying(&format!("Location: {location}"));
    let found = header(&origin, json!({ "rewrite_location": rule }), "Location");
    assert_eq!(found, expect.replace("SELF", &origin.address()), "{location}");
}

/// Options: …action.proxy_options.rewrite_location
#[test]
fn the_server_s_own_address_becomes_the_client_s() {
    check(json!(true), "http://SELF/a?b=c#d", "http://site.example/a?b=c#d");
    check(json!(true), "http://SELF", "http://site.example");
    check(json!(true), "https://SELF/a", "http://site.example/a");
    check(json!(true), "/a", "/a");
    check(json!(true), "http://SELF.evil.example/a", "http://SELF.evil.example/a");
    check(json!(true), "http://SELF@evil.example/a", "http://SELF@evil.example/a");
    check(json!(false), "http://SELF/a", "http://SELF/a");
    let origin =
        saying("Content-Location: http://SELF/b\r\nRefresh: 5; url=http://SELF/c\r\nX-Other: http://SELF/d");
    let options = json!({ "rewrite_location": true });
    assert_eq!(header(&origin, options.clone(), "Content-Location"), "http://site.example/b");
    assert_eq!(header(&origin, options.clone(), "Refresh"), "5; url=http://site.example/c");
    assert_eq!(header(&origin, options, "X-Other"), format!("http://{}/d", origin.address()));
}

#[test]
fn beginnings_of_urls_become_others() {
    let rules = json!({
        "http://backend:8080/": "https://$host/",
        "http://backend:8080/app/": "/",
        "/old": "/new"
    });
    check(rules.clone(), "http://backend:8080/x", "https://site.example/x");
    check(rules.clone(), "http://backend:8080/app/x", "/x");
    check(rules.clone(), "/older?y", "/newer?y");
    check(rules, "http://other/", "http://other/");
    // What a client says cannot end the header.
    let origin = saying("Location: /a");
    let server = proxy_with(&origin, json!({ "rewrite_location": { "/a": "/$arg_x" } }));
    let reply = server.get("/?x=%0d%0aSet-Cookie:%20a=b").expect(302);
    assert!(reply.field("Set-Cookie").is_none(), "{reply}");
}

/// Options: upstreams.{N}.rewrite_location
#[test]
fn an_upstream_has_the_options_too() {
    let origin = saying("Location: http://SELF/a\r\nSet-Cookie: a=b; Path=/x\r\nSet-Cookie: c=d");
    let config = json!({
        "upstreams": { "pool": {
            "servers": { origin.address(): {} },
            "rewrite_location": true,
            "rewrite_cookies": { "path": "/", "same_site": "lax" },
            "sticky": { "cookie": "node" }
        }},
        "routes": [{ "action": { "pass": "upstreams/pool", "response_headers": { "X-To": "$response_header_location" } } }]
    });
    let server: Daemon = daemon().config(config).start();
    let reply = server.send(&Request::get("/").field("Host", "h:1").field("X-Self", &origin.address()));
    let reply =
        reply.expect(302).expect_field("Location", "http://h:1/a").expect_field("X-To", "http://h:1/a");
    let cookies: Vec<_> = reply.all("Set-Cookie").collect();
    assert_eq!(cookies[..2], ["a=b; Path=/; SameSite=Lax", "c=d; SameSite=Lax"]);
    assert!(cookies[2].starts_with("node="), "{cookies:?}");
}

/// Options: …action.proxy_options.rewrite_cookies.domain, …action.proxy_options.rewrite_cookies.path
/// Options: …action.proxy_options.rewrite_cookies.secure, …action.proxy_options.rewrite_cookies.httponly
/// Options: …action.proxy_options.rewrite_cookies.same_site, …action.proxy_options.rewrite_cookies
#[test]
fn cookies_get_other_attributes() {
    let check = |rules: Value, cookie: &str, expect: &str| {
        let origin = saying(&format!("Set-Cookie: {cookie}"));
        assert_eq!(header(&origin, json!({ "rewrite_cookies": rules }), "Set-Cookie"), expect, "{cookie}");
    };
    let rules = json!({
        "domain": { "backend": "example.com" }, "path": { "/app": "/" }, "secure": true, "httponly": true,
        "same_site": "strict"
    });
    let end = "; Secure; HttpOnly; SameSite=Strict";
    check(
        rules.clone(),
        "a=b; Domain=backend; Path=/app/x",
        &format!("a=b; Domain=example.com; Path=/x{end}"),
    );
    check(rules, "a=b; Domain=other; Path=/b; Secure", &format!("a=b; Domain=other; Path=/b{end}"));
    check(
        json!({ "domain": "", "httponly": false }),
        "a=\"b\"; Domain=x; HttpOnly; Max-Age=1",
        "a=\"b\"; Max-Age=1",
    );
}

#[test]
fn wrong_rewrites_are_refused() {
    let server = daemon().routes(json!([])).start();
    let check = |options: Value, detail: &str| {
        let routes = json!([{ "action": { "proxy": "http://127.0.0.1:1", "proxy_options": options } }]);
        let reply = server.control().put("/config/routes", &routes);
        assert_says(&reply.expect_refused(400, "Invalid configuration."), detail);
    };
    check(
        json!({ "rewrite_location": { "": "/" } }),
        "The beginning of a URL that is to be replaced must not be empty.",
    );
    check(
        json!({ "rewrite_location": { "/a": "$nope" } }),
        "Unknown variable \"nope\" in the \"rewrite_location\" value.",
    );
    check(
        json!({ "rewrite_cookies": { "path": "a;b" } }),
        "The \"path\" value cannot be an attribute of a cookie.",
    );
    check(
        json!({ "rewrite_cookies": { "domain": { "a": "b; x" } } }),
        "The \"domain\" value cannot be an attribute of a cookie.",
    );
    check(
        json!({ "rewrite_cookies": { "same_site": "x" } }),
        "The \"same_site\" value must be \"strict\", \"lax\", or \"none\".",
    );
}
