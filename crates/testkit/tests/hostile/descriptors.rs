//! Descriptors that no message comes with, those of another kind than it names, and those that take their time to be
//! closed.

use std::fs::File;
use std::io;
use std::net::UdpSocket;
use std::num::NonZeroU32;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use corral_channel::{WorkerBell, WorkerEnd, file_sockets};
use corral_ipc::message::{Endpoint, Exit, FromPrototype, WorkerId};
use corral_sys::doorbell;
use corral_sys::socket::{self, Wait};
use corral_testkit::Watchdog;
use corral_testkit::attacker::{Prototype, tarry};

use crate::attack::begin;

const WORKER: WorkerId = WorkerId(1);

fn reason() -> String {
    "broken".to_owned()
}

/// Everything that a prototype says.
fn messages() -> Vec<FromPrototype> {
    let concurrency = NonZeroU32::new(2);
    vec![
        FromPrototype::Ready,
        FromPrototype::Failed { reason: reason() },
        FromPrototype::Forked { worker: WORKER, pid: 1, concurrency: None, files: false },
        FromPrototype::Forked { worker: WORKER, pid: 1, concurrency, files: true },
        FromPrototype::Started { worker: WORKER, pid: 1, endpoint: Endpoint::Socket },
        FromPrototype::Started { worker: WORKER, pid: 1, endpoint: Endpoint::Port(80) },
        FromPrototype::ForkFailed { worker: WORKER, reason: reason() },
        FromPrototype::Exited { worker: WORKER, exit: Exit::Signal(9) },
    ]
}

#[test]
fn main_does_not_wait_for_what_comes_with_any_message() {
    let mut attack = begin();
    let watchdog = Watchdog::of(&attack.server);
    for message in messages() {
        let mut slow = tarry();
        attack.say_at_once(|prototype| {
            assert!(prototype.try_say(&message, &[slow.as_fd()]));
            slow.leave();
        });
        attack.expect_given_up();
    }
    watchdog.expect_prompt();
    attack.expect_served();
}

#[test]
fn main_does_not_wait_for_what_comes_with_no_message() {
    let mut attack = begin();
    let watchdog = Watchdog::of(&attack.server);
    let too_long = vec![0; 40_000];
    for datagram in [&b""[..], b"\0", b"\0\xff\xff", b"\x01", b"\x07", b"\0\0more", &too_long] {
        let mut slow = tarry();
        attack.say_at_once(|prototype| {
            assert!(prototype.say_bytes(datagram, &[slow.as_fd(), slow.as_fd()]));
            slow.leave();
        });
        attack.expect_given_up();
    }
    watchdog.expect_prompt();
    attack.expect_served();
}

#[test]
fn main_does_not_wait_for_what_it_has_not_read() {
    let mut attack = begin();
    let watchdog = Watchdog::of(&attack.server);
    let mut slow = tarry();
    attack.say_at_once(|prototype| {
        // It is given up for the first; the others wait in the link, and in sockets that wait in the link.
        assert!(prototype.say_bytes(b"\x07", &[]));
        let (one, other) = socket::stream_pair().unwrap();
        socket::send(other.as_fd(), b"x", &[slow.as_fd()], Wait::Never).unwrap();
        for _ in 0..4 {
            assert!(prototype.say_bytes(b"\0", &[slow.as_fd(), one.as_fd()]));
        }
        slow.leave();
    });
    attack.expect_given_up();
    watchdog.expect_prompt();
    attack.expect_served();
}

#[test]
fn main_does_not_wait_for_what_waits_in_a_worker_s_sockets() {
    let attack = begin();
    let watchdog = Watchdog::of(&attack.server);
    let bell = attack.prototype.ready();
    let worker = attack.prototype.asked_to_fork();
    let child = attack.prototype.fork();
    let (_end, memory) = WorkerEnd::create(&bell).unwrap();
    let (sends, files) = socket::seqpacket_pair().unwrap();
    let mut slow = tarry();
    attack.say_at_once(|prototype| {
        socket::send(sends.as_fd(), b"x", &[slow.as_fd()], Wait::Never).unwrap();
        let fds = [memory.as_fd(), files.as_fd(), child.pidfd.as_fd()];
        prototype.forked(worker, child.pid, None, true, &fds);
        slow.leave();
    });
    drop(files);
    attack.prototype.end();
    attack.expect_unharmed();
    watchdog.expect_prompt();
}

