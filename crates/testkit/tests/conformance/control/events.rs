//! The stream of figures: for many viewers at a time, over restarts of what serves them, and whatever they do not read.

use std::fs;
use std::time::{Duration, Instant};

use corral_testkit::{
    Client, Daemon, Request, Signal, daemon, eventually, private_memory, processor_time, signal, within,
};
use serde_json::{Value, json};

fn server() -> Daemon {
    daemon().routes(json!([{ "action": { "return": 200 } }])).start()
}

/// A viewer of the stream.
struct Viewer {
    client: Client,
}

/// One message.
#[derive(Debug)]
struct Message {
    event: String,
    data: Value,
}

impl Viewer {
    fn open(server: &Daemon, target: &str) -> Self {
        Self::send(server, &Request::get(target))
    }

    fn send(server: &Daemon, request: &Request) -> Self {
        let mut client = Client::try_connect_unix(&server.control_socket()).expect("it listens");
        client.write(request.encode());
        let head = client.read_until_text("\r\n\r\n");
        assert!(head.starts_with("HTTP/1.1 200 ") && head.contains("text/event-stream"), "{head}");
        Self { client }
    }

    /// The next message; each ends with an empty line, and lines of chunks stand between.
    fn next(&mut self) -> Message {
        let text = self.client.read_until_text("\n\n");
        let field = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default();
        let data = serde_json::from_str(field("data: ")).unwrap_or_default();
        Message { event: field("event: ").to_owned(), data }
    }

    /// The next message for which something holds.
    fn find<T>(&mut self, what: &str, mut found: impl FnMut(&Message) -> Option<T>) -> T {
        eventually(what, || found(&self.next()))
    }

    /// Whether the stream ends before long.
    fn ends(&mut self) -> bool {
        let deadline = Instant::now() + Duration::from_secs(30);
        while Instant::now() < deadline {
            if self.client.read_some().is_empty() {
                return true;
            }
        }
        false
    }
}

#[test]
fn figures_and_changes_are_told_as_they_happen() {
    let server = server();
    let mut viewer = Viewer::open(&server, "/events");
    let first = viewer.next();
    assert_eq!(first.event, "snapshot");
    assert_eq!(first.data["status"]["daemon"]["pid"], server.pid());
    assert_eq!(first.data["newest_change"]["in_force"], true);
    assert!(first.data["processes"]["memory"].as_u64().is_some_and(|bytes| bytes > 1 << 20), "{first:?}");
    let address = server.address().to_string();
    for _ in 0..5 {
        server.get("/").expect(200);
    }
    let count = viewer.find("requests are told", |message| {
        message.data["traffic"]["listeners"][&address]["requests"]["HTTP/1.1"]["2xx"]
            .as_u64()
            .filter(|n| *n >= 5)
    });
    assert!(count >= 5);
    server.control().put("/config/routes/0/action/return", &json!(204)).expect_done();
    let newest = viewer.find("the change is told", |message| {
        let newest = &message.data["newest_change"];
        newest["changed"].is_array().then(|| newest.clone())
    });
    assert_eq!(newest["changed"], json!(["/routes/0/action/return"]));
    // A later viewer sees the past.
    let past = Viewer::open(&server, "/events").next().data["past"].clone();
    assert!(past.as_array().is_some_and(|past| !past.is_empty()), "{past}");
}

#[test]
fn what_does_not_work_needs_attention() {
    let server = server();
    let app = json!({ "type": "http", "executable": "/bin/sh", "arguments": ["-c", "exit 3"], "processes": { "spare": 0, "max": 1 } });
    server.control().put("/config/applications", &json!({ "broken": app })).expect_done();
    let listener = format!("/config/listeners/{}/pass", server.address());
    server.control().put(&listener, &json!("applications/broken")).expect_done();
    server.get("/").expect(503);
    let mut viewer = Viewer::open(&server, "/events");
    let one = viewer.find("the application is told", |message| {
        message.data["attention"]
            .as_array()?
            .iter()
            .find(|one| one["subject"] == "application broken")
            .cloned()
    });
    assert_eq!(one["view"], "applications/broken");
    assert!(one["next"].as_str().is_some_and(|next| !next.is_empty()), "{one}");
}

#[test]
fn the_log_is_followed_over_rotation() {
    let server = server();
    let mut viewer = Viewer::open(&server, "/events?log=notice");
    let control = |comment: &str| {
        let path = format!("/config/routes/0/action/return?comment={comment}");
        let status = if comment == "one" { 201 } else { 202 };
        server.control().put(&path, &json!(status)).expect_done();
    };
    let find = |viewer: &mut Viewer, text: &str| {
        viewer.find(text, |message| {
            let lines = message.data.as_array().filter(|_| message.event == "log")?;
            lines.iter().find(|line| line["text"].as_str().is_some_and(|found| found.contains(text))).cloned()
        })
    };
    control("one");
    let line = find(&mut viewer, "(one)");
    assert_eq!(line["level"], "notice");
    assert!(line["time"].as_str().is_some_and(|time| time.ends_with('Z')), "{line}");
    fs::rename(server.path("log"), server.path("log.1")).expect("rotate");
    signal(server.pid(), Signal::USR1);
    eventually("the log is opened anew", || server.path("log").exists().then_some(()));
    control("two");
    find(&mut viewer, "(two)");
    // Another viewer gets the last lines of the level that it wants.
    find(&mut Viewer::open(&server, "/events?log=notice"), "(two)");
    let mut severe = Viewer::open(&server, "/events?log=error");
    for _ in 0..3 {
        assert_ne!(severe.next().event, "log");
    }
}

