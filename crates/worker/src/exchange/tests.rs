//! Requests over a real channel, both ends of it in this process.

mod handover;

use std::io::{ErrorKind, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::thread;

use corral_channel::message::RequestHead;
use corral_channel::{
    Beside, Lane, LaneReceiver, MAX_FILES, RequestId, Slot, WorkerBell, WorkerEnd, WorkerPort, file_sockets,
};
use corral_sys::memory::SharedMemory;
use rustix::process::{Pid, getpid, getppid};

use super::*;
use crate::inbox::{Inbox, Next, Received};
use crate::prototype::Place;

const LANE: Lane = Lane(0);
const CREDIT: usize = corral_channel::INITIAL_CREDIT as usize;

/// The router's end of a channel.
struct Router {
    port: WorkerPort,
    lane: LaneReceiver,
    n_requests: u32,
}

fn channel() -> (Router, Inbox) {
    channel_of_child_of(getppid().expect("a test has a parent"))
}

fn channel_of_child_of(parent: Pid) -> (Router, Inbox) {
    let (bell, _) = WorkerBell::create(1).unwrap();
    let (end, memory) = WorkerEnd::create(&bell).unwrap();
    let (sender, files) = file_sockets().unwrap();
    let end = end.with_files(Some(sender));
    let beside = Beside { bell: None, files: Some(files) };
    let (port, mut lanes) = WorkerPort::map_with(memory, beside, bell.shape()).unwrap();
    let router = Router { port, lane: lanes.remove(0), n_requests: 0 };
    (router, Inbox::new(Place { end, parent, report: None, doorbell: None }))
}

impl Router {
    fn submit(&mut self, method: &str, body: &[u8], body_complete: bool) -> RequestId {
        let id = RequestId(self.n_requests);
        let slot = Slot::new(self.n_requests as usize).unwrap();
        self.n_requests += 1;
        let head = RequestHead { method: method.as_bytes(), body_complete, ..RequestHead::default() };
        let mut payload = vec![];
        message::encode_request(&mut payload, &head, []);
        self.port.submit(slot, id, LANE, &[&payload, body]).unwrap();
        self.port.wake();
        id
    }

    fn take_back(&self, id: RequestId) -> bool {
        self.port.take_back(Slot::new(id.0 as usize).unwrap(), id, LANE)
    }

    /// The next frame as text: kind, flags, `aux` or body length.
    fn next(&mut self) -> Option<String> {
        let mut payload = vec![];
        let head = self.lane.recv(&mut payload).unwrap()?;
        let mut text = format!("{:?}", head.kind);
        let file = self.take_file(&head, &mut payload);
        if matches!(head.kind, Kind::Response | Kind::Informational) {
            let (view, offset) = message::decode_response(&payload).unwrap();
            text += &format!(" {}", view.status);
            payload.drain(..offset);
        }
        text += &file;
        for (flag, name) in [(Flags::END, " end"), (Flags::DONE, " done"), (Flags::LAST, " last")] {
            if head.flags.contains(flag) {
                text += name;
            }
        }
        match payload.len() as u32 + head.aux {
            0 => Some(text),
            number => Some(format!("{text} {number}")),
        }
    }

    /// What a frame says of a file, which is taken out of it.
    fn take_file(&self, head: &FrameHead, payload: &mut Vec<u8>) -> String {
        if !head.flags.contains(Flags::FILE) {
            return String::new();
        }
        let (n_before, part) = message::split_file(payload).unwrap();
        payload.truncate(n_before);
        let file = self.lane.take_file(part.number).unwrap().unwrap();
        format!(" file {}+{} of {}", part.offset, part.len, file.size)
    }

    fn frames(&mut self) -> Vec<String> {
        std::iter::from_fn(|| self.next()).collect()
    }

    /// Waits for a frame.
    fn wait(&mut self) -> String {
        loop {
            if let Some(frame) = self.next() {
                self.lane.wake_producer();
                return frame;
            }
            thread::yield_now();
        }
    }
}

#[track_caller]
fn next(inbox: &mut Inbox) -> Received {
    match inbox.next() {
        Next::Serve(received) => received,
        Next::Leave => panic!("the worker leaves"),
    }
}

/// Answers the next request as `script` says.
fn serve(inbox: &mut Inbox, after: After, script: impl FnOnce(&mut Running<'_, Inbox>)) {
    let received = next(inbox);
    let (frame, payload) = inbox.begin(received);
    let view = message::decode_request(&payload).unwrap();
    let mut out = vec![];
    let mut running = Running::new(inbox, frame, &view, &mut out);
    script(&mut running);
    running.conclude(after, Duration::ZERO);
    inbox.end(&frame, payload);
}

/// Checks the frames that come of a response to a request without a body.
#[track_caller]
fn check(method: &str, script: impl FnOnce(&mut Running<'_, Inbox>), expected: &[&str]) {
    let (mut router, mut inbox) = channel();
    router.submit(method, b"", true);
    serve(&mut inbox, After::Another, script);
    assert_eq!(router.frames(), expected);
}

#[test]
fn short_responses_are_one_frame() {
    check("GET", |it| it.write(b"hello").unwrap(), &["Response 200 end done 5"]);
    check("GET", |it| it.respond(404, &[]), &["Response 404 end done"]);
    check(
        "GET",
        |it| {
            it.respond(404, &[(b"A", b"b")]);
            it.respond(200, &[]);
            it.write(b"").unwrap();
            it.write(b"ab").unwrap();
        },
        &["Response 404 end done 2"],
    );
}

#[test]
fn informational_responses_come_before_the_response_and_never_after() {
    check(
        "GET",
        |it| {
            it.inform(103, &[(b"Link", b"</a>")]).unwrap();
            it.inform(102, &[]).unwrap();
            it.respond(204, &[]);
            it.inform(103, &[(b"Link", b"</late>")]).unwrap();
        },
        &["Informational 103", "Informational 102", "Response 204 end done"],
    );
    check(
        "GET",
        |it| {
            assert_eq!(it.inform(200, &[]), Err(Malformed::Status { status: 200 }));
            assert_eq!(it.inform(103, &[(b"Link", b"a\r\nb")]), Err(Malformed::FieldValue { index: 0 }));
            it.inform(103, &[(b"Link", &[b'x'; 70_000])]).unwrap();
        },
        &["Response 500 end done"],
    );
}

#[test]
fn informational_responses_take_credit() {
    let (mut router, mut inbox) = channel();
    let id = router.submit("GET", b"", true);
    let value = [b'x'; 10_000];
    let worker = thread::spawn(move || {
        serve(&mut inbox, After::Another, |it| {
            (0..30).for_each(|_| it.inform(103, &[(b"Link", &value)]).unwrap());
            assert!(it.client_gone(), "the rest went nowhere");
        });
    });
    let n_affordable = CREDIT / (10_000 + 24);
    (0..n_affordable).for_each(|_| assert_eq!(router.wait(), "Informational 103"));
    router.port.cancel(id, LANE).unwrap();
    router.port.wake();
    assert_eq!(router.wait(), "End end done");
    worker.join().unwrap();
}

#[test]
fn what_is_aborted_is_failed_after_what_was_written() {
    check("GET", |it| it.abort(), &["Failed end done"]);
    check(
        "GET",
        |it| {
            it.write(b"hello").unwrap();
            it.abort();
            assert!(it.write(b"more").is_err());
            it.finish();
        },
        &["Response 200 5", "Failed end done"],
    );
    check(
        "GET",
        |it| {
            it.finish();
            it.abort();
        },
        &["Response 200 end", "Finished done"],
    );
}

#[test]
fn little_is_collected_and_much_is_not() {
    check(
        "GET",
        |it| {
            assert!(it.collects(COLLECTED) && !it.collects(COLLECTED + 1));
            it.respond(200, &[]);
            assert!(it.collects(100) && !it.collects(COLLECTED));
        },
        &["Response 200 end done"],
    );
}

#[test]
fn silence_is_an_error() {
    check("GET", |_| {}, &["Response 500 end done"]);
}

#[test]
fn output_is_collected() {
    check(
        "GET",
        |it| (0..20).for_each(|_| it.write(&[b'x'; 4096]).unwrap()),
        &["Response 200 32768", "Data 36864", "Data end done 12288"],
    );
    check("GET", |it| it.write(&[b'x'; 70_000]).unwrap(), &["Response 200 65508", "Data end done 4492"]);
}

#[test]
fn a_flush_sends_what_there_is() {
    check("GET", |it| it.flush(), &["Response 500 end done"]);
    check(
        "GET",
        |it| {
            it.respond(200, &[]);
            it.flush();
            it.flush();
            it.write(b"abc").unwrap();
            it.flush();
        },
        &["Response 200", "Data 3", "End end done"],
    );
}

#[test]
fn some_responses_have_no_body() {
    check("HEAD", |it| it.write(&[b'x'; 100_000]).unwrap(), &["Response 200 end done"]);
    for status in [204, 304] {
        let script = |it: &mut Running<'_, Inbox>| {
            it.respond(status, &[]);
            it.write(b"dropped").unwrap();
        };
        check("GET", script, &[&format!("Response {status} end done")]);
    }
}

/// The client sends nothing more while it has got `frames`.
#[track_caller]
fn check_left(script: impl FnOnce(&mut Running<'_, Inbox>), frames: &[&str]) {
    let (mut router, mut inbox) = channel();
    let id = router.submit("GET", b"", true);
    serve(&mut inbox, After::Another, |it| {
        router.port.left(id, LANE).unwrap();
        script(it);
    });
    assert_eq!(router.frames(), frames);
}

#[test]
fn a_client_that_has_left_is_not_fed_nothing_for_ever() {
    // It may be waiting.
    check_left(|it| (0..9).for_each(|_| it.write(b"").unwrap()), &["Response 200 end done"]);
    let give_up = |it: &mut Running<'_, Inbox>| {
        it.silence.begin_earlier();
        assert_eq!(it.write(b""), Err(ClientGone));
        assert_eq!(it.write(b"more"), Err(ClientGone));
        assert!(it.client_gone());
    };
    let expected = ["Response 200", "Failed end done"];
    check_left(give_up, &expected);
    check_left(
        |it| {
            it.silence.begin_earlier();
            it.write(b"something").unwrap();
            it.write(b"").unwrap();
            give_up(it);
        },
        &["Response 200 9", "Failed end done"],
    );
    check_left(
        |it| {
            it.silence.begin_earlier();
            it.flush();
            assert!(it.client_gone());
        },
        &["Failed end done"],
    );
    check(
        "GET",
        |it| {
            it.silence.begin_earlier();
            it.write(b"").unwrap();
        },
        &["Response 200 end done"],
    );
}

#[test]
fn nothing_that_is_written_tells_that_the_client_is_gone() {
    for method in ["GET", "HEAD"] {
        let (mut router, mut inbox) = channel();
        let id = router.submit(method, b"", true);
        serve(&mut inbox, After::Another, |it| {
            it.write(b"").unwrap();
            router.port.cancel(id, LANE).unwrap();
            assert_eq!(it.write(b""), Err(ClientGone));
            let dropped = it.write(b"dropped");
            assert!(method == "GET" || dropped == Err(ClientGone));
        });
    }
}

#[test]
fn a_response_that_ends_early() {
    let script = |it: &mut Running<'_, Inbox>| {
        it.write(b"early").unwrap();
        it.finish();
        it.finish();
        it.write(&[b'x'; 100_000]).unwrap();
        it.flush();
    };
    check("GET", script, &["Response 200 end 5", "Finished done"]);
    check("GET", |it| it.finish(), &["Response 200 end", "Finished done"]);
}

#[test]
fn a_head_that_does_not_fit_is_an_error() {
    let long = [b'x'; 70_000];
    check("GET", |it| it.respond(200, &[(b"A", &long)]), &["Response 500 end done"]);
}

#[test]
fn the_last_response_says_so() {
    let (mut router, mut inbox) = channel();
    router.submit("GET", b"", true);
    router.submit("GET", b"", true);
    serve(&mut inbox, After::Nothing, |it| it.write(b"a").unwrap());
    serve(&mut inbox, After::Nothing, |it| it.finish());
    assert_eq!(router.frames(), ["Response 200 end done last 1", "Response 200 end", "Finished done last"]);
}

#[test]
fn credit_is_waited_for() {
    let (mut router, mut inbox) = channel();
    let id = router.submit("GET", b"", true);
    let worker = thread::spawn(move || {
        serve(&mut inbox, After::Another, |it| it.write(&vec![b'x'; 2 * CREDIT]).unwrap());
    });
    let mut n_bytes = 0;
    loop {
        let frame = router.wait();
        n_bytes += frame.rsplit(' ').next().unwrap().parse::<usize>().unwrap_or(0);
        if frame.contains("done") {
            break;
        }
        if n_bytes == CREDIT {
            router.port.credit(id, LANE, CREDIT as u32).unwrap();
            router.port.wake();
        }
    }
    assert_eq!(n_bytes, 2 * CREDIT);
    worker.join().unwrap();
}

#[test]
fn a_cancelled_request_writes_to_nobody() {
    let (mut router, mut inbox) = channel();
    let id = router.submit("GET", b"", true);
    serve(&mut inbox, After::Another, |it| {
        it.write(b"abc").unwrap();
        assert!(!it.client_gone());
        router.port.cancel(id, LANE).unwrap();
        assert!(it.client_gone());
        assert_eq!(it.write(&[b'x'; 100_000]), Err(ClientGone));
        it.flush();
        it.finish();
    });
    assert_eq!(router.frames(), ["End end done"]);
}

#[test]
fn a_cancel_ends_the_wait_for_credit() {
    let (mut router, mut inbox) = channel();
    let id = router.submit("GET", b"", true);
    let worker = thread::spawn(move || {
        serve(&mut inbox, After::Another, |it| {
            assert_eq!(it.write(&vec![b'x'; 2 * CREDIT]), Err(ClientGone));
        });
    });
    assert!(router.wait().starts_with("Response"));
    router.port.cancel(id, LANE).unwrap();
    router.port.wake();
    while router.wait() != "End end done" {}
    worker.join().unwrap();
}

#[test]
fn short_bodies_come_with_the_head() {
    let (mut router, mut inbox) = channel();
    router.submit("POST", b"12345", true);
    serve(&mut inbox, After::Another, |it| {
        let mut buffer = [0; 3];
        assert_eq!(it.read_body(&mut []).unwrap(), 0);
        assert_eq!((it.read_body(&mut buffer).unwrap(), &buffer), (3, b"123"));
        assert_eq!((it.read_body(&mut buffer).unwrap(), &buffer[..2]), (2, &b"45"[..]));
        assert_eq!(it.read_body(&mut buffer).unwrap(), 0);
        assert_eq!(it.read_body(&mut buffer).unwrap(), 0);
    });
    assert_eq!(router.frames(), ["Response 500 end done"]);
}

#[test]
fn what_is_at_hand_needs_no_buffer() {
    let (mut router, mut inbox) = channel();
    router.submit("POST", b"12345", false);
    serve(&mut inbox, After::Another, |it| {
        assert_eq!(it.body_at_hand(), (&b"12345"[..], false));
        it.skip_body(2);
        let mut buffer = [0; 2];
        assert_eq!((it.read_body(&mut buffer).unwrap(), &buffer), (2, b"34"));
        assert_eq!(it.body_at_hand(), (&b"5"[..], false));
    });
    router.submit("POST", b"6", true);
    serve(&mut inbox, After::Another, |it| {
        assert_eq!(it.body_at_hand(), (&b"6"[..], true));
        it.skip_body(1);
        assert_eq!(it.body_at_hand(), (&b""[..], true));
        assert_eq!(it.read_body(&mut [0]).unwrap(), 0);
    });
}

#[test]
fn long_bodies_are_acknowledged() {
    let (mut router, mut inbox) = channel();
    let id = router.submit("POST", b"", false);
    serve(&mut inbox, After::Another, |it| {
        let mut buffer = vec![0; 100_000];
        router.port.body(id, LANE, &[b'a'; 20_000], false).unwrap();
        router.port.body(id, LANE, &[b'b'; 20_000], false).unwrap();
        assert_eq!(it.read_body(&mut buffer[..10_000]).unwrap(), 10_000);
        assert_eq!(it.read_body(&mut buffer).unwrap(), 30_000);
        assert_eq!((buffer[9_999], buffer[10_000]), (b'a', b'b'));
        router.port.body(id, LANE, b"end", true).unwrap();
        assert_eq!(it.read_body(&mut buffer).unwrap(), 3);
        assert_eq!(it.read_body(&mut buffer).unwrap(), 0);
    });
    // The window that opens the body comes with the first acknowledgement, as the bytes were there before.
    assert_eq!(router.frames(), ["BodyCredit 75536", "Response 500 end done"]);
}

#[test]
fn a_body_that_breaks_off() {
    let (mut router, mut inbox) = channel();
    let id = router.submit("POST", b"", false);
    router.port.body(id, LANE, b"abc", false).unwrap();
    serve(&mut inbox, After::Another, |it| {
        let mut buffer = [0; 10];
        assert_eq!(it.read_body(&mut buffer).unwrap(), 3);
        router.port.cancel(id, LANE).unwrap();
        assert_eq!(it.read_body(&mut buffer).unwrap_err().kind(), ErrorKind::ConnectionAborted);
    });
    assert_eq!(router.frames(), ["BodyCredit 65539", "End end done"]);
}

#[test]
fn what_is_for_the_request_ahead_waits_with_it() {
    let (mut router, mut inbox) = channel();
    let first = router.submit("GET", b"", true);
    let second = router.submit("POST", b"", false);
    serve(&mut inbox, After::Another, |it| {
        router.port.body(second, LANE, b"body", true).unwrap();
        router.port.cancel(first, LANE).unwrap();
        assert!(it.client_gone());
    });
    serve(&mut inbox, After::Another, |it| {
        let mut buffer = [0; 10];
        assert!(!it.client_gone());
        assert_eq!((it.read_body(&mut buffer).unwrap(), &buffer[..4]), (4, &b"body"[..]));
        assert_eq!(it.read_body(&mut buffer).unwrap(), 0);
    });
    assert_eq!(router.frames(), ["End end done", "Response 500 end done"]);
}

#[test]
fn requests_that_were_taken_back_are_passed_over() {
    let (mut router, mut inbox) = channel();
    let first = router.submit("GET", b"", true);
    let second = router.submit("GET", b"", true);
    assert!(router.take_back(first));
    assert_eq!(next(&mut inbox).head.request, second);
    assert!(!router.take_back(second));
}

#[test]
fn a_worker_leaves_when_told_and_everything_is_done() {
    let (mut router, mut inbox) = channel();
    router.submit("GET", b"", true);
    router.port.quit().unwrap();
    serve(&mut inbox, After::Another, |_| {});
    assert!(matches!(inbox.next(), Next::Leave));
}

#[test]
fn an_orphan_leaves() {
    let (mut router, mut inbox) = channel_of_child_of(getpid());
    router.submit("GET", b"", true);
    serve(&mut inbox, After::Another, |_| {});
    assert!(matches!(inbox.next(), Next::Leave));
}
