//! Which requests are taken for those of web pages.

use hyper::Request;

use super::*;

fn head(method: &str, fields: &[&str]) -> Parts {
    let mut request = Request::builder().method(method).uri("/config/routes");
    for field in fields {
        let (name, value) = field.split_once(": ").unwrap();
        request = request.header(name, value);
    }
    request.body(()).unwrap().into_parts().0
}

#[track_caller]
fn check(method: &str, fields: &[&str], expect: Option<StatusCode>) {
    let refused = refusal(&head(method, fields), BrowserGuard::Nothing).map(|reply| reply.status);
    assert_eq!(refused, expect, "{method} {fields:?}");
}

#[track_caller]
fn passes(method: &str, fields: &[&str]) {
    check(method, fields, None);
}

#[track_caller]
fn forbidden(method: &str, fields: &[&str]) {
    check(method, fields, Some(StatusCode::FORBIDDEN));
}

#[test]
fn only_names_of_this_machine_are_answered() {
    for host in [
        "localhost",
        "LocalHost:8081",
        "127.0.0.1",
        "127.0.0.1:8081",
        "127.3.2.1:1",
        "[::1]",
        "[::1]:80",
        "localhost:",
    ] {
        passes("GET", &[&format!("Host: {host}")]);
    }
    for host in [
        "example.org",
        "example.org:8081",
        "localhost.example.org",
        "127.0.0.1.example.org",
        "127.0.0.1@example.org",
        "localhost:80:80",
        "localhost:80x",
        "0.0.0.0:8081",
        "10.0.0.1",
        "[::]",
        "[::1",
        "[::1]x",
        "::1",
        "[localhost]",
        "localhost.",
        "2130706433",
        "",
    ] {
        forbidden("GET", &[&format!("Host: {host}")]);
    }
    passes("GET", &[]);
    forbidden("GET", &["Host: localhost", "Host: example.org"]);
    let mut absolute = head("GET", &["Host: localhost"]);
    absolute.uri = "http://example.org/config".parse().unwrap();
    assert!(refusal(&absolute, BrowserGuard::Nothing).is_some());
}

#[test]
fn only_pages_of_the_same_origin_are_answered() {
    let host = "Host: localhost:8081";
    for origin in ["http://localhost:8081", "https://localhost:8081", "http://LOCALHOST:8081"] {
        passes("PUT", &[host, &format!("Origin: {origin}")]);
    }
    for origin in [
        "null",
        "",
        "http://localhost",
        "http://localhost:3000",
        "http://127.0.0.1:8081",
        "http://example.org",
        "http://example.org localhost:8081",
        "ftp://localhost:8081",
        "chrome-extension://abcdef",
        "http://localhost:8081/",
    ] {
        forbidden("GET", &[host, &format!("Origin: {origin}")]);
        forbidden("PUT", &[host, &format!("Origin: {origin}")]);
        forbidden("OPTIONS", &[host, &format!("Origin: {origin}")]);
    }
    forbidden("PUT", &["Origin: http://localhost:8081"]);
    forbidden("PUT", &[host, "Origin: http://localhost:8081", "Origin: null"]);
}

#[test]
fn browsers_say_themselves_where_a_page_is_from() {
    for site in ["same-origin", "none"] {
        passes("GET", &["Host: localhost", &format!("Sec-Fetch-Site: {site}")]);
    }
    for site in ["cross-site", "same-site", "", "Same-Origin", "other"] {
        for method in ["GET", "PUT", "DELETE"] {
            forbidden(method, &["Host: localhost", &format!("Sec-Fetch-Site: {site}")]);
        }
    }
    forbidden("GET", &["Host: localhost", "Sec-Fetch-Site: same-origin", "Sec-Fetch-Site: cross-site"]);
}

