//! Heads, errors, `/`, `/status` and `/control`.

use std::time::Duration;

use corral_config::json;
use corral_ipc::message::{
    AppStatus, ChangeOrigin, DaemonStatus, DurationFigures, FailedListener, InnerFigures, LimitStatus,
    MirrorStatus, ServerState, ServerStatus, Status, TrafficFigures, UpstreamStatus, WaitingFigures,
};

use super::fake_main::Event;
use super::{Server, Setup};

fn in_force(document: &'static str) -> Server {
    Server::start(Setup {
        document: Some(document),
        origin: ChangeOrigin::InForce,
        status: Some(figures()),
        ..Setup::default()
    })
}

fn figures() -> Status {
    let blog = AppStatus {
        name: "blog".to_owned(),
        running: 3,
        starting: 1,
        idle: 2,
        active_requests: 4,
        requests: [0, 0, 11, 0, 0, 1],
        durations: DurationFigures { micros: 345_000, ..DurationFigures::default() },
        waiting: WaitingFigures { waiting: 2, ..WaitingFigures::default() },
        memory: 67_108_864,
        ..AppStatus::default()
    };
    let broken = AppStatus {
        name: "broken".to_owned(),
        last_error: Some("no such folder".to_owned()),
        crashes: 2,
        last_crash: Some("prototype 7 exited on signal 11".to_owned()),
        ..AppStatus::default()
    };
    let failed_listeners =
        vec![FailedListener { address: "*:80".to_owned(), reason: "it is in use".to_owned() }];
    let applications = vec![blog, broken];
    let server = ServerStatus {
        address: "[::1]:8080".to_owned(),
        state: ServerState::Avoided,
        active: 1,
        requests: 9,
        failures: 2,
        retries: 1,
        kept: 1,
        times: None,
        processes: None,
    };
    let upstreams = vec![UpstreamStatus { name: "pool".to_owned(), servers: vec![server], waiting: Some(3) }];
    let limit = LimitStatus {
        place: "/routes/0/action/limit_requests".to_owned(),
        dry_run: false,
        passed: 12,
        delayed: 2,
        refused: 5,
        keys: 3,
    };
    let tried = LimitStatus { place: "/listeners/*:80/limit_requests".to_owned(), dry_run: true, ..limit };
    Status {
        accepted: 10,
        active: 1,
        idle: 2,
        closed: 7,
        refused: 3,
        dropped_datagrams: 6,
        requests: 99,
        listeners: Vec::new(),
        steps: Vec::new(),
        applications,
        background: Vec::new(),
        failed_listeners,
        upstreams,
        limits: vec![limit, tried],
        mirrors: vec![MirrorStatus {
            place: "/routes/0/action/mirror".to_owned(),
            answered: 8,
            failed: 2,
            dropped: 1,
        }],
        traffic: TrafficFigures::default(),
        inner: InnerFigures::default(),
        slow: Vec::new(),
        daemon: DaemonStatus {
            pid: 7,
            uptime: Duration::from_millis(3_600_999),
            listeners: vec!["*:80".to_owned(), "*:81".to_owned()],
            config_error: Some("a disk is full".to_owned()),
            log: Some("/var/log/corral.log".to_owned()),
            config_files: Some("/etc/corral".to_owned()),
            config_changes: 4,
            upgrade_error: Some("no executable".to_owned()),
            ..DaemonStatus::default()
        },
    }
}

