//! WebSocket connections to ASGI applications (contract 23.5), beyond what all languages do.

use corral_testkit::{Daemon, Request, Site, WebSocket, daemon, python_app, site};
use serde_json::{Value, json};

const TEXT: u8 = WebSocket::TEXT;
const BINARY: u8 = WebSocket::BINARY;
const CLOSE: u8 = WebSocket::CLOSE;
const PING: u8 = WebSocket::PING;
const LAST: u8 = WebSocket::LAST;

/// An application whose connections are handled by this body, which may use `events`: those that have come.
#[track_caller]
pub(crate) fn handling(body: &str, settings: &Value) -> (Site, Daemon) {
    let code = format!(
        "import asyncio, json, os, signal

async def application(scope, receive, send):
    if scope['type'] == 'http':
        await send({{'type': 'http.response.start', 'status': 200}})
        return await send({{'type': 'http.response.body', 'body': str(os.getpid()).encode()}})
    assert scope['type'] == 'websocket', scope['type']
    assert await receive() == {{'type': 'websocket.connect'}}
    {}
",
        body.replace('\n', "\n    ")
    );
    let site = site().file("app.py", code);
    let server = daemon().start_unconfigured();
    let config = json!({
        "listeners": { server.address().to_string(): { "pass": "applications/python" } },
        "applications": { "python": python_app(&site).value() },
        "settings": { "http": { "websocket": settings } }
    });
    server.control().put("/config", &config).expect_done();
    (site, server)
}

/// Says what came, in short.
const TELLING: &str = "await send({'type': 'websocket.accept'})
while True:
    event = await receive()
    print('told', repr(event), flush=True)
    if event['type'] == 'websocket.disconnect':
        break
    await send({'type': 'websocket.send', 'text': event['text'] or str(len(event['bytes']))})";

#[track_caller]
pub(crate) fn telling() -> (Site, Daemon) {
    handling(TELLING, &json!({}))
}

#[track_caller]
pub(crate) fn open(server: &Daemon) -> WebSocket {
    WebSocket::open(server.connect(), &WebSocket::request("/chat?room=1"))
}

#[test]
fn a_scope_describes_the_connection() {
    let (_site, server) = handling(
        "await send({'type': 'websocket.accept', 'subprotocol': scope['subprotocols'][1],
    'headers': [(b'x-own', b'yes')]})
await send({'type': 'websocket.send', 'text': json.dumps([scope['scheme'], scope['path'],
    scope['query_string'].decode(), scope['subprotocols'], scope['http_version'], 'method' in scope])})",
        &json!({}),
    );
    let request = WebSocket::request("/chat?room=1")
        .field("Sec-WebSocket-Protocol", "a, b")
        .field("Sec-WebSocket-Protocol", "c");
    let mut socket = WebSocket::open(server.connect(), &request);
    assert!(socket.accepted.contains("Sec-WebSocket-Protocol: b\r\n"), "{}", socket.accepted);
    assert!(socket.accepted.contains("x-own: yes\r\n"), "{}", socket.accepted);
    socket.expect_text(r#"["ws", "/chat", "room=1", ["a", "b", "c"], "1.1", false]"#);
    // It has returned.
    socket.expect_close(1000);
}

#[test]
fn a_connection_can_be_refused() {
    let (_site, server) = handling("await send({'type': 'websocket.close'})", &json!({}));
    server.connect().send(&WebSocket::request("/")).expect(403);
    // An application that knows already need not ask what it is about.
    let site = site().file(
        "app.py",
        "async def application(scope, receive, send):\n    await send({'type': 'websocket.close'})",
    );
    let server = daemon().python(python_app(&site)).start();
    server.connect().send(&WebSocket::request("/")).expect(403);
    let (_site, server) = handling(
        "await send({'type': 'websocket.http.response.start', 'status': 401, 'headers': [(b'x-why', b'a')]})
await send({'type': 'websocket.http.response.body', 'body': b'who are you?'})",
        &json!({}),
    );
    let response = server.connect().send(&WebSocket::request("/")).expect(401);
    response.expect_field("x-why", "a").expect_body("who are you?");
}

#[test]
fn requests_that_nobody_could_accept_do_not_reach_the_application() {
    let (_site, server) = telling();
    let request = |key: &str, version: &str| {
        Request::get("/")
            .field("Connection", "keep-alive, Upgrade")
            .field("Upgrade", "WebSocket")
            .field("Sec-WebSocket-Key", key)
            .field("Sec-WebSocket-Version", version)
    };
    server.connect().send(&request("short", "13")).expect(400);
    server.connect().send(&request("dGhlIHNhbXBsZSBub25jZQ==", "8")).expect(426);
}