#[test]
fn forty_viewers_look_and_nobody_waits() {
    let server = server();
    let mut viewers: Vec<_> = (0..32).map(|_| Viewer::open(&server, "/events?log=info")).collect();
    for _ in 0..8 {
        server.control().get("/events").expect_refused(503, "Too many viewers.");
    }
    let begin = Instant::now();
    server.control().put("/config/routes/0/action/return", &json!(204)).expect_done();
    server.control().get("/status").0.expect(200);
    assert!(begin.elapsed() < Duration::from_secs(10), "{:?}", begin.elapsed());
    for viewer in &mut viewers {
        viewer.find("the change is told", |message| message.data["newest_change"].is_object().then_some(()));
    }
    drop(viewers);
    eventually("there is room again", || {
        let mut client = Client::try_connect_unix(&server.control_socket()).expect("it listens");
        client.write(Request::get("/events").encode());
        client.read_until_text("\r\n").starts_with("HTTP/1.1 200 ").then_some(())
    });
    // Nothing goes on without a viewer.
    let controller = server.expect_processes("controller", 1)[0];
    let is_idle = within(Duration::from_secs(30), || {
        let before = processor_time(controller)?;
        std::thread::sleep(Duration::from_secs(3));
        (processor_time(controller)? == before).then_some(())
    });
    assert!(is_idle.is_some(), "the controller works for no viewer");
}

#[test]
fn a_viewer_that_reads_nothing_costs_little_and_is_dropped() {
    let server = server();
    let script = "exec yes \"$(head -c 500 /dev/zero | tr '\\0' x)\"";
    let app = json!({ "type": "process", "command": ["/bin/sh", "-c", script] });
    let controller = server.expect_processes("controller", 1)[0];
    let mut reader = Viewer::open(&server, "/events?log=debug");
    let mut silent: Vec<_> = (0..8).map(|_| Viewer::open(&server, "/events?log=debug")).collect();
    reader.next();
    let before = private_memory(controller).expect("it runs");
    server.control().put("/config/applications", &json!({ "loud": app })).expect_done();
    let mut most = 0;
    let begin = Instant::now();
    while begin.elapsed() < Duration::from_secs(40) {
        reader.next();
        most = most.max(private_memory(controller).expect("it runs").saturating_sub(before));
    }
    server.control().delete("/config/applications").expect_done();
    assert!(most < 48 << 20, "{most} bytes for eight viewers that do not read");
    assert!(silent.iter_mut().all(Viewer::ends), "they are dropped");
    reader.find("the one that reads goes on", |message| (message.event == "change").then_some(()));
}

#[test]
fn streams_end_with_their_controller_and_begin_anew() {
    let mut server = server();
    let mut viewer = Viewer::open(&server, "/events");
    viewer.next();
    let controller = server.expect_processes("controller", 1)[0];
    server.kill(controller);
    assert!(viewer.ends());
    let mut viewer = Viewer::open(&server, "/events");
    let snapshot = viewer.next();
    assert_eq!(
        (snapshot.event.as_str(), &snapshot.data["newest_change"]["in_force"]),
        ("snapshot", &json!(true))
    );
    let before = server.pid();
    server.upgrade();
    assert!(viewer.ends());
    let snapshot = Viewer::open(&server, "/events").next();
    assert_eq!(snapshot.data["status"]["daemon"]["pid"], server.pid());
    assert_ne!(server.pid(), before);
}

#[test]
fn a_stream_ends_with_its_session() {
    let server = server();
    let token =
        server.control().send(&Request::post("/dashboard/tokens?access=read")).json()["token"].clone();
    let page = |method: &str, path: &str| {
        let request = Request::new(method, path).field("Corral-Dashboard", "1").field("Host", "127.0.0.1:1");
        request.field("Origin", "http://127.0.0.1:1")
    };
    let begin = page("POST", "/dashboard/session").body(json!({ "token": token }).to_string());
    let begun = server.control().send(&begin).0.expect(200);
    let cookie =
        begun.field("Set-Cookie").and_then(|cookie| cookie.split(';').next()).expect("a cookie").to_owned();
    let mut viewer = Viewer::send(&server, &page("GET", "/events").field("Cookie", &cookie));
    assert_eq!(viewer.next().event, "snapshot");
    server.control().send(&page("DELETE", "/dashboard/session").field("Cookie", &cookie)).0.expect(200);
    assert!(viewer.ends());
    server.control().send(&page("GET", "/events").field("Cookie", &cookie)).0.expect(401);
}

/// Standard error may be a file as well, which is read like any other.
#[test]
fn a_log_on_standard_error_is_read_if_that_is_a_file() {
    let server = daemon().argument("--log").argument("/dev/stderr").start_unconfigured();
    let mut viewer = Viewer::open(&server, "/events?log=debug");
    let told =
        viewer.find("lines are told", |message| (message.event == "log").then(|| message.data.clone()));
    assert!(told.as_array().is_some_and(|lines| !lines.is_empty()), "{told}");
}