const FIGURES: &str = r#"{
    "modules": {"php": [{"version": "8.2.30", "lib": "/m/b"}, {"version": "8.2.9", "lib": "/m/a"}]},
    "connections": {"accepted": 10, "active": 1, "idle": 2, "closed": 7, "refused": 3, "dropped_datagrams": 6},
    "requests": {"total": 99},
    "applications": {
        "blog": {"processes": {"running": 3, "starting": 1, "idle": 2},
                 "requests": {"active": 4, "waiting": 2, "total": 12, "failed": 1, "duration_ms": 345},
                 "memory": 67108864},
        "broken": {"processes": {"running": 0, "starting": 0, "idle": 0}, "requests": {"active": 0},
                   "last_error": "no such folder",
                   "crashes": {"total": 2, "last": "prototype 7 exited on signal 11"}}},
    "listeners": {"*:80": {"state": "down", "last_error": "it is in use"}, "*:81": {"state": "up"}},
    "config": {"files": "/etc/corral", "changes": 4, "last_error": "a disk is full"},
    "upstreams": {"pool": {"servers": {
        "[::1]:8080": {"state": "avoided", "requests": {"active": 1, "total": 9, "failed": 2}}}, "waiting": 3}},
    "limits": {
        "/routes/0/action/limit_requests": {"passed": 12, "delayed": 2, "refused": 5, "keys": 3},
        "/listeners/*:80/limit_requests": {"passed": 12, "would_delay": 2, "would_refuse": 5, "keys": 3}},
    "mirrors": {"/routes/0/action/mirror": {"answered": 8, "failed": 2, "dropped": 1}},
    "daemon": {"version": "VERSION", "pid": 7, "uptime": 3600, "log": "/var/log/corral.log", "last_error": "no executable"}}"#;

fn shown() -> String {
    FIGURES.replace("VERSION", env!("CARGO_PKG_VERSION"))
}

#[test]
fn heads_are_those_of_unit() {
    let server = in_force("{}");
    let answer = server.get("/config?query#fragment");
    let lines: Vec<_> = answer.head.lines().collect();
    assert_eq!(lines[..2], ["HTTP/1.1 200 OK", concat!("Server: Corral/", env!("CARGO_PKG_VERSION"))]);
    assert!(lines[2].starts_with("Date: ") && lines[2].ends_with(" GMT"), "{lines:?}");
    assert_eq!(lines[3..6], ["Content-Type: application/json", "Content-Length: 4", "Connection: close"]);
    assert_eq!(answer.body, "{}\r\n");
    let head = server.request("HEAD", "/config", "");
    assert_eq!((head.status(), head.body.as_str()), ("200 OK", ""));
    assert!(head.head.contains("\r\nContent-Length: 4\r\n"), "{head:?}");
}

#[test]
fn bodies_come_in_chunks_too() {
    let server = in_force("{}");
    let answer = server.raw(
        b"PUT /config HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n6\r\n{\"rout\r\n8\r\nes\": \
            []}\r\n0\r\n\r\n",
    );
    assert_eq!(answer.status(), "200 OK");
    server.check("GET", "/config", "", "200 OK", r#"{"routes": []}"#);
}

#[test]
fn syntax_errors_have_a_location() {
    let server = in_force("{}");
    let answer = server.request("PUT", "/config", "\u{feff}{\n  \"é\": tru\n}");
    assert_eq!((answer.status(), answer.text("error").as_str()), ("400 Bad Request", "Invalid JSON."));
    assert!(answer.text("detail").contains("value is expected"));
    let location = answer.json().member("location").unwrap().clone();
    assert_eq!(location, json::parse(br#"{"offset": 10, "line": 2, "column": 8}"#).unwrap());
    let empty = server.request("PUT", "/config", "");
    assert_eq!((empty.status(), empty.text("error").as_str()), ("400 Bad Request", "Invalid JSON."));
}

#[test]
fn invalid_configurations_name_every_problem() {
    let server = in_force("{}");
    server.check(
        "PUT",
        "/config",
        r#"{"listner": {}}"#,
        "400 Bad Request",
        r#"{"error": "Invalid configuration.", "detail": "Unknown parameter \"listner\".",
            "location": {"path": "/listner"}, "suggestion": "listeners"}"#,
    );
    server.check(
        "PUT",
        "/config",
        r#"{"listeners": {"*:80": {}}, "access_log": 1}"#,
        "400 Bad Request",
        r#"{"error": "Invalid configuration.",
            "detail": "The \"access_log\" value must be either a string or an object, but not an integer number.",
            "location": {"path": "/access_log"},
            "errors": [
                {"detail": "The listener must have the \"pass\" option set.", "location": {"path": "/listeners/*:80"}},
                {"detail": "The \"access_log\" value must be either a string or an object, but not an integer number.",
                 "location": {"path": "/access_log"}}]}"#,
    );
    server.check(
        "PUT",
        "/config",
        r#"{"listeners": {"*:80": {}}}"#,
        "500 Internal Server Error",
        r#"{"error": "Failed to apply new configuration.",
            "detail": "The listener must have the \"pass\" option set.", "location": {"path": "/listeners/*:80"}}"#,
    );
}

