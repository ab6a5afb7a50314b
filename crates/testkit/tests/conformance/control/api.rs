//! Sections 3 and 4: the control API and its JSON dialect, and what Corral adds to them.

use std::os::unix::process::CommandExt as _;
use std::process::Command;

use corral_testkit::{Client, ControlReply, Daemon, Request, Run, daemon, eventually, php_app, site};
use serde_json::{Value, json};

const CERTIFICATE: &str = concat!(
    include_str!("../../../../controller/src/bundle/testdata/rsa.crt"),
    include_str!("../../../../controller/src/bundle/testdata/rsa.key")
);
const OTHER_CERTIFICATE: &str = concat!(
    include_str!("../../../../controller/src/bundle/testdata/ec.crt"),
    include_str!("../../../../controller/src/bundle/testdata/ec.key")
);

fn server() -> Daemon {
    daemon().routes(json!([{ "action": { "return": 200 } }])).start()
}

fn ask(server: &Daemon, method: &str, path: &str, body: &str) -> ControlReply {
    server.control().send(&Request::new(method, path).body(body))
}

#[track_caller]
fn check(server: &Daemon, method: &str, path: &str, body: &str, status: u16, expect: &Value) {
    let reply = ask(server, method, path, body);
    let got = reply.json();
    reply.0.expect(status);
    for (name, value) in expect.as_object().expect("an object") {
        assert_eq!(&got[name], value, "{method} {path}: {got}");
    }
}

fn error(title: &str) -> Value {
    json!({ "error": title })
}

#[test]
fn one_request_for_each_connection_with_unit_s_head() {
    let server = server();
    let mut client = Client::try_connect_unix(&server.control_socket()).expect("it listens");
    client.write("GET /config/routes/0/action/return HTTP/1.1\r\n\r\nGET /config HTTP/1.1\r\n\r\n");
    let text = String::from_utf8(client.read_to_end()).expect("text");
    let lines: Vec<_> = text.split("\r\n").collect();
    assert_eq!(lines[0], "HTTP/1.1 200 OK");
    let names: Vec<_> = lines[1..6].iter().map(|line| line.split(':').next().expect("a name")).collect();
    assert_eq!(names, ["Server", "Date", "Content-Type", "Content-Length", "Connection"]);
    assert!(text.ends_with("\r\n\r\n200\r\n"), "{text}");
}

#[test]
fn every_path_and_method_has_its_reply() {
    let server = server();
    let (invalid, not_allowed) = (error("Invalid method."), error("Method isn't allowed."));
    let missing = error("Value doesn't exist.");
    for method in ["PUT", "POST", "DELETE", "PATCH"] {
        check(&server, method, "/", "1", 405, &invalid);
        check(&server, method, "/status", "1", 405, &invalid);
        check(&server, method, "/status/requests", "1", 405, &invalid);
        check(&server, method, "/certificates", "1", 400, &error("Invalid certificate name."));
        check(&server, method, "/certificates/a/b", "1", 400, &error("Invalid certificate name."));
        check(&server, method, "/js_modules", "1", 400, &error("Invalid JS module name."));
        check(&server, method, "/js_modules/a/b", "1", 400, &error("Invalid JS module name."));
        check(&server, method, "/nothing", "1", 404, &missing);
    }
    for method in ["POST", "PATCH", "OPTIONS"] {
        check(&server, method, "/certificates/a", "1", 405, &invalid);
        check(&server, method, "/js_modules/a", "1", 405, &invalid);
    }
    check(&server, "POST", "/config", "{}", 405, &not_allowed);
    check(&server, "PATCH", "/config/routes", "{}", 405, &not_allowed);
    check(&server, "GET", "/nothing", "", 404, &missing);
    check(&server, "GET", "/control", "", 404, &missing);
    check(&server, "GET", "/control/applications/x/restart", "", 404, &missing);
    check(&server, "GET", "/control/applications/x/stop", "", 404, &missing);
    check(&server, "GET", "/status/nothing", "", 404, &error("Invalid path."));
    check(&server, "GET", "/certificates/x", "", 404, &error("Certificate doesn't exist."));
    check(&server, "DELETE", "/certificates/x", "", 404, &error("Certificate doesn't exist."));
    check(&server, "GET", "/js_modules/x", "", 404, &error("JS module doesn't exist."));
    check(&server, "DELETE", "/js_modules/x", "", 404, &error("JS module doesn't exist."));
    let index = server.control().get("/").json();
    let members: Vec<_> = index.as_object().expect("an object").keys().map(String::as_str).collect();
    assert_eq!(members, ["certificates", "js_modules", "config", "status"]);
    server.control().send(&Request::new("HEAD", "/config")).0.expect(200).expect_body("");
}

