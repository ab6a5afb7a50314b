//! ASGI with an event loop in each of several threads, beyond what the suite of all languages asks of it.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use corral_testkit::{
    Client, Daemon, Request, Site, WebSocket, daemon, eventually, is_alive, python_app, site,
};
use serde_json::json;

use crate::asgi::{LIVING, handling};

/// How often a process looks by itself whether it is to leave.
const LOOK_AROUND: Duration = Duration::from_secs(5);

/// A server that runs this application in so many threads.
#[track_caller]
fn threads(n: u32, code: &str) -> (Site, Daemon) {
    let site = site().file("app.py", code);
    let app = python_app(&site).with("threads", json!(n)).with("working_directory", json!(site.root()));
    let server = daemon().python(app).start();
    (site, server)
}

/// Says which thread has it. At `/block` after it has held that up until there is a file `go`.
const BLOCKING: &str = "import os, threading, time

async def application(scope, receive, send):
    if scope['type'] == 'websocket':
        await receive()
        await send({'type': 'websocket.accept'})
        while (event := await receive())['type'] == 'websocket.receive':
            await send({'type': 'websocket.send', 'text': threading.current_thread().name})
        return
    assert scope['type'] == 'http', scope['type']
    if scope['path'] == '/block':
        print('blocks', threading.current_thread().name, flush=True)
        while not os.path.exists('go'):
            time.sleep(0.005)
    await send({'type': 'http.response.start', 'status': 200})
    body = f'{os.getpid()} {threading.current_thread().name}'
    await send({'type': 'http.response.body', 'body': body.encode()})
";

#[track_caller]
fn block(server: &Daemon, thread: &str) -> Client {
    let client = server.begin(&Request::get("/block"));
    server.expect_log(&format!("blocks {thread}"));
    client
}

/// Options: applications.{N}.threads
#[test]
fn handlers_that_block_run_at_once_in_one_process() {
    let handler = handling(
        "barrier.wait(30)
await answer(send, f'{os.getpid()} {threading.current_thread().name}')",
    );
    let (_site, server) =
        threads(8, &format!("{handler}\nimport threading\nbarrier = threading.Barrier(8)\n"));
    for _ in 0..5 {
        let clients = server.begin_all("/", 8);
        let answers: BTreeSet<_> =
            clients.into_iter().map(|mut client| client.read_response().expect(200).text()).collect();
        let pids: BTreeSet<_> = answers.iter().map(|answer| answer.split_once(' ').unwrap().0).collect();
        assert_eq!((answers.len(), pids.len()), (8, 1), "{answers:?}");
    }
}

/// Those that the application starts have what they have without this option.
///
/// Options: applications.{N}.thread_stack_size
#[test]
fn threads_have_stacks_of_the_size_that_was_said() {
    let code = handling(
        "import ctypes, threading
libc, attributes, size = ctypes.CDLL(None), ctypes.create_string_buffer(256), ctypes.c_size_t()
libc.pthread_self.restype = ctypes.c_void_p
assert libc.pthread_getattr_np(ctypes.c_void_p(libc.pthread_self()), attributes) == 0
assert libc.pthread_attr_getstacksize(attributes, ctypes.byref(size)) == 0
await answer(send, f'{size.value} {threading.stack_size()}')",
    );
    let site = site().file("app.py", code);
    // The smallest that may be said is too small for Python.
    for (n_bytes, expect) in [(1 << 20, 1 << 20), (1 << 14, 1 << 17)] {
        let app = python_app(&site).with("threads", json!(2)).with("thread_stack_size", json!(n_bytes));
        daemon().python(app).start().get("/").expect(200).expect_body(format!("{expect} 0"));
    }
}

/// As long as one thread is free, nobody waits for those that are not.
#[test]
fn a_free_thread_takes_what_others_cannot() {
    let (site, server) = threads(3, BLOCKING);
    let blocked = [block(&server, "asgi-1"), block(&server, "asgi-2")];
    for mut client in server.begin_all("/", 20) {
        assert!(client.read_response().expect(200).text().ends_with(" asgi-3"));
    }
    site.write("go", "");
    for mut client in blocked {
        client.read_response().expect(200);
    }
}

