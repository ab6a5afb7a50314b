//! Seats of one server as two event loops take and leave them, on connections whose other end does what a process would.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream as StdStream;
use tokio::net::UnixStream;

use super::*;
use crate::io::Socket;

const SECOND: Duration = Duration::from_secs(1);

/// A connection on which this was sent, and its other end.
fn line(sent: &[u8]) -> (Line, StdStream) {
    let (mut near, far) = StdStream::pair().expect("make sockets");
    near.write_all(sent).expect("there is room");
    near.set_nonblocking(true).expect("it does not block");
    let stream = UnixStream::from_std(near).expect("the event loop takes it");
    (Line::new(Socket::unix(stream), None), far)
}

fn seats(processes: u32) -> Arc<Seats> {
    Seats::new(processes, 2)
}

#[track_caller]
fn take(seats: &Arc<Seats>, lane: usize, now: Instant) -> (Seat, Option<Kept>) {
    seats.take(Freshness::Any, lane, now).ok().expect("there is a seat")
}

#[track_caller]
fn wait(seats: &Arc<Seats>, lane: usize, now: Instant) -> Waiting {
    seats.take(Freshness::Any, lane, now).err().expect("there is no seat")
}

fn leave(seat: Seat, line: Line, now: Instant) -> bool {
    seat.keep(
        Kept { line, presence: Presence::Away },
        &KeepAlive { idle_timeout: 5 * SECOND, ..KeepAlive::default() },
        now,
    )
}

/// Keeps the connection for the first event loop.
#[track_caller]
fn keep(seats: &Arc<Seats>, line: Line, now: Instant) {
    let (seat, kept) = take(seats, 0, now);
    assert!(kept.is_none(), "it is a new one");
    assert!(leave(seat, line, now));
}

fn n_open(seats: &Seats) -> usize {
    seats.state.lock().n_open
}

#[tokio::test]
async fn a_connection_is_kept_for_the_next_one() {
    let (seats, now, (line, _far)) = (seats(2), Instant::now(), line(b""));
    keep(&seats, line, now);
    assert_eq!(n_open(&seats), 1);
    let (seat, kept) = take(&seats, 0, now + SECOND / 2);
    assert!(kept.is_some());
    assert_eq!(n_open(&seats), 1);
    drop((kept, seat));
    assert_eq!(n_open(&seats), 0);
}

#[tokio::test]
async fn another_event_loop_has_its_process_by_a_new_connection() {
    let (seats, now, (line, far)) = (seats(1), Instant::now(), line(b""));
    keep(&seats, line, now);
    let (_seat, kept) = take(&seats, 1, now);
    assert!(kept.is_none() && n_open(&seats) == 1);
    assert_eq!((&far).read(&mut [0]).expect("it is closed"), 0);
}

#[tokio::test]
async fn requests_wait_in_their_order_while_all_processes_are_busy() {
    let (seats, now) = (seats(1), Instant::now());
    let (seat, _) = take(&seats, 0, now);
    let (mut first, mut second) = (wait(&seats, 0, now), wait(&seats, 0, now));
    assert_eq!(n_open(&seats), 1);
    let (line, _far) = line(b"");
    assert!(leave(seat, line, now));
    let (seat, kept) = first.seat().await;
    assert!(kept.is_some());
    drop((kept, seat));
    let (_seat, kept) = second.seat().await;
    assert!(kept.is_none() && n_open(&seats) == 1, "it was closed");
}

#[tokio::test]
async fn who_does_not_wait_any_more_gets_nothing() {
    let (seats, now) = (seats(1), Instant::now());
    let (seat, _) = take(&seats, 0, now);
    let (given, left, mut last) = (wait(&seats, 0, now), wait(&seats, 0, now), wait(&seats, 0, now));
    drop(left);
    drop(seat);
    drop(given);
    let (_seat, kept) = last.seat().await;
    assert!(kept.is_none() && n_open(&seats) == 1);
    let left: Vec<_> = (0..10).map(|_| wait(&seats, 0, now)).collect();
    drop(left);
    assert_eq!(seats.state.lock().sides[0].queue.len(), 0);
}

