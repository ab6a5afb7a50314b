//! Files that the server sends for an application: from where they are, as far as they were promised, on all kinds of
//! connections, and when an application does what it must not.

use std::io::Read;

use corral_testkit::{
    Authority, Client, Daemon, MemoryFile, Request, Resource, Site, TlsClient, daemon, eventually, limit,
    python_app, site,
};
use serde_json::{Value, json};

use crate::app;

fn content() -> Vec<u8> {
    (0..300_000_u32).map(|i| (i % 253) as u8).collect()
}

/// An application that answers with the file that the query names; `before` is run before.
fn wrapping(before: &str) -> String {
    format!(
        "import os, socket, array, time
here = os.path.dirname(__file__)

def application(environ, start_response):
    if environ['PATH_INFO'] == '/pid':
        start_response('200 OK', [])
        return [str(os.getpid()).encode()]
    file, headers = open(environ['QUERY_STRING'], 'rb'), []
    {}
    start_response('200 OK', headers)
    return environ['wsgi.file_wrapper'](file)
",
        before.replace('\n', "\n    ")
    )
}

fn target(file: &MemoryFile) -> String {
    format!("/?{}", file.text())
}

fn router(server: &Daemon) -> u32 {
    server.expect_processes("router", 1)[0]
}

#[test]
fn a_file_is_sent_from_where_it_is_as_far_as_was_promised() {
    let file = MemoryFile::of(content());
    for (before, range) in [
        ("file.seek(7)", 7..300_000),
        ("file.read(7)", 7..300_000),
        ("headers = [('Content-Length', '100000')]", 0..100_000),
        ("file.seek(50_000); headers = [('Content-Length', '100001')]", 50_000..150_001),
    ] {
        let (_site, server) = app(&wrapping(before));
        let mut client = server.connect();
        for _ in 0..2 {
            let response = client.get(&target(&file)).expect(200);
            assert!(response.body == content()[range.clone()], "{before}: {} bytes", response.body.len());
            let length = range.len().to_string();
            response.expect_field("Content-Length", &length).expect_no_field("Transfer-Encoding");
        }
    }
}

#[test]
fn a_file_that_is_shorter_than_promised_is_cut() {
    let file = MemoryFile::of(content());
    let (_site, server) = app(&wrapping("headers = [('Content-Length', '300001')]"));
    let mut client = server.connect();
    assert!(
        client.try_send(&Request::get(&target(&file))).is_err(),
        "a client must not take it for a response"
    );
    server.expect_log("ValueError: the body of the response is shorter than its Content-Length");
    server.send(&Request::new("HEAD", &target(&file))).expect(200).expect_field("Content-Length", "300001");
}

