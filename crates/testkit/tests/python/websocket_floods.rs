//! Clients of WebSocket connections that send more than they read.

use std::thread::JoinHandle;
use std::time::Duration;

use corral_testkit::{
    Authority, Client, Daemon, PATIENCE, Site, TlsClient, WebSocket, eventually, private_memory,
    processor_time, within,
};
use serde_json::json;

use super::websocket::{handling, open, telling};

const PING: u8 = WebSocket::LAST | WebSocket::PING;

/// Pings of each client: 131 bytes each, and so are their answers.
const N_PINGS: u32 = 300_000;

/// Memory that the router may hold for a client, with what its event loops have got for buffers in the meantime: far
/// less than the 39 MB of all answers.
const MOST_MEMORY: u64 = 12 << 20;

fn ping(n: u32) -> Vec<u8> {
    let mut payload = [0; 125];
    payload[..4].copy_from_slice(&n.to_be_bytes());
    WebSocket::frame(PING, &payload)
}

fn pings(numbers: std::ops::Range<u32>) -> Vec<u8> {
    numbers.flat_map(ping).collect()
}

fn router(server: &Daemon) -> u32 {
    server.expect_processes("router", 1)[0]
}

#[track_caller]
fn expect_memory(router: u32, before: u64) {
    let more = private_memory(router).expect("it runs").saturating_sub(before);
    assert!(more < MOST_MEMORY, "{more} bytes");
}

/// The number of each answer, up to the last.
#[track_caller]
fn read_pongs(socket: &mut WebSocket) -> Vec<u32> {
    let mut numbers = Vec::new();
    while numbers.last() != Some(&(N_PINGS - 1)) {
        let (kind, payload) = socket.receive();
        assert_eq!((kind, payload.len()), (WebSocket::PONG, 125));
        let (number, rest) = payload.split_first_chunk().expect("a number");
        assert!(rest.iter().all(|&byte| byte == 0));
        numbers.push(u32::from_be_bytes(*number));
    }
    numbers
}

#[test]
fn a_client_that_pings_and_reads_nothing_costs_no_memory() {
    let (_site, server) = telling();
    let (mut socket, mut other) = (open(&server), open(&server));
    for socket in [&mut socket, &mut other] {
        socket.send_text("hello");
        socket.expect_text("hello");
    }
    let router = router(&server);
    let before = private_memory(router).expect("it runs");
    for start in (0..N_PINGS).step_by(1000) {
        socket.client.write(pings(start..start + 1000));
    }
    expect_memory(router, before);
    other.send_text("still here");
    other.expect_text("still here");
    // A client that reads then gets some of the answers, in order, and the latest.
    let numbers = read_pongs(&mut socket);
    assert!(numbers.is_sorted_by(|one, next| one < next), "{numbers:?}");
    socket.send_text("and so am I");
    socket.expect_text("and so am I");
    socket.send(PING, b"again");
    assert_eq!(socket.receive(), (WebSocket::PONG, b"again".to_vec()));
    drop(socket);
    eventually("memory is given back", || {
        let more = private_memory(router).expect("it runs").saturating_sub(before);
        (more < 1 << 20).then_some(())
    });
}

/// Pings that come together while everything is taken are all answered.
#[test]
fn some_pings_at_a_time_are_all_answered() {
    let (_site, server) = telling();
    let mut socket = open(&server);
    socket.client.write(pings(N_PINGS - 20..N_PINGS));
    assert_eq!(read_pongs(&mut socket), (N_PINGS - 20..N_PINGS).collect::<Vec<_>>());
}

/// Sends to an application that says much, and reads nothing of it.
fn flood(mut socket: WebSocket) -> JoinHandle<()> {
    std::thread::spawn(move || {
        for start in (0..N_PINGS).step_by(1000) {
            if socket.client.try_write(&pings(start..start + 1000)).is_err() {
                return;
            }
        }
    })
}

/// Clients that flood: some, so that the allocator has what it keeps, and then more.
const N_CLIENTS: [usize; 2] = [2, 8];

/// Bytes for each of the latter.
const MOST_FOR_EACH: u64 = 2 << 20;

/// As `flood`, until the clients have to wait, and nothing of it costs the router time or much memory.
#[track_caller]
fn check_stuck(server: &mut Daemon, connect: impl Fn(&Daemon) -> Client) {
    let open = |server: &Daemon| WebSocket::open(connect(server), &WebSocket::request("/"));
    let mut other = open(server);
    let router = router(server);
    let mut flooding = Vec::new();
    let taken = N_CLIENTS.map(|n| {
        let sockets = (0..n).map(|_| {
            let mut socket = open(server);
            socket.send_text("speak");
            assert_eq!(socket.receive().0, WebSocket::BINARY);
            socket
        });
        let sockets: Vec<_> = sockets.collect();
        expect_quiet(router);
        flooding.extend(sockets.into_iter().map(flood));
        expect_quiet(router);
        private_memory(router).expect("it runs")
    });
    assert!(!flooding.iter().any(JoinHandle::is_finished), "all is read of a client that reads nothing");
    let more = taken[1].saturating_sub(taken[0]) / N_CLIENTS[1] as u64;
    eprintln!("{more} bytes for each");
    assert!(more < MOST_FOR_EACH, "{more} bytes for each");
    other.send_text("still here");
    other.expect_text("still here");
    server.stop();
    for client in flooding {
        client.join().expect("it ends with the connection");
    }
}

#[track_caller]
fn expect_quiet(router: u32) {
    let quiet = within(PATIENCE, || {
        let began = processor_time(router).expect("it runs");
        std::thread::sleep(Duration::from_millis(500));
        let spent = processor_time(router).expect("it runs") - began;
        (spent < Duration::from_millis(20)).then_some(())
    });
    assert!(quiet.is_some(), "the router works for a client that reads nothing");
}

/// Speaks without an end when it is told to.
const SPEAKING: &str = "await send({'type': 'websocket.accept'})
while (event := await receive())['type'] == 'websocket.receive':
    if event['text'] != 'speak':
        await send({'type': 'websocket.send', 'text': event['text']})
        continue
    while True:
        await send({'type': 'websocket.send', 'bytes': bytes(60_000)})";

/// A server that gives no client up while the test lasts, with one event loop, so that all clients share the buffers
/// for reuse.
fn speaking() -> (Site, Daemon) {
    let (site, server) = handling(SPEAKING, &json!({ "read_timeout": 600 }));
    server.control().put("/config/settings/listen_threads", &json!(1)).expect_done();
    server.control().put("/config/settings/http/send_timeout", &json!(600)).expect_done();
    (site, server)
}

#[test]
fn who_takes_nothing_of_what_is_sent_is_not_read() {
    let (_site, mut server) = speaking();
    check_stuck(&mut server, Daemon::connect);
}

#[test]
fn who_takes_nothing_of_what_is_sent_by_tls_is_not_read() {
    let (_site, mut server) = speaking();
    let authority = Authority::new("Testers");
    let bundle = authority.server("a", &["a.example"]);
    server.control().put_text("/certificates/a", &bundle.pem()).0.expect(200);
    let listener = json!({ "pass": "applications/python", "tls": { "certificate": "a" } });
    let path = format!("/config/listeners/{}", server.address());
    server.control().put(&path, &listener).expect_done();
    let tls = TlsClient::new(&authority);
    check_stuck(&mut server, |server| Client::connect_tls(server.address().socket(), &tls, "a.example"));
}
