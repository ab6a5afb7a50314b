//! Seats of one server as two event loops take and leave them, on connections whose other end does what a process
//! would.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream as StdStream;
use tokio::net::UnixStream;

use super::*;
use crate::io::AnySocket;

const SECOND: Duration = Duration::from_secs(1);

/// A connection on which this was sent, and its other end.
fn connection(sent: &[u8]) -> (ServerConnection, StdStream) {
    let (mut near, far) = StdStream::pair().expect("make sockets");
    near.write_all(sent).expect("there is room");
    near.set_nonblocking(true).expect("it does not block");
    let stream = UnixStream::from_std(near).expect("the event loop takes it");
    (ServerConnection::new(AnySocket::unix(stream), None), far)
}

fn slots(processes: u32) -> Arc<ProcessSlots> {
    ProcessSlots::new(processes, 2)
}

#[track_caller]
fn take(slots: &Arc<ProcessSlots>, lane: usize, now: Instant) -> (ProcessSlot, Option<KeptConnection>) {
    slots.take(Freshness::Any, lane, now).ok().expect("there is a seat")
}

#[track_caller]
fn wait(slots: &Arc<ProcessSlots>, lane: usize, now: Instant) -> SlotFuture {
    slots.take(Freshness::Any, lane, now).err().expect("there is no seat")
}

fn leave(slot: ProcessSlot, connection: ServerConnection, now: Instant) -> bool {
    slot.keep(
        KeptConnection { connection, presence: ProcessPresence::Away },
        &KeepAlive { idle_timeout: 5 * SECOND, ..KeepAlive::default() },
        now,
    )
}

/// Keeps the connection for the first event loop.
#[track_caller]
fn keep(slots: &Arc<ProcessSlots>, connection: ServerConnection, now: Instant) {
    let (slot, kept) = take(slots, 0, now);
    assert!(kept.is_none(), "it is a new one");
    assert!(leave(slot, connection, now));
}

fn n_open(slots: &ProcessSlots) -> usize {
    slots.state.lock().n_open
}

#[tokio::test]
async fn a_connection_is_kept_for_the_next_one() {
    let (slots, now, (connection, _far)) = (slots(2), Instant::now(), connection(b""));
    keep(&slots, connection, now);
    assert_eq!(n_open(&slots), 1);
    let (slot, kept) = take(&slots, 0, now + SECOND / 2);
    assert!(kept.is_some());
    assert_eq!(n_open(&slots), 1);
    drop((kept, slot));
    assert_eq!(n_open(&slots), 0);
}

#[tokio::test]
async fn processes_and_requests_that_wait_are_counted() {
    let (slots, now, (connection, _far)) = (slots(2), Instant::now(), connection(b""));
    let figures = |slots: &ProcessSlots| {
        let ServerProcesses { most, busy, waiting } = slots.figures();
        (most, busy, waiting, slots.n_kept())
    };
    assert_eq!(figures(&slots), (2, 0, 0, 0));
    let ((one, _), (two, _)) = (take(&slots, 0, now), take(&slots, 1, now));
    let waiting = wait(&slots, 0, now);
    assert_eq!(figures(&slots), (2, 2, 1, 0));
    drop(waiting);
    assert_eq!(figures(&slots), (2, 2, 0, 0));
    assert!(leave(one, connection, now));
    assert_eq!(figures(&slots), (2, 1, 0, 1));
    drop(two);
    assert_eq!(figures(&slots), (2, 0, 0, 1));
}

#[tokio::test]
async fn another_event_loop_has_its_process_by_a_new_connection() {
    let (slots, now, (connection, far)) = (slots(1), Instant::now(), connection(b""));
    keep(&slots, connection, now);
    let (_slot, kept) = take(&slots, 1, now);
    assert!(kept.is_none() && n_open(&slots) == 1);
    assert_eq!((&far).read(&mut [0]).expect("it is closed"), 0);
}

#[tokio::test]
async fn requests_wait_in_their_order_while_all_processes_are_busy() {
    let (slots, now) = (slots(1), Instant::now());
    let (slot, _) = take(&slots, 0, now);
    let (mut first, mut second) = (wait(&slots, 0, now), wait(&slots, 0, now));
    assert_eq!(n_open(&slots), 1);
    let (connection, _far) = connection(b"");
    assert!(leave(slot, connection, now));
    let (slot, kept) = first.slot().await;
    assert!(kept.is_some());
    drop((kept, slot));
    let (_slot, kept) = second.slot().await;
    assert!(kept.is_none() && n_open(&slots) == 1, "it was closed");
}

#[tokio::test]
async fn who_does_not_wait_any_more_gets_nothing() {
    let (slots, now) = (slots(1), Instant::now());
    let (slot, _) = take(&slots, 0, now);
    let (given, left, mut last) = (wait(&slots, 0, now), wait(&slots, 0, now), wait(&slots, 0, now));
    drop(left);
    drop(slot);
    drop(given);
    let (_slot, kept) = last.slot().await;
    assert!(kept.is_none() && n_open(&slots) == 1);
    let left: Vec<_> = (0..10).map(|_| wait(&slots, 0, now)).collect();
    drop(left);
    assert_eq!(slots.state.lock().sides[0].queue.len(), 0);
}

