//! Workers that never stop: rings that are refilled for ever, bells that ring for ever, words that never rest. Event
//! loops answer all other clients meanwhile.

use std::io::Write;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use corral_channel::{Flags, FrameHead, FrameKind, RequestId};
use corral_testkit::{Watchdog, private_memory};

use crate::hand::{Hand, Stage, place};

/// Longer than the watchdog forgives.
const ATTACK: Duration = Duration::from_secs(4);

/// Memory that the router may take meanwhile: its own buffers, not what a worker makes it keep.
const MOST_MEMORY: u64 = 64 << 20;

/// Does something again and again, while others are answered and nothing piles up.
#[track_caller]
fn check(stage: &Stage, hand: &mut Hand, mut act: impl FnMut(&mut Hand)) {
    let router = stage.attack.server.expect_processes("router", 1)[0];
    let before = private_memory(router).expect("it runs");
    let watchdog = Watchdog::of(&stage.attack.server);
    let end = Instant::now() + ATTACK;
    while Instant::now() < end {
        (0..256).for_each(|_| act(hand));
    }
    watchdog.expect_prompt();
    let grown = private_memory(router).expect("it runs").saturating_sub(before);
    assert!(grown < MOST_MEMORY, "the router has grown by {grown} bytes");
}

/// Sends a frame about the request for ever, as fast as the router takes them.
#[track_caller]
fn check_flood(begin: impl Fn(&mut Hand), frame: impl Fn(&Hand) -> FrameHead, payload: &[u8]) {
    let mut stage = Stage::set();
    let mut hand = stage.hand();
    begin(&mut hand);
    let frame = frame(&hand);
    check(&stage, &mut hand, |hand| _ = hand.try_send(frame, payload));
    stage.bury(&hand.worker);
    stage.expect_unharmed();
}

#[test]
fn empty_frames_about_a_request() {
    check_flood(|_| {}, |hand| hand.frame(FrameKind::End), b"");
}

#[test]
fn empty_pieces_of_a_body() {
    check_flood(|hand| hand.respond(200, Flags::NONE), |hand| hand.frame(FrameKind::Data), b"");
}

#[test]
fn starts() {
    check_flood(|_| {}, |hand| hand.frame(FrameKind::Started), b"");
}

#[test]
fn departures() {
    check_flood(|_| {}, |hand| hand.frame(FrameKind::End).with_flags(Flags::LAST), b"");
}

#[test]
fn failures() {
    check_flood(|_| {}, |hand| hand.frame(FrameKind::Failed), b"");
}

#[test]
fn frames_for_unknown_requests_in_all_lanes() {
    let mut stage = Stage::set();
    let mut hand = stage.hand();
    let watchdog = Watchdog::of(&stage.attack.server);
    let mut frame = hand.frame(FrameKind::Informational);
    frame.request = RequestId(99_999);
    let end = Instant::now() + ATTACK;
    while Instant::now() < end {
        (0..256).for_each(|_| _ = hand.try_send(frame, &[0; 4096]));
    }
    watchdog.expect_prompt();
    stage.expect_killed(&hand.worker, "unknown requests");
    hand.client.read_response().expect(503);
    stage.expect_unharmed();
}

/// The worker takes the body as fast as it comes, and asks for more than there ever is.
#[test]
fn a_body_that_is_wanted_without_end() {
    let mut stage = Stage::set();
    let mut hand = stage.hand_with_large_body();
    let credit = hand.frame(FrameKind::BodyCredit).with_aux(u32::MAX);
    let mut payload = Vec::new();
    check(&stage, &mut hand, |hand| {
        hand.try_send(credit, b"");
        while let Ok(Some(_)) = hand.worker.end.recv(&mut payload) {}
    });
    stage.bury(&hand.worker);
    hand.client.read_response().expect(503);
    stage.ask();
    stage.expect_unharmed();
}

#[test]
fn a_bell_that_rings_without_end() {
    let mut stage = Stage::set();
    let mut hand = stage.hand();
    let eventfds: Vec<_> = stage.eventfds.iter().map(|fd| fd.try_clone().expect("a descriptor")).collect();
    check(&stage, &mut hand, |_| {
        for eventfd in &eventfds {
            // A full counter rings no more, but is none of the router's business.
            let _ = rustix::io::write(eventfd.as_fd(), &1u64.to_ne_bytes());
        }
    });
    stage.bury(&hand.worker);
    stage.expect_unharmed();
}

#[test]
fn words_that_never_rest() {
    let mut stage = Stage::set();
    let mut hand = stage.hand();
    let mut n = 0u32;
    check(&stage, &mut hand, |hand| {
        n = n.wrapping_add(1);
        // Asleep on the word, asleep at the bell, and undefined values.
        hand.scribble(place::SLEEPING, &(n % 4).to_ne_bytes());
        for lane in 0..2 {
            hand.scribble(place::wants_room(lane), &(n % 3).to_ne_bytes());
        }
        hand.scribble(place::SLOTS + u64::from(n % 64) * 4, &n.to_ne_bytes());
        hand.try_send(hand.frame(FrameKind::End), b"");
    });
    stage.bury(&hand.worker);
    stage.expect_unharmed();
}

/// The router finds it when it looks for room.
#[test]
fn a_position_of_the_reader_that_cannot_be() {
    let mut stage = Stage::set();
    let mut hand = stage.hand_with_large_body();
    hand.scribble(place::REQUESTS_CONSUMED, &u64::MAX.to_ne_bytes());
    hand.send(hand.frame(FrameKind::BodyCredit).with_aux(u32::MAX), b"");
    stage.expect_killed(&hand.worker, "a position that cannot be");
    hand.client.read_response().expect(503);
    stage.ask();
    stage.expect_unharmed();
}

/// The application's bytes go through as fast as the client takes them, which is fast.
#[test]
fn a_connection_that_was_taken_over_and_never_rests() {
    let mut stage = Stage::set();
    let mut hand = stage.hand();
    let (mut ours, theirs) = UnixStream::pair().expect("make sockets");
    hand.send_descriptors(&[theirs.as_fd()]);
    drop(theirs);
    hand.name_socket(0);
    let mut client = std::mem::replace(&mut hand.client, stage.attack.server.connect());
    let reader = std::thread::spawn(move || while !client.read_some().is_empty() {});
    let bytes = [b'x'; 1 << 14];
    check(&stage, &mut hand, |_| ours.write_all(&bytes).expect("somebody reads"));
    drop(ours);
    reader.join().expect("it comes to its end");
    stage.bury(&hand.worker);
    stage.expect_unharmed();
}
