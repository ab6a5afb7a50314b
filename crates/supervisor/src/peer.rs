//! A process that main has started and talks to. Main never waits for one: what does not go out now is kept.

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use anyhow::Context;
use corral_ipc::link::{Link, Packet};
use corral_sys::signal::{self, Pid, Signal};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// A running child and its link.
#[derive(Debug)]
pub(crate) struct Peer {
    /// What the log calls it.
    name: String,
    pid: Pid,
    /// Of a process that is no child of this one, whose number may be another's as soon as it has ended.
    pidfd: Option<OwnedFd>,
    link: Link,
    outbox: VecDeque<Packet>,
    /// When the child closed its end: it has died or is about to.
    closed: Option<Instant>,
    /// When a signal stopped it.
    stopped: Option<Instant>,
}

impl Peer {
    pub(crate) fn new(name: String, pid: Pid, link: Link) -> Self {
        Self { name, pid, pidfd: None, link, outbox: VecDeque::new(), closed: None, stopped: None }
    }

    /// One that is no child of this process: its end shows by `pidfd`.
    pub(crate) fn sibling(name: String, pid: Pid, pidfd: OwnedFd, link: Link) -> Self {
        Self { pidfd: Some(pidfd), ..Self::new(name, pid, link) }
    }

    /// Readable when a process that is no child has ended.
    pub(crate) fn end(&self) -> Option<BorrowedFd<'_>> {
        self.pidfd.as_ref().map(AsFd::as_fd)
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
        self.kill(Signal::KILL);
    }

    /// Whether the link is to be watched for room.
    pub(crate) fn wants_to_write(&self) -> bool {
        !self.outbox.is_empty() && self.is_open()
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
        self.outbox.push_back(packet.with_context(|| format!("prepare a message for the {}", self.name))?);
        self.flush();
        Ok(())
    }

    /// Tries to send it without duplicates of its descriptors.
    fn is_sent<T: Serialize>(&self, message: &T, fds: &[BorrowedFd<'_>]) -> bool {
        self.outbox.is_empty() && self.link.try_send(message, fds).is_ok()
    }

    /// Sends what was kept, as far as the child takes it.
    pub(crate) fn flush(&mut self) {
        while self.is_open()
            && let Some(packet) = self.outbox.front()
        {
            match self.link.try_send_packet(packet) {
                Ok(()) => drop(self.outbox.pop_front()),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(_) => self.close(),
            }
        }
    }

    /// The next message of the child, if there is one. A child that breaks the protocol is killed.
    pub(crate) fn next_message<T: DeserializeOwned>(&mut self) -> Option<(T, Vec<OwnedFd>)> {
        if !self.is_open() {
            return None;
        }
        match self.link.try_recv() {
            Ok(Some(message)) => return Some(message),
            Ok(None) => self.close(),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => {
                tracing::error!(target: "alert", "the {} sent a broken message: {error}", self.name);
                self.kill(Signal::KILL);
                self.close();
            }
        }
        None
    }

    fn close(&mut self) {
        self.closed = Some(Instant::now());
    }

    /// Sends a signal to the child, which must not have been collected yet.
    pub(crate) fn kill(&self, with: Signal) {
        // Fails only for one that has ended, which is noticed at the next turn.
        let _ = match self.end() {
            Some(pidfd) => signal::kill_behind(pidfd, with),
            None => signal::kill(self.pid, with),
        };
    }
}

/// A child that has closed its link ends within this time or is made to.
const LONGEST_EXIT: Duration = Duration::from_secs(5);

/// Whoever stopped a child by mistake or from a terminal may have it go on for this long.
const LONGEST_STOP: Duration = Duration::from_secs(2);

impl AsFd for Peer {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.link.as_fd()
    }
}
