//! A worker in the hands of a test, with all that it shares with the router: it holds a request, and says what it
//! likes.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::fs::File;
use std::num::NonZeroU32;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::FileExt;

use corral_channel::message::{FilePart, encode_response};
use corral_channel::{Flags, FrameHead, FrameKind, WorkerBell, WorkerEnd};
use corral_ipc::message::{Exit, FromPrototype, ToPrototype, WorkerId};
use corral_sys::doorbell::{self, Doorbell};
use corral_sys::socket::{self, Wait};
use corral_testkit::attacker::{Prototype, Worker};
use corral_testkit::{Client, PATIENCE, eventually, open_descriptors};
use rustix::process::{Signal, pidfd_send_signal};

use crate::attack::{Attack, ask, begin};

/// Bytes of a body that goes to a file.
const LARGE: usize = 8_000_000;

/// Where in a worker's memory, as `corral-channel` documents it.
pub(crate) mod place {
    pub(crate) const SLEEPING: u64 = 128;
    pub(crate) const SLOTS: u64 = 256;
    pub(crate) const REQUESTS_CONSUMED: u64 = 768 + 128;

    /// The place where a lane's producer counts.
    pub(crate) const fn produced(lane: u64) -> u64 {
        1024 + lane * 256
    }

    pub(crate) const fn wants_room(lane: u64) -> u64 {
        produced(lane) + 8
    }
}

/// The application, its bell and its daemon.
pub(crate) struct Stage {
    pub(crate) attack: Attack,
    pub(crate) bell: WorkerBell,
    /// The eventfd that wakes each event loop.
    pub(crate) eventfds: Vec<OwnedFd>,
    /// Whether its workers say that they run requests in an event loop, which take bodies as they come.
    pub(crate) loops: bool,
    /// Workers that main has asked for.
    asked: RefCell<VecDeque<WorkerId>>,
    n_hands: u32,
    router: u32,
}

/// A worker that has begun a request.
pub(crate) struct Hand {
    pub(crate) worker: Worker,
    pub(crate) request: FrameHead,
    target: Vec<u8>,
    /// Memory that it shares with the router.
    pub(crate) memory: File,
    /// The socket through which it sends files.
    pub(crate) files: OwnedFd,
    _doorbell: Doorbell,
    /// The client of the request.
    pub(crate) client: Client,
    pub(crate) n_lanes: u16,
}

impl Stage {
    pub(crate) fn set() -> Self {
        let attack = begin();
        let (bell, mut descriptors) = WorkerBell::create(attack.prototype.n_lanes).expect("make a bell");
        let all: Vec<_> = descriptors.iter().map(AsFd::as_fd).collect();
        attack.prototype.say(&FromPrototype::Ready, &all);
        let router = attack.server.expect_processes("router", 1)[0];
        let eventfds = descriptors.split_off(1);
        Self { attack, bell, eventfds, loops: true, asked: RefCell::default(), n_hands: 0, router }
    }

    /// Has a request wait for a worker, when no other does. A later one is behind it then, whichever event loop has it.
    #[track_caller]
    pub(crate) fn ask(&mut self) {
        self.attack.client = ask(&self.attack.server, "hostile");
        eventually("the request waits", || {
            let active = self.attack.server.control().get("/status/applications/hostile/requests/active");
            (active.json() == 1).then_some(())
        });
    }

    /// The next worker that is asked for, with the request that has waited for it.
    #[track_caller]
    pub(crate) fn hand(&mut self) -> Hand {
        self.n_hands += 1;
        let name = format!("hostile?{}", self.n_hands);
        let next = ask(&self.attack.server, &name);
        let client = std::mem::replace(&mut self.attack.client, next);
        let mut hand = self.hand_of(client);
        if hand.target.ends_with(name.as_bytes()) {
            // The other event loop was faster.
            std::mem::swap(&mut hand.client, &mut self.attack.client);
        }
        hand
    }

    /// The same for a request that was made before.
    #[track_caller]
    pub(crate) fn hand_of(&self, client: Client) -> Hand {
        let (files, theirs) = socket::seqpacket_pair().expect("make sockets");
        let (doorbell, push) = doorbell::pair().expect("make sockets");
        let (mut worker, memory) = self.fork(push.as_fd(), theirs.as_fd());
        let (request, target) = worker.request_and_target();
        let n_lanes = self.attack.prototype.n_lanes;
        Hand { worker, request, target, memory, files, _doorbell: doorbell, client, n_lanes }
    }

    /// A worker that has begun a request whose body waits in a file until it asks for it. No other request waits for a
    /// worker.
    #[track_caller]
    pub(crate) fn hand_with_large_body(&mut self) -> Hand {
        self.loops = false;
        let first = std::mem::replace(&mut self.attack.client, self.attack.server.connect());
        let mut hand = self.hand_of(first);
        hand.worker.answer(&hand.request);
        hand.client.read_response().expect(200);
        let head = format!("POST /hostile HTTP/1.1\r\nHost: localhost\r\nContent-Length: {LARGE}\r\n\r\n");
        hand.client.write(head);
        hand.client.write(vec![b'x'; LARGE]);
        hand.request = hand.worker.request();
        hand
    }

