//! ASGI beyond what all languages do: lifespan, events in their order, bodies as they come, clients that leave, files,
//! applications of ASGI 2, targets.

use std::time::Duration;

use corral_testkit::{Daemon, Request, Site, daemon, eventually, python_app, site};
use serde_json::json;

use crate::app;

/// An application with this body for requests.
pub(crate) fn handling(body: &str) -> String {
    format!(
        "import asyncio, json, os, sys

async def answer(send, body, status=200):
    body = body if isinstance(body, bytes) else str(body).encode()
    await send({{'type': 'http.response.start', 'status': status, 'headers': []}})
    await send({{'type': 'http.response.body', 'body': body}})

async def application(scope, receive, send):
    assert scope['type'] == 'http', scope['type']
    {}
",
        body.replace('\n', "\n    ")
    )
}

/// A server with this application, to which clients may send bodies in chunks.
#[track_caller]
fn taking_chunks(body: &str) -> (Site, Daemon) {
    let site = site().file("app.py", handling(body));
    let server = daemon()
        .config(json!({
            "applications": { "python": python_app(&site).value() },
            "settings": { "http": { "chunked_transform": true } }
        }))
        .start();
    (site, server)
}

/// Knows the lifespan protocol, and writes what it goes through to the log.
pub(crate) const LIVING: &str = "
async def application(scope, receive, send):
    if scope['type'] == 'lifespan':
        while True:
            event = await receive()
            print('told ' + event['type'], flush=True)
            if event['type'] == 'lifespan.startup':
                scope['state']['database'] = ['open']
                await send({'type': 'lifespan.startup.complete'})
            else:
                await send({'type': 'lifespan.shutdown.complete'})
                return
    scope['state']['own'] = True
    scope['state']['database'].append('used')
    body = ','.join(scope['state']['database']) + str(sorted(scope['state']))
    await send({'type': 'http.response.start', 'status': 200, 'headers': []})
    await send({'type': 'http.response.body', 'body': body.encode()})
";

#[test]
fn an_application_starts_before_its_first_request_and_ends_after_its_last() {
    let site = site().file("app.py", LIVING);
    let server = daemon().python(python_app(&site).with("limits", json!({ "requests": 2 }))).start();
    server.expect_log("told lifespan.startup");
    // Each request has a copy of the state, not of what is in it.
    server.get("/").expect(200).expect_body("open,used['database', 'own']");
    server.get("/").expect(200).expect_body("open,used,used['database', 'own']");
    server.expect_log("told lifespan.shutdown");
    server.get("/").expect(200).expect_body("open,used['database', 'own']");
}

#[test]
fn an_application_shuts_down_when_it_is_replaced() {
    let (_site, server) = app(LIVING);
    server.get("/").expect(200);
    server.control().get("/control/applications/python/restart").0.expect(200);
    server.expect_log("told lifespan.shutdown");
    server.get("/").expect(200).expect_body("open,used['database', 'own']");
}

#[test]
fn a_startup_that_fails_is_told_as_the_reason() {
    let failing = "
async def application(scope, receive, send):
    await receive()
    await send({'type': 'lifespan.startup.failed', 'message': 'there is no database'})
";
    let site = site().file("app.py", failing);
    let server = daemon().start_unconfigured();
    let config = json!({
        "listeners": { server.address().to_string(): { "pass": "applications/python" } },
        "applications": { "python": python_app(&site).value() }
    });
    let reason =
        server.control().put("/config", &config).expect_refused(500, "Failed to apply new configuration.");
    assert!(reason.contains("there is no database"), "{reason}");
}