/// The head has been sent by then, without a length.
#[test]
fn a_file_comes_behind_what_was_written_before() {
    let file = MemoryFile::of(content());
    let chunk = [b"\r\n493e0\r\n", &content()[..], b"\r\n0\r\n\r\n"].concat();
    for (version, expected) in [("HTTP/1.1", chunk), ("HTTP/1.0", content())] {
        let (site, server) = app("
import os
def application(environ, start_response):
    write = start_response('200 OK', [])
    write(b'before')
    while not os.path.exists(os.path.join(os.path.dirname(__file__), 'go')):
        pass
    return environ['wsgi.file_wrapper'](open(environ['QUERY_STRING'], 'rb'))
");
        let mut client = server.connect();
        client.write(format!("GET {} {version}\r\nHost: a\r\nConnection: close\r\n\r\n", target(&file)));
        client.read_until_text("before");
        site.write("go", "");
        assert!(client.read_to_end() == expected, "{version}");
    }
}

/// The file is closed, and the process serves others, while the response is not read.
#[test]
fn close_does_not_wait_for_the_client() {
    let (site, server) = app(&wrapping(
        "class Closing:
    def __init__(self, file):
        self.file, self.fileno, self.tell = file, file.fileno, file.tell
    def close(self):
        self.file.close()
        open(os.path.join(here, 'out', 'closed'), 'w').close()
file = Closing(file)",
    ));
    let site = site.writable_folder("out");
    let file = MemoryFile::sparse(50_000_000);
    let mut client = server.connect();
    client.write(Request::get(&target(&file)).encode());
    eventually("it is closed", || site.path("out/closed").exists().then_some(()));
    let pid: u32 = server.get("/pid").expect(200).text().parse().expect("a number");
    assert!(file.is_open_in(router(&server)) && !file.is_open_in(pid));
    assert_eq!(client.read_response().expect(200).body.len(), 50_000_000);
}

#[test]
fn what_is_no_file_on_a_disk_is_read() {
    for (file, expected) in [
        (
            "r, w = os.pipe(); os.write(w, b'through a pipe'); os.close(w); file = os.fdopen(r, 'rb')",
            "through a pipe",
        ),
        ("file = open('/proc/self/status', 'rb')", "Name:"),
        ("file = open('/dev/null', 'rb')", ""),
        ("a, b = socket.socketpair(); a.send(b'said'); a.close(); file = b.makefile('rb')", "said"),
    ] {
        let (_site, server) = app(&wrapping(file));
        let response = server.get("/?/dev/null").expect(200);
        assert!(
            response.text().starts_with(expected) && response.body.is_empty() == expected.is_empty(),
            "{response}"
        );
    }
    // A folder cannot be opened, and what is not there neither.
    let (_site, server) = app(&wrapping("pass"));
    for path in ["/tmp", "/no/such/file"] {
        server.get(&format!("/?{path}")).expect(500);
    }
}

fn serve_with(config: Value) -> (Site, Daemon) {
    let site = site().file("app.py", wrapping("headers = [('Content-Type', 'text/plain')]"));
    let mut config = config;
    config["applications"] = json!({ "python": python_app(&site).value() });
    let server = daemon().config(config).start();
    (site, server)
}

#[test]
fn a_file_is_compressed_like_any_other_response() {
    let compression = json!({ "types": ["text/*"], "compressors": [{ "encoding": "gzip" }] });
    let (_site, server) = serve_with(json!({ "settings": { "http": { "compression": compression } } }));
    let file = MemoryFile::of(content());
    let mut client = server.connect();
    let gzip = Request::get(&target(&file)).field("Accept-Encoding", "gzip");
    for _ in 0..2 {
        let response = client.send(&gzip).expect(200).expect_field("Content-Encoding", "gzip");
        let mut decoded = Vec::new();
        flate2::read::GzDecoder::new(&response.body[..]).read_to_end(&mut decoded).expect("it is gzip");
        assert!(decoded == content(), "{} bytes", decoded.len());
    }
    assert!(client.get(&target(&file)).expect(200).body == content());
    // One client that asks for much holds up no other.
    let large = MemoryFile::sparse(500_000_000);
    let mut greedy = server.connect();
    greedy.write(Request::get(&target(&large)).field("Accept-Encoding", "gzip").encode());
    eventually("it is sent", || large.is_open_in(router(&server)).then_some(()));
    client.get("/pid").expect(200);
    assert!(large.is_open_in(router(&server)), "others had to wait for it");
}

#[test]
fn a_file_is_sent_over_tls() {
    let authority = Authority::new("authority");
    let (_site, server) = serve_with(json!({}));
    let bundle = authority.server("localhost", &["localhost"]).pem();
    server.control().put_text("/certificates/own", &bundle).0.expect(200);
    let listener = json!({ "pass": "applications/python", "tls": { "certificate": "own" } });
    let listeners = json!({ server.address().to_string(): listener });
    server.control().put("/config/listeners", &listeners).expect_done();
    let mut client = Client::connect_tls(server.address().socket(), &TlsClient::new(&authority), "localhost");
    let (file, large) = (MemoryFile::of(content()), MemoryFile::sparse(50_000_000));
    assert!(client.get(&target(&file)).expect(200).body == content());
    client.write(Request::get(&target(&large)).encode());
    eventually("it is sent", || large.is_open_in(router(&server)).then_some(()));
    assert_eq!(client.read_response().expect(200).body.len(), 50_000_000);
    client.get("/pid").expect(200);
}

/// The last thing that a process does is to hand a file over.
#[test]
fn processes_that_leave_leave_their_files() {
    let site = site().file("app.py", wrapping("pass"));
    let mut app = python_app(&site).value();
    app["limits"] = json!({ "requests": 1 });
    let server = daemon().config(json!({ "applications": { "python": app } })).start();
    let file = MemoryFile::of(content());
    for _ in 0..10 {
        assert!(server.get(&target(&file)).expect(200).body == content());
    }
}

#[test]
fn a_worker_that_is_confined_hands_over_what_it_may_open() {
    let file = MemoryFile::sparse(50_000_000);
    let site = site().file("app.py", wrapping("pass"));
    let mut app = python_app(&site).value();
    let reachable = json!({ "read": [site.root(), file.text()] });
    app["isolation"] = json!({ "seccomp": "default", "filesystem": reachable });
    let server = daemon().config(json!({ "applications": { "python": app } })).start();
    let mut client = server.connect();
    client.write(Request::get(&target(&file)).encode());
    eventually("it is sent", || file.is_open_in(router(&server)).then_some(()));
    assert_eq!(client.read_response().expect(200).body.len(), 50_000_000);
    let other = MemoryFile::of(content());
    server.get(&target(&other)).expect(500);
}

#[test]
fn a_router_without_descriptors_says_so() {
    let (_site, server) = app(&wrapping("pass"));
    let file = MemoryFile::of(content());
    let mut client = server.connect();
    client.get("/pid").expect(200);
    limit(router(&server), Resource::Descriptors, Some(0));
    client.get(&target(&file)).expect(503);
    server.expect_log("no descriptor is left for the file that it ends with");
    client.get("/pid").expect(200);
    limit(router(&server), Resource::Descriptors, None);
    assert!(client.get(&target(&file)).expect(200).body == content());
}

/// Code of an application that finds the socket of its files, and sends what it likes.
const FIND_SOCKET: &str = "for number in os.listdir('/proc/self/fd'):
    try:
        own = socket.socket(fileno=os.dup(int(number)))
    except OSError:
        continue
    if own.type == socket.SOCK_SEQPACKET:
        break
def put(*numbers):
    own.sendmsg([b'x'], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array('i', numbers))])
