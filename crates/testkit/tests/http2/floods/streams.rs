//! Streams and connections that wait for a client that does nothing.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use corral_testkit::{Frame, RawHttp2};

use super::control_frames::write_until_stuck;
use super::{End, N_CLIENTS, Target, stream};

/// Connections of each client.
const N_CONNECTIONS: usize = 20;

/// Streams of each connection, which is as many as the server allows.
const N_STREAMS: u32 = 128;

/// A connection may take so many bytes of memory for replies that are not read and for its own state, beside its
/// streams.
const CONNECTION: u64 = 192 << 10;

/// A stream that waits with a reply may take so many: for its request, and what answers it. It is 7.5 KiB and up to a
/// KiB of what the allocator holds beside it.
const STREAM: u64 = 10 << 10;

/// A server with room for all these streams.
fn target() -> Target {
    let connection = CONNECTION + u64::from(N_STREAMS) * STREAM;
    super::target().growth((N_CLIENTS * N_CONNECTIONS) as u64 * connection)
}

/// Opens connections with streams that all begin with the same kind of frame, and does nothing until the end.
fn hold(target: &Target, is_over: &AtomicBool, settings: &[(u16, u32)], first: impl Fn(u32) -> Frame) -> End {
    let connect = |_| {
        let mut client = RawHttp2::connect_with(target.server.address().socket(), settings);
        let frames: Vec<u8> = (0..N_STREAMS).flat_map(|n| first(stream(n)).encode()).collect();
        let _ = client.try_write(frames);
        client
    };
    let clients: Vec<_> = (0..N_CONNECTIONS).map(connect).collect();
    while !is_over.load(Ordering::Relaxed) {
        std::thread::sleep(Duration::from_millis(10));
    }
    drop(clients);
    End::Endured
}

/// Requests whose bodies never come.
#[test]
fn that_are_idle() {
    let target = super::target();
    target.flood_with(|is_over| hold(&target, is_over, &[], |id| Frame::post(id, "/")));
    target.expect_rest();
}

/// Settings number 4: how much may be sent on a stream at first.
#[test]
fn whose_windows_are_closed() {
    let target = target();
    target.flood_with(|is_over| hold(&target, is_over, &[(4, 0)], |id| Frame::get(id, "/large")));
    target.expect_rest();
}

/// Windows without bounds, and a client that never reads.
#[test]
fn that_nobody_reads() {
    let target = target();
    target.flood_with(|is_over| {
        let connect = |_| {
            let mut client = RawHttp2::connect_with(target.server.address().socket(), &[(4, (1 << 31) - 1)]);
            let _ = client.try_write(Frame::window_update(0, (1 << 31) - 1 - 65_535).encode());
            client
        };
        let clients: Vec<_> = (0..N_CONNECTIONS).map(connect).collect();
        for client in &clients {
            let requests: Vec<u8> =
                (0..N_STREAMS).flat_map(|n| Frame::get(stream(n), "/large").encode()).collect();
            let turn = std::cell::Cell::new(0);
            // A client in whose way the server is stuck goes on with the next connection.
            write_until_stuck(client, &requests, || turn.replace(turn.get() + 1) > 0);
        }
        while !is_over.load(Ordering::Relaxed) {
            std::thread::sleep(Duration::from_millis(10));
        }
        End::Endured
    });
    target.expect_rest();
}
