//! Frames that no worker of ours sends: wrong kinds, lengths, numbers and orders. A worker that sends one is killed,
//! its request is answered, and no other client notices.

use std::fs::File;
use std::net::TcpListener;
use std::os::fd::{AsFd, OwnedFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};

use corral_channel::{ChannelShape, Flags, FrameKind, MAX_TRACE, RequestId};
use corral_sys::socket;
use corral_testkit::eventually;
use serde_json::json;

use crate::hand::{Hand, Stage, head, place};

/// A name, and the worker's offence.
type Crime<'a> = (&'a str, &'a dyn Fn(&mut Hand));

/// Each worker does one thing, and is killed for it; its client gets 503 if it has heard nothing before.
#[track_caller]
fn check(crimes: &[Crime<'_>]) {
    let mut stage = Stage::set();
    let mut n_descriptors = 0;
    for (n, (name, commit)) in crimes.iter().enumerate() {
        let mut hand = stage.hand();
        if n == 0 {
            n_descriptors = stage.n_descriptors();
        }
        commit(&mut hand);
        hand.ring(&stage);
        stage.expect_killed(&hand.worker, name);
        let reply = hand.client.try_read_response_to("GET");
        if let Ok(reply) = &reply {
            assert!([200, 503].contains(&reply.status), "{name}: {reply:?}");
        }
    }
    stage.expect_descriptors(n_descriptors + 2);
    stage.expect_unharmed();
}

/// Puts the head of a frame where the first one is, and publishes it.
fn raw(hand: &Hand, len: u32, kind: u8, flags: u8) {
    let lane = u64::from(hand.request.lane.0);
    let data = lane_data(hand.n_lanes, lane);
    let mut frame = [0; 16];
    frame[..4].copy_from_slice(&len.to_ne_bytes());
    (frame[4], frame[5]) = (kind, flags);
    frame[8..12].copy_from_slice(&hand.request.request.0.to_ne_bytes());
    hand.scribble(data, &frame);
    publish(hand, 16);
}

fn publish(hand: &Hand, position: u64) {
    hand.scribble(place::produced(hand.request.lane.0.into()), &position.to_ne_bytes());
}

#[test]
fn frames_that_are_none() {
    check(&[
        ("an unknown kind", &|hand| raw(hand, 0, 99, 0)),
        ("a kind that goes the other way", &|hand| raw(hand, 0, FrameKind::Request as u8, 0)),
        ("unknown flags", &|hand| raw(hand, 0, FrameKind::End as u8, 0xf0)),
        ("a frame that is longer than what is there", &|hand| raw(hand, 1, FrameKind::Data as u8, 0)),
        ("a frame without end", &|hand| raw(hand, u32::MAX, FrameKind::Data as u8, 0)),
        ("a position between frames", &|hand| publish(hand, 8)),
        ("a position that no ring has", &|hand| publish(hand, 1 << 40)),
        ("the last position of all", &|hand| publish(hand, !15)),
    ]);
}

#[test]
fn frames_with_what_they_cannot_have() {
    check(&[
        ("an end with a payload", &|hand| hand.send(hand.frame(FrameKind::End), b"x")),
        ("credit with a payload", &|hand| hand.send(hand.frame(FrameKind::BodyCredit).with_aux(1), b"x")),
        ("a start with a payload", &|hand| hand.send(hand.frame(FrameKind::Started), b"x")),
        ("state with a payload", &|hand| hand.send(hand.frame(FrameKind::State), b"x")),
        ("a trace that is too long", &|hand| {
            hand.send(hand.frame(FrameKind::Trace), &[b'x'; MAX_TRACE + 1]);
        }),
        ("a takeover with a payload", &|hand| hand.send(hand.frame(FrameKind::Hijacked), b"x")),
        ("an end with a file", &|hand| hand.send(hand.frame(FrameKind::End).with_flags(Flags::FILE), b"")),
        ("a file that is not described", &|hand| {
            hand.send(hand.frame(FrameKind::Response).with_flags(Flags::FILE), b"short");
        }),
        ("a file that is empty", &|hand| hand.name_file(0, 0)),
        ("a file longer than any", &|hand| hand.name_file(0, u64::MAX)),
    ]);
}

#[test]
fn requests_that_the_worker_does_not_hold() {
    check(&[
        ("the end of an unknown one", &|hand| {
            let mut frame = hand.frame(FrameKind::End).with_flags(Flags::DONE);
            frame.request = RequestId(12345);
            hand.send(frame, b"");
        }),
        ("the end of its own, twice", &|hand| {
            // At once: an event loop that has heard the first may have no more to hear from this application.
            let response = hand.frame(FrameKind::Response).with_flags(Flags::END | Flags::DONE);
            hand.publish(response, &head(200));
            hand.send(hand.frame(FrameKind::End).with_flags(Flags::DONE), b"");
        }),
        ("unknown ones again and again", &|hand| {
            let mut frame = hand.frame(FrameKind::Data);
            for n in 0..100 {
                frame.request = RequestId(54321 + n);
                hand.send(frame, b"x");
            }
        }),
        ("traces of unknown ones again and again", &|hand| {
            let mut frame = hand.frame(FrameKind::Trace);
            for n in 0..100 {
                frame.request = RequestId(54321 + n);
                hand.send(frame, b"x");
            }
        }),
    ]);
}

/// The list of workers has the last trace that names a request of this worker, as text.
#[test]
fn a_trace_is_text_whatever_it_says() {
    let mut stage = Stage::set();
    let mut hand = stage.hand();
    let frame = hand.frame(FrameKind::Trace);
    for text in [&[0xff_u8; MAX_TRACE][..], b"", b"\xff\x1b[2J() < </script>"] {
        hand.send(frame, text);
    }
    let mut stranger = frame;
    stranger.request = RequestId(54321);
    hand.send(stranger, b"elsewhere");
    let calls = json!(["\u{fffd}\u{1b}[2J()", "</script>"]);
    eventually("the list has it", || {
        let list = stage.attack.server.control().get("/control/applications/hostile/workers").json();
        let mut workers = list.as_object()?.values();
        workers.any(|worker| worker["request"]["backtrace"]["calls"] == calls).then_some(())
    });
    hand.respond(200, Flags::END | Flags::DONE);
    hand.client.read_response().expect(200);
    stage.bury(&hand.worker);
    stage.expect_unharmed();
}

#[test]
fn frames_out_of_order() {
    check(&[
        ("a body without a head", &|hand| hand.send(hand.frame(FrameKind::Data), b"x")),
        ("an empty body without a head", &|hand| hand.send(hand.frame(FrameKind::Data), b"")),
        ("two heads", &|hand| {
            hand.respond(200, Flags::NONE);
            hand.respond(200, Flags::NONE);
        }),
        ("more behind the end", &|hand| {
            hand.respond(200, Flags::END);
            hand.send(hand.frame(FrameKind::Data), b"HTTP/1.1 200 OK\r\n\r\n");
        }),
        ("a takeover behind a head", &|hand| {
            let (socket, _other) = socket::stream_pair().expect("make sockets");
            hand.send_descriptors(&[socket.as_fd()]);
            hand.respond(200, Flags::NONE);
            hand.name_socket(0);
        }),
        ("a head behind a takeover", &|hand| {
            let (socket, _other) = socket::stream_pair().expect("make sockets");
            hand.send_descriptors(&[socket.as_fd()]);
            hand.name_socket(0);
            hand.respond(200, Flags::NONE);
        }),
    ]);
}

#[test]
fn files_and_sockets_that_are_none() {
    let folder = || OwnedFd::from(File::open("/").expect("it is there"));
    let listener = || OwnedFd::from(TcpListener::bind("127.0.0.1:0").expect("a port"));
    let name = format!("corral-hostile-{}", std::process::id());
    let address = SocketAddr::from_abstract_name(name).expect("a name");
    let local = || UnixListener::bind_addr(&address).expect("listen").into();
    let file = |hand: &mut Hand, fd: OwnedFd| {
        hand.send_descriptors(&[fd.as_fd()]);
        hand.name_file(0, 1);
    };
    let socket = |hand: &mut Hand, fd: OwnedFd| {
        hand.send_descriptors(&[fd.as_fd()]);
        hand.name_socket(0);
    };
    check(&[
        ("a file that was not sent", &|hand| hand.name_file(7, 1)),
        ("a socket that was not sent", &|hand| hand.name_socket(u32::MAX)),
        ("a folder as a file", &|hand| file(hand, folder())),
        ("a device as a file", &|hand| file(hand, File::open("/dev/zero").expect("it is there").into())),
        ("a TCP socket as a file", &|hand| file(hand, listener())),
        ("a TCP socket as a socket", &|hand| socket(hand, listener())),
        ("a Unix socket that listens", &|hand| socket(hand, local())),
        ("a folder as a socket", &|hand| socket(hand, folder())),
        ("two at once", &|hand| {
            hand.send_descriptors(&[folder().as_fd(), folder().as_fd()]);
            hand.name_file(0, 1);
        }),
        ("none", &|hand| {
            hand.send_descriptors(&[]);
            hand.name_file(0, 1);
        }),
    ]);
}

/// The application sends a status that HTTP does not allow, but the worker keeps to the rules of the channel.
#[test]
fn final_statuses_that_are_none() {
    let mut stage = Stage::set();
    for status in [100, 101, 102, 103, 199] {
        let mut hand = stage.hand();
        hand.respond(status, Flags::END | Flags::DONE);
        hand.client.read_response().expect(503);
        stage.attack.server.expect_log(&format!("\"hostile\": the response's status is {status}"));
        stage.bury(&hand.worker);
    }
    let mut hand = stage.hand();
    hand.send(hand.frame(FrameKind::Response).with_flags(Flags::END | Flags::DONE), &head(200)[..7]);
    hand.client.read_response().expect(503);
    stage.bury(&hand.worker);
    stage.expect_unharmed();
}

/// Where the data of a lane begins.
fn lane_data(n_lanes: u16, lane: u64) -> u64 {
    let cursors = (1024 + u64::from(n_lanes) * 256).next_multiple_of(4096);
    cursors + 1024 * 1024 + lane * ChannelShape { n_lanes }.lane_capacity() as u64
}