#[test]
fn paths_are_normalised_and_decoded_once_more_in_each_segment() {
    let server = server();
    let steps = json!([{ "action": { "return": 201 } }]);
    server
        .control()
        .put("/config", &json!({ "routes": { "a/b": steps, "c%d": [], "e f": [] } }))
        .expect_done();
    for (path, length) in [
        ("/config/routes/a%2Fb", 1),
        ("/config//routes/./x/../a%2Fb/", 1),
        ("/config/routes/c%25d", 0),
        ("/config/routes/e%20f", 0),
        ("/%63onfig/routes/e%20f?query#fragment", 0),
    ] {
        let value = server.control().get(path).json();
        assert_eq!(value.as_array().map(Vec::len), Some(length), "{path}: {value}");
    }
    for path in [
        "/config/routes/a/b",
        "/config/routes/%2",
        "/config/../../config",
        "/Config",
        "/config/routes/a%252Fb",
        "/config/routes/c%2525d",
    ] {
        server.control().get(path).expect_refused(404, "Value doesn't exist.");
    }
    let long = format!("/config/routes/{}", "n".repeat(257));
    server.control().get(&long).expect_refused(404, "Value doesn't exist.");
    server.control().put(&long, &json!([])).0.expect(500);
}

#[test]
fn updates_follow_the_rules() {
    let server = server();
    let control = server.control();
    let missing = error("Value doesn't exist.");
    let step = r#"{"action": {"return": 202}}"#;
    check(&server, "PUT", "/config/routes/1", step, 200, &json!({ "success": "Reconfiguration done." }));
    check(&server, "PUT", "/config/routes/3", step, 404, &missing);
    check(&server, "POST", "/config/routes", step, 200, &json!({ "success": "Reconfiguration done." }));
    check(&server, "POST", "/config/nothing", step, 404, &missing);
    check(&server, "POST", "/config/routes/0", step, 405, &error("Method isn't allowed."));
    check(&server, "POST", "/config/routes/0/action/return", "1", 405, &error("Method isn't allowed."));
    check(&server, "PUT", "/config/a/b", "1", 404, &missing);
    check(&server, "PUT", "/config/routes/0/action/return/x", "1", 404, &missing);
    check(&server, "PUT", "/config/routes/0/action/return/x/y", "1", 404, &missing);
    check(&server, "DELETE", "/config/routes/7", "", 404, &missing);
    check(&server, "DELETE", "/config/routes/1", "", 200, &json!({ "success": "Reconfiguration done." }));
    assert_eq!(control.get("/config/routes").json().as_array().map(Vec::len), Some(2));
    control.put("/config/routes/0/action/return", &json!(204)).expect_done();
    let members = control.get("/config").json();
    let members: Vec<_> = members.as_object().expect("an object").keys().cloned().collect();
    assert_eq!(members.len(), 2, "{members:?}");
    check(&server, "DELETE", "/config/routes", "", 400, &error("Invalid configuration."));
    control.delete("/config").expect_done();
    assert_eq!(control.get("/config").json(), json!({}));
}

/// `place` is offset, line and column.
#[track_caller]
fn check_syntax(server: &Daemon, body: &[u8], place: (u64, u64, u64)) {
    let reply = server.control().send(&Request::new("PUT", "/config").body(body));
    let got = reply.json();
    reply.0.expect(400);
    let (offset, line, column) = place;
    assert_eq!(got["error"], "Invalid JSON.");
    assert_eq!(got["location"]["offset"], offset, "{got}");
    assert_eq!(
        (&got["location"]["line"], &got["location"]["column"]),
        (&json!(line), &json!(column)),
        "{got}"
    );
    assert!(got["detail"].as_str().is_some_and(|detail| !detail.is_empty()), "{got}");
}

