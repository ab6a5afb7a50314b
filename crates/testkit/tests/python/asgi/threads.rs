//! ASGI with an event loop in each of several threads, beyond what the suite of all languages asks of it.
//!
//! Threads print one string a line: the parts of a call with several may have others between them.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use corral_testkit::{
    Client, Daemon, Request, Site, WebSocket, daemon, eventually, is_alive, python_app, site,
};
use serde_json::json;

use super::handling;
use super::lifespan::LIVING;

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
        print(f'{scope[\"query_string\"].decode()} blocks {threading.current_thread().name}.', flush=True)
        while not os.path.exists('go'):
            time.sleep(0.005)
    await send({'type': 'http.response.start', 'status': 200})
    body = f'{os.getpid()} {threading.current_thread().name}'
    await send({'type': 'http.response.body', 'body': body.encode()})
";

/// Two requests that wait for each other here are in two threads.
const BARRIER_OF_TWO: &str = "
import threading
barrier = threading.Barrier(2)
";

/// Blocks a thread that is not; which one that is.
#[track_caller]
fn block(server: &Daemon, name: &str) -> (Client, String) {
    let client = server.begin(&Request::get(&format!("/block?{name}")));
    let thread = eventually("it blocks", || {
        let log = server.log();
        let (_, rest) = log.split_once(&format!("{name} blocks "))?;
        rest.split_once('.').map(|(thread, _)| thread.to_owned())
    });
    (client, thread)
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

/// Threads that the application starts itself have the stack that they have without this option.
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

/// As long as one thread is free, no request waits for those that are not.
#[test]
fn a_free_thread_takes_what_others_cannot() {
    let (site, server) = threads(3, BLOCKING);
    let blocked = ["first", "second"].map(|name| block(&server, name));
    for mut client in server.begin_all("/", 20) {
        let answer = client.read_response().expect(200).text();
        assert!(blocked.iter().all(|(_, thread)| !answer.ends_with(thread)), "{answer}");
    }
    site.write("go", "");
    for (mut client, thread) in blocked {
        assert!(client.read_response().expect(200).text().ends_with(&thread));
    }
}

/// Not even when it has more to do than they have.
#[test]
fn a_free_thread_with_many_connections_takes_what_others_cannot() {
    let (site, server) = threads(2, BLOCKING);
    let (mut blocked, thread) = block(&server, "one");
    let free = if thread == "asgi-1" { "asgi-2" } else { "asgi-1" };
    let mut sockets: Vec<_> = (0..3)
        .map(|_| {
            let mut socket = WebSocket::open(server.connect(), &WebSocket::request("/"));
            socket.send_text("who");
            socket.expect_text(free);
            socket
        })
        .collect();
    for _ in 0..20 {
        assert!(server.get("/").expect(200).text().ends_with(free));
        sockets[0].send_text("still");
        sockets[0].expect_text(free);
    }
    site.write("go", "");
    assert!(blocked.read_response().expect(200).text().ends_with(&thread));
    for mut socket in sockets {
        socket.send_text("who");
        socket.expect_text(free);
    }
}

/// Requests that wait for a thread get it when there is one.
#[test]
fn more_requests_than_threads_wait() {
    let (site, server) = threads(2, BLOCKING);
    let blocked = ["first", "second"].map(|name| block(&server, name).0);
    let waiting = server.begin_all("/", 10);
    site.write("go", "");
    for mut client in blocked.into_iter().chain(waiting) {
        client.read_response().expect(200);
    }
}

/// Objects that belong to a loop are kept in its state.
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
        print(f\"shut down {scope['state']['name']} {threading.current_thread().name}\", flush=True)
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
    let blocked = ["first", "second"].map(|name| block(&server, name).0);
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

/// The main thread sends a piece that was kept back for a moment, because the end of the request was likely to come
/// with it.
#[test]
fn a_response_does_not_wait_for_what_blocks_behind_it() {
    let (site, server) = threads(
        2,
        &handling(
            "import time
await answer(send, 'here')
if scope['query_string']:
    while not os.path.exists(scope['query_string']):
        time.sleep(0.005)",
        ),
    );
    for n in 0..20 {
        server.get(&format!("/?{n}")).expect(200).expect_body("here");
        server.get("/").expect(200).expect_body("here");
        site.write(&n.to_string(), "");
    }
}

#[test]
fn a_client_that_leaves_is_noticed_at_once_in_each_thread() {
    let handler = handling(
        "assert (await receive())['more_body'] is False
barrier.wait(30)
path = scope['path']
print(f'{path} waits', flush=True)
event = await receive()
print(f'{path} is told {event[\"type\"]}', flush=True)
try:
    await answer(send, 'too late')
except OSError as error:
    print(f'{path} is refused {type(error).__name__}', flush=True)",
    );
    let (_site, server) = threads(2, &format!("{handler}{BARRIER_OF_TWO}"));
    let clients = ["/a", "/b"].map(|path| (path, server.begin(&Request::get(path))));
    for (path, client) in clients {
        server.expect_log(&format!("{path} waits"));
        drop(client);
        server.expect_log(&format!("{path} is told http.disconnect"));
        server.expect_log(&format!("{path} is refused ClientDisconnected"));
    }
}

/// Slow clients hold up their own coroutines, which go on when there is room.
#[test]
fn responses_wait_for_slow_clients_in_each_thread() {
    let (_site, server) = threads(
        2,
        &handling(
            "await send({'type': 'http.response.start', 'status': 200})
for _ in range(30):
    await send({'type': 'http.response.body', 'body': b'x' * 1_000_000, 'more_body': True})
await send({'type': 'http.response.body'})",
        ),
    );
    let mut clients = server.begin_all("/", 4);
    for client in &mut clients {
        client.read_until_text("xxxx");
    }
    // Side by side: on a busy machine the last one would have read nothing for longer than a server waits.
    std::thread::scope(|scope| {
        for mut client in clients {
            scope.spawn(move || _ = client.read_until_text("0\r\n\r\n"));
        }
    });
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

/// Running requests are cancelled, and each loop shuts the application down.
#[test]
fn a_daemon_that_stops_ends_all_loops_in_order() {
    let code = format!(
        "import asyncio
{LIVING}
living = application

async def application(scope, receive, send):
    if scope['type'] == 'lifespan':
        return await living(scope, receive, send)
    barrier.wait(30)
    print('waits ' + scope['path'], flush=True)
    try:
        await asyncio.sleep(1000)
    finally:
        print('is cancelled ' + scope['path'], flush=True)
{BARRIER_OF_TWO}"
    );
    let (_site, mut server) = threads(2, &code);
    let clients = ["/a", "/b"].map(|path| (path, server.begin(&Request::get(path))));
    clients.iter().for_each(|(path, _)| server.expect_log(&format!("waits {path}")));
    assert!(server.stop().success());
    let log = server.log();
    assert!(clients.iter().all(|(path, _)| log.contains(&format!("is cancelled {path}"))), "{log}");
    assert_eq!(log.matches("told lifespan.shutdown").count(), 2, "{log}");
}

#[test]
fn a_thread_that_blocks_for_too_long_ends_its_process() {
    let site = site().file("app.py", BLOCKING);
    let app = python_app(&site).with("threads", json!(2)).with("working_directory", json!(site.root()));
    let server = daemon().python(app.with("limits", json!({ "kill_after": 1 }))).start();
    let before = server.get("/").expect(200).text();
    let (mut blocked, _) = block(&server, "one");
    server.get("/").expect(200);
    blocked.read_response().expect(504);
    let next =
        eventually("another process serves", || Some(server.get("/")).filter(|reply| reply.status == 200));
    assert_ne!(next.text().split_once(' ').unwrap().0, before.split_once(' ').unwrap().0);
}

/// A daemon that stops does not wait for a thread that nothing ends.
#[test]
fn a_thread_that_blocks_keeps_nobody_from_stopping() {
    let (_site, mut server) = threads(2, BLOCKING);
    let blocked = block(&server, "one");
    assert!(server.stop().success());
    drop(blocked);
}