";

/// A descriptor that the router would wait for, now or when it closes it, ends the process and nothing else.
#[test]
fn processes_that_send_what_is_no_file_are_killed() {
    for sent in [
        "put(os.pipe()[0])",
        "put(file.fileno(), file.fileno())",
        "put(os.open('/', os.O_RDONLY))",
        "put(os.open('/dev/zero', os.O_RDONLY))",
        "pair = socket.socketpair(); put(pair[0].fileno())",
        "tcp = socket.socket(); put(tcp.fileno())",
        "put(os.open('/proc/self/status', os.O_RDONLY))",
        "put(os.open(environ['QUERY_STRING'], os.O_PATH))",
        "own.send(b'nothing')",
    ] {
        let code = format!("{FIND_SOCKET}if environ['PATH_INFO'] == '/bad':\n    {sent}");
        let (_site, server) = app(&wrapping(&code));
        let file = MemoryFile::of(content());
        let router_before = router(&server);
        server.get(&format!("/bad?{}", file.text())).expect(503);
        server.expect_log("breaks the rules of the channel: the worker sends what is neither a file");
        eventually("another process serves", || (server.get("/pid").status == 200).then_some(()));
        assert!(server.get(&target(&file)).expect(200).body == content(), "{sent}");
        assert_eq!(router(&server), router_before, "{sent}");
    }
}

/// The socket takes only so much, and what cannot be handed over goes through the channel.
#[test]
fn processes_that_fill_their_socket_harm_nobody() {
    let code = format!(
        "{FIND_SOCKET}own.setblocking(False)\ntry:\n    while True:\n        put(file.fileno())\nexcept \
        OSError:\n    pass"
    );
    let (_site, server) = app(&wrapping(&code));
    let file = MemoryFile::of(content());
    let pid = server.get("/pid").expect(200).text();
    for _ in 0..3 {
        assert!(server.get(&target(&file)).expect(200).body == content());
    }
    assert!(!file.is_open_in(router(&server)));
    server.get("/pid").expect(200).expect_body(pid);
}
