//! The control API on a port, where browsers reach it: what a web page sends changes and tells nothing; what programs
//! send goes on working.

use corral_testkit::{Daemon, Request, daemon, php_app, site};
use serde_json::{Value, json};

use crate::tool::Tool;

const CERTIFICATE: &str = concat!(
    include_str!("../../../../controller/src/bundle/testdata/rsa.crt"),
    include_str!("../../../../controller/src/bundle/testdata/rsa.key")
);

const CHROME: &str =
    "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36";
const PAGES: &str = "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8";

fn server() -> Daemon {
    daemon().routes(json!([{ "action": { "return": 200 } }])).control_on_port().start()
}

/// The control API's own address, as a browser would write it.
fn own_host(server: &Daemon) -> String {
    server.control_address()
}

fn with_fields(mut request: Request, fields: &[(&str, &str)]) -> Request {
    for (name, value) in fields {
        request = request.field(name, value);
    }
    request
}

/// A request is refused with this status, says why, and nothing has changed.
#[track_caller]
fn check_refused(server: &Daemon, request: Request, status: u16) -> String {
    let before = server.control().get("/config").json();
    let reply = server.control().send(&request);
    let told: Value = reply.json();
    let reply = reply.0.expect(status);
    assert!(!reply.fields.iter().any(|(name, _)| name.to_ascii_lowercase().starts_with("access-control")));
    assert_eq!(server.control().get("/config").json(), before);
    assert_eq!(server.control().get("/certificates").json(), json!({}));
    assert_eq!(server.control().get("/js_modules").json(), json!({}));
    let detail = told["detail"].as_str().unwrap_or_default();
    assert!(told["error"].is_string() && !detail.is_empty(), "{told}");
    detail.to_owned()
}