#[test]
fn syntax_errors_have_a_place() {
    let server = server();
    check_syntax(&server, b"", (0, 1, 1));
    check_syntax(&server, b"{\"a\": 1,\n \"a\": 2}", (10, 2, 2));
    check_syntax(&server, "\u{feff}{\n  \"é\": tru\n}".as_bytes(), (10, 2, 8));
    check_syntax(&server, b"{} {}", (3, 1, 4));
    check_syntax(&server, b"{a: 1}", (1, 1, 2));
    check_syntax(&server, b"[01]", (1, 1, 2));
    check_syntax(&server, b"[1e19]", (1, 1, 2));
    check_syntax(&server, b"[123456789012345]", (1, 1, 2));
    check_syntax(&server, b"[\"\\ud800\"]", (2, 1, 3));
    check_syntax(&server, b"{\"a\":\n \"\xc3\xa9\xff\", x]", (10, 2, 4));
    check_syntax(&server, b"{\"routes\": [], \"a\": \"\xc3", (21, 1, 22));
    check_syntax(&server, b"\xff\xfe{\0}\0", (0, 1, 1));
    check_syntax(&server, b"{\"\xed\xa0\x80\": 1}", (2, 1, 3));
    let part = Request::new("PUT", "/config/access_log").body(b"\"/tmp/\xff\"");
    assert!(server.control().send(&part).expect_refused(400, "Invalid JSON.").contains("not valid UTF-8"));
    assert_eq!(server.control().get("/config/routes/0/action/return").json(), 200);
}

#[test]
fn the_dialect_is_accepted_and_spelling_and_order_are_kept() {
    let server = server();
    let body = "\u{feff}// a comment\n{ \"routes\": [ { \"action\": { \"return\": 2.01e2, }, }, /* two */ \
        ],\n\"access_log\": \"/dev/null\", \"applications\": {}, }";
    server.control().put_text("/config", body).expect_done();
    let text = server.control().get("/config").0.text();
    assert_eq!(
        text,
        "{\r\n\t\"routes\": [\r\n\t\t{\r\n\t\t\t\"action\": {\r\n\t\t\t\t\"return\": \
        2.01e2\r\n\t\t\t}\r\n\t\t}\r\n\t],\r\n\r\n\t\"access_log\": \"/dev/null\",\r\n\t\"applications\": {}\r\n}\r\n"
    );
}

#[test]
fn heads_may_be_long_and_bodies_in_chunks() {
    let server = server();
    let long = Request::get("/config").field("X-Long", &"x".repeat(20_000));
    server.control().send(&long).0.expect(200);
    let mut client = Client::try_connect_unix(&server.control_socket()).expect("it listens");
    client.write("PUT /config HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n");
    client.read_response().expect(200).expect_text("Reconfiguration done.");
}

#[test]
fn an_application_is_restarted() {
    let site = site().file("index.php", "<?php echo getmypid();");
    let server = daemon().application(php_app(&site)).start();
    let before = server.get("/").text();
    for method in ["PUT", "DELETE", "HEAD"] {
        let reply = server.control().send(&Request::new(method, "/control/applications/php/restart"));
        reply.0.expect(405);
    }
    check(&server, "GET", "/control/applications/php/restart", "", 200, &json!({ "success": "Ok" }));
    let after = server.get("/").text();
    check(&server, "POST", "/control/applications/php/restart", "", 200, &json!({ "success": "Ok" }));
    assert!(after != before && server.get("/").text() != after);
}