/// A message that arrives together with the request is the first one.
#[test]
fn messages_may_come_before_the_acceptance() {
    let (_site, server) = telling();
    let mut bytes = WebSocket::request("/").encode();
    bytes.extend(b"\x81\x82\0\0\0\0hi");
    let mut client = server.connect();
    client.write(bytes);
    client.read_until_text("\x02hi");
}

#[test]
fn either_side_may_close_with_a_code_and_a_reason() {
    let (_site, server) = handling(
        "await send({'type': 'websocket.accept'})
event = await receive()
if event['type'] == 'websocket.receive':
    await send({'type': 'websocket.close', 'code': 4001, 'reason': 'enough'})
    event = await receive()
print('told', json.dumps(event), flush=True)",
        &json!({}),
    );
    let mut socket = open(&server);
    socket.send(LAST | CLOSE, b"\x10\x92bye");
    socket.expect_close(4242);
    assert!(socket.client.is_closed());
    server.expect_log(r#"told {"type": "websocket.disconnect", "code": 4242, "reason": "bye"}"#);
    let mut socket = open(&server);
    socket.send_text("end this");
    assert_eq!(socket.expect_close(4001), "enough");
    socket.send(LAST | CLOSE, b"\x0f\xa1");
    assert!(socket.client.is_closed());
    server.expect_log(r#"told {"type": "websocket.disconnect", "code": 4001, "reason": "enough"}"#);
}

#[test]
fn an_abrupt_end_is_a_disconnect_with_1006() {
    let (_site, server) = telling();
    let mut socket = open(&server);
    socket.send_text("here");
    socket.expect_text("here");
    drop(socket);
    server.expect_log("told {'type': 'websocket.disconnect', 'code': 1006");
}

#[test]
fn who_breaks_the_rules_is_closed_and_the_application_goes_on() {
    let (_site, server) = telling();
    let wrong: [(&[u8], u16); 5] = [
        (b"\x81\x01x", 1002),                // not masked
        (b"\xc1\x81\0\0\0\0x", 1002),        // a reserved bit
        (b"\x83\x81\0\0\0\0x", 1002),        // a reserved opcode
        (b"\x80\x81\0\0\0\0x", 1002),        // nothing to continue
        (b"\x89\xfe\x00\x7e\0\0\0\0", 1002), // a long ping
    ];
    for (bytes, code) in wrong {
        let mut socket = open(&server);
        socket.client.write(bytes);
        socket.expect_close(code);
        assert!(socket.client.is_closed());
    }
    // A text that is none.
    let mut socket = open(&server);
    socket.send(LAST | TEXT, b"\xff");
    socket.expect_close(1007);
    let mut socket = open(&server);
    socket.send_text("still here");
    socket.expect_text("still here");
}

#[test]
fn frames_are_limited_and_messages_too() {
    let (_site, server) = handling(TELLING, &json!({ "max_frame_size": 1000 }));
    let mut socket = open(&server);
    // Two bytes of head, two of length and four of mask count.
    socket.send(LAST | BINARY, &[0; 992]);
    socket.expect_text("992");
    socket.send(LAST | BINARY, &[0; 993]);
    socket.expect_close(1009);
    // Ten mebibytes in a message of many frames.
    let (_site, server) = telling();
    let mut socket = open(&server);
    socket.send(BINARY, &[0; 1_000_000]);
    for _ in 0..9 {
        socket.send(WebSocket::CONTINUATION, &[0; 1_000_000]);
    }
    socket.send(LAST | WebSocket::CONTINUATION, &[0; 1000]);
    socket.expect_text("10001000");
    socket.send(BINARY, &[0; 1_000_000]);
    for _ in 0..10 {
        socket.send(WebSocket::CONTINUATION, &[0; 1_000_000]);
    }
    socket.expect_close(1009);
}

#[test]
fn a_silent_client_is_asked_and_then_closed() {
    let (_site, server) = handling(TELLING, &json!({ "keepalive_interval": 1, "read_timeout": 3 }));
    let mut socket = open(&server);
    assert_eq!(socket.receive().0, PING);
    socket.send(LAST | WebSocket::PONG, b"");
    assert_eq!(socket.receive().0, PING);
    assert_eq!(socket.expect_close(1001), "silent for too long");
}

/// Pings are answered by the server, not by an application that may be busy.
#[test]
fn pings_are_answered_while_the_application_is_busy() {
    let (site, server) = handling(
        "import time
await send({'type': 'websocket.accept'})
print('busy', flush=True)
while not os.path.exists(os.path.join(os.path.dirname(__file__), 'go')):
    time.sleep(0.005)
await send({'type': 'websocket.send', 'text': 'done'})",
        &json!({}),
    );
    let mut client = server.connect();
    client.write(WebSocket::request("/").encode());
    server.expect_log("busy");
    site.write("go", "");
    client.read_until_text("done");
    std::fs::remove_file(site.path("go")).expect("it was just written");
}

#[test]
fn an_exception_closes_its_connection_and_no_other() {
    let (_site, server) = handling(
        "await send({'type': 'websocket.accept'})
while True:
    event = await receive()
    if event['type'] == 'websocket.disconnect':
        break
    if event['text'] == 'die':
        os.kill(os.getpid(), signal.SIGKILL)
    await send({'type': 'websocket.send', 'text': str(1 / len(event['text']))})",
        &json!({}),
    );
    let (mut good, mut bad) = (open(&server), open(&server));
    bad.send_text("");
    bad.expect_close(1011);
    server.expect_log("WebSocket /chat?room=1: Traceback");
    server.expect_log("ZeroDivisionError");
    good.send_text("x");
    good.expect_text("1.0");
    // A process that dies takes its connections with it, and they are told.
    good.send_text("die");
    good.expect_close(1011);
    let mut socket = open(&server);
    socket.send_text("xx");
    socket.expect_text("0.5");
}

#[test]
fn messages_that_nobody_takes_make_the_client_wait() {
    let (site, server) = handling(
        "await send({'type': 'websocket.accept'})
while not os.path.exists(os.path.join(os.path.dirname(__file__), 'go')):
    await asyncio.sleep(0.005)
n = 0
while n < 20_000_000:
    n += len((await receive())['bytes'])
await send({'type': 'websocket.send', 'text': str(n)})",
        &json!({}),
    );
    let mut socket = open(&server);
    // Other connections of the same process are served meanwhile.
    let sending = std::thread::spawn(move || {
        for _ in 0..200 {
            socket.send(LAST | BINARY, &[0; 100_000]);
        }
        socket
    });
    for _ in 0..10 {
        server.get("/").expect(200);
    }
    assert!(!sending.is_finished(), "twenty megabytes were taken that nobody wants");
    site.write("go", "");
    sending.join().expect("it was taken").expect_text("20000000");
}

/// Longer than a request may run: a connection is not a request that hangs.
#[test]
fn limits_of_time_are_not_for_connections() {
    let code = "
async def application(scope, receive, send):
    await receive()
    await send({'type': 'websocket.accept'})
    while (event := await receive())['type'] == 'websocket.receive':
        await send({'type': 'websocket.send', 'text': event['text']})
";
    let site = site().file("app.py", code);
    let limits = json!({ "timeout": 1, "kill_after": 1 });
    let server = daemon().python(python_app(&site).with("limits", limits)).start();
    let mut socket = open(&server);
    for text in ["one", "two", "three"] {
        std::thread::sleep(std::time::Duration::from_millis(700));
        socket.send_text(text);
        socket.expect_text(text);
    }
}

#[test]
fn a_new_configuration_leaves_connections_to_the_old_processes() {
    let (site, server) = telling();
    let mut socket = open(&server);
    socket.send_text("before");
    socket.expect_text("before");
    let changed = python_app(&site).with("environment", json!({ "NEW": "1" })).value();
    server.control().put("/config/applications/python", &changed).expect_done();
    server.get("/").expect(200);
    socket.send_text("after");
    socket.expect_text("after");
    socket.send(LAST | CLOSE, b"\x03\xe8");
    socket.expect_close(1000);
}

#[test]
fn applications_without_websockets_see_a_request() {
    let site = site().file(
        "app.py",
        "def application(environ, start_response):
    start_response('200 OK', [])
    return [environ['HTTP_UPGRADE'].encode()]
",
    );
    let server = daemon().python(python_app(&site)).start();
    server.connect().send(&WebSocket::request("/")).expect(200).expect_body("websocket");
}