/// Whoever has asked for an event knows the protocol, and whoever raises then has failed.
#[test]
fn an_exception_at_startup_is_an_error_in_the_log_and_the_application_is_served() {
    let (_site, server) = app("
async def application(scope, receive, send):
    if scope['type'] == 'lifespan':
        await receive()
        raise RuntimeError('no database at startup')
    await send({'type': 'http.response.start', 'status': 200})
    await send({'type': 'http.response.body', 'body': str('state' in scope).encode()})
");
    server.get("/").expect(200).expect_body("False");
    server.expect_log("RuntimeError: no database at startup");
    let log = server.log();
    let line = log.lines().find(|line| line.contains("no database at startup")).expect("it was just there");
    assert!(line.contains(" [error] "), "{line}");
}

/// One target's startup is not another's.
#[test]
fn targets_start_by_themselves_and_a_startup_that_fails_is_that_of_all() {
    let code = "
async def answer(send, text):
    await send({'type': 'http.response.start', 'status': 200})
    await send({'type': 'http.response.body', 'body': text.encode()})

async def knowing(scope, receive, send):
    if scope['type'] == 'lifespan':
        await receive()
        scope['state']['mine'] = 'yes'
        await send({'type': 'lifespan.startup.complete'})
        await receive()
        return await send({'type': 'lifespan.shutdown.complete'})
    await answer(send, scope['state']['mine'])

async def ignorant(scope, receive, send):
    assert scope['type'] == 'http', 'knows requests only'
    await answer(send, str('state' in scope))

async def silent(scope, receive, send):
    if scope['type'] == 'http':
        await answer(send, str(scope.get('state')))

async def failing(scope, receive, send):
    await receive()
    await send({'type': 'lifespan.startup.failed', 'message': 'this target has no database'})
";
    let site = site().file("app.py", code);
    let target = |name: &str| json!({ "module": "app", "callable": name });
    let targets = json!({ "a": target("knowing"), "b": target("ignorant"), "c": target("silent") });
    let route = |name: &str| json!({ "match": { "uri": format!("/{name}") }, "action": { "pass": format!("applications/python/{name}") } });
    let server = daemon().start_unconfigured();
    let config = |targets| {
        json!({
            "listeners": { server.address().to_string(): { "pass": "routes" } },
            "routes": [route("a"), route("b"), route("c")],
            "applications": { "python": python_app(&site).without("module").with("targets", targets).value() }
        })
    };
    server.control().put("/config", &config(targets.clone())).expect_done();
    server.get("/a").expect(200).expect_body("yes");
    server.get("/b").expect(200).expect_body("False");
    server.get("/c").expect(200).expect_body("{}");
    assert!(!server.log().contains("knows requests only"), "{}", server.log());
    let mut failing = targets;
    failing["d"] = target("failing");
    let reason = server.control().put("/config", &config(failing));
    let reason = reason.expect_refused(500, "Failed to apply new configuration.");
    assert!(reason.contains("this target has no database"), "{reason}");
    let log = server.log();
    let line = log.lines().find(|line| line.contains("application \"python\": Traceback"));
    assert!(line.is_some_and(|line| line.contains(" [error] ")), "{log}");
    server.get("/a").expect(200).expect_body("yes");
}

#[test]
fn who_does_not_know_the_lifespan_protocol_is_served_without() {
    let (_site, server) = app(&handling("await answer(send, 'state' in scope)"));
    server.get("/").expect(200).expect_body("False");
}

#[test]
fn a_scope_describes_the_request() {
    let (_site, server) = app(&handling(
        "scope['headers'] = [[name.decode(), value.decode()] for name, value in scope['headers']]
for name in 'raw_path', 'query_string':
    scope[name] = scope[name].decode()
await answer(send, json.dumps(scope))",
    ));
    let request = Request::get("/a%20b/%C3%BC?x=%20").field("X-Twice", "1").field("X-Twice", "2");
    let scope = server.connect().send(&request).expect(200).json();
    assert_eq!(scope["asgi"], json!({ "version": "3.0", "spec_version": "2.4" }));
    assert_eq!(scope["path"], "/a b/ü");
    assert_eq!((&scope["raw_path"], &scope["query_string"]), (&json!("/a%20b/%C3%BC"), &json!("x=%20")));
    assert_eq!((&scope["http_version"], &scope["root_path"]), (&json!("1.1"), &json!("")));
    assert_eq!(scope["client"][1], 0);
    let address = server.address().to_string();
    let (ip, port) = address.split_once(':').expect("an address has a port");
    assert_eq!(scope["server"], json!([ip, port.parse::<u16>().expect("it is a number")]));
    assert_eq!(scope["headers"], json!([["host", "localhost"], ["x-twice", "1"], ["x-twice", "2"]]));
}

#[test]
fn targets_have_their_own_callables_prefixes_and_states() {
    let code = "
def make(name):
    async def application(scope, receive, send):
        if scope['type'] == 'lifespan':
            await receive()
            scope['state']['name'] = name
            await send({'type': 'lifespan.startup.complete'})
            await receive()
            return
        body = f\"{scope['state']['name']} {scope['root_path']} {scope['path']}\"
        await send({'type': 'http.response.start', 'status': 200})
        await send({'type': 'http.response.body', 'body': body.encode()})
    return application

one = make('one')

def two():
    return make('two')
";
    let site = site().file("app.py", code);
    let targets = json!({
        "one": { "module": "app", "callable": "one", "prefix": "/1" },
        "two": { "module": "app", "callable": "two", "factory": true }
    });
    let app = python_app(&site).without("module").with("targets", targets).value();
    let server = daemon().start_unconfigured();
    let route = |uri: &str, target: &str| json!({ "match": { "uri": uri }, "action": { "pass": format!("applications/python/{target}") } });
    let config = json!({
        "listeners": { server.address().to_string(): { "pass": "routes" } },
        "routes": [route("/1/*", "one"), route("/2/*", "two")],
        "applications": { "python": app }
    });
    server.control().put("/config", &config).expect_done();
    server.get("/1/x").expect(200).expect_body("one /1 /1/x");
    server.get("/2/x").expect(200).expect_body("two  /2/x");
}

#[test]
fn applications_of_asgi_2_are_called_twice() {
    let code = "
class Old:
    def __init__(self, scope):
        self.scope = scope

    async def __call__(self, receive, send):
        await send({'type': 'http.response.start', 'status': 200})
        await send({'type': 'http.response.body', 'body': self.scope['path'].encode()})

def old(scope):
    return Old(scope)
";
    for callable in ["Old", "old"] {
        let site = site().file("app.py", code);
        let app = python_app(&site).with("callable", json!(callable)).with("protocol", json!("asgi"));
        let server = daemon().python(app).start();
        server.get("/path").expect(200).expect_body("/path");
    }
}

/// All of them wait for the last one, in one process.
#[test]
fn a_process_runs_hundreds_of_requests_at_once() {
    let (_site, server) = app(&handling(
        "global n, all_here
if 'n' not in globals():
    n, all_here = 0, asyncio.Event()
n += 1
if n == 300:
    all_here.set()
await all_here.wait()
await answer(send, os.getpid())",
    ));
    let mut clients: Vec<_> = (0..300).map(|_| server.connect()).collect();
    for client in &mut clients {
        client.write(Request::get("/").encode());
    }
    let pids: std::collections::HashSet<_> =
        clients.iter_mut().map(|client| client.read_response().expect(200).text()).collect();
    assert_eq!(pids.len(), 1);
}

#[test]
fn a_client_that_leaves_is_noticed_at_once() {
    let (_site, server) = app(&handling(
        "assert (await receive())['more_body'] is False
waiting = asyncio.ensure_future(receive())
await asyncio.sleep(0)
assert not waiting.done()
print('waits', flush=True)
event = await waiting
print('told', event['type'], flush=True)
try:
    await answer(send, 'too late')
except OSError as error:
    print('refused', type(error).__name__, flush=True)",
    ));
    let mut client = server.connect();
    client.write(Request::get("/").encode());
    server.expect_log("waits");
    drop(client);
    server.expect_log("told http.disconnect");
    server.expect_log("refused ClientDisconnected");
}

/// As after the response: who waits for another event would wait for ever.
#[test]
fn the_end_of_the_response_is_a_disconnect() {
    let (_site, server) = app(&handling(
        "await receive()
waiting = asyncio.ensure_future(receive())
await answer(send, 'done')
print('told', (await waiting)['type'], flush=True)
print('again', (await receive())['type'], flush=True)",
    ));
    server.get("/").expect(200).expect_body("done");
    server.expect_log("told http.disconnect");
    server.expect_log("again http.disconnect");
}

/// The client has its response, and the process goes on with what the application does behind it.
#[test]
fn work_goes_on_behind_a_response() {
    let (site, server) = app(&handling(
        "await answer(send, 'done')
while not os.path.exists(os.path.join(os.path.dirname(__file__), 'go')):
    await asyncio.sleep(0.005)
print('worked', flush=True)",
    ));
    server.get("/").expect(200).expect_body("done");
    site.write("go", "");
    server.expect_log("worked");
}

#[test]
fn a_slow_client_holds_its_own_coroutine_up_and_nobody_else() {
    let (_site, server) = app(&handling(
        "if scope['path'] == '/':
    return await answer(send, 'here')
await send({'type': 'http.response.start', 'status': 200})
for i in range(400):
    await send({'type': 'http.response.body', 'body': b'x' * 1_000_000, 'more_body': True})
    if i == 380:
        print('almost all', flush=True)
await send({'type': 'http.response.body'})",
    ));
    let mut slow = server.connect();
    slow.write(Request::get("/large").encode());
    slow.read_until_text("xxxx");
    for _ in 0..20 {
        server.get("/").expect(200).expect_body("here");
    }
    assert!(!server.log().contains("almost all"), "the response was taken although nobody reads it");
    drop(slow);
    server.get("/").expect(200).expect_body("here");
}

#[test]
fn a_file_is_sent_by_its_path() {
    let (site, server) = app(&handling(
        "assert 'http.response.pathsend' in scope['extensions']
path = os.path.join(os.path.dirname(__file__), 'file')
size = str(os.path.getsize(path)).encode()
await send({'type': 'http.response.start', 'status': 200, 'headers': [(b'content-length', size)]})
await send({'type': 'http.response.pathsend', 'path': path})",
    ));
    let content: Vec<u8> = (0..=250).cycle().take(1_000_000).collect();
    site.write("file", &content);
    let response = server.get("/").expect(200).expect_field("Content-Length", "1000000");
    assert!(response.body == content);
    site.write("file", "");
    server.get("/").expect(200).expect_body("");
}

#[test]
fn events_in_the_wrong_order_are_errors_of_the_application() {
    let start = "await send({'type': 'http.response.start', 'status': 200})\n";
    for (code, error) in [
        ("await send({'type': 'http.response.body'})", "\"http.response.body\" is not expected now"),
        (&format!("{start}{start}"), "\"http.response.start\" is not expected now"),
        ("await send({'type': 'websocket.send', 'text': ''})", "\"websocket.send\" is not expected now"),
        ("await send({'status': 200})", "an event needs a type"),
        ("await send({'type': 'http.response.start'})", "a response needs a status"),
        ("await send({'type': 'http.response.start', 'status': 42})", "42 is no status of a response"),
        (
            "await send({'type': 'http.response.start', 'status': 200, 'headers': [('a', 5)]})",
            "names and values of headers are bytes",
        ),
        ("1 / 0", "ZeroDivisionError"),
    ] {
        let (_site, server) = app(&handling(code));
        server.get("/x?y").expect(500);
        server.expect_log("GET /x?y: Traceback");
        server.expect_log(error);
    }
    let (_site, server) = app(&handling("pass"));
    server.get("/x?y").expect(500);
    server.expect_log("GET /x?y: the application has returned without a response");
}

#[test]
fn a_response_that_is_left_without_its_end_ends_there() {
    let (_site, server) = app(&handling(
        "await send({'type': 'http.response.start', 'status': 200, 'headers': [(b'x-own', b'yes')]})
if scope['path'] == '/body':
    await send({'type': 'http.response.body', 'body': b'begun', 'more_body': True})",
    ));
    let mut client = server.connect();
    for (path, body) in [("/", ""), ("/body", "begun"), ("/", ""), ("/body", "begun")] {
        client.get(path).expect(200).expect_field("x-own", "yes").expect_body(body);
    }
    client.send(&Request::new("HEAD", "/body")).expect(200);
    let habit = "the application returns before it has sent the end of its response";
    server.expect_log(habit);
    assert_eq!(server.log().matches(habit).count(), 1, "{}", server.log());
}

#[test]
fn trailers_that_do_not_come_leave_a_response_without_them() {
    let (_site, server) = app(&handling(
        "await send({'type': 'http.response.start', 'status': 200, 'trailers': True})
await send({'type': 'http.response.body', 'body': b'all', 'more_body': scope['path'] == '/more'})
if scope['path'] == '/some':
    await send({'type': 'http.response.trailers', 'headers': [(b'x-sum', b'1')], 'more_trailers': True})",
    ));
    for path in ["/", "/more", "/some"] {
        let mut client = server.connect();
        client.get(path).expect(200).expect_body("all");
    }
}

/// It is never taken for a whole one.
#[test]
fn a_response_that_is_shorter_than_it_says_is_an_error() {
    for (more, logged) in [
        ("True", "the application has returned before its response was complete"),
        ("False", "ValueError: the body of the response is shorter than its Content-Length"),
    ] {
        let (_site, server) = app(&handling(&format!(
            "await send({{'type': 'http.response.start', 'status': 200, 'headers': [(b'content-length', b'200009')]}})
await send({{'type': 'http.response.body', 'body': b'x' * 200_000, 'more_body': True}})
await send({{'type': 'http.response.body', 'body': b'begun', 'more_body': {more}}})"
        )));
        let mut client = server.connect();
        assert!(client.try_send(&Request::get("/")).is_err(), "the end is missing");
        server.expect_log(logged);
        // One that is short is known to be wrong before anything was sent, or behind that.
        let (_site, server) = app(&handling(&format!(
            "await send({{'type': 'http.response.start', 'status': 200, 'headers': [(b'content-length', b'9')]}})
await send({{'type': 'http.response.body', 'body': b'begun', 'more_body': {more}}})"
        )));
        let answer = server.connect().try_send(&Request::get("/"));
        assert!(
            answer.is_err() || answer.is_ok_and(|response| response.status == 500),
            "taken for a response"
        );
        server.expect_log(logged);
    }
}

#[test]
fn bodies_messages_and_fields_are_bytes_of_many_types() {
    let (_site, server) = app(&handling(
        "headers = [(bytearray(b'x-array'), memoryview(b'1')), ('x-text', '2')]
await send({'type': 'http.response.start', 'status': 200, 'headers': headers})
await send({'type': 'http.response.body', 'body': bytearray(b'one '), 'more_body': True})
await send({'type': 'http.response.body', 'body': memoryview(b'-two-')[1:4]})",
    ));
    let response = server.get("/").expect(200).expect_body("one two");
    response.expect_field("x-array", "1").expect_field("x-text", "2");
    for wrong in ["'text'", "5", "[1]"] {
        let (_site, server) = app(&handling(&format!(
            "await send({{'type': 'http.response.start', 'status': 200}})
await send({{'type': 'http.response.body', 'body': {wrong}}})"
        )));
        server.get("/").expect(500);
        server.expect_log("a body consists of bytes");
    }
}

#[test]
fn a_long_body_comes_in_events() {
    let (_site, server) = app(&handling(
        "n_events, n_bytes, more = 0, 0, True
while more:
    event = await receive()
    n_events, n_bytes, more = n_events + 1, n_bytes + len(event['body']), event['more_body']
await answer(send, f'{n_bytes} {n_events > 1}')",
    ));
    let mut client = server.connect();
    for (n, several) in [(0, "False"), (10, "False"), (3_000_000, "True")] {
        let request = Request::post("/").body(vec![b'x'; n]);
        client.send(&request).expect(200).expect_body(format!("{n} {several}"));
    }
}

/// The application has the first piece before the client sends the next one, and answers before the last.
#[test]
fn a_body_comes_as_the_client_sends_it() {
    let (_site, server) = taking_chunks(
        "first = await receive()
assert first['more_body'], first
await send({'type': 'http.response.start', 'status': 200})
await send({'type': 'http.response.body', 'body': b'got ' + first['body'], 'more_body': True})
body = b''
while True:
    event = await receive()
    body += event['body']
    if not event['more_body']:
        break
await send({'type': 'http.response.body', 'body': b' and ' + str(len(body)).encode()})",
    );
    for framing in ["Content-Length: 2000005", "Transfer-Encoding: chunked"] {
        let mut client = server.connect();
        let is_chunked = framing.contains("chunked");
        client.write(format!("POST / HTTP/1.1\r\nHost: a\r\n{framing}\r\n\r\n"));
        client.write(if is_chunked { "5\r\nhello\r\n" } else { "hello" });
        client.read_until_text("got hello");
        if is_chunked {
            client.write("1e8480\r\n");
        }
        client.write(vec![b'x'; 2_000_000]);
        if is_chunked {
            client.write("\r\n0\r\n\r\n");
        }
        client.read_until_text(" and 2000000");
        client.read_until_text("0\r\n\r\n");
        client.write("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 6\r\nExpect: 100-continue\r\n\r\n");
        client.read_until_text("100 Continue\r\n\r\n");
        client.write("a");
        client.read_until_text("got a");
        client.write("bcdef");
        client.read_until_text(" and 5");
    }
}

#[test]
fn a_body_that_breaks_off_is_a_disconnect() {
    let (_site, server) = taking_chunks(
        "while True:
    event = await receive()
    print('told', event['type'], flush=True)
    if event['type'] == 'http.disconnect':
        return",
    );
    let mut client = server.connect();
    client.write("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nhello");
    server.expect_log("told http.request");
    drop(client);
    server.expect_log("told http.disconnect");
    // Chunks that are none are answered, and nobody takes them for the end.
    let mut client = server.connect();
    client.write("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n");
    client.read_response().expect(400);
}

/// The rest of a body that the application does not want is read, or the connection ends.
#[test]
fn a_body_may_be_ignored() {
    let (_site, server) = app(&handling("await answer(send, 'no, thanks')"));
    let mut client = server.connect();
    for n in [0, 10, 200_000] {
        client.send(&Request::post("/").body(vec![b'x'; n])).expect(200).expect_body("no, thanks");
    }
    let huge = Request::post("/").body(vec![b'x'; 5_000_000]);
    server.connect().send(&huge).expect(200).expect_body("no, thanks");
}

#[test]
fn a_loop_that_sleeps_wakes_for_a_request_and_for_its_own_timers() {
    let (_site, server) = app(&handling(
        "async def tick():
    for _ in range(3):
        await asyncio.sleep(0.02)
    print('ticked', flush=True)
global task
task = asyncio.create_task(tick())
await answer(send, 'here')",
    ));
    for _ in 0..5 {
        server.get("/").expect(200).expect_body("here");
        server.expect_log("ticked");
        std::thread::sleep(Duration::from_millis(30));
    }
}

#[test]
fn a_worker_that_is_told_to_leave_finishes_its_requests() {
    let (site, server) = app(&handling(
        "while not os.path.exists(os.path.join(os.path.dirname(__file__), 'go')):
    await asyncio.sleep(0.005)
await answer(send, os.getpid())",
    ));
    let mut client = server.connect();
    client.write(Request::get("/").encode());
    eventually("it runs", || {
        let status = server.control().get("/status").0.json();
        (status["applications"]["python"]["requests"]["active"] == 1).then_some(())
    });
    server.control().get("/control/applications/python/restart").0.expect(200);
    site.write("go", "");
    let old = client.read_response().expect(200).text();
    eventually("another process serves", || (server.get("/").expect(200).text() != old).then_some(()));
}
