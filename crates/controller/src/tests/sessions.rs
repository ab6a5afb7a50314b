//! Sessions of browsers over a real socket: beginning one, using it, ending it.

use corral_config::json::Value;

use super::{Response, Server, Setup};

fn ask(server: &Server, method: &str, target: &str, fields: &[&str], body: &str) -> Response {
    let fields: String = fields.iter().map(|field| format!("{field}\r\n")).collect();
    let len = body.len();
    let head =
        format!("{method} {target} HTTP/1.1\r\nHost: 127.0.0.1:80\r\n{fields}Content-Length: {len}\r\n\r\n");
    server.raw(format!("{head}{body}").as_bytes())
}

const BROWSER: [&str; 2] = ["Corral-Dashboard: 1", "Origin: http://127.0.0.1:80"];

fn token(server: &Server, query: &str) -> String {
    let reply = server.request("POST", &format!("/dashboard/tokens{query}"), "");
    assert_eq!(reply.status(), "200 OK", "{reply:?}");
    assert_eq!(reply.json().member("expires_in"), Some(&Value::from(60)));
    reply.text("token")
}

fn begin(server: &Server, token: &str) -> Response {
    ask(server, "POST", "/dashboard/session", &BROWSER, &format!("{{\"token\": \"{token}\"}}"))
}

fn cookie(reply: &Response) -> String {
    let line = reply.head.lines().find_map(|line| line.strip_prefix("Set-Cookie: "));
    let line = line.unwrap_or_else(|| panic!("no cookie: {reply:?}"));
    assert!(line.ends_with("; Path=/; HttpOnly; SameSite=Strict; Max-Age=43200"), "{line}");
    format!("Cookie: {}", line.split(';').next().unwrap())
}

#[test]
fn a_token_begins_one_session() {
    let server = Server::start(Setup::default());
    let token = token(&server, "");
    let first = begin(&server, &token);
    assert_eq!((first.status(), first.text("access").as_str()), ("200 OK", "full"));
    let cookie = cookie(&first);
    let replayed = begin(&server, &token);
    assert_eq!((replayed.status(), replayed.text("error").as_str()), ("401 Unauthorized", "Unauthorized."));
    let fields = [BROWSER[0], BROWSER[1], &cookie];
    let state = ask(&server, "GET", "/dashboard/session", &fields, "");
    assert_eq!(state.json().member("files"), Some(&Value::Null));
    assert_eq!((state.text("access").as_str(), state.text("version").is_empty()), ("full", false));
    assert_eq!(ask(&server, "PUT", "/config/access_log", &fields, "\"/x\"").status(), "200 OK");
    let newest = server.get("/config/history").json();
    let author = newest.as_array().unwrap()[0].member("author").unwrap().compact();
    assert!(String::from_utf8(author).unwrap().ends_with(", by the dashboard\""), "{newest:?}");
    let ended = ask(&server, "DELETE", "/dashboard/session", &fields, "");
    assert!(ended.status() == "200 OK" && ended.head.contains("Max-Age=0"), "{ended:?}");
    for target in ["/config", "/dashboard/session"] {
        assert_eq!(ask(&server, "GET", target, &fields, "").status(), "401 Unauthorized");
    }
}

#[test]
fn a_session_for_reading_reads() {
    let server = Server::start(Setup::default());
    let first = begin(&server, &token(&server, "?access=read"));
    assert_eq!(first.text("access"), "read");
    let cookie = cookie(&first);
    let fields = [BROWSER[0], BROWSER[1], &cookie];
    assert_eq!(ask(&server, "GET", "/config", &fields, "").status(), "200 OK");
    assert_eq!(ask(&server, "PUT", "/config", &fields, "{}").status(), "403 Forbidden");
    assert_eq!(ask(&server, "POST", "/dashboard/tokens", &fields, "").status(), "403 Forbidden");
    let wrong = server.request("POST", "/dashboard/tokens?access=write", "");
    assert_eq!((wrong.status(), wrong.text("error").as_str()), ("400 Bad Request", "Invalid query."));
    assert_eq!(ask(&server, "DELETE", "/dashboard/session", &fields, "").status(), "200 OK");
}

#[test]
fn a_session_begins_no_other() {
    let server = Server::start(Setup::default());
    let cookie = cookie(&begin(&server, &token(&server, "")));
    let fields = [BROWSER[0], BROWSER[1], &cookie];
    for query in ["", "?access=read"] {
        let refused = ask(&server, "POST", &format!("/dashboard/tokens{query}"), &fields, "");
        assert_eq!(refused.status(), "403 Forbidden");
        assert!(refused.text("detail").contains("corral dashboard"), "{refused:?}");
    }
}