#[test]
fn bundles_are_kept_shown_guarded_and_replaced() {
    let mut server = server();
    let uploaded = json!({ "success": "Certificate chain uploaded." });
    check(&server, "PUT", "/certificates/a", CERTIFICATE, 200, &uploaded);
    check(&server, "PUT", "/certificates/a", CERTIFICATE, 400, &error("Certificate already exists."));
    check(&server, "PUT", "/certificates/b", "-----BEGIN", 400, &error("Invalid certificate."));
    let info = server.control().get("/certificates/a").json();
    assert_eq!(info["key"], "RSA (2048 bits)");
    assert_eq!(info["chain"][0]["subject"]["alt_names"], json!(["example.com", "*.example.com"]));
    assert_eq!(server.control().get("/certificates/a/chain/0/issuer/country").json(), "DE");
    check(&server, "GET", "/certificates/a/chain/1", "", 404, &error("Invalid path."));
    server.stop();
    server.restart();
    assert_eq!(server.control().get("/certificates").json(), json!({ "a": info }));
    check(&server, "PUT", "/certificates/a?replace=true", OTHER_CERTIFICATE, 200, &uploaded);
    assert_eq!(server.control().get("/certificates/a/key").json(), "ECDH");
    check(&server, "DELETE", "/certificates/a", "", 200, &json!({ "success": "Certificate deleted." }));
    assert!(!server.path("state/certs/a").exists());
}

/// Options: listeners.{addr}.tls.certificate
#[test]
fn a_bundle_in_use_stays() {
    let server = server();
    check(&server, "PUT", "/certificates/a", CERTIFICATE, 200, &json!({}));
    let listener = format!("/config/listeners/{}/tls", server.address());
    server.control().put(&listener, &json!({ "certificate": "a" })).expect_done();
    check(&server, "DELETE", "/certificates/a", "", 400, &error("Certificate is used in the configuration."));
    let replaced = json!({ "success": "Certificate chain uploaded." });
    check(&server, "PUT", "/certificates/a?replace=true", OTHER_CERTIFICATE, 200, &replaced);
    server.control().delete(&listener).expect_done();
    check(&server, "DELETE", "/certificates/a", "", 200, &json!({ "success": "Certificate deleted." }));
}

/// Options: listeners.{addr}.tls.client.ca
#[test]
fn authorities_are_uploaded_without_a_key_on_demand() {
    let server = server();
    let authority = include_str!("../../../../controller/src/bundle/testdata/ec.crt");
    check(&server, "PUT", "/certificates/ca", authority, 400, &error("Invalid certificate."));
    check(&server, "PUT", "/certificates/ca?ca=true", authority, 200, &json!({}));
    let about = server.control().get("/certificates/ca").json();
    assert_eq!((about.get("key"), about["chain"].as_array().map(Vec::len)), (None, Some(1)), "{about}");
    let tls = format!("/config/listeners/{}/tls", server.address());
    let detail = server.control().put(&tls, &json!({ "certificate": "ca" }));
    let detail = detail.expect_refused(500, "Failed to apply new configuration.");
    assert!(detail.contains("no private key"), "{detail}");
    check(&server, "PUT", "/certificates/a", CERTIFICATE, 200, &json!({}));
    server.control().put(&tls, &json!({ "certificate": "a", "client": { "ca": "ca" } })).expect_done();
    check(
        &server,
        "DELETE",
        "/certificates/ca",
        "",
        400,
        &error("Certificate is used in the configuration."),
    );
}

/// Options: settings.js_module
#[test]
fn modules_are_kept_shown_guarded_and_checked() {
    let server = server();
    let source = "export default { answer: 42 }";
    check(&server, "PUT", "/js_modules/m", source, 200, &json!({ "success": "JS module uploaded." }));
    assert_eq!(server.control().get("/js_modules").json(), json!({ "m": source }));
    check(&server, "PUT", "/js_modules/m", source, 400, &error("JS module already exists."));
    let broken =
        ask(&server, "PUT", "/js_modules/x", "export default {").expect_refused(400, "Invalid JS module.");
    assert!(!broken.is_empty());
    server.control().put("/config/settings", &json!({ "js_module": "m" })).expect_done();
    check(&server, "DELETE", "/js_modules/m", "", 400, &error("JS module is used in the configuration."));
    server.control().delete("/config/settings").expect_done();
    check(&server, "DELETE", "/js_modules/m", "", 200, &json!({ "success": "JS module deleted." }));
}

