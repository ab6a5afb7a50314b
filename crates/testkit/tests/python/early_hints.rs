//! Early hints of ASGI applications, before their response: `http.response.early_hint`.

use corral_testkit::{Request, daemon, eventually, python_app, site};
use serde_json::json;

use crate::app;
use crate::asgi::handling;

/// Sends a hint of these links.
fn hint(links: &str) -> String {
    format!("await send({{'type': 'http.response.early_hint', 'links': {links}}})\n")
}

/// Waits for the file `go`.
const WAIT: &str = "while not os.path.exists(os.path.join(os.path.dirname(__file__), 'go')):
    await asyncio.sleep(0.005)
";

#[test]
fn hints_come_before_the_response_and_are_not_logged() {
    let hints = hint("[b'</style.css>; rel=preload; as=style', b'</app.js>; rel=preload']");
    let code = handling(&format!(
        "assert scope['extensions']['http.response.early_hint'] == {{}}\n{hints}{WAIT}await answer(send, 'done', 404)"
    ));
    let site = site().file("app.py", code);
    let log = site.path("access.log");
    let server = daemon()
        .config(json!({
            "applications": { "python": python_app(&site).value() },
            "access_log": { "path": log, "format": "$status $body_bytes_sent" }
        }))
        .start();
    let mut client = server.begin(&Request::get("/"));
    let early = client.read_response().expect(103);
    assert_eq!(early.reason, "Early Hints");
    let links: Vec<_> = early.all("Link").collect();
    assert_eq!(links, ["</style.css>; rel=preload; as=style", "</app.js>; rel=preload"]);
    assert_eq!(early.fields.len(), 2, "{early}");
    site.write("go", "");
    client.read_response().expect(404).expect_body("done").expect_no_field("Link");
    let read = || std::fs::read_to_string(&log).ok().filter(|text| text.ends_with('\n'));
    assert_eq!(eventually("the request is logged", read), "404 4\n");
}

#[test]
fn there_may_be_many_and_the_connection_goes_on() {
    let many = "for i in range(2000):
    await send({'type': 'http.response.early_hint', 'links': [b'</%d>' % i] * 10})
";
    let (_site, server) = app(&handling(&format!("{many}await answer(send, scope['path'])")));
    let mut client = server.connect();
    for path in ["/first", "/second"] {
        client.write(Request::get(path).encode());
        for i in 0..2000 {
            let link = format!("</{i}>");
            assert_eq!(client.read_response().expect(103).all("Link").collect::<Vec<_>>(), [&*link; 10]);
        }
        client.read_response().expect(200).expect_body(path);
    }
}

/// No hints are sent, also if the application does not look whether it may.
#[test]
fn a_client_of_http_1_0_gets_none() {
    let code = format!(
        "known = 'http.response.early_hint' in scope['extensions']\n{}await answer(send, known)",
        hint("[b'</a>']")
    );
    let (_site, server) = app(&handling(&code));
    let mut client = server.connect();
    client.write("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    client.read_response().expect(200).expect_body("False");
    client.write("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    client.read_response().expect(103);
    client.read_response().expect(200).expect_body("True");
}

#[test]
fn an_exception_behind_a_hint_is_still_answered() {
    let (_site, server) = app(&handling(&format!("{}1 / 0", hint("[b'</a>']"))));
    let mut client = server.begin(&Request::get("/"));
    client.read_response().expect(103).expect_field("Link", "</a>");
    client.read_response().expect(500);
    server.expect_log("ZeroDivisionError");
    client.get("/").expect(103);
    client.read_response().expect(500);
}

#[test]
fn a_process_that_dies_behind_a_hint_is_still_answered() {
    let (_site, server) = app(&handling(&format!("{}os.kill(os.getpid(), 9)", hint("[b'</a>']"))));
    let mut client = server.begin(&Request::get("/"));
    client.read_response().expect(103);
    client.read_response().expect(503);
}

#[test]
fn what_is_no_hint_is_an_error_of_the_application() {
    let start = "await send({'type': 'http.response.start', 'status': 200})\n";
    let refused = "links that cannot be sent: the value of header 1 has CR, LF or NUL";
    for (code, error) in [
        (hint("[b'</a>', b'</b>\\r\\nSet-Cookie: a=b']"), refused),
        (hint("[b'</a>', b'\\0']"), refused),
        (hint("['</a>']"), "a link consists of bytes, not"),
        (hint("None"), "an early hint needs links"),
        (start.to_owned() + &hint("[b'</a>']"), "\"http.response.early_hint\" is not expected now"),
    ] {
        let (_site, server) = app(&handling(&code));
        server.get("/").expect(500).expect_no_field("Set-Cookie");
        server.expect_log(error);
    }
}

/// The application that catches the error goes on, and what it had sent comes in order.
#[test]
fn a_hint_that_is_refused_leaves_the_response_alone() {
    let (_site, server) = app(&handling(&format!(
        "{}try:
    {}except ValueError:
    {}await send({{'type': 'http.response.start', 'status': 200}})
try:
    {}except RuntimeError:
    await send({{'type': 'http.response.body', 'body': b'fine'}})",
        hint("[b'</a>']"),
        hint("[b'\\n']"),
        hint("[b'</b>']"),
        hint("[b'</c>']"),
    )));
    let mut client = server.begin(&Request::get("/"));
    for link in ["</a>", "</b>"] {
        client.read_response().expect(103).expect_field("Link", link);
    }
    client.read_response().expect(200).expect_body("fine");
}

#[test]
fn a_client_that_leaves_behind_a_hint_is_noticed() {
    let (_site, server) = app(&handling(&format!(
        "{}await receive()
print('told', (await receive())['type'], flush=True)
try:
    {}except OSError as error:
    print('refused', type(error).__name__, flush=True)",
        hint("[b'</a>']"),
        hint("[b'</b>']"),
    )));
    let mut client = server.begin(&Request::get("/"));
    client.read_response().expect(103);
    drop(client);
    server.expect_log("told http.disconnect");
    server.expect_log("refused ClientDisconnected");
}

#[test]
fn a_client_that_does_not_read_holds_its_own_coroutine_up() {
    let (_site, server) = app(&handling(
        "if scope['path'] == '/':
    return await answer(send, 'here')
for _ in range(20000):
    await send({'type': 'http.response.early_hint', 'links': [b'x' * 10000]})
print('all', flush=True)",
    ));
    let mut slow = server.connect();
    slow.write(Request::get("/slow").encode());
    slow.read_until_text("xxxx");
    for _ in 0..20 {
        server.get("/").expect(200).expect_body("here");
    }
    assert!(!server.log().contains("all\n"), "the hints were taken although nobody reads them");
    drop(slow);
    server.get("/").expect(200).expect_body("here");
}

/// The rest of the request's body comes after the hint.
#[test]
fn a_hint_comes_while_the_body_is_still_sent() {
    let (_site, server) = app(&handling(&format!(
        "first = await receive()
assert first['more_body']
{}body = first['body']
while True:
    event = await receive()
    body += event['body']
    if not event['more_body']:
        break
{}await answer(send, len(body))",
        hint("[b'</a>']"),
        hint("[b'</b>']"),
    )));
    let mut client = server.connect();
    client.write("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 500005\r\n\r\nhello");
    client.read_response().expect(103).expect_field("Link", "</a>");
    client.write(vec![b'x'; 500_000]);
    client.read_response().expect(103).expect_field("Link", "</b>");
    client.read_response().expect(200).expect_body("500005");
    client.write("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    client.read_response().expect(500);
}
