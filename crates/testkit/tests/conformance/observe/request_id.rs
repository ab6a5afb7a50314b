//! `settings.http.request_id`: one value for a request in headers, logs and traces.

use corral_testkit::{Daemon, Origin, Request, daemon, eventually};
use serde_json::{Value, json};

/// A daemon that passes requests on to a server which answers with what it got; its access log has IDs alone.
fn serve(request_id: Value, forwarded: Value) -> (Daemon, Origin) {
    let origin = Origin::echo();
    let mut config = json!({
        "settings": { "http": { "request_id": request_id } },
        "routes": [
            { "match": { "uri": "/none" }, "action": { "return": 404 } },
            { "match": { "uri": "/body" }, "action": { "return": 200, "body": "$request_id" } },
            { "action": { "proxy": origin.url() } },
        ],
    });
    let server = daemon().start_unconfigured();
    let log = server.path("access.log");
    config["access_log"] = json!({ "path": log, "format": "$request_uri $request_id" });
    let mut config = server.with_listener(config);
    if !forwarded.is_null() {
        let listeners = config["listeners"].as_object_mut().expect("listeners");
        listeners.values_mut().for_each(|listener| listener["forwarded"] = forwarded.clone());
    }
    server.control().put("/config", &config).expect_done();
    (server, origin)
}

/// The values of the header in the request as the server got it.
fn sent<'t>(text: &'t str, header: &str) -> Vec<&'t str> {
    let is_named =
        |line: &&str| line.split_once(':').is_some_and(|(name, _)| name.eq_ignore_ascii_case(header));
    text.lines().filter(is_named).filter_map(|line| Some(line.split_once(": ")?.1)).collect()
}

fn is_new(id: &str) -> bool {
    id.len() == 32 && id.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Options: settings.http.request_id
#[test]
fn one_value_is_sent_to_everything() {
    let (server, _origin) = serve(json!(true), Value::Null);
    let reply = server.send(&Request::get("/first").field("X-Request-Id", "forged")).expect(200);
    let id = reply.field("X-Request-Id").expect("an ID").to_owned();
    assert!(is_new(&id), "{id}");
    assert_eq!(sent(&reply.text(), "X-Request-Id"), [&*id]);
    let own = server.get("/body").expect(200);
    assert_eq!(own.field("X-Request-Id"), Some(own.text().as_str()));
    let logged = || std::fs::read_to_string(server.path("access.log")).unwrap_or_default();
    eventually("the entry", || logged().contains(&format!("/first {id}")).then_some(()));
    let missing = server.get("/none").expect(404);
    assert!(missing.field("X-Request-Id").is_some_and(is_new), "{missing}");
    let other = server.get("/first").field("X-Request-Id").expect("an ID").to_owned();
    assert_ne!(other, id);
}

/// Options: settings.http.request_id.keep
#[test]
fn a_value_is_kept_from_those_that_are_trusted() {
    let trusting = json!({ "client_ip": "X-Forwarded-For", "source": "127.0.0.1" });
    let distrusting = json!({ "client_ip": "X-Forwarded-For", "source": "10.0.0.1" });
    for (keep, forwarded, is_kept) in [
        ("trusted", &trusting, true),
        ("trusted", &distrusting, false),
        ("trusted", &Value::Null, false),
        ("always", &Value::Null, true),
        ("never", &trusting, false),
    ] {
        let (server, _origin) = serve(json!({ "keep": keep }), forwarded.clone());
        let check = |request: Request, kept: Option<&str>| {
            let reply = server.send(&request).expect(200);
            let id = reply.field("X-Request-Id").expect("an ID").to_owned();
            assert_eq!(sent(&reply.text(), "X-Request-Id"), [&*id], "{keep} {forwarded}\n{reply}");
            match kept.filter(|_| is_kept) {
                Some(kept) => assert_eq!(id, kept, "{keep} {forwarded}"),
                None => assert!(is_new(&id), "{keep} {forwarded}: {id}"),
            }
        };
        let with = |id: &str| Request::get("/").field("X-Request-Id", id);
        check(with("abc-1_2.Z"), Some("abc-1_2.Z"));
        check(Request::get("/").field("x-request-ID", &"z".repeat(128)), Some(&"z".repeat(128)));
        for refused in ["", "a b", "a\"b", "a/b", "caf\u{e9}", &"z".repeat(129)] {
            check(with(refused), None);
        }
        check(with("a").field("X-Request-Id", "b"), None);
    }
}

/// Options: settings.http.request_id.header, settings.http.request_id.respond
#[test]
fn the_header_has_a_name_and_clients_need_not_see_it() {
    let (server, _origin) =
        serve(json!({ "header": "X-Correlation-Id", "respond": false, "keep": "always" }), Value::Null);
    let request = Request::get("/").field("X-Correlation-Id", "mine").field("X-Request-Id", "other");
    let reply = server.send(&request).expect(200).expect_no_field("X-Correlation-Id");
    assert_eq!(sent(&reply.text(), "X-Correlation-Id"), ["mine"]);
    assert_eq!(sent(&reply.text(), "X-Request-Id"), ["other"]);
    let (server, _origin) = serve(json!(false), Value::Null);
    let reply = server.send(&Request::get("/").field("X-Request-Id", "mine")).expect(200);
    assert_eq!(sent(&reply.text(), "X-Request-Id"), ["mine"]);
    reply.expect_no_field("X-Request-Id");
}

#[test]
fn wrong_values_are_refused() {
    let server = daemon().start_unconfigured();
    for (value, detail) in [
        (json!("yes"), "The \"request_id\" value must be either a boolean or an object"),
        (json!({ "keep": "sometimes" }), "The \"keep\" value must be \"trusted\", \"always\" or \"never\"."),
        (json!({ "header": "" }), "The \"header\" string must not be empty."),
        (json!({ "header": "a b" }), "is not a header that can be used here"),
        (json!({ "header": "Content-Length" }), "is not a header that can be used here"),
    ] {
        let config = json!({ "settings": { "http": { "request_id": value } } });
        let refused = server.control().put("/config", &config).expect_refused(400, "Invalid configuration.");
        assert!(refused.contains(detail), "{refused}");
    }
}
