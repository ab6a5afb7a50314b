//! Streams that end as soon as they have begun: by the client, or by the server because the client provokes it
//! ("MadeYouReset", CVE-2025-8671).

use corral_testkit::{Frame, flag};

use super::{stream, target};

/// Streams in one write.
const BATCH: u32 = 50;

/// The frames of each stream of a batch, for these paths one after the other.
fn batch(turn: u32, paths: &[&str], frames: impl Fn(u32, &str) -> Vec<Frame>) -> Vec<u8> {
    let streams = turn * BATCH..(turn + 1) * BATCH;
    let frames = streams.flat_map(|n| frames(stream(n), paths[n as usize % paths.len()]));
    frames.flat_map(|frame| frame.encode()).collect()
}

#[test]
fn rapid() {
    let target = target();
    let n_refused = target.flood(&[], |turn| {
        batch(turn, &["/", "/silent"], |id, path| vec![Frame::get(id, path), Frame::reset(id, 8)])
    });
    assert_ne!(n_refused, 0);
}

/// A pause between a request and its end lets the request begin.
#[test]
fn of_requests_that_have_begun() {
    let target = target();
    target.flood(&[], |turn| {
        let streams = (turn / 2 * 10..(turn / 2 + 1) * 10).map(stream);
        let frame = |id| if turn % 2 == 0 { Frame::get(id, "/silent") } else { Frame::reset(id, 8) };
        streams.flat_map(|id| frame(id).encode()).collect()
    });
    target.expect_rest();
}

#[test]
fn provoked_by_windows_of_nothing() {
    let target = target();
    let n_refused = target.flood(&[], |turn| {
        batch(turn, &["/", "/silent"], |id, path| vec![Frame::post(id, path), Frame::window_update(id, 0)])
    });
    assert_ne!(n_refused, 0);
    target.expect_rest();
}

#[test]
fn provoked_by_windows_that_overflow() {
    let target = target();
    let n_refused = target.flood(&[], |turn| {
        let most = (1 << 31) - 1;
        batch(turn, &["/", "/silent"], |id, path| {
            vec![Frame::get(id, path), Frame::window_update(id, most), Frame::window_update(id, most)]
        })
    });
    assert_ne!(n_refused, 0);
    target.expect_rest();
}

#[test]
fn provoked_by_data_on_streams_that_are_half_closed() {
    let target = target();
    let n_refused = target.flood(&[], |turn| {
        batch(turn, &["/silent"], |id, path| vec![Frame::get(id, path), Frame::data(id, b"x")])
    });
    assert_ne!(n_refused, 0);
    target.expect_rest();
}

#[test]
fn provoked_by_heads_on_streams_that_are_half_closed() {
    let target = target();
    let n_refused = target.flood(&[], |turn| {
        batch(turn, &["/silent"], |id, path| vec![Frame::get(id, path), Frame::get(id, path)])
    });
    assert_ne!(n_refused, 0);
    target.expect_rest();
}

/// More bytes than were announced.
#[test]
fn provoked_by_bodies_that_are_too_long() {
    let target = target();
    let n_refused = target.flood(&[], |turn| {
        batch(turn, &["/", "/silent"], |id, path| {
            let fields = [
                (":method", "POST"),
                (":scheme", "http"),
                (":authority", "a"),
                (":path", path),
                ("content-length", "1"),
            ];
            vec![Frame::headers(id, &fields).without(flag::END_STREAM), Frame::data(id, b"too long")]
        })
    });
    assert_ne!(n_refused, 0);
    target.expect_rest();
}