const CHANGES: [(&str, &str, &str); 6] = [
    ("PUT", "/config/routes/0/action/return", "404"),
    ("POST", "/config/routes", r#"{"action": {"return": 404}}"#),
    ("DELETE", "/config", ""),
    ("PUT", "/certificates/evil", CERTIFICATE),
    ("PUT", "/js_modules/evil", "export default {}"),
    ("POST", "/control/applications/site/restart", ""),
];

#[test]
fn pages_of_other_origins_change_and_read_nothing() {
    let server = server();
    let own = own_host(&server);
    let pages: [&[(&str, &str)]; 6] = [
        &[("Origin", "https://evil.example"), ("Sec-Fetch-Site", "cross-site"), ("Sec-Fetch-Mode", "cors")],
        &[("Origin", "null")],
        &[("Origin", "http://127.0.0.1:3000")],
        &[("Sec-Fetch-Site", "cross-site"), ("Sec-Fetch-Mode", "no-cors"), ("Sec-Fetch-Dest", "script")],
        &[("Sec-Fetch-Site", "same-site")],
        &[("Origin", "http://localhost:1"), ("Content-Type", "application/json"), ("X-Requested-With", "x")],
    ];
    for page in pages {
        for (method, target, body) in CHANGES {
            let request = Request::new(method, target).field("Host", &own).field("User-Agent", CHROME);
            check_refused(&server, with_fields(request, page).body(body), 403);
        }
        check_refused(&server, with_fields(Request::get("/config").field("Host", &own), page), 403);
        let preflight = with_fields(Request::new("OPTIONS", "/config").field("Host", &own), page)
            .field("Access-Control-Request-Method", "PUT")
            .field("Access-Control-Request-Headers", "content-type")
            .field("Access-Control-Request-Private-Network", "true");
        check_refused(&server, preflight, 403);
    }
}

#[test]
fn a_name_that_was_made_to_lead_here_is_not_answered() {
    let server = server();
    let port = server.control_address().rsplit_once(':').expect("an address and a port").1.to_owned();
    for name in ["evil.example", "localhost.evil.example", "127.0.0.1.nip.io", "0.0.0.0", "192.168.1.1"] {
        let host = format!("{name}:{port}");
        // For its browser the page is of this origin.
        let page = [("Sec-Fetch-Site", "same-origin"), ("Content-Type", "application/json")];
        let origin = format!("http://{host}");
        for (method, target, body) in CHANGES {
            let request =
                Request::new(method, target).field("Host", &host).field("Origin", &origin).body(body);
            let detail = check_refused(&server, with_fields(request, &page), 403);
            assert!(detail.contains(&host) && detail.contains("--control-token-file"), "{detail}");
        }
        check_refused(&server, Request::get("/config").field("Host", &host), 403);
    }
}

/// Old browsers send neither `Origin` nor `Sec-Fetch-Site` with a form.
#[test]
fn a_form_without_an_origin_changes_nothing() {
    let server = server();
    let own = own_host(&server);
    for kind in ["application/x-www-form-urlencoded", "text/plain", "multipart/form-data; boundary=x"] {
        let form = Request::post("/config/routes").field("Host", &own).field("Content-Type", kind);
        let detail = check_refused(&server, form.body(r#"{"action": {"return": 404}}"#), 415);
        assert!(detail.contains("application/json") && detail.contains("X-Requested-With"), "{detail}");
    }
    // A form whose only field is a text of several lines: no second request is taken from its body.
    let smuggled = "PUT /config HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n{}";
    let form = Request::post("/config/routes").field("Host", &own).field("Content-Type", "text/plain");
    check_refused(&server, form.body(smuggled), 415);
}

#[test]
fn a_browser_restarts_nothing_by_a_link() {
    let site = site().file("index.php", "<?php echo getmypid();");
    let server = daemon().application(php_app(&site)).control_on_port().start();
    let own = own_host(&server);
    let before = server.get("/").text();
    let restart = "/control/applications/php/restart";
    for (name, value) in [
        ("Sec-Fetch-Site", "none"),
        ("Referer", "http://evil.example/"),
        ("User-Agent", CHROME),
        ("Accept", PAGES),
        ("Accept", "image/avif,image/webp,*/*"),
        ("Accept-Language", "en-GB"),
        ("Upgrade-Insecure-Requests", "1"),
    ] {
        let detail =
            check_refused(&server, Request::get(restart).field("Host", &own).field(name, value), 405);
        assert!(detail.contains("POST"), "{detail}");
    }
    check_refused(&server, Request::post(restart).field("Host", &own), 415);
    assert_eq!(server.get("/").text(), before);
    // What Unit's tools and curl send.
    let curl = Request::get(restart).field("User-Agent", "curl/8.5.0").field("Accept", "*/*");
    server.control().send(&curl).0.expect(200).expect_text("Ok");
    let second = server.get("/").text();
    let ended = Tool::new(&["restart", "php", "--control", &own]).run();
    assert!(ended.success, "{ended:?}");
    assert!(second != before && server.get("/").text() != second);
}

#[test]
fn a_page_of_the_api_s_own_origin_may_use_it() {
    let server = server();
    let own = own_host(&server);
    let origin = format!("http://{own}");
    let fields = [
        ("Host", &*own),
        ("Origin", &*origin),
        ("Sec-Fetch-Site", "same-origin"),
        ("Sec-Fetch-Mode", "cors"),
        ("User-Agent", CHROME),
        ("Content-Type", "application/json"),
    ];
    let change = Request::post("/config/routes").body(r#"{"action": {"return": 404}}"#);
    server.control().send(&with_fields(change, &fields)).expect_done();
    let typed = [("Host", &*own), ("Sec-Fetch-Site", "none"), ("Accept", PAGES), ("User-Agent", CHROME)];
    server.control().send(&with_fields(Request::get("/config"), &typed)).0.expect(200);
}

/// `curl -X PUT -d` and `--data-binary` say that the body is a form.
#[test]
fn scripts_go_on_working() {
    let server = server();
    let own = own_host(&server);
    let control = server.control();
    let curl = |method: &str, target: &str| {
        let kind = "application/x-www-form-urlencoded";
        Request::new(method, target).field("Host", &own).field("Accept", "*/*").field("Content-Type", kind)
    };
    control.send(&curl("PUT", "/config/routes/0/action/return").body("204")).expect_done();
    control.send(&curl("PUT", "/certificates/a").body(CERTIFICATE)).0.expect(200);
    control.send(&curl("PUT", "/js_modules/a").body("export default {}")).0.expect(200);
    control.send(&curl("DELETE", "/certificates/a")).0.expect(200);
    let append = r#"{"action": {"return": 404}}"#;
    control
        .send(&curl("POST", "/config/routes").field("X-Requested-With", "curl").body(append))
        .expect_done();
    let json = Request::post("/config/routes").field("Content-Type", "application/json").body(append);
    control.send(&json).expect_done();
    for host in [own.as_str(), "localhost", "localhost:9", "[::1]:9"] {
        control.send(&Request::get("/config").field("Host", host)).0.expect(200);
    }
    let mut old = control.try_connect().expect("it listens");
    old.write("GET /config/routes/0/action/return HTTP/1.0\r\n\r\n");
    old.read_response().expect(200).expect_body("204\r\n");
    let set =
        Tool::new(&["config", "set", "routes/0/action/return", "-", "--control", &own]).input("201").run();
    let insert = Tool::called("unitc", &["INSERT", "/config/routes"])
        .environment("UNIT_CTRL", &format!("http://{own}"))
        .input(append)
        .run();
    assert!(set.success && insert.success, "{set:?} {insert:?}");
    server.get("/").expect(404);
}

#[test]
fn a_unix_socket_is_not_reached_by_pages() {
    let server = daemon().routes(json!([{ "action": { "return": 200 } }])).start();
    let form = Request::post("/config/routes")
        .field("Host", "evil.example")
        .field("Origin", "null")
        .field("Content-Type", "text/plain")
        .body(r#"{"action": {"return": 404}}"#);
    server.control().send(&form).expect_done();
}