#[test]
fn a_link_leads_to_the_page_and_nowhere_else() {
    let link = [
        "Host: localhost",
        "Sec-Fetch-Site: cross-site",
        "Sec-Fetch-Mode: navigate",
        "Sec-Fetch-Dest: document",
    ];
    let is_passed = |method: &str, path: &str, fields: &[&str]| {
        let mut head = head(method, fields);
        head.uri = path.parse().unwrap();
        refusal(&head, BrowserGuard::Nothing).is_none()
    };
    assert!(is_passed("GET", "/dashboard", &link) && is_passed("GET", "/dashboard/?x", &link));
    for path in [
        "/",
        "/dashboard/session",
        "/dashboard/assets/x",
        "/dashboardx",
        "/config",
        "/control/applications/a/restart",
    ] {
        assert!(!is_passed("GET", path, &link), "{path}");
    }
    assert!(!is_passed("POST", "/dashboard/", &link));
    for n_fields in 2..4 {
        assert!(!is_passed("GET", "/dashboard/", &link[..n_fields]));
    }
    for more in ["Sec-Fetch-Dest: iframe", "Origin: http://evil.example", "Host: evil.example"] {
        assert!(!is_passed("GET", "/dashboard/", &[&link[..], &[more]].concat()), "{more}");
    }
    for dest in ["iframe", "embed", "empty", "script"] {
        let dest = format!("Sec-Fetch-Dest: {dest}");
        let framed = [&link[..3], &[&*dest]].concat();
        assert!(!is_passed("GET", "/dashboard/", &framed), "{dest}");
    }
}

#[test]
fn what_forms_can_send_is_no_change() {
    let refused = Some(StatusCode::UNSUPPORTED_MEDIA_TYPE);
    for kind in [
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "text/plain",
        "text/plain; application/json",
        "application/jsonx",
        "application/json, text/plain",
        "",
    ] {
        let kind = format!("Content-Type: {kind}");
        check("POST", &["Host: localhost", &kind], refused);
        // A browser asks before it sends these.
        passes("PUT", &["Host: localhost", &kind]);
        passes("DELETE", &["Host: localhost", &kind]);
        passes("POST", &["Host: localhost", &kind, "X-Requested-With: curl"]);
    }
    check("POST", &["Host: localhost"], refused);
    check("POST", &["Content-Type: application/json", "Content-Type: text/plain"], refused);
    passes("POST", &["Content-Type: application/json"]);
    passes("POST", &["Content-Type: Application/JSON; charset=utf-8"]);
}

#[test]
fn with_a_token_any_name_and_type_will_do_but_no_other_origin() {
    let check = |fields: &[&str], expect: bool| {
        assert_eq!(refusal(&head("POST", fields), BrowserGuard::Token).is_none(), expect, "{fields:?}");
    };
    check(&["Host: example.org", "Content-Type: text/plain"], true);
    check(&["Host: example.org", "Origin: https://example.org"], true);
    check(&["Host: example.org", "Origin: https://example.com"], false);
    check(&["Host: example.org", "Sec-Fetch-Site: cross-site"], false);
}

#[test]
fn browsers_are_known_by_their_fields() {
    for field in [
        "Origin: http://localhost",
        "Sec-Fetch-Mode: no-cors",
        "Sec-CH-UA: x",
        "Referer: http://localhost/",
        "Cookie: a=b",
        "Accept-Language: en",
        "Upgrade-Insecure-Requests: 1",
        "User-Agent: Mozilla/5.0 (X11; Linux x86_64)",
        "Accept: text/html,application/xhtml+xml,*/*;q=0.8",
        "Accept: image/avif,image/webp,*/*",
        "Accept: text/css",
    ] {
        assert!(is_from_browser(&head("GET", &[field]).headers), "{field}");
    }
    for field in ["User-Agent: curl/8.5.0", "Accept: */*", "Accept: application/json", "Host: localhost"] {
        assert!(!is_from_browser(&head("GET", &[field]).headers), "{field}");
    }
}
