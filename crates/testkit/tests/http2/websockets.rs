//! WebSockets as streams (RFC 8441).

use corral_testkit::{Http2, Http2Stream, Origin, Request, WebSocket, python_app, site};
use serde_json::json;

use super::{action, serve};

const ECHO: &str = "
async def application(scope, receive, send):
    if scope['type'] != 'websocket':
        await send({'type': 'http.response.start', 'status': 426})
        await send({'type': 'http.response.body', 'body': b'a WebSocket, please'})
        return
    await receive()
    await send({'type': 'websocket.accept', 'subprotocol': 'chat'})
    while True:
        message = await receive()
        if message['type'] == 'websocket.disconnect':
            return
        await send({'type': 'websocket.send', 'text': message['text']})
";

fn request(target: &str) -> Request {
    Request::get(target).field("Sec-WebSocket-Version", "13").field("Sec-WebSocket-Protocol", "chat")
}

#[track_caller]
fn read(stream: &mut Http2Stream, n: usize) -> Vec<u8> {
    let mut received = Vec::new();
    while received.len() < n {
        let piece = stream.read_some();
        assert!(!piece.is_empty(), "ended after {received:?}");
        received.extend(piece);
    }
    received
}

#[test]
fn to_an_application_beside_requests() {
    let site = site().file("app.py", ECHO);
    let server = serve(json!({ "applications": { "app": python_app(&site).value() } }));
    let mut client = Http2::connect(server.address().socket());
    let mut sockets = [(); 3].map(|()| client.connect_protocol("websocket", &request("/")));
    for socket in &mut sockets {
        let head = socket.head().expect(200).expect_field("sec-websocket-protocol", "chat");
        head.expect_no_field("sec-websocket-accept").expect_no_field("upgrade").expect_no_field("connection");
    }
    client.get("/").expect(426);
    for (n, socket) in sockets.iter_mut().enumerate() {
        let text = format!("hello {n}");
        socket.write(WebSocket::frame(WebSocket::LAST | WebSocket::TEXT, text.as_bytes()));
        let expected = [&[WebSocket::LAST | WebSocket::TEXT, 7][..], text.as_bytes()].concat();
        assert_eq!(read(socket, expected.len()), expected);
    }
    let [mut first, second, _third] = sockets;
    first.write(WebSocket::frame(WebSocket::LAST | WebSocket::CLOSE, &1000_u16.to_be_bytes()));
    assert_eq!(read(&mut first, 4)[..2], [WebSocket::LAST | WebSocket::CLOSE, 2]);
    assert_eq!(first.try_read().expect("it ends in order"), None);
    drop(second);
    client.get("/").expect(426);
}

#[test]
fn to_a_proxied_server() {
    let origin = Origin::start(|peer| {
        let head = peer.read_head().unwrap_or_default().to_lowercase();
        assert!(
            head.starts_with("get /chat http/1.1\r\n") && head.contains("upgrade: websocket\r\n"),
            "{head}"
        );
        assert!(head.contains("sec-websocket-key: "), "{head}");
        // The client checks the answer to its key: RFC 6455 section 4.2.2.
        let key = head.split("sec-websocket-key: ").nth(1).and_then(|rest| rest.split("\r\n").next());
        assert_eq!(key.map(str::len), Some(24));
        peer.write(
            b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\nfirst",
        );
        loop {
            let bytes = peer.read();
            if bytes.is_empty() || !peer.write(&bytes) {
                return;
            }
        }
    });
    let server = serve(action(json!({ "proxy": origin.url() })));
    let mut client = Http2::connect(server.address().socket());
    let mut socket = client.connect_protocol("websocket", &request("/chat"));
    socket.head().expect(200);
    assert_eq!(read(&mut socket, 5), b"first");
    socket.write("any bytes");
    assert_eq!(read(&mut socket, 9), b"any bytes");
    socket.finish();
    assert_eq!(socket.try_read().expect("it ends in order"), None);
}

#[test]
fn what_is_refused_is_an_ordinary_response() {
    let server = serve(action(json!({ "return": 404 })));
    let mut client = Http2::connect(server.address().socket());
    client.connect_protocol("websocket", &request("/")).response().expect(404);
    client.connect_protocol("made-up", &Request::get("/")).response().expect(501);
}
