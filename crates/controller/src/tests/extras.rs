//! Extensions of Unit's API: conditions, dry runs, the OpenAPI document, the token.

use corral_config::json::Value;
use corral_ipc::message::ChangeOrigin;

use super::fake_main::Event;
use super::{Response, Server, Setup};

fn in_force(document: &'static str) -> Server {
    Server::start(Setup { document: Some(document), origin: ChangeOrigin::InForce, ..Setup::default() })
}

fn with_field(server: &Server, method: &str, target: &str, field: &str, body: &str) -> Response {
    let len = body.len();
    let request =
        format!("{method} {target} HTTP/1.1\r\nHost: x\r\n{field}\r\nContent-Length: {len}\r\n\r\n{body}");
    server.raw(request.as_bytes())
}

fn tag(answer: &Response) -> String {
    let line = answer.head.lines().find_map(|line| line.strip_prefix("Etag: ")).map(str::to_owned);
    line.unwrap_or_else(|| panic!("no tag: {}", answer.head))
}

#[test]
fn a_change_can_depend_on_what_was_read() {
    let server = in_force(r#"{"routes": []}"#);
    let first = tag(&server.get("/config"));
    assert_eq!(tag(&server.get("/config/routes")), first, "of the whole configuration");
    let if_match = format!("If-Match: {first}");
    let changed = with_field(&server, "PUT", "/config/access_log", &if_match, r#""/x""#);
    assert_eq!(changed.status(), "200 OK");
    let second = tag(&changed);
    assert_ne!(first, second);
    assert_eq!(tag(&server.get("/config")), second);
    for method in ["PUT", "DELETE"] {
        let late = with_field(&server, method, "/config/access_log", &if_match, r#""/y""#);
        assert_eq!(late.status(), "412 Precondition Failed");
        assert_eq!(late.text("error"), "Precondition failed.");
    }
    let create = "If-None-Match: *";
    let exists = with_field(&server, "PUT", "/config/access_log", create, r#""/y""#);
    assert_eq!(exists.status(), "412 Precondition Failed");
    assert_eq!(with_field(&server, "PUT", "/config/listeners", create, "{}").status(), "200 OK");
    server.check("GET", "/config/access_log", "", "200 OK", r#""/x""#);
}

#[test]
fn a_reader_is_told_that_nothing_changed() {
    let server = in_force("{}");
    let tag = tag(&server.get("/config"));
    let answer = with_field(&server, "GET", "/config", &format!("If-None-Match: {tag}"), "");
    assert_eq!((answer.status(), answer.body.as_str()), ("304 Not Modified", ""));
    assert_eq!(with_field(&server, "GET", "/config", "If-None-Match: \"x\"", "").status(), "200 OK");
}

#[test]
fn a_dry_run_changes_nothing() {
    let server = in_force(r#"{"routes": []}"#);
    let valid = r#"{"success": "The configuration is valid; nothing has been changed."}"#;
    server.check("PUT", "/config/access_log?dry_run=true", r#""/refuse""#, "200 OK", valid);
    server.check("DELETE", "/config/routes?dry_run=true", "", "200 OK", valid);
    server.check("POST", "/config/routes?dry_run=true", r#"{"action": {"return": 200}}"#, "200 OK", valid);
    let invalid = server.request("PUT", "/config?dry_run=true", r#"{"x": 1}"#);
    assert_eq!(
        (invalid.status(), invalid.text("error").as_str()),
        ("400 Bad Request", "Invalid configuration.")
    );
    let unclear = server.request("DELETE", "/config?dry_run=maybe", "");
    assert_eq!((unclear.status(), unclear.text("error").as_str()), ("400 Bad Request", "Invalid query."));
    server.check("GET", "/config", "", "200 OK", r#"{"routes": []}"#);
    server.check("PUT", "/config/routes", "[]", "200 OK", r#"{"success": "Reconfiguration done."}"#);
    assert!(matches!(server.event(), Event::Apply { generation: 8, .. }), "main heard of nothing else");
}

#[test]
fn the_token_has_to_be_shown() {
    let server = Server::start(Setup { token: Some("0123456789abcdef"), ..Setup::default() });
    let answer = server.get("/config");
    assert_eq!((answer.status(), answer.text("error").as_str()), ("401 Unauthorized", "Unauthorized."));
    assert!(answer.head.contains("Www-Authenticate: Bearer"), "{}", answer.head);
    assert_eq!(server.request("PUT", "/config", "{}").status(), "401 Unauthorized");
    let wrong = with_field(&server, "GET", "/config", "Authorization: Bearer 0123456789abcdeF", "");
    assert_eq!(wrong.status(), "401 Unauthorized");
    let right = with_field(&server, "GET", "/config", "Authorization: Bearer 0123456789abcdef", "");
    assert_eq!(right.status(), "200 OK");
}

#[test]
fn long_heads_and_names_are_dealt_with() {
    let server = in_force("{}");
    let long = format!("X-Long: {}", "x".repeat(100_000));
    assert_eq!(with_field(&server, "GET", "/config", &long, "").status(), "200 OK");
    let path = format!("/config/{}", "x".repeat(257));
    assert_eq!(server.get(&path).status(), "404 Not Found");
    for method in ["PUT", "POST", "DELETE"] {
        assert_eq!(server.request(method, &path, "1").status(), "500 Internal Server Error");
    }
    let path = format!("/config/{}", "x".repeat(256));
    assert_eq!(server.request("PUT", &path, "1").status(), "400 Bad Request", "an unknown parameter");
}

/// Whether every reference leads somewhere.
fn check_references(root: &Value, value: &Value) {
    if let Some(reference) = value.member("$ref").and_then(Value::as_bytes) {
        let path = reference.to_str().unwrap().strip_prefix("#/").unwrap();
        let found = path.split('/').try_fold(root, |value, name| value.member(name));
        assert!(found.is_some(), "{path}");
    }
    for (_, member) in value.as_object().into_iter().flatten() {
        check_references(root, member);
    }
    for element in value.as_array().unwrap_or_default() {
        check_references(root, element);
    }
}

#[test]
fn the_openapi_document_is_whole() {
    let server = in_force("{}");
    let document = server.get("/openapi.json").json();
    assert_eq!(document.member("openapi"), Some(&Value::from("3.1.0")));
    for member in ["title", "version"] {
        assert!(document.member("info").unwrap().member(member).is_some());
    }
    check_references(&document, &document);
    let paths = document.member("paths").and_then(Value::as_object).unwrap();
    for (template, item) in paths {
        let braces = template.iter().filter(|&&byte| byte == b'{').count();
        let declared = item.member("parameters").and_then(Value::as_array).map_or(0, <[Value]>::len);
        assert_eq!(braces, declared, "{template}");
        for (method, operation) in item.as_object().unwrap() {
            if **method != *b"parameters" {
                assert!(operation.member("summary").is_some(), "{method} {template}");
                assert!(
                    operation.member("responses").unwrap().member("200").is_some(),
                    "{method} {template}"
                );
            }
        }
    }
    for path in ["/", "/config", "/config/{path}", "/certificates/{name}", "/status", "/openapi.json"] {
        assert!(paths.contains_key(path.as_bytes()), "{path}");
    }
    let schemas = document.member("components").unwrap().member("schemas").unwrap();
    let configuration = schemas.member("Configuration").unwrap().member("properties").unwrap();
    assert!(configuration.member("listeners").is_some() && configuration.member("access_log").is_some());
    for schema in ["Success", "Error"].iter().filter_map(|name| schemas.member(name)) {
        let members = schema.member("properties").and_then(Value::as_object).unwrap();
        assert!(members.values().all(|member| member.member("description").is_some()), "{schema:?}");
    }
}
