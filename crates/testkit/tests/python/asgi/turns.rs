//! The event loop: many requests in one process, work behind a response, clients that leave or do not read.

use std::time::Duration;

use corral_testkit::{Request, eventually};

use super::handling;
use crate::app;

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

/// As after the response: an application that waits for another event would wait for ever.
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
