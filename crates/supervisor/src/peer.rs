//! A process that main has started and talks to. Main never waits for one: what does not go out now is kept. Main
//! trusts none: a process that sends what no process of ours does, or does not read what it is told, is ended.

mod outbox;

use std::cell::Cell;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use anyhow::Context;
use corral_ipc::link::{Incoming, Link, Packet};
use corral_sys::poll::{self, Interest};
use corral_sys::signal::{self, Pid, Signal};
use serde::Serialize;

use self::outbox::Outbox;
pub(crate) use self::outbox::OutboxLimit;

/// A running child and its link.
#[derive(Debug)]
pub(crate) struct Peer {
    /// The name of the process in the log.
    name: String,
    pid: Pid,
    /// The descriptor of a process that is not a child of this one: its number may be another's as soon as it has
    /// ended.
    pidfd: Option<OwnedFd>,
    /// The process has ended, and another one has its end of the link.
    is_handed_on: bool,
    /// Until there is nothing more to read.
    link: Option<Link>,
    outbox: Outbox,
    /// When the link ended, in one direction at least: the child has died or is about to.
    closed: Option<Instant>,
    /// When a signal stopped it.
    stopped: Option<Instant>,
    /// The child was killed as it was overdue. Its end may take a while to show, and there is nothing more to do until
    /// then.
    is_killed: Cell<bool>,
}

impl Peer {
    pub(crate) fn new(name: String, pid: Pid, link: Link, room: OutboxLimit) -> Self {
        let outbox = Outbox::new(room);
        Self {
            name,
            pid,
            pidfd: None,
            is_handed_on: false,
            link: Some(link),
            outbox,
            closed: None,
            stopped: None,
            is_killed: Cell::new(false),
        }
    }

    /// A process that is not a child of this one: its end shows by `pidfd`.
    pub(crate) fn sibling(name: String, pid: Pid, pidfd: OwnedFd, link: Link) -> Self {
        let mut peer = Self::new(name, pid, link, OutboxLimit::Large);
        peer.pidfd = Some(pidfd);
        peer
    }