/// The descriptors of a worker with an event loop and files: memory, the push of its bell, the socket of its files.
fn all_of(bell: &WorkerBell) -> [OwnedFd; 3] {
    let (_, memory) = WorkerEnd::create(bell).expect("make a channel");
    let (_, push) = doorbell::pair().expect("make a bell");
    let (_, files) = file_sockets().expect("make sockets");
    [memory, push, files]
}

#[track_caller]
fn check_forked(kinds: impl Fn(&[OwnedFd; 3], &OwnedFd) -> Vec<OwnedFd>) {
    let mut attack = begin();
    let bell = attack.prototype.ready();
    let worker = attack.prototype.asked_to_fork();
    let child = attack.prototype.fork();
    let fds = kinds(&all_of(&bell), &child.pidfd);
    let fds: Vec<_> = fds.iter().map(AsFd::as_fd).collect();
    let message =
        FromPrototype::Forked { worker, pid: child.pid, concurrency: NonZeroU32::new(2), files: true };
    attack.prototype.say(&message, &fds);
    attack.expect_given_up();
    attack.expect_served();
}

fn copy(fd: impl AsFd) -> OwnedFd {
    fd.as_fd().try_clone_to_owned().expect("a descriptor is left")
}

#[test]
fn what_a_worker_comes_with_is_of_its_kind() {
    check_forked(|[memory, push, files], pidfd| [memory, files, push, pidfd].map(copy).into());
    check_forked(|[memory, push, _], pidfd| {
        vec![copy(memory), copy(push), UdpSocket::bind("127.0.0.1:0").unwrap().into(), copy(pidfd)]
    });
    check_forked(|[_, push, files], pidfd| {
        vec![File::open("/dev/zero").unwrap().into(), copy(push), copy(files), copy(pidfd)]
    });
}

#[test]
fn a_worker_comes_with_as_many_as_it_needs() {
    check_forked(|_, _| vec![]);
    check_forked(|[memory, push, _], pidfd| [memory, push, pidfd].map(copy).into());
    check_forked(|[memory, push, files], pidfd| [memory, push, files, pidfd, pidfd].map(copy).into());
    check_forked(|[memory, ..], _| (0..253).map(|_| copy(memory)).collect());
}

#[track_caller]
fn check_bell(say: impl FnOnce(&Prototype)) {
    let mut attack = begin();
    say(&attack.prototype);
    attack.expect_given_up();
    attack.expect_served();
}

#[test]
fn a_bell_is_for_all_event_loops_and_no_more() {
    let ready = |prototype: &Prototype, fds: &[OwnedFd]| {
        let fds: Vec<_> = fds.iter().map(AsFd::as_fd).collect();
        prototype.say(&FromPrototype::Ready, &fds);
    };
    check_bell(|prototype| {
        let (_, bell) = WorkerBell::create(prototype.n_lanes + 1).unwrap();
        ready(prototype, &bell);
    });
    check_bell(|prototype| {
        let (_, bell) = WorkerBell::create(prototype.n_lanes).unwrap();
        ready(prototype, &bell[..1]);
    });
    check_bell(|prototype| {
        let (_, mut bell) = WorkerBell::create(prototype.n_lanes).unwrap();
        bell.reverse();
        ready(prototype, &bell);
    });
    check_bell(|prototype| {
        let (_, mut bell) = WorkerBell::create(prototype.n_lanes).unwrap();
        let (reader, _writer) = io::pipe().unwrap();
        bell.pop();
        bell.push(reader.into());
        ready(prototype, &bell);
    });
}

#[test]
fn main_keeps_no_descriptor_of_an_attack() {
    let mut attack = begin();
    let main = attack.server.pid();
    let count = || corral_testkit::open_descriptors(main).expect("it runs");
    let before = count();
    let null = File::open("/dev/null").unwrap();
    let many: Vec<BorrowedFd<'_>> = vec![null.as_fd(); 253];
    for _ in 0..3 {
        attack.say_at_once(|prototype| {
            while socket::send(prototype.link.as_fd(), b"\0\0", &many, Wait::Never).is_ok() {}
        });
        attack.expect_given_up();
    }
    corral_testkit::eventually("they are closed", || (count() <= before).then_some(()));
}
