//! Addresses of servers, as they are written in configurations.

use super::Origin;

/// `expect` is the origin as it is printed, or nothing when the text is none.
#[track_caller]
fn check_url(text: &str, expect: Option<&str>) {
    let origin = Origin::parse_url(text.as_bytes());
    assert_eq!(origin.map(|origin| origin.to_string()).as_deref(), expect, "{text}");
}

#[track_caller]
fn check_server(text: &str, expect: Option<&str>) {
    let origin = Origin::parse_server(text.as_bytes());
    assert_eq!(origin.map(|origin| origin.to_string()).as_deref(), expect, "{text}");
}

#[test]
fn every_form_of_a_proxy_is_read() {
    check_url("http://127.0.0.1:8080", Some("http://127.0.0.1:8080"));
    check_url("http://[::1]:8080", Some("http://[::1]:8080"));
    check_url("http://unix:/run/app.sock", Some("http://unix:/run/app.sock"));
    check_url("http://unix:@app", Some("http://unix:@app"));
    check_url("http://backend:80", Some("http://backend:80"));
    check_url("http://Api.Example.com.:80", Some("http://api.example.com:80"));
    check_url("http://my_service.ns-1:80", Some("http://my_service.ns-1:80"));
    check_url("https://api.example.com:443", Some("https://api.example.com:443"));
    check_url("https://127.0.0.1:443", Some("https://127.0.0.1:443"));
}

#[test]
fn everything_else_is_refused() {
    for text in [
        "",
        "blah",
        "/blah",
        "unix:/blah",
        "127.0.0.1:80",
        "http://",
        "http:///",
        "http://:80",
        "http://blah",
        "http://.:80",
        "http://a..b:80",
        "http://-a:80",
        "http://a-:80",
        "http://a b:80",
        "http://a@b:80",
        "http://\u{e9}:80",
        "http://127.0.0.1",
        "http://127.0.0.1:",
        "http://127.0.0.1:blah",
        "http://127.0.0.1:-1",
        "http://127.0.0.1:+1",
        "http://127.0.0.1:0",
        "http://127.0.0.1:65536",
        "http://127.0.0.1:8080b",
        "http://127.0.0.1:8080/",
        "http://127.0.0.1:8080/path",
        "http://256.0.0.1:80",
        "http://1.2.3:80",
        "http://12345:80",
        "http://name:0",
        "http://name:+1",
        "http://name:80/",
        "http://[]",
        "http://[]:8080",
        "http://[:::]:8080",
        "http://[::1",
        "http://[::1]",
        "http://[::1]:",
        "http://[::1]:8080b",
        "http://[::7f00:1]",
        "http://unix:",
        "http://unix:@",
        "HTTP://127.0.0.1:80",
        "ftp://127.0.0.1:80",
        "https://unix",
    ] {
        check_url(text, None);
    }
    check_url(&format!("http://{}:80", "a".repeat(64)), None);
    check_url(&format!("http://{}a:80", "a.".repeat(130)), None);
}

#[test]
fn servers_may_go_without_a_scheme() {
    check_server("127.0.0.1:80", Some("http://127.0.0.1:80"));
    check_server("unix:/a", Some("http://unix:/a"));
    check_server("backend:80", Some("http://backend:80"));
    check_server("https://backend:443", Some("https://backend:443"));
    for text in ["", "127.0.0.1", "backend", "http://backend", "127.0.0.1:7081/blah", "http:80:90"] {
        check_server(text, None);
    }
}
