//! A real controller on a real socket, with main played at the other end of a real link.

mod certificates;
mod changes;
mod exports;
mod extras;
mod fake_main;
mod history;
mod replies;
mod sessions;
mod startup;
mod stream;
mod superseding;
mod workers;

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::mpsc::Sender;
use std::thread;

use corral_config::json::{self, Value};
use corral_config::plan::Assets;
use corral_ipc::history::StoredConfiguration;
use corral_ipc::link::Link;
use corral_ipc::message::{
    ChangeOrigin, ConfigFiles, ControlToken, GenerationId, Module, Status, ToController,
};
use tempfile::TempDir;

use self::fake_main::{Event, FakeMain, Heard};
use crate::run;

/// Main's state when the controller starts.
struct Setup {
    document: Option<&'static str>,
    origin: ChangeOrigin,
    status: Option<Status>,
    assets: Assets,
    token: Option<&'static str>,
    history: Vec<StoredConfiguration>,
    files: Option<ConfigFiles>,
}

impl Default for Setup {
    fn default() -> Self {
        Self {
            document: None,
            origin: ChangeOrigin::Stored,
            status: Some(Status::default()),
            assets: Assets::default(),
            token: None,
            history: Vec::new(),
            files: None,
        }
    }
}

/// A running controller and what its main saw.
struct Server {
    folder: TempDir,
    heard: Heard,
    release: Sender<()>,
}

/// One reply, taken apart.
#[derive(Debug)]
struct Response {
    head: String,
    body: String,
}

impl Server {
    /// Starts a controller and waits until it listens; what happened before is dropped.
    fn start(setup: Setup) -> Self {
        let server = Self::start_unheard(setup);
        while server.event() != Event::Listening {}
        server
    }

    /// As `start`, with the first events still to be read.
    fn start_unheard(setup: Setup) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let listener = UnixListener::bind(folder.path().join("control.sock")).unwrap();
        let (fake, heard, release) = FakeMain::new(setup.status);
        let token = setup.token.map(|token| ControlToken(token.to_owned()));
        let mut start = start_message(setup.document, setup.origin, setup.assets, token);
        if let ToController::Start { history, files, .. } = &mut start {
            (*history, *files) = (setup.history, setup.files);
        }
        let (ours, theirs) = Link::pair().unwrap();
        ours.send(&start, &[listener.as_fd()]).unwrap();
        thread::spawn(move || run(theirs));
        thread::spawn(move || fake.serve(&ours));
        Self { folder, heard, release }
    }

    /// The next message that main gets.
    fn event(&self) -> Event {
        self.heard.events.recv().expect("main is there as long as the test")
    }

    fn connect(&self) -> UnixStream {
        UnixStream::connect(self.folder.path().join("control.sock")).unwrap()
    }

    /// Sends `request` as it is and reads until the end.
    fn raw(&self, request: &[u8]) -> Response {
        let mut stream = self.connect();
        stream.write_all(request).unwrap();
        read_answer(&mut stream)
    }

    fn request(&self, method: &str, target: &str, body: &str) -> Response {
        self.raw(&encode(method, target, body))
    }

    fn get(&self, target: &str) -> Response {
        self.request("GET", target, "")
    }

    #[track_caller]
    fn check(&self, method: &str, target: &str, body: &str, status: &str, expect: &str) {
        let answer = self.request(method, target, body);
        assert_eq!(answer.status(), status, "{method} {target}: {answer:?}");
        let expect = json::parse(expect.as_bytes()).unwrap();
        assert_eq!(answer.json(), expect, "{method} {target}: {}", answer.body);
    }
}

impl Response {
    /// `200 OK`.
    fn status(&self) -> &str {
        let line = self.head.lines().next().unwrap();
        line.strip_prefix("HTTP/1.1 ").unwrap()
    }

    fn json(&self) -> Value {
        json::parse(self.body.as_bytes()).unwrap()
    }

    /// The text of a member of the body, empty when it is not there.
    fn text(&self, member: &str) -> String {
        let body = self.json();
        body.member(member).and_then(Value::as_bytes).map(ToString::to_string).unwrap_or_default()
    }
}

fn encode(method: &str, target: &str, body: &str) -> Vec<u8> {
    let len = body.len();
    format!("{method} {target} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len}\r\n\r\n{body}")
        .into_bytes()
}

fn read_answer(stream: &mut impl std::io::Read) -> Response {
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").expect("a reply has a head");
    Response { head: head.to_owned(), body: body.to_owned() }
}

fn start_message(
    document: Option<&str>,
    origin: ChangeOrigin,
    assets: Assets,
    token: Option<ControlToken>,
) -> ToController {
    let php = |version: &str, path: &str| Module {
        language: "php".to_owned(),
        version: version.to_owned(),
        path: path.into(),
        dependencies: vec![],
    };
    ToController::Start {
        document: document.map(|text| text.as_bytes().to_vec()),
        origin,
        generation: GenerationId(7),
        modules: vec![php("8.2.9", "/m/a"), php("8.2.30", "/m/b")],
        assets,
        records: Vec::new(),
        history: Vec::new(),
        files: None,
        token,
        read_token: None,
    }
}

fn bare_start(document: Option<&str>, origin: ChangeOrigin) -> ToController {
    start_message(document, origin, Assets::default(), None)
}

#[test]
fn the_controller_ends_with_main() {
    let (ours, theirs) = Link::pair().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    ours.send(&bare_start(None, ChangeOrigin::InForce), &[listener.as_fd()]).unwrap();
    drop(ours);
    run(theirs).unwrap();
}

#[test]
fn a_wrong_start_is_an_error() {
    let check = |message: &ToController, with_socket: bool, expect: &str| {
        let (ours, theirs) = Link::pair().unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let fds = [listener.as_fd()];
        ours.send(message, if with_socket { &fds } else { &[] }).unwrap();
        let error = run(theirs).unwrap_err().to_string();
        assert!(error.contains(expect), "{error}");
    };
    check(&bare_start(None, ChangeOrigin::Stored), false, "no socket");
    check(&ToController::Applied { generation: GenerationId(1), warnings: Vec::new() }, true, "not Start");
    let (ours, theirs) = Link::pair().unwrap();
    drop(ours);
    assert!(run(theirs).unwrap_err().to_string().contains("main left"));
}

#[test]
fn a_tcp_socket_serves_as_well() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let (fake, _heard, _release) = FakeMain::new(None);
    let (ours, theirs) = Link::pair().unwrap();
    ours.send(&bare_start(Some("{}"), ChangeOrigin::InForce), &[listener.as_fd()]).unwrap();
    drop(OwnedFd::from(listener));
    thread::spawn(move || run(theirs));
    thread::spawn(move || fake.serve(&ours));
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(b"GET /config HTTP/1.0\r\n\r\n").unwrap();
    stream.shutdown(Shutdown::Write).unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    assert!(text.ends_with("\r\n\r\n{}\r\n"), "{text}");
}