#[test]
fn changes_cannot_nest_too_deeply() {
    let server = in_force("{}");
    let deep = "[".repeat(100) + &"]".repeat(100);
    let answer = server.request("PUT", "/config/routes", &deep);
    assert_eq!(
        (answer.status(), answer.text("error").as_str()),
        ("400 Bad Request", "Invalid configuration.")
    );
    assert!(answer.text("detail").contains("100 levels"), "{answer:?}");
}

#[test]
fn the_status_is_an_object_of_figures() {
    let server = in_force("{}");
    server.check("GET", "/status", "", "200 OK", &shown());
    server.check("GET", "/status/applications/blog/requests/active", "", "200 OK", "4");
    server.check("GET", "/status/modules/php/0/version", "", "200 OK", r#""8.2.30""#);
    server.check("GET", "/status/nothing", "", "404 Not Found", r#"{"error": "Invalid path."}"#);
    for method in ["PUT", "POST", "DELETE", "PATCH"] {
        let invalid = r#"{"error": "Invalid method."}"#;
        server.check(method, "/status", "1", "405 Method Not Allowed", invalid);
        server.check(method, "/", "1", "405 Method Not Allowed", invalid);
    }
    let everything =
        format!(r#"{{"certificates": {{}}, "js_modules": {{}}, "config": {{}}, "status": {}}}"#, shown());
    server.check("GET", "/", "", "200 OK", &everything);
}

#[test]
fn a_router_that_does_not_answer_has_no_status() {
    let server = Server::start(Setup { status: None, ..Setup::default() });
    let failed = r#"{"error": "Failed to get status."}"#;
    server.check("GET", "/status", "", "500 Internal Server Error", failed);
    server.check("GET", "/", "", "500 Internal Server Error", failed);
}

#[test]
fn applications_are_restarted_by_name() {
    let server = in_force(
        r#"{"applications": {"a/b": {"type": "php", "root": "/"}, "broken": {"type": "php", "root": "/"}}}"#,
    );
    for method in ["GET", "POST"] {
        server.check(method, "/control/applications/a%2Fb/restart", "", "200 OK", r#"{"success": "Ok"}"#);
        assert_eq!(server.event(), Event::Restart("a/b".to_owned()));
    }
    let failed = r#"{"error": "Failed to restart app.", "detail": "no prototype"}"#;
    server.check("GET", "/control/applications/broken/restart", "", "500 Internal Server Error", failed);
    let missing = r#"{"error": "Value doesn't exist."}"#;
    server.check("GET", "/control/applications/other/restart", "", "404 Not Found", missing);
    server.check("GET", "/control/applications/broken/stop", "", "404 Not Found", missing);
    server.check("GET", "/control/applications/broken", "", "404 Not Found", missing);
    server.check("GET", "/control", "", "404 Not Found", missing);
    let not_allowed = r#"{"error": "Method isn't allowed."}"#;
    server.check("PUT", "/control/applications/broken/restart", "", "405 Method Not Allowed", not_allowed);
    assert_eq!(
        server.request("HEAD", "/control/applications/broken/restart", "").status(),
        "405 Method Not Allowed"
    );
}