#[tokio::test]
async fn an_event_loop_is_served_first_unless_another_one_has_waited_for_longer() {
    for (longer, expect) in [(Duration::ZERO, 0), (SECOND, 1)] {
        let (slots, now) = (slots(1), Instant::now());
        let (slot, _) = take(&slots, 0, now);
        let (mut other, mut near) = (wait(&slots, 1, now - longer), wait(&slots, 0, now));
        drop(slot);
        let served = tokio::select! {
            _ = near.slot() => 0,
            _ = other.slot() => 1,
        };
        assert_eq!(served, expect);
    }
}

/// `expect` says whether a kept connection is used, and how many are open if none is used.
#[track_caller]
fn check(connection: ServerConnection, freshness: Freshness, later: Duration, expect: (bool, usize)) {
    let (slots, now) = (slots(8), Instant::now());
    keep(&slots, connection, now);
    let (slot, kept) = slots.take(freshness, 0, now + later).ok().expect("there is a seat");
    let is_used = kept.is_some();
    drop((kept, slot));
    assert_eq!((is_used, n_open(&slots)), expect);
}

#[tokio::test]
async fn what_is_old_is_of_no_use() {
    let (any, _far) = connection(b"");
    check(any, Freshness::Any, 4 * SECOND, (true, 0));
    let (old, _far) = connection(b"");
    check(old, Freshness::Any, 5 * SECOND, (false, 0));
}

/// The connection's process may be leaving, however recently it was back.
#[tokio::test]
async fn what_must_not_be_repeated_has_a_connection_of_its_own() {
    let (kept, _far) = connection(b"");
    check(kept, Freshness::Fresh, Duration::ZERO, (false, 1));
    let (slots, now) = (slots(1), Instant::now());
    let (kept, mut far) = connection(b"");
    keep(&slots, kept, now);
    let (_slot, kept) = slots.take(Freshness::Fresh, 0, now).ok().expect("its place is free");
    assert!(kept.is_none());
    assert_eq!(far.read(&mut [0]).expect("it is closed"), 0, "the process is free for the new connection");
}

#[tokio::test]
async fn a_process_that_is_not_back_is_still_busy() {
    let (unheard, _far) = connection(b"begin");
    check(unheard, Freshness::Any, SECOND, (false, 1));
}

#[tokio::test]
async fn what_is_closed_or_out_of_step_is_dropped() {
    let (closed, far) = connection(b"");
    drop(far);
    closed.readable().await.expect("its end is there");
    check(closed, Freshness::Any, SECOND, (false, 0));
    let (talkative, mut far) = connection(b"");
    far.write_all(b"x").expect("there is room");
    talkative.readable().await.expect("a byte is there");
    check(talkative, Freshness::Any, SECOND, (false, 0));
}

#[tokio::test]
async fn who_waits_gets_the_process_that_comes_back() {
    let (slots, now) = (slots(1), Instant::now());
    let (connection, mut far) = connection(b"begin");
    keep(&slots, connection, now);
    let mut waiting = wait(&slots, 0, now);
    assert!(slots.serve(0, now), "it is not back");
    far.read_exact(&mut [0; 5]).expect("what was sent is there");
    assert!(!slots.serve(0, now));
    let (_slot, kept) = waiting.slot().await;
    assert!(kept.is_some() && n_open(&slots) == 1);
}

#[tokio::test]
async fn who_is_back_is_known_without_an_announcement_once_that_was_seen() {
    let (slots, now) = (slots(1), Instant::now());
    let (slot, _) = take(&slots, 0, now);
    let ((early, _far), (late, _other)) = (connection(b""), connection(b"end"));
    assert_eq!(
        slot.presence(&early),
        ProcessPresence::Unknown,
        "it may have read all before it ended the request"
    );
    assert_eq!(slot.presence(&late), ProcessPresence::Away);
    assert_eq!(slot.presence(&early), ProcessPresence::Back);
}

#[tokio::test]
async fn an_idle_connection_makes_room_for_one_that_is_not_answered() {
    let (slots, now, (connection, far)) = (slots(2), Instant::now(), connection(b""));
    keep(&slots, connection, now);
    tokio::select! {
        () = slots.keep_relieving() => {}
        () = tokio::time::sleep(10 * FIRST_PAUSE) => {}
    }
    assert_eq!(n_open(&slots), 0);
    assert_eq!((&far).read(&mut [0]).expect("it is closed"), 0);
}

#[tokio::test]
async fn what_nobody_uses_is_closed() {
    let (slots, now, (connection, _far)) = (slots(1), Instant::now(), connection(b""));
    keep(&slots, connection, now);
    assert!(slots.sweep(now + SECOND));
    assert!(!slots.sweep(now + 6 * SECOND));
    assert_eq!(n_open(&slots), 0);
}