#[tokio::test]
async fn an_event_loop_is_served_first_unless_another_one_has_waited_for_longer() {
    for (longer, expect) in [(Duration::ZERO, 0), (SECOND, 1)] {
        let (seats, now) = (seats(1), Instant::now());
        let (seat, _) = take(&seats, 0, now);
        let (mut other, mut near) = (wait(&seats, 1, now - longer), wait(&seats, 0, now));
        drop(seat);
        let served = tokio::select! {
            _ = near.seat() => 0,
            _ = other.seat() => 1,
        };
        assert_eq!(served, expect);
    }
}

/// `expect` says whether a kept connection is used, and how many are open if nobody uses it.
#[track_caller]
fn check(line: Line, freshness: Freshness, later: Duration, expect: (bool, usize)) {
    let (seats, now) = (seats(8), Instant::now());
    keep(&seats, line, now);
    let (seat, kept) = seats.take(freshness, 0, now + later).ok().expect("there is a seat");
    let is_used = kept.is_some();
    drop((kept, seat));
    assert_eq!((is_used, n_open(&seats)), expect);
}

#[tokio::test]
async fn what_is_old_is_of_no_use() {
    let (any, _far) = line(b"");
    check(any, Freshness::Any, 4 * SECOND, (true, 0));
    let (old, _far) = line(b"");
    check(old, Freshness::Any, 5 * SECOND, (false, 0));
}

/// The connection's process may be leaving, however recently it was back.
#[tokio::test]
async fn what_must_not_be_repeated_has_a_connection_of_its_own() {
    let (kept, _far) = line(b"");
    check(kept, Freshness::Fresh, Duration::ZERO, (false, 1));
    let (seats, now) = (seats(1), Instant::now());
    let (kept, mut far) = line(b"");
    keep(&seats, kept, now);
    let (_seat, kept) = seats.take(Freshness::Fresh, 0, now).ok().expect("its place is free");
    assert!(kept.is_none());
    assert_eq!(far.read(&mut [0]).expect("it is closed"), 0, "the process is free for the new connection");
}

#[tokio::test]
async fn a_process_that_is_not_back_is_still_busy() {
    let (unheard, _far) = line(b"begin");
    check(unheard, Freshness::Any, SECOND, (false, 1));
}

#[tokio::test]
async fn what_is_closed_or_out_of_step_is_dropped() {
    let (closed, far) = line(b"");
    drop(far);
    closed.readable().await.expect("its end is there");
    check(closed, Freshness::Any, SECOND, (false, 0));
    let (talkative, mut far) = line(b"");
    far.write_all(b"x").expect("there is room");
    talkative.readable().await.expect("a byte is there");
    check(talkative, Freshness::Any, SECOND, (false, 0));
}

#[tokio::test]
async fn who_waits_gets_the_process_that_comes_back() {
    let (seats, now) = (seats(1), Instant::now());
    let (line, mut far) = line(b"begin");
    keep(&seats, line, now);
    let mut waiting = wait(&seats, 0, now);
    assert!(seats.serve(0, now), "it is not back");
    far.read_exact(&mut [0; 5]).expect("what was sent is there");
    assert!(!seats.serve(0, now));
    let (_seat, kept) = waiting.seat().await;
    assert!(kept.is_some() && n_open(&seats) == 1);
}

#[tokio::test]
async fn who_is_back_is_known_without_an_announcement_once_that_was_seen() {
    let (seats, now) = (seats(1), Instant::now());
    let (seat, _) = take(&seats, 0, now);
    let ((early, _far), (late, _other)) = (line(b""), line(b"end"));
    assert_eq!(seat.presence(&early), Presence::Unknown, "it may have read all before it ended the request");
    assert_eq!(seat.presence(&late), Presence::Away);
    assert_eq!(seat.presence(&early), Presence::Back);
}

#[tokio::test]
async fn an_idle_connection_makes_room_for_one_that_is_not_answered() {
    let (seats, now, (line, far)) = (seats(2), Instant::now(), line(b""));
    keep(&seats, line, now);
    tokio::select! {
        () = seats.keep_relieving() => {}
        () = tokio::time::sleep(10 * FIRST_PAUSE) => {}
    }
    assert_eq!(n_open(&seats), 0);
    assert_eq!((&far).read(&mut [0]).expect("it is closed"), 0);
}

#[tokio::test]
async fn what_nobody_uses_is_closed() {
    let (seats, now, (line, _far)) = (seats(1), Instant::now(), line(b""));
    keep(&seats, line, now);
    assert!(seats.sweep(now + SECOND));
    assert!(!seats.sweep(now + 6 * SECOND));
    assert_eq!(n_open(&seats), 0);
}
