//! Descriptors whose closing takes long, wherever the router gets some from an application: no event loop closes them.

use std::io::Read;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;

use corral_channel::Flags;
use corral_sys::socket::{self, Wait};
use corral_testkit::Watchdog;
use corral_testkit::attacker::{TARRYING, tarry};

use crate::hand::{Hand, Stage};

/// Does something with such descriptors, and looks whether everybody is answered for as long as closing one takes.
#[track_caller]
fn check(act: impl FnOnce(&mut Stage, Hand)) {
    let mut stage = Stage::set();
    let hand = stage.hand();
    let watchdog = Watchdog::of(&stage.attack.server);
    act(&mut stage, hand);
    std::thread::sleep(TARRYING / 2);
    watchdog.expect_prompt();
    stage.expect_unharmed();
}

#[test]
fn in_place_of_a_file() {
    check(|stage, mut hand| {
        let mut tarrying = tarry();
        hand.send_descriptors(&[tarrying.as_fd()]);
        tarrying.leave();
        hand.name_file(0, 1);
        stage.expect_killed(&hand.worker, "a socket as a file");
    });
}

#[test]
fn in_place_of_a_socket() {
    check(|stage, mut hand| {
        let mut tarrying = tarry();
        hand.send_descriptors(&[tarrying.as_fd()]);
        tarrying.leave();
        hand.name_socket(0);
        stage.expect_killed(&hand.worker, "a TCP socket as a socket");
    });
}

#[test]
fn never_named() {
    check(|stage, mut hand| {
        let mut tarrying: Vec<_> = (0..4).map(|_| tarry()).collect();
        for tarrying in &mut tarrying {
            hand.send_descriptors(&[tarrying.as_fd()]);
            tarrying.leave();
        }
        hand.respond(200, Flags::END | Flags::DONE);
        hand.client.read_response().expect(200);
        stage.bury(&hand.worker);
    });
}

/// A stream socket as it should be, in which something waits for whoever reads, or for its end.
#[track_caller]
fn check_takeover(end: impl FnOnce(&Stage, &mut Hand, UnixStream)) {
    check(|stage, mut hand| {
        let (ours, theirs) = socket::stream_pair().expect("make sockets");
        for _ in 0..3 {
            let mut tarrying = tarry();
            socket::send(ours.as_fd(), b"x", &[tarrying.as_fd()], Wait::Never).expect("there is room");
            tarrying.leave();
        }
        hand.send_descriptors(&[theirs.as_fd()]);
        drop(theirs);
        hand.name_socket(0);
        end(stage, &mut hand, ours.into());
        stage.bury(&hand.worker);
    });
}

#[test]
fn with_the_bytes_of_a_connection_that_was_taken_over() {
    check_takeover(|_, hand, ours| {
        assert_eq!(hand.client.read_until_text("xxx"), "xxx");
        drop(ours);
        assert!(hand.client.read_to_end().is_empty());
    });
}

#[test]
fn in_a_connection_that_was_taken_over_whose_client_has_left() {
    check_takeover(|stage, hand, mut ours| {
        hand.client = stage.attack.server.connect();
        // The router leaves, too.
        let _ = ours.read(&mut [0; 16]);
    });
}
