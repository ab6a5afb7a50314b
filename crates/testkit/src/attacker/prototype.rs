//! A prototype in the hands of a test.

use std::io;
use std::num::NonZeroU32;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use corral_channel::WorkerBell;
use corral_ipc::link::Link;
use corral_ipc::message::{FromPrototype, ToPrototype, WorkerId};
use corral_sys::poll::{self, Interest};
use corral_sys::socket::{self, Wait};

use super::worker::Worker;
use crate::wait::{PATIENCE, eventually};

/// The prototype's end of its link to main, and its process.
#[derive(Debug)]
pub struct Prototype {
    /// The application's name.
    pub name: String,
    /// Event loops of the router.
    pub n_lanes: u16,
    /// The process that main has started.
    pub process: Child,
    /// The prototype's end of the link; the only one.
    pub link: Link,
    /// Orders to the process go here; it ends with this.
    orders: OwnedFd,
}

/// A process of the application, which does nothing.
#[derive(Debug)]
pub struct Child {
    /// The child's process id, as it sees it.
    pub pid: u32,
    /// A pidfd of the child.
    pub pidfd: OwnedFd,
}

impl Prototype {
    #[track_caller]
    pub(super) fn meet(stream: &UnixStream) -> Self {
        let (pid, [link, pidfd, orders]) = introduced(stream);
        let link = Link::from(link);
        let process = Child { pid, pidfd };
        match hear(&link, PATIENCE).expect("main says what to load") {
            ToPrototype::Start { spec, n_lanes } => Self { name: spec.name, n_lanes, process, link, orders },
            other => panic!("main's first message is {other:?}"),
        }
    }

    /// Says something to main.
    #[track_caller]
    pub fn say(&self, message: &FromPrototype, fds: &[BorrowedFd<'_>]) {
        self.link.send(message, fds).expect("main listens");
    }

    /// Says something, as long as main listens; says whether it does.
    pub fn try_say(&self, message: &FromPrototype, fds: &[BorrowedFd<'_>]) -> bool {
        self.link.send(message, fds).is_ok()
    }

    /// Sends main a datagram, which need not be a message; says whether main listens.
    pub fn say_bytes(&self, datagram: &[u8], fds: &[BorrowedFd<'_>]) -> bool {
        socket::send(self.link.as_fd(), datagram, fds, Wait::Block).is_ok()
    }

    /// The next message from main; `None` when the link is closed or main is silent for `limit`.
    #[must_use]
    pub fn hear(&self, limit: Duration) -> Option<ToPrototype> {
        hear(&self.link, limit)
    }

    /// Whether main has ended the link, sooner or later.
    #[must_use]
    pub fn is_given_up(&self) -> bool {
        let deadline = Instant::now() + PATIENCE;
        while Instant::now() < deadline {
            let waited = poll::wait(&[(self.link.as_fd(), Interest::Read)], Some(PATIENCE)).expect("poll");
            if waited[0].readable && matches!(self.link.try_recv::<ToPrototype>(), Ok(None)) {
                return true;
            }
        }
        false
    }

    /// Waits until main has collected its process.
    #[track_caller]
    pub fn expect_end(&self) {
        eventually("the prototype's process ends", || {
            (!std::path::Path::new(&format!("/proc/{}", self.process.pid)).exists()).then_some(())
        });
    }

    /// Has its process end, unless main has ended it already.
    #[track_caller]
    pub fn end(&self) {
        let _ = self.try_order(b"end");
        self.expect_end();
    }

    /// Says that the application is loaded, with a bell as it should be.
    #[must_use]
    #[track_caller]
    pub fn ready(&self) -> WorkerBell {
        let (bell, descriptors) = WorkerBell::create(self.n_lanes).expect("make a bell");
        let descriptors: Vec<_> = descriptors.iter().map(AsFd::as_fd).collect();
        self.say(&FromPrototype::Ready, &descriptors);
        bell
    }

    /// Waits until main asks for a worker.
    #[must_use]
    #[track_caller]
    pub fn asked_to_fork(&self) -> WorkerId {
        loop {
            match self.hear(PATIENCE).expect("main asks for a worker") {
                ToPrototype::Fork { worker } => return worker,
                ToPrototype::Stop => panic!("main tells it to stop"),
                _ => {}
            }
        }
    }

    /// Waits until main asks for a worker, and gives it one as it should be.
    #[must_use]
    #[track_caller]
    pub fn worker(&self, bell: &WorkerBell) -> Worker {
        let id = self.asked_to_fork();
        let child = self.fork();
        let (worker, memory) = Worker::new(id, child, bell);
        self.forked(id, worker.child.pid, None, false, &[memory.as_fd(), worker.child.pidfd.as_fd()]);
        worker
    }

    /// Says that a worker was forked.
    #[track_caller]
    pub fn forked(
        &self,
        worker: WorkerId,
        pid: u32,
        concurrency: Option<NonZeroU32>,
        files: bool,
        fds: &[BorrowedFd<'_>],
    ) {
        self.say(&FromPrototype::Forked { worker, pid, concurrency, files }, fds);
    }

    /// Makes a child of the prototype that does nothing.
    #[must_use]
    #[track_caller]
    pub fn fork(&self) -> Child {
        self.order(b"fork");
        let (pid, [pidfd]) = introduced(&self.orders);
        Child { pid, pidfd }
    }

    /// Makes a process that does nothing and whose parent has ended, so that it is main's child.
    #[must_use]
    #[track_caller]
    pub fn orphan(&self) -> Child {
        self.order(b"orphan");
        let (pid, [pidfd]) = introduced(&self.orders);
        Child { pid, pidfd }
    }

    /// Has the process print something, up to a thousand bytes.
    #[track_caller]
    pub fn print(&self, text: &str) {
        self.order(format!("p{text}").as_bytes());
    }

    #[track_caller]
    fn order(&self, order: &[u8]) {
        self.try_order(order).expect("the process runs");
    }

    fn try_order(&self, order: &[u8]) -> io::Result<()> {
        socket::send(self.orders.as_fd(), order, &[], Wait::Block)
    }
}

fn hear(link: &Link, limit: Duration) -> Option<ToPrototype> {
    let waited = poll::wait(&[(link.as_fd(), Interest::Read)], Some(limit)).expect("poll");
    if !waited[0].readable {
        return None;
    }
    link.try_recv().ok().flatten().map(|(message, _)| message)
}

#[track_caller]
fn introduced<const N: usize>(from: impl AsFd) -> (u32, [OwnedFd; N]) {
    let mut pid = [0; 4];
    let received = socket::recv(from.as_fd(), &mut pid, Wait::Block).expect("it introduces itself");
    let fds = received.fds.try_into().expect("as many descriptors as it has");
    (u32::from_ne_bytes(pid), fds)
}
