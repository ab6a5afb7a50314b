//! Frames that ask for little work each, without an end.

use std::sync::atomic::Ordering;

use corral_testkit::{Frame, RawHttp2, kind};

use super::{End, Target, stream, target};

/// Frames in one write.
const BATCH: usize = 500;

/// Sends the same frame without an end, to a server whose answers are read, and to one whose answers are not.
#[track_caller]
fn check(frame: &Frame) {
    let target = target();
    let batch = frame.encode().repeat(BATCH);
    target.flood(&[], |_| batch.clone());
    unread(&target, &batch);
}

#[track_caller]
fn unread(target: &Target, batch: &[u8]) {
    target.flood_with(|is_over| {
        let client = RawHttp2::connect(target.server.address().socket());
        write_until_stuck(&client, batch, || is_over.load(Ordering::Relaxed))
    });
}

/// Writes the same bytes again and again, also when the server takes none at the moment, and never reads.
pub(super) fn write_until_stuck(client: &RawHttp2, bytes: &[u8], is_over: impl Fn() -> bool) -> End {
    use std::io::{ErrorKind, Write};
    let mut stream = client.stream();
    stream.set_nonblocking(true).expect("a socket");
    let mut rest = bytes;
    while !is_over() {
        match stream.write(rest) {
            Ok(n) => rest = if n == rest.len() { bytes } else { &rest[n..] },
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                std::thread::sleep(std::time::Duration::from_millis(1));
            }
            Err(_) => return End::Refused,
        }
    }
    End::Endured
}

#[test]
fn settings() {
    check(&Frame::settings(&[]));
}

#[test]
fn settings_that_change_windows() {
    let target = target();
    target.flood(&[], |turn| {
        let first = (0..50).flat_map(|n| Frame::get(stream(n), "/large").encode());
        let settings = (0..BATCH as u32).flat_map(|n| Frame::settings(&[(4, n % 2)]).encode());
        if turn == 0 { first.collect() } else { settings.collect() }
    });
}

#[test]
fn pings() {
    check(&Frame::ping());
}

#[test]
fn priorities() {
    let target = target();
    target.flood(&[], |turn| {
        let streams = (turn * BATCH as u32..).take(BATCH).map(stream);
        streams.flat_map(|id| Frame::new(kind::PRIORITY, 0, id, [0, 0, 0, 0, 15]).encode()).collect()
    });
}

#[test]
fn unknown_kinds() {
    check(&Frame::new(0xfa, 0, 0, [0; 16]));
}

#[test]
fn empty_data() {
    let target = target();
    let n_refused = target.flood(&[], |turn| {
        if turn == 0 {
            Frame::post(1, "/silent").encode()
        } else {
            Frame::data(1, b"").encode().repeat(BATCH)
        }
    });
    assert_ne!(n_refused, 0);
}

#[test]
fn data_of_one_byte() {
    let target = target();
    target.flood(&[], |turn| {
        if turn == 0 { Frame::post(1, "/silent").encode() } else { Frame::data(1, b"x").encode().repeat(50) }
    });
}

/// Settings number 4: how much may be sent on a stream at first.
#[test]
fn windows_of_one_byte() {
    let target = target();
    target.flood(&[(4, 0)], |turn| match turn {
        0 => (0..50).flat_map(|n| Frame::get(stream(n), "/large").encode()).collect(),
        _ => (0..BATCH as u32).flat_map(|n| Frame::window_update(stream(n % 50), 1).encode()).collect(),
    });
}
