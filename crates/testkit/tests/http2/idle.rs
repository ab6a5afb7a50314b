//! The memory of the router for connections on which nothing happens.

use std::cell::Cell;

use corral_testkit::{Daemon, Http2, eventually, proportional_memory};
use serde_json::json;

use super::{action, serve};
use crate::tls::serve_tls;

/// Connections before those that are measured: they leave behind what all share, as the buffers that event loops keep.
const N_BEFORE: usize = 200;

/// Connections whose memory is measured together.
const N_CONNECTIONS: usize = 600;

/// Opens connections, has each greeted and then asks once on each. Fails when one takes more than `greeted` bytes of memory
/// after the first, or more than `asked` after the second.
#[track_caller]
fn check(server: &Daemon, connect: impl Fn() -> Http2, [greeted, asked]: [u64; 2]) {
    let router = server.expect_processes("router", 1)[0];
    let mut first: Vec<_> = (0..N_BEFORE).map(|_| connect()).collect();
    ask_all(&mut first);
    let before = proportional_memory(router).expect("it runs");
    let expect_at_most = |most: u64, when: &str| {
        // The allocator gives back later what is free.
        let last = Cell::new(0);
        eventually(when, || {
            let growth = proportional_memory(router).expect("it runs").saturating_sub(before);
            let each = growth / N_CONNECTIONS as u64;
            last.set(each);
            (each <= most).then_some(())
        });
        eprintln!("{when}: {} bytes each", last.get());
    };
    let mut clients: Vec<_> = (0..N_CONNECTIONS).map(|_| connect()).collect();
    clients.iter_mut().for_each(Http2::ping);
    expect_at_most(greeted, "connections that were greeted are small");
    ask_all(&mut clients);
    expect_at_most(asked, "connections that have asked once are small");
}

#[track_caller]
fn ask_all(clients: &mut [Http2]) {
    for client in clients {
        client.get("/").expect(200);
        client.ping();
    }
}

#[test]
fn connections_without_tls() {
    let server = serve(action(json!({ "return": 200 })));
    check(&server, || Http2::connect(server.address().socket()), [20 << 10, 25 << 10]);
}

#[test]
fn connections_with_tls() {
    let (server, tls, _authority) = serve_tls(None, action(json!({ "return": 200 })));
    check(&server, || Http2::connect_tls(server.address().socket(), &tls, "localhost"), [24 << 10, 29 << 10]);
}
