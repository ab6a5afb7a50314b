//! Descriptors whose closing takes long, wherever the router gets some from an application: no event loop closes them.

use std::io::Read;
use std::os::fd::AsFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::thread;

use corral_channel::Flags;
use corral_sys::socket::{self, Wait};
use corral_testkit::attacker::{TARRYING, tarry};
use corral_testkit::{Watchdog, daemon, site};
use serde_json::json;

use crate::hand::{Hand, Stage};

/// Does something with such descriptors, and looks whether every client is answered for as long as closing one takes.
#[track_caller]
fn check(act: impl FnOnce(&mut Stage, Hand)) {
    let mut stage = Stage::set();
    let hand = stage.hand();
    let watchdog = Watchdog::of(&stage.attack.server);
    act(&mut stage, hand);
    thread::sleep(TARRYING / 2);
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

/// A stream socket as it should be, in which something waits for its reader, or for its end.
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

/// Bytes with descriptors, where the kernel does not refuse these.
fn send_with_descriptors(to: &UnixStream, bytes: &[u8]) {
    let mut tarrying = tarry();
    if socket::send(to.as_fd(), bytes, &[tarrying.as_fd()], Wait::Block).is_err() {
        socket::send(to.as_fd(), bytes, &[], Wait::Block).expect("the router reads");
    }
    tarrying.leave();
}

/// Any server that is reached by a Unix socket, and any program, can do that.
#[test]
fn in_answers_and_tunnels_of_a_server() {
    let site = site().writable_folder("run");
    let path = site.path("run/server.sock");
    let listener = UnixListener::bind(&path).expect("listen");
    std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o666)).expect("it is ours");
    let server = daemon()
        .routes(json!([
            { "match": { "uri": "/server" }, "action": { "proxy": format!("http://unix:{}", path.display()) } },
            { "action": { "return": 204 } },
        ]))
        .start();
    let watchdog = Watchdog::of(&server);
    thread::scope(|scope| {
        scope.spawn(|| {
            for head in [
                "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\n",
                "HTTP/1.1 101 x\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n",
            ] {
                let (mut stream, _) = listener.accept().expect("the router connects");
                let _ = stream.read(&mut [0; 4096]);
                for piece in [head, "a", "b"] {
                    send_with_descriptors(&stream, piece.as_bytes());
                }
                // What it does not read is closed with its end.
                let _ = stream.read(&mut [0; 4096]);
                let mut tarrying = tarry();
                let _ = socket::send(stream.as_fd(), b"more", &[tarrying.as_fd()], Wait::Never);
                tarrying.leave();
            }
        });
        server.get("/server").expect(200).expect_body("ab");
        let mut client = server.connect();
        client.write("GET /server HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n");
        client.read_response().expect(101);
        client.read_until_text("ab");
        client.write("end");
    });
    thread::sleep(TARRYING / 4);
    watchdog.expect_prompt();
}