/// Not even when it has more to do than they have.
#[test]
fn a_free_thread_with_many_connections_takes_what_others_cannot() {
    let (site, server) = threads(2, BLOCKING);
    let open = || {
        let mut socket = WebSocket::open(server.connect(), &WebSocket::request("/"));
        socket.send_text("who");
        let thread = String::from_utf8(socket.receive().1).expect("it is text");
        (socket, thread)
    };
    let sockets = [open(), open(), open()];
    let names: Vec<_> = sockets.iter().map(|(_, name)| &name[..]).collect();
    assert_eq!(names, ["asgi-1", "asgi-2", "asgi-1"]);
    let mut blocked = block(&server, "asgi-2");
    let (mut fourth, name) = open();
    assert_eq!(name, "asgi-1");
    for _ in 0..20 {
        assert!(server.get("/").expect(200).text().ends_with(" asgi-1"));
        fourth.send_text("still");
        fourth.expect_text("asgi-1");
    }
    site.write("go", "");
    assert!(blocked.read_response().expect(200).text().ends_with(" asgi-2"));
    for (mut socket, name) in sockets {
        socket.send_text("who");
        socket.expect_text(&name);
    }
}

/// Requests that wait for a thread get it when there is one.
#[test]
fn more_requests_than_threads_wait() {
    let (site, server) = threads(2, BLOCKING);
    let blocked = [block(&server, "asgi-1"), block(&server, "asgi-2")];
    let waiting = server.begin_all("/", 10);
    site.write("go", "");
    for mut client in blocked.into_iter().chain(waiting) {
        client.read_response().expect(200);
    }
}

/// What belongs to a loop is kept in its state.
#[test]
fn the_application_starts_in_each_loop_with_a_state_of_its_own() {
    let code = "import asyncio, threading
async def application(scope, receive, send):
    if scope['type'] == 'lifespan':
        await receive()
        scope['state']['loop'] = asyncio.get_running_loop()
        scope['state']['name'] = threading.current_thread().name
        await send({'type': 'lifespan.startup.complete'})
        await receive()
        print('shut down', scope['state']['name'], threading.current_thread().name, flush=True)
        await send({'type': 'lifespan.shutdown.complete'})
        return
    assert scope['state']['loop'] is asyncio.get_running_loop()
    barrier.wait(30)
    await send({'type': 'http.response.start', 'status': 200})
    await send({'type': 'http.response.body', 'body': scope['state']['name'].encode()})

barrier = threading.Barrier(3)
";
    let (_site, server) = threads(3, code);
    let clients = server.begin_all("/", 3);
    let names: BTreeSet<_> =
        clients.into_iter().map(|mut client| client.read_response().expect(200).text()).collect();
    assert_eq!(names, BTreeSet::from(["asgi-1", "asgi-2", "asgi-3"].map(String::from)));
    server.control().get("/control/applications/python/restart").0.expect(200);
    for name in names {
        server.expect_log(&format!("shut down {name} {name}"));
    }
}

#[test]
fn a_startup_that_fails_in_one_thread_is_told_as_the_reason() {
    let code = "import threading
async def application(scope, receive, send):
    await receive()
    if threading.current_thread().name == 'asgi-3':
        await send({'type': 'lifespan.startup.failed', 'message': 'there is no third database'})
        return
    await send({'type': 'lifespan.startup.complete'})
    await receive()
    open(threading.current_thread().name, 'w').close()
    await send({'type': 'lifespan.shutdown.complete'})
";
    let site = site().writable_folder("out").file("app.py", code);
    let app = python_app(&site).with("threads", json!(4)).with("working_directory", json!(site.path("out")));
    let reason = daemon().start_unconfigured().expect_refused(&app.value());
    assert!(reason.contains("there is no third database"), "{reason}");
    let shut_down = |name: &str| site.path("out").join(name).exists();
    assert_eq!(["asgi-1", "asgi-2", "asgi-3"].map(shut_down), [true, true, false]);
}

