//! The memory of the router for connections on which nothing happens.

use std::cell::Cell;
use std::time::Duration;

use corral_testkit::{Daemon, Http2, proportional_memory, within};
use serde_json::json;

use super::{action, serve};
use crate::tls::serve_tls;

/// Connections before those that are measured: they leave behind what all share, as the buffers that event loops keep.
const N_BEFORE: usize = 200;

/// Connections whose memory is measured together.
const N_CONNECTIONS: usize = 600;

/// Routers of which one has to keep the bars: what a router allocates beside its connections differs from run to run.
const N_TRIES: usize = 4;

/// How long the allocator may take to give back what is free.
const SETTLING: Duration = Duration::from_secs(5);

/// Bytes for each connection: after it was greeted, and after one request on it.
type Memory = [u64; 2];

/// Fails when connections take more than `most`, whatever is measured.
#[track_caller]
fn check(most: Memory, measure: impl Fn() -> Memory) {
    let mut seen = Vec::new();
    for _ in 0..N_TRIES {
        let taken = measure();
        seen.push(taken);
        if taken.iter().zip(most).all(|(taken, most)| *taken <= most) {
            eprintln!("bytes for each connection: {seen:?}");
            return;
        }
    }
    panic!("connections take {seen:?} bytes, not {most:?}");
}

/// Opens connections, has each greeted and then asks once on each.
fn measure(server: &Daemon, connect: impl Fn() -> Http2, most: Memory) -> Memory {
    let router = server.expect_processes("router", 1)[0];
    let mut first: Vec<_> = (0..N_BEFORE).map(|_| connect()).collect();
    ask_all(&mut first);
    let before = proportional_memory(router).expect("it runs");
    let settled = |most: u64| {
        let last = Cell::new(0);
        let _ = within(SETTLING, || {
            let growth = proportional_memory(router).expect("it runs").saturating_sub(before);
            last.set(growth / N_CONNECTIONS as u64);
            (last.get() <= most).then_some(())
        });
        last.get()
    };
    let mut clients: Vec<_> = (0..N_CONNECTIONS).map(|_| connect()).collect();
    clients.iter_mut().for_each(Http2::ping);
    let greeted = settled(most[0]);
    ask_all(&mut clients);
    [greeted, settled(most[1])]
}

fn ask_all(clients: &mut [Http2]) {
    for client in clients {
        client.get("/").expect(200);
        client.ping();
    }
}

#[test]
fn connections_without_tls() {
    let most = [18 << 10, 24 << 10];
    check(most, || {
        let server = serve(action(json!({ "return": 200 })));
        measure(&server, || Http2::connect(server.address().socket()), most)
    });
}

#[test]
fn connections_with_tls() {
    let most = [22 << 10, 29 << 10];
    check(most, || {
        let (server, tls, _authority) = serve_tls(None, action(json!({ "return": 200 })));
        measure(&server, || Http2::connect_tls(server.address().socket(), &tls, "localhost"), most)
    });
}