#[test]
fn unknown_clients_send_little() {
    let server = Server::start(Setup { token: Some("0123456789abcdef"), ..Setup::default() });
    let body = |len: usize| format!("{{\"token\": \"{}\"}}", "x".repeat(len - 13));
    for (method, target, len, status) in [
        ("POST", "/dashboard/session", 4096, "401 Unauthorized"),
        ("POST", "/dashboard/session", 4097, "413 Payload Too Large"),
        ("GET", "/dashboard/session", 4097, "413 Payload Too Large"),
        ("GET", "/dashboard/", 14, "413 Payload Too Large"),
        ("POST", "/dashboard/", 14, "413 Payload Too Large"),
        ("PUT", "/config", 4097, "401 Unauthorized"),
    ] {
        let reply = ask(&server, method, target, &BROWSER[1..], &body(len));
        assert_eq!(reply.status(), status, "{method} {target}");
    }
    // More is not even waited for.
    let huge = "POST /dashboard/session HTTP/1.1\r\nHost: localhost\r\nContent-Length: 67108864\r\n\r\n{";
    assert_eq!(server.raw(huge.as_bytes()).status(), "413 Payload Too Large");
}

#[test]
fn control_tokens_begin_sessions_too() {
    let server = Server::start(Setup { token: Some("0123456789abcdef"), ..Setup::default() });
    let origin = BROWSER[1];
    let body = r#"{"token": "0123456789abcdef"}"#;
    let first = ask(&server, "POST", "/dashboard/session", &[origin], body);
    let cookie = cookie(&first);
    assert_eq!(ask(&server, "PUT", "/config", &[origin, &cookie], "{}").status(), "200 OK");
    assert_eq!(ask(&server, "GET", "/config", &[&cookie], "").status(), "200 OK");
    let tls = ask(&server, "POST", "/dashboard/session", &["Origin: https://127.0.0.1:80"], body);
    assert!(tls.head.contains("; Secure"), "{tls:?}");
    for (body, status) in [
        ("", "400 Bad Request"),
        ("{}", "400 Bad Request"),
        ("[1]", "400 Bad Request"),
        (r#"{"token": 1}"#, "400 Bad Request"),
        (r#"{"token": ""}"#, "401 Unauthorized"),
        (r#"{"token": "0123456789abcdeg"}"#, "401 Unauthorized"),
    ] {
        let reply = ask(&server, "POST", "/dashboard/session", &[origin], body);
        assert_eq!(reply.status(), status, "{body}");
        assert!(!reply.head.contains("Set-Cookie"), "{reply:?}");
    }
}

#[test]
fn every_answer_of_the_dashboard_is_guarded() {
    let server = Server::start(Setup::default());
    let foreign = ["Corral-Dashboard: 1", "Origin: http://evil.example"];
    for (method, target, fields) in [
        ("GET", "/dashboard", &BROWSER),
        ("GET", "/dashboard/", &BROWSER),
        ("GET", "/dashboard/session", &BROWSER),
        ("GET", "/dashboard/assets/app.js", &BROWSER),
        ("GET", "/dashboard/nothing", &BROWSER),
        ("POST", "/dashboard/session", &foreign),
    ] {
        let reply = ask(&server, method, target, fields, "");
        for field in [
            "Content-Security-Policy: default-src 'none'; script-src 'self'",
            "frame-ancestors 'none'\r\n",
            "X-Frame-Options: DENY",
            "X-Content-Type-Options: nosniff",
            "Referrer-Policy: no-referrer",
            "Cross-Origin-Opener-Policy: same-origin",
            "Cross-Origin-Resource-Policy: same-origin",
        ] {
            assert!(reply.head.contains(field), "{target}: {field} is not in {}", reply.head);
        }
    }
    let moved = ask(&server, "GET", "/dashboard", &BROWSER, "");
    assert!(
        moved.status() == "301 Moved Permanently" && moved.head.contains("Location: /dashboard/"),
        "{moved:?}"
    );
    assert!(!server.get("/config").head.contains("Content-Security-Policy"));
}

#[test]
fn what_a_browser_sends_is_not_a_user_of_this_machine() {
    let server = Server::start(Setup {
        document: Some(r#"{"applications": {"a": {"type": "php", "root": "/"}}}"#),
        ..Setup::default()
    });
    let cookie = cookie(&begin(&server, &token(&server, "")));
    let fields = [BROWSER[0], BROWSER[1], &cookie];
    let exec = ask(&server, "GET", "/control/applications/a/exec", &fields, "");
    assert_eq!(exec.status(), "403 Forbidden");
    assert_eq!(
        ask(&server, "GET", "/control/applications/a/restart", &fields, "").status(),
        "405 Method Not Allowed"
    );
    assert_eq!(ask(&server, "POST", "/control/applications/a/restart", &fields, "").status(), "200 OK");
}