/// One that has nothing else to do leaves with its last request, and does not wait until it looks around.
#[test]
fn a_worker_leaves_in_order_after_its_last_request() {
    let code = format!(
        "import atexit, os
atexit.register(lambda: open(os.path.join(os.path.dirname(__file__), 'out', 'left'), 'w').close())
{LIVING}"
    );
    let site = site().writable_folder("out").file("app.py", code);
    let app = python_app(&site).with("threads", json!(3)).with("limits", json!({ "requests": 2 }));
    let server = daemon().python(app).start();
    let worker = server.named("\"python\" worker");
    server.get("/").expect(200);
    let begun = Instant::now();
    server.get("/").expect(200);
    eventually("atexit has run", || site.path("out/left").exists().then_some(()));
    eventually("it has ended", || (!is_alive(worker[0])).then_some(()));
    assert!(begun.elapsed() < LOOK_AROUND, "{:?}", begun.elapsed());
    assert_eq!(server.log().matches("told lifespan.shutdown").count(), 3, "{}", server.log());
    server.get("/").expect(200);
}

/// The same for one that has been told to, while a request still runs.
#[test]
fn a_worker_that_is_told_to_leave_finishes_what_runs_and_what_waits() {
    let (site, server) = threads(2, BLOCKING);
    let blocked = [block(&server, "asgi-1"), block(&server, "asgi-2")];
    let waiting = server.begin_all("/", 3);
    eventually("all have come", || {
        let status = server.control().get("/status").0.json();
        (status["applications"]["python"]["requests"]["active"] == 5).then_some(())
    });
    server.control().get("/control/applications/python/restart").0.expect(200);
    site.write("go", "");
    let answers: BTreeSet<_> = blocked
        .into_iter()
        .chain(waiting)
        .map(|mut client| client.read_response().expect(200).text().split_once(' ').unwrap().0.to_owned())
        .collect();
    assert_eq!(answers.len(), 1, "{answers:?}");
    let old = answers.first().unwrap().parse().unwrap();
    eventually("it has ended", || (!is_alive(old)).then_some(()));
    assert_ne!(server.get("/").expect(200).text().split_once(' ').unwrap().0, old.to_string());
}

#[test]
fn a_client_that_leaves_is_noticed_at_once_in_each_thread() {
    let (_site, server) = threads(
        2,
        &handling(
            "import threading
assert (await receive())['more_body'] is False
name = threading.current_thread().name
print('waits', name, flush=True)
print(name, 'is told', (await receive())['type'], flush=True)
try:
    await answer(send, 'too late')
except OSError as error:
    print(name, 'is refused', type(error).__name__, flush=True)",
        ),
    );
    let names = ["asgi-1", "asgi-2"];
    let clients = names.map(|name| {
        let client = server.begin(&Request::get("/"));
        server.expect_log(&format!("waits {name}"));
        client
    });
    for (client, name) in clients.into_iter().zip(names) {
        drop(client);
        server.expect_log(&format!("{name} is told http.disconnect"));
        server.expect_log(&format!("{name} is refused ClientDisconnected"));
    }
}

/// Slow clients hold up their own coroutines, which go on when there is room.
#[test]
fn responses_wait_for_slow_clients_in_each_thread() {
    let (_site, server) = threads(
        2,
        &handling(
            "await send({'type': 'http.response.start', 'status': 200})
for _ in range(100):
    await send({'type': 'http.response.body', 'body': b'x' * 1_000_000, 'more_body': True})
await send({'type': 'http.response.body'})",
        ),
    );
    let mut clients = server.begin_all("/", 4);
    for client in &mut clients {
        client.read_until_text("xxxx");
    }
    for mut client in clients {
        client.read_until_text("0\r\n\r\n");
    }
}

#[test]
fn an_exit_in_one_thread_ends_the_worker_in_order() {
    let code = format!(
        "{BLOCKING}
blocking = application

async def application(scope, receive, send):
    if scope['type'] == 'http' and scope['path'] == '/exit':
        raise SystemExit('not today')
    await blocking(scope, receive, send)
"
    );
    let (_site, server) = threads(3, &code);
    let before = server.get("/").expect(200).text().split_once(' ').unwrap().0.to_owned();
    server.get("/exit").expect(500);
    server.expect_log("the worker leaves");
    server.expect_log("not today");
    eventually("it has ended", || (!is_alive(before.parse().unwrap())).then_some(()));
    eventually("another one serves", || (server.get("/").status == 200).then_some(()));
}

/// A daemon that stops does not wait for a thread that nothing ends.
#[test]
fn a_thread_that_blocks_keeps_nobody_from_stopping() {
    let (_site, mut server) = threads(2, BLOCKING);
    let blocked = block(&server, "asgi-1");
    assert!(server.stop().success());
    drop(blocked);
}