/// Certificates and modules have the same rules, and what is refused is nowhere.
#[test]
fn names_of_uploads_have_rules() {
    let mut server = server();
    let kinds = [
        ("/certificates", CERTIFICATE, "Invalid certificate name."),
        ("/js_modules", "export default {}", "Invalid JS module name."),
    ];
    let long = "n".repeat(256);
    let bad = ["%00", "a%00b", "a%0ab", "a%0d", "%1b%5b2J", "%7f", "%c2%85", "%ff", "", "a/b", &long];
    let good = ["a", "a%20b", "www.example.org", "..%2520", "%c3%a9", "a%2Fb", ".hidden", "%2D-x"];
    for (folder, content, title) in kinds {
        for name in bad {
            ask(&server, "PUT", &format!("{folder}/{name}"), content).expect_refused(400, title);
        }
        assert_eq!(server.control().get(folder).json(), json!({}));
        for name in good {
            ask(&server, "PUT", &format!("{folder}/{name}"), content).0.expect(200);
        }
    }
    let names = |server: &Daemon, folder: &str| {
        let all = server.control().get(folder).json();
        all.as_object().expect("an object").keys().cloned().collect::<std::collections::BTreeSet<_>>()
    };
    let before = kinds.map(|(folder, ..)| names(&server, folder));
    assert!(before[0] == before[1] && before[0].len() == good.len(), "{before:?}");
    server.stop();
    server.restart();
    assert_eq!(kinds.map(|(folder, ..)| names(&server, folder)), before);
}

#[test]
fn a_refusal_names_every_problem_and_its_place() {
    let server = server();
    let wrong = json!({ "listner": {}, "routes": [{ "action": { "return": "x" } }] });
    let reply = server.control().put("/config", &wrong);
    let got = reply.json();
    reply.0.expect(400);
    assert_eq!(got["location"]["path"], "/listner");
    assert_eq!(got["suggestion"], "listeners");
    assert_eq!(got["errors"][1]["location"]["path"], "/routes/0/action/return");
}

/// Unit's words come first; what was probably meant follows.
#[test]
fn a_name_that_is_missing_is_found_by_its_misspelling() {
    let server = server();
    for (path, value, place, meant) in [
        ("/config/routes/0/action", json!({ "retrun": 200 }), "/routes/0/action/retrun", "return"),
        ("/config/routes/0/action", json!({ "Shares": "/a" }), "/routes/0/action/Shares", "share"),
        (
            "/config/applications",
            json!({ "a": { "typ": "php", "root": "/" } }),
            "/applications/a/typ",
            "type",
        ),
    ] {
        let reply = server.control().put(path, &value);
        let got = reply.json();
        reply.0.expect(400);
        assert!(got["detail"].as_str().is_some_and(|detail| !detail.contains("Unknown")), "{got}");
        assert_eq!(
            (&got["errors"][1]["location"]["path"], &got["errors"][1]["suggestion"]),
            (&json!(place), &json!(meant))
        );
    }
}

#[test]
fn a_failure_to_apply_says_why() {
    let server = server();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = taken.local_addr().expect("it is bound").to_string();
    let reply = server.control().put(&format!("/config/listeners/{address}"), &json!({ "pass": "routes" }));
    let detail = reply.expect_refused(500, "Failed to apply new configuration.");
    assert!(detail.contains(&address) && detail.contains("Address already in use"), "{detail}");
    server.get("/").expect(200);
}

#[test]
fn a_change_can_depend_on_an_earlier_read() {
    let server = server();
    let control = server.control();
    let tag = control.get("/config").0.field("ETag").expect("a tag").to_owned();
    let change = |field: &str, tag: &str| {
        let request = Request::new("PUT", "/config/routes/0/action/return").field(field, tag).body("201");
        control.send(&request)
    };
    change("If-Match", &tag).expect_done();
    change("If-Match", &tag).expect_refused(412, "Precondition failed.");
    change("If-None-Match", "*").expect_refused(412, "Precondition failed.");
    let now = control.get("/config").0.field("ETag").expect("a tag").to_owned();
    control.send(&Request::get("/config").field("If-None-Match", &now)).0.expect(304).expect_body("");
}

