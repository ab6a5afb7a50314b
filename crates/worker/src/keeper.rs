//! The part that all prototypes share, whatever their workers are: obeys main, collects its children, ends those that
//! are to end, and goes with main.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use corral_ipc::link::Link;
use corral_ipc::message::{Exit, FromPrototype, ToPrototype, WorkerId};
use corral_sys::signal::{Signal, SignalFd};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::children::{Children, Scope, Termination};
use crate::log::complain;

/// A prototype's link to main, and its children.
#[derive(Debug)]
pub struct Keeper {
    /// Absent once main is gone.
    link: Option<Link>,
    signals: SignalFd,
    /// The workers.
    pub children: Children,
    /// Waits for its workers to end, then ends too.
    is_stopping: bool,
}

impl Keeper {
    /// For a process with one thread.
    ///
    /// # Errors
    /// When no descriptor is left.
    pub fn new(link: Link, scope: Scope) -> io::Result<Self> {
        let signals = SignalFd::new(&[Signal::CHILD, Signal::TERM])?;
        Ok(Self { link: Some(link), signals, children: Children::new(scope), is_stopping: false })
    }

    /// The same, whose workers are told to end like this.
    #[must_use]
    pub fn ending_by(self, termination: Termination) -> Self {
        Self { children: self.children.ending_by(termination), ..self }
    }

    /// Whether this process may end.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.is_stopping && self.children.is_empty()
    }

    /// Whether nothing is to be started any more.
    #[must_use]
    pub fn is_stopping(&self) -> bool {
        self.is_stopping
    }

    /// Sleeps until main, a child or one of `others` has something to say, or something is due: a child is to be
    /// killed, or `limit` is over.
    ///
    /// # Errors
    /// When the system cannot wait.
    pub fn sleep(&self, others: &[BorrowedFd<'_>], limit: Option<Duration>) -> io::Result<()> {
        let mut fds = vec![PollFd::new(&self.signals, PollFlags::IN)];
        fds.extend(self.link.as_ref().map(|link| PollFd::new(link, PollFlags::IN)));
        fds.extend(others.iter().map(|fd| PollFd::from_borrowed_fd(*fd, PollFlags::IN)));
        let timeout = self.children.next_deadline(Instant::now()).into_iter().chain(limit).min();
        // A time too far away for the kernel's type is the same as none.
        let timeout = timeout.and_then(|timeout| Timespec::try_from(timeout).ok());
        match poll(&mut fds, timeout.as_ref()) {
            Err(error) if error != rustix::io::Errno::INTR => Err(error.into()),
            _ => Ok(()),
        }
    }

    /// Collects the workers that have ended, and kills those whose time is over.
    ///
    /// # Errors
    /// When the signals cannot be read.
    pub fn reap(&mut self) -> io::Result<Vec<(WorkerId, Exit)>> {
        while let Some(number) = self.signals.next_signal()? {
            if number == Signal::TERM.as_raw() {
                self.stop();
            }
        }
        let now = Instant::now();
        let ended = self.children.reap(now);
        self.children.kill_overdue(now);
        Ok(ended)
    }

    /// Obeys main up to the next worker that it wants; none when it wants none for now.
    ///
    /// # Errors
    /// When the link cannot be read, or main says what it does not say at this point.
    pub fn next_wanted(&mut self) -> io::Result<Option<WorkerId>> {
        while let Some(link) = &self.link {
            match link.try_recv::<ToPrototype>() {
                Ok(Some((ToPrototype::Fork { worker }, _))) => return Ok(Some(worker)),
                Ok(Some((ToPrototype::Kill { worker }, _))) => self.children.end(worker, Instant::now()),
                Ok(Some((ToPrototype::Retire { worker }, _))) => {
                    self.children.retire(worker, Instant::now());
                }
                Ok(Some((ToPrototype::Stop, _))) => self.stop(),
                Ok(Some((ToPrototype::Start { .. }, _))) => {
                    return Err(io::Error::new(io::ErrorKind::InvalidData, "main says Start twice"));
                }
                Ok(None) => self.lose_main(),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(None),
                Err(error) => return Err(error),
            }
        }
        Ok(None)
    }

    /// Main that is gone needs no answer: the next `next_wanted` notices it.
    pub fn tell(&self, message: &FromPrototype, descriptors: &[OwnedFd]) {
        let Some(link) = &self.link else { return };
        let descriptors: Vec<_> = descriptors.iter().map(AsFd::as_fd).collect();
        if let Err(error) = link.send(message, &descriptors)
            && error.kind() != io::ErrorKind::BrokenPipe
        {
            complain(format_args!("cannot tell the daemon {message:?}: {error}"));
        }
    }

    fn lose_main(&mut self) {
        self.link = None;
        self.stop();
    }

    fn stop(&mut self) {
        self.is_stopping = true;
        self.children.end_all(Instant::now());
    }
}