    /// A worker whose bell is rung at `push`, and whose files come through `files`.
    #[track_caller]
    pub(crate) fn fork(&self, push: BorrowedFd<'_>, files: BorrowedFd<'_>) -> (Worker, File) {
        let prototype = &self.attack.prototype;
        let asked = self.asked.borrow_mut().pop_front();
        let id = asked.unwrap_or_else(|| prototype.asked_to_fork());
        let child = prototype.fork();
        let (end, memory) = WorkerEnd::create(&self.bell).expect("make a channel");
        let mut fds = vec![memory.as_fd(), push, files, child.pidfd.as_fd()];
        if !self.loops {
            fds.remove(1);
        }
        let concurrency = NonZeroU32::new(1).filter(|_| self.loops);
        prototype.forked(id, child.pid, concurrency, true, &fds);
        (Worker { id, child, end }, memory.into())
    }

    /// Main has a worker killed, which is obeyed.
    #[track_caller]
    pub(crate) fn expect_killed(&self, worker: &Worker, why: &str) {
        self.expect_condemned(worker.id, why);
        self.bury(worker);
    }

    #[track_caller]
    fn expect_condemned(&self, condemned: WorkerId, why: &str) {
        loop {
            match self.prototype().hear(PATIENCE) {
                Some(ToPrototype::Kill { worker }) if worker == condemned => return,
                Some(ToPrototype::Kill { worker }) => {
                    panic!("{why}: {worker:?} is killed, not {condemned:?}")
                }
                Some(ToPrototype::Fork { worker }) => self.asked.borrow_mut().push_back(worker),
                Some(_) => {}
                None => panic!("{why}: nobody is killed\n{}", self.attack.server.log()),
            }
        }
    }

    /// Ends a worker's process, and says so.
    pub(crate) fn bury(&self, worker: &Worker) {
        pidfd_send_signal(&worker.child.pidfd, Signal::KILL).expect("it runs");
        let exit = Exit::Signal(Signal::KILL.as_raw());
        self.prototype().say(&FromPrototype::Exited { worker: worker.id, exit }, &[]);
    }

    fn prototype(&self) -> &Prototype {
        &self.attack.prototype
    }

    /// The router is the one of the beginning, it serves, and the application goes on with another worker.
    #[track_caller]
    pub(crate) fn expect_unharmed(mut self) {
        self.attack.server.get("/").expect(204);
        let mut hand = self.hand();
        hand.worker.answer(&hand.request);
        hand.client.read_response().expect(200);
        assert_eq!(
            self.attack.server.expect_processes("router", 1),
            [self.router],
            "{}",
            self.attack.server.log()
        );
    }

    /// Descriptors that the router has.
    pub(crate) fn n_descriptors(&self) -> usize {
        open_descriptors(self.router).expect("the router runs")
    }

    /// The router has no more descriptors than then.
    #[track_caller]
    pub(crate) fn expect_descriptors(&self, at_most: usize) {
        eventually("the router closes what it has got", || (self.n_descriptors() <= at_most).then_some(()));
    }
}

impl Hand {
    /// A frame about its request.
    pub(crate) fn frame(&self, kind: FrameKind) -> FrameHead {
        FrameHead::new(kind, self.request.lane, self.request.request)
    }

    /// Sends a frame and rings; waits for room.
    pub(crate) fn send(&mut self, frame: FrameHead, payload: &[u8]) {
        eventually("there is room", || self.try_send(frame, payload).then_some(()));
    }

    /// The same, with the event loop left asleep: what follows is there when it looks.
    pub(crate) fn publish(&mut self, frame: FrameHead, payload: &[u8]) {
        eventually("there is room", || self.worker.end.send(frame, &[payload]).is_ok().then_some(()));
    }

    pub(crate) fn try_send(&mut self, frame: FrameHead, payload: &[u8]) -> bool {
        let is_sent = self.worker.end.send(frame, &[payload]).is_ok();
        self.worker.end.ring(frame.lane);
        is_sent
    }

    /// Sends the head of a response.
    pub(crate) fn respond(&mut self, status: u16, flags: Flags) {
        let frame = self.frame(FrameKind::Response).with_flags(flags);
        self.send(frame, &head(status));
    }

    /// Sends descriptors as a worker sends a file.
    pub(crate) fn send_descriptors(&self, fds: &[BorrowedFd<'_>]) {
        socket::send(self.files.as_fd(), &[0], fds, Wait::Never).expect("there is room");
    }

    /// Names a file as the rest of the response.
    pub(crate) fn name_file(&mut self, number: u32, len: u64) {
        let part = FilePart { number, offset: 0, len };
        let frame = self.frame(FrameKind::Response).with_flags(Flags::FILE | Flags::END);
        self.send(frame, &[&head(200)[..], &part.to_bytes()].concat());
    }

    /// Says that the application has taken the connection over.
    pub(crate) fn name_socket(&mut self, number: u32) {
        let frame = self.frame(FrameKind::Hijacked).with_flags(Flags::END).with_aux(number);
        self.send(frame, b"");
    }

    /// Writes to the memory.
    pub(crate) fn scribble(&self, at: u64, bytes: &[u8]) {
        self.memory.write_all_at(bytes, at).expect("it is memory");
    }

    /// Wakes the event loop of its request, whatever that says.
    pub(crate) fn ring(&self, stage: &Stage) {
        let eventfd = &stage.eventfds[self.request.lane.index()];
        rustix::io::write(eventfd, &1u64.to_ne_bytes()).expect("it is no full counter");
    }
}

/// The payload of a response without fields.
pub(crate) fn head(status: u16) -> Vec<u8> {
    let mut head = Vec::new();
    encode_response(&mut head, status, []);
    head
}