    /// Readable when a process that is not a child has ended, until that is known.
    pub(crate) fn end(&self) -> Option<BorrowedFd<'_>> {
        self.pidfd.as_ref().filter(|_| !self.is_handed_on).map(AsFd::as_fd)
    }

    /// A process that is not a child has ended, and all that it has said was read: whether another one has its end of
    /// the link, which is heard then.
    pub(crate) fn hands_on(&mut self) -> bool {
        self.is_handed_on = self.is_open();
        self.is_handed_on
    }

    pub(crate) fn pid(&self) -> Pid {
        self.pid
    }

    /// Whether there is anything to watch for besides the child's death.
    pub(crate) fn is_open(&self) -> bool {
        self.closed.is_none()
    }

    /// When a child that does not talk any more, or does nothing at all, is killed.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        if self.is_killed.get() {
            return None;
        }
        let closed = self.closed.map(|at| at + LONGEST_EXIT);
        closed.into_iter().chain(self.stopped.map(|at| at + LONGEST_STOP)).min()
    }

    /// A signal has stopped the child, or it goes on.
    pub(crate) fn set_stopped(&mut self, is_stopped: bool) {
        self.stopped = is_stopped.then(Instant::now);
    }

    /// Kills the child if its deadline has come.
    pub(crate) fn kill_if_overdue(&self, now: Instant) {
        if self.deadline().is_none_or(|at| at > now) {
            return;
        }
        if self.stopped.is_some() {
            let (pid, name) = (self.pid.as_raw_nonzero(), &self.name);
            let why = "was stopped by a signal and does not go on: killing it";
            tracing::error!(target: "alert", "process {pid} ({name}) {why}");
        }
        self.is_killed.set(true);
        self.kill(Signal::KILL);
    }

    /// Whether the link is to be watched for room.
    pub(crate) fn wants_to_write(&self) -> bool {
        !self.outbox.is_empty() && self.is_open()
    }

    /// Whether so few descriptors wait to be read that another one may, where a third process decides how many come.
    pub(crate) fn takes_descriptors(&self) -> bool {
        self.outbox.n_descriptors() < MOST_DESCRIPTORS
    }

    /// Sends a message, now or as soon as the child reads. A child that is gone gets nothing: its
    /// death is dealt with when it is collected.
    pub(crate) fn send<T: Serialize>(&mut self, message: &T, fds: &[BorrowedFd<'_>]) {
        if let Err(error) = self.try_send(message, fds) {
            tracing::error!(target: "alert", "{error:#}");
        }
    }

    /// As [`Peer::send`], for a sender that has to know whether the message is on its way.
    ///
    /// # Errors
    /// When no descriptor or no memory is left. A message that can go out at once needs a descriptor only if it is
    /// long.
    pub(crate) fn try_send<T: Serialize>(
        &mut self,
        message: &T,
        fds: &[BorrowedFd<'_>],
    ) -> anyhow::Result<()> {
        if !self.is_open() || self.is_sent(message, fds) {
            return Ok(());
        }
        let packet = Packet::new(message, fds);
        let packet = packet.with_context(|| format!("prepare a message for the {}", self.name))?;
        if self.outbox.push(packet).is_err() {
            self.give_up("does not read what it is told");
        }
        self.flush();
        Ok(())
    }

    /// Tries to send it without duplicates of its descriptors.
    fn is_sent<T: Serialize>(&self, message: &T, fds: &[BorrowedFd<'_>]) -> bool {
        let link = self.link.as_ref().filter(|_| self.outbox.is_empty());
        link.is_some_and(|link| link.try_send(message, fds).is_ok())
    }

    /// Sends what was kept, as far as the child takes it.
    pub(crate) fn flush(&mut self) {
        while let Some(link) = &self.link
            && let Some(packet) = self.outbox.first()
        {
            match link.try_send_packet(packet) {
                Ok(()) => self.outbox.pop(),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                // The child has ended. What it has said before is still in the socket, for when it is collected.
                Err(error)
                    if matches!(error.kind(), io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset) =>
                {
                    self.end_sending();
                }
                Err(_) => self.close(),
            }
        }
    }

    /// Sends what was kept, and waits as long for a process that is busy: this one ends, and nothing sends it later.
    pub(crate) fn finish(&mut self, patience: Duration) {
        let end = Instant::now() + patience;
        self.flush();
        while self.wants_to_write() {
            let left = end.saturating_duration_since(Instant::now());
            let awaited = [(self.as_fd(), Interest::Write)];
            if left.is_zero() || poll::wait(&awaited, Some(left)).is_err() {
                tracing::warn!("the {} has not read all that it was told", self.name);
                return;
            }
            self.flush();
        }
    }

    /// The next message of the child, if there is one. A child that breaks the protocol is killed.
    pub(crate) fn next_message<T: Incoming>(&mut self) -> Option<(T, Vec<OwnedFd>)> {
        match self.link.as_ref()?.take() {
            Ok(Some(message)) => return Some(message),
            Ok(None) => self.close(),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => self.give_up(&format!("sent a broken message: {error}")),
        }
        None
    }

    /// Kills a child that does what no process of ours does, and hears no more of it.
    pub(crate) fn give_up(&mut self, what: &str) {
        tracing::error!(target: "alert", "the {} {what}: killing it", self.name);
        self.kill(Signal::KILL);
        self.close();
    }

    fn close(&mut self) {
        self.end_sending();
        self.link.take().into_iter().for_each(Link::close_aside);
    }

    fn end_sending(&mut self) {
        self.closed.get_or_insert_with(Instant::now);
        self.outbox.clear();
    }

    /// Sends a signal to the child, which must not have been collected yet.
    pub(crate) fn kill(&self, with: Signal) {
        // Fails only for one that has ended, which is noticed at the next turn.
        let _ = match &self.pidfd {
            Some(pidfd) => signal::kill_behind(pidfd.as_fd(), with),
            None => signal::kill(self.pid, with),
        };
    }
}

/// Descriptors that may wait for a child to read: each is one of this process, too, which needs others.
pub(crate) const MOST_DESCRIPTORS: usize = 256;

/// A child that has closed its link ends within this time or is made to.
const LONGEST_EXIT: Duration = Duration::from_secs(5);

/// A child that was stopped, by mistake or from a terminal, has this long to be continued.
const LONGEST_STOP: Duration = Duration::from_secs(2);

impl AsFd for Peer {
    /// For one that is open.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.link.as_ref().expect("who is not open is not waited for").as_fd()
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        self.close();
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use corral_ipc::message::{FromRouter, Ticket, ToRouter};
    use corral_sys::process;

    use super::*;

    fn peer() -> (Peer, Link) {
        let (ours, theirs) = Link::pair().unwrap();
        let this = Pid::from_raw(std::process::id().cast_signed()).unwrap();
        (Peer::new("router".to_owned(), this, ours, OutboxLimit::Large), theirs)
    }

    fn is_ready(peer: &mut Peer) -> bool {
        matches!(peer.next_message(), Some((FromRouter::Ready, _)))
    }

    /// Sends more than the socket has room for. How many messages that were.
    fn fill(peer: &mut Peer) -> u64 {
        let mut n_sent = 0;
        while !peer.wants_to_write() {
            peer.send(&ToRouter::Status { ticket: Ticket(n_sent) }, &[]);
            n_sent += 1;
        }
        n_sent
    }

    /// The process that sends them ends.
    #[test]
    fn a_process_that_is_busy_hears_the_last_words() {
        let (mut peer, theirs) = peer();
        let n_sent = fill(&mut peer);
        let busy = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(20));
            let next = || theirs.recv::<ToRouter>().unwrap();
            std::iter::from_fn(next).filter(|(word, _)| matches!(word, ToRouter::Status { .. })).count()
        });
        peer.finish(Duration::from_secs(60));
        assert!(!peer.wants_to_write());
        drop(peer);
        assert_eq!(busy.join().unwrap() as u64, n_sent);
    }

    #[test]
    fn a_process_that_reads_nothing_is_not_waited_for() {
        let (mut peer, _theirs) = peer();
        fill(&mut peer);
        peer.finish(Duration::from_millis(10));
        assert!(peer.wants_to_write());
    }

    #[test]
    fn a_link_may_outlive_the_process_at_its_other_end() {
        for is_kept in [true, false] {
            let (ours, theirs) = Link::pair().unwrap();
            let mut child = Command::new("true").spawn().unwrap();
            let pid = Pid::from_raw(child.id().cast_signed()).unwrap();
            let pidfd = process::pidfd(pid).unwrap();
            let mut peer = Peer::sibling("successor".to_owned(), pid, pidfd, ours);
            child.wait().unwrap();
            assert!(peer.end().is_some());
            let kept = is_kept.then_some(theirs);
            assert!(!is_ready(&mut peer));
            assert_eq!(peer.hands_on(), is_kept);
            assert_eq!(peer.end().is_none(), is_kept);
            kept.into_iter().for_each(|theirs| {
                theirs.send(&FromRouter::Ready, &[]).unwrap();
                assert!(is_ready(&mut peer));
            });
            // Its number may be another process's by now.
            peer.kill(Signal::KILL);
        }
    }

    /// A question may come just as a process ends, after the last that it says.
    #[test]
    fn what_a_process_has_said_is_heard_though_it_hears_nothing_more() {
        for (n_questions, n_unread) in [(0, 0), (1, 0), (2, 0), (0, 1), (2, 3)] {
            let (mut peer, theirs) = peer();
            for _ in 0..n_unread {
                peer.send(&ToRouter::Status { ticket: Ticket(7) }, &[]);
            }
            for _ in 0..2 {
                theirs.send(&FromRouter::Ready, &[]).unwrap();
            }
            drop(theirs);
            for _ in 0..n_questions {
                peer.send(&ToRouter::Status { ticket: Ticket(7) }, &[]);
            }
            assert_eq!((peer.is_open(), peer.deadline().is_some()), (n_questions == 0, n_questions > 0));
            assert!(is_ready(&mut peer) && is_ready(&mut peer) && !is_ready(&mut peer), "{n_questions}");
            assert!(!peer.is_open() && !peer.wants_to_write() && peer.deadline().is_some());
        }
    }
}
