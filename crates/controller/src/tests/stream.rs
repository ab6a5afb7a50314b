//! `/events` over a real socket: figures at first, then changes, for so many viewers and no more.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

use corral_config::json::{self, Value};
use corral_ipc::message::{AppStatus, DaemonStatus, ListenerFigures, Status};

use super::{Response, Server, Setup};

/// A viewer that reads events.
struct Viewer {
    stream: BufReader<UnixStream>,
    head: String,
}

/// One message.
#[derive(Debug)]
struct Message {
    event: String,
    id: String,
    data: Value,
}

impl Viewer {
    fn open(server: &Server, target: &str) -> Self {
        let mut stream = server.connect();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        write!(stream, "GET {target} HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
        let mut viewer = Self { stream: BufReader::new(stream), head: String::new() };
        while !viewer.head.ends_with("\r\n\r\n") {
            viewer.stream.read_line(&mut viewer.head).unwrap();
        }
        viewer
    }

    /// The payload of the next chunk: each message is one.
    fn chunk(&mut self) -> Option<String> {
        let mut size = String::new();
        self.stream.read_line(&mut size).ok()?;
        let size = usize::from_str_radix(size.trim_end(), 16).ok()?;
        let mut bytes = vec![0; size + 2];
        self.stream.read_exact(&mut bytes).ok()?;
        bytes.truncate(size);
        (size > 0).then(|| String::from_utf8(bytes).unwrap())
    }

    fn message(&mut self) -> Message {
        let text = self.chunk().expect("the stream goes on");
        let field = |name: &str| {
            text.lines()
                .find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
                .unwrap_or_default()
                .to_owned()
        };
        Message {
            event: field("event"),
            id: field("id"),
            data: json::parse(field("data").as_bytes()).unwrap(),
        }
    }
}

fn figures() -> Status {
    let mut listener = ListenerFigures::new("*:80".to_owned());
    listener.requests[1][2] = 7;
    let broken = AppStatus {
        name: "broken".to_owned(),
        last_error: Some("no such folder".to_owned()),
        ..AppStatus::default()
    };
    let daemon = DaemonStatus { pid: std::process::id(), ..DaemonStatus::default() };
    Status { listeners: vec![listener], applications: vec![broken], daemon, ..Status::default() }
}

fn server() -> Server {
    Server::start(Setup { document: Some(r#"{"routes": []}"#), status: Some(figures()), ..Setup::default() })
}

/// Whether there is a `null` outside arrays.
fn has_null(value: &Value) -> bool {
    value.as_object().is_some_and(|members| members.values().any(has_null)) || *value == Value::Null
}

#[test]
fn a_viewer_gets_all_and_then_what_changes() {
    let server = server();
    let mut viewer = Viewer::open(&server, "/events");
    for field in ["200 OK", "Content-Type: text/event-stream", "Cache-Control: no-store", "Connection: close"]
    {
        assert!(viewer.head.contains(field), "{}", viewer.head);
    }
    assert!(!viewer.head.contains("Content-Length"), "{}", viewer.head);
    let first = viewer.message();
    assert_eq!((first.event.as_str(), first.id.as_str()), ("snapshot", "1"));
    for member in [
        "time",
        "version",
        "generation",
        "tag",
        "newest_change",
        "status",
        "traffic",
        "processes",
        "attention",
        "slow",
        "past",
    ] {
        assert!(first.data.member(member).is_some(), "{member}");
    }
    assert!(!has_null(&first.data), "{:?}", first.data);
    assert_eq!(first.data.member("generation"), Some(&Value::from(1)));
    let attention = first.data.member("attention").unwrap().as_array().unwrap();
    assert_eq!(attention[0].member("subject"), Some(&Value::from("application broken")));
    let status = server.get("/status").json();
    assert_eq!(first.data.member("status"), Some(&status), "the same as /status");
    let change = viewer.message();
    assert_eq!((change.event.as_str(), change.id.as_str()), ("change", "2"));
    assert!(change.data.member("time").is_some() && change.data.member("status").is_none(), "{change:?}");
    assert_eq!(server.request("PUT", "/config/access_log", "\"/x\"").status(), "200 OK");
    let newest = (0..3).find_map(|_| {
        let message = viewer.message();
        message.data.member("newest_change").cloned().map(|newest| (newest, message))
    });
    let (newest, message) = newest.expect("the change is told");
    assert_eq!(newest.member("id"), Some(&Value::from(2)));
    assert_eq!(message.data.member("generation"), Some(&Value::from(2)));
}

#[test]
fn the_log_is_told_to_those_that_want_it() {
    let server = server();
    let mut viewer = Viewer::open(&server, "/events?log=error");
    assert_eq!(viewer.message().event, "snapshot");
    let log = viewer.message();
    assert_eq!(log.event, "log");
    let text = log.data.as_array().unwrap()[0].member("text").unwrap().as_bytes().unwrap().to_string();
    assert!(text.contains("journalctl -u corral"), "{text}");
    assert_eq!(viewer.message().event, "change", "it is said once");
}

#[test]
fn there_are_thirty_two_viewers_and_nothing_goes_on_without_one() {
    let server = server();
    let mut viewers: Vec<_> = (0..32).map(|_| Viewer::open(&server, "/events")).collect();
    let refused = server.get("/events");
    assert_eq!(
        (refused.status(), refused.text("error").as_str()),
        ("503 Service Unavailable", "Too many viewers.")
    );
    let ids: Vec<_> = viewers.iter_mut().map(|viewer| viewer.message()).collect();
    assert!(ids.iter().all(|message| message.event == "snapshot"));
    let n_statuses = || server.heard.n_statuses.load(Ordering::Relaxed);
    drop(viewers);
    // The task notices at its next tick, if not at the one after that.
    let deadline = Instant::now() + Duration::from_secs(20);
    loop {
        let before = n_statuses();
        thread::sleep(Duration::from_millis(2500));
        if n_statuses() == before {
            break;
        }
        assert!(Instant::now() < deadline, "figures are asked for without a viewer");
    }
    assert_eq!(Viewer::open(&server, "/events").message().event, "snapshot");
}

#[test]
fn one_question_serves_all_viewers() {
    let server = server();
    let mut viewers: Vec<_> = (0..20).map(|_| Viewer::open(&server, "/events")).collect();
    for _ in 0..3 {
        viewers.iter_mut().for_each(|viewer| drop(viewer.message()));
    }
    let n_statuses = server.heard.n_statuses.load(Ordering::Relaxed);
    assert!(n_statuses <= 20, "{n_statuses}");
}

#[test]
fn other_requests_for_the_stream_are_answered() {
    let server = server();
    let wrong = |target: &str| {
        let reply = server.get(target);
        assert_eq!((reply.status(), reply.text("error").as_str()), ("400 Bad Request", "Invalid query."));
    };
    wrong("/events?log=loud");
    wrong("/events?application=%ff");
    assert_eq!(server.request("POST", "/events", "").status(), "405 Method Not Allowed");
    let head: Response = server.raw(b"HEAD /events HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_eq!((head.status(), head.body.as_str()), ("200 OK", ""));
    assert!(head.head.contains("text/event-stream"));
}