#[test]
fn a_dry_run_changes_nothing() {
    let server = server();
    let reply = ask(&server, "DELETE", "/config?dry_run=true", "").json();
    assert_eq!(reply["success"], "The configuration is valid; nothing has been changed.");
    ask(&server, "PUT", "/config?dry_run=true", "{\"x\": 1}").expect_refused(400, "Invalid configuration.");
    server.get("/").expect(200);
}

/// Every option name that the schema knows, as a path; each is described.
fn options(schema: &Value, path: &str, found: &mut Vec<String>) {
    for (name, member) in schema["properties"].as_object().into_iter().flatten() {
        let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
        assert!(member["description"].as_str().is_some_and(|text| !text.is_empty()), "{path}: {member}");
        options(member, &path, found);
        found.push(path);
    }
    if schema["additionalProperties"].is_object() {
        options(&schema["additionalProperties"], &format!("{path}.{{}}"), found);
    }
    if schema["items"].is_object() {
        options(&schema["items"], &format!("{path}[]"), found);
    }
}

#[test]
fn the_openapi_document_describes_what_can_be_configured() {
    let server = server();
    let document = server.control().get("/openapi.json").json();
    assert_eq!(document["openapi"], "3.1.0");
    let mut found = Vec::new();
    options(&document["components"]["schemas"]["Configuration"], "", &mut found);
    for option in [
        "listeners.{}.pass",
        "listeners.{}.backlog",
        "listeners.{}.tls.certificate",
        "listeners.{}.tls.session.tickets",
        "listeners.{}.forwarded.recursive",
        "routes[].match.arguments",
        "routes[].match.if",
        "routes[].action.share",
        "routes[].action.fallback",
        "routes[].action.rewrite",
        "routes[].action.response_headers",
        "upstreams.{}.servers.{}.weight",
        "settings.listen_threads",
        "settings.http.static.mime_types",
        "settings.http.compression.compressors[].encoding",
        "access_log.format",
        "applications.{}.processes.spare",
        "applications.{}.limits.timeout",
        "applications.{}.targets.{}.script",
    ] {
        assert!(found.iter().any(|known| known == option), "{option} is not among {found:?}");
    }
    let timeout = &document["components"]["schemas"]["Configuration"]["properties"]["settings"]["properties"]
        ["http"]["properties"]["send_timeout"];
    let text = "seconds between two successful writes to the client; then the connection is closed";
    assert_eq!(*timeout, json!({ "description": text, "default": 30, "type": "integer" }));
}

#[test]
fn the_control_socket_is_the_owners() {
    use std::os::unix::fs::PermissionsExt;
    let server = daemon().start_unconfigured();
    let mode = std::fs::metadata(server.control_socket()).expect("it is there").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

/// An abstract name has no permissions: every user that can make processes here could run anything as root through it.
#[test]
fn an_abstract_name_is_for_root_and_the_daemon_s_starter() {
    if !rustix::process::geteuid().is_root() {
        return eprintln!("skipped: only root can start processes as other users");
    }
    let (site, name) = (site().writable_folder("state"), format!("corral-control-{}", std::process::id()));
    let (control, state) = (format!("unix:@{name}"), site.path("state").display().to_string());
    let options = ["daemon", "--no-daemon", "--control", &control, "--statedir", &state];
    let log = site.path("log").display().to_string();
    let pid = site.path("pid").display().to_string();
    let _run = Run::start(&[&options[..], &["--log", &log, "--pid", &pid]].concat());
    let question = "import socket, sys\ns = socket.socket(socket.AF_UNIX)\ns.connect('\\0' + sys.argv[1])\n\
                    s.sendall(b'GET /config HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n')\nprint(s.recv(12))";
    let ask = |uid: u32| {
        let mut python = Command::new("/usr/bin/python3");
        let output = python.args(["-c", question, &name]).current_dir("/").uid(uid).gid(uid).output();
        String::from_utf8_lossy(&output.expect("python3 is installed").stdout).trim().to_owned()
    };
    eventually("root may ask", || (ask(0) == "b'HTTP/1.1 200'").then_some(()));
    for other in [65534, 4001] {
        let said = ask(other);
        assert!(!said.contains("HTTP"), "user {other}: {said}");
    }
}
