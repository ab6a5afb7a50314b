//! Sources of events: the descriptors that the loop waits for.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Instant;

use corral_sys::poll::{self, Interest, Readiness};

use super::Supervisor;
use crate::children::Child;
use crate::peer::Peer;

/// A source of events that the loop waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Source {
    Signals,
    Child(Child),
    Successor,
    /// The successor has ended.
    SuccessorEnd,
    /// A process before this one says what of its work has ended; by its place among them.
    Earlier(usize),
    /// Code that is followed has changed.
    Tree,
    /// By its place among the outputs.
    Output(usize),
}

impl Supervisor {
    /// Waits until something happens or is due. Returns what has happened.
    pub(super) fn wait(&self) -> io::Result<Vec<(Source, Readiness)>> {
        let sources = self.sources();
        let fds: Vec<_> = sources.iter().map(|source| self.descriptor(*source)).collect();
        let left = self.timers().next().map(|at| at.saturating_duration_since(Instant::now()));
        let readiness = poll::wait(&fds, left)?;
        let ready = sources.into_iter().zip(readiness);
        Ok(ready.filter(|(_, readiness)| readiness.readable || readiness.writable).collect())
    }

    fn sources(&self) -> Vec<Source> {
        let mut sources = vec![Source::Signals];
        sources.extend(self.upgrade.peer().filter(|peer| peer.is_open()).map(|_| Source::Successor));
        sources.extend(self.upgrade.peer().and_then(Peer::end).map(|_| Source::SuccessorEnd));
        sources.extend((0..self.inheritance.earlier.links().count()).map(Source::Earlier));
        sources.extend(self.children.open().map(Source::Child));
        sources.extend(self.watch.iter().map(|_| Source::Tree));
        sources.extend((0..self.children.outputs.len()).map(Source::Output));
        sources
    }

    /// The descriptor of one of [`Supervisor::sources`], which are all there, and what to wait for on it.
    fn descriptor(&self, source: Source) -> (BorrowedFd<'_>, Interest) {
        match source {
            Source::Signals => (self.signals.as_fd(), Interest::Read),
            Source::Output(idx) => (self.children.outputs.descriptor(idx), Interest::Read),
            Source::Tree => {
                let watch = self.watch.as_ref().expect("only a tree that is followed is a source");
                (watch.as_fd(), Interest::Read)
            }
            Source::Earlier(idx) => {
                let link = self.inheritance.earlier.links().nth(idx);
                (link.expect("only processes that are heard are sources"), Interest::Read)
            }
            Source::SuccessorEnd => {
                let end = self.upgrade.peer().and_then(Peer::end);
                (end.expect("only a successor that is known is a source"), Interest::Read)
            }
            Source::Child(_) | Source::Successor => {
                let peer = self.peer(source).expect("only running processes are sources");
                let interest = if peer.wants_to_write() { Interest::ReadWrite } else { Interest::Read };
                (peer.as_fd(), interest)
            }
        }
    }

    fn peer(&self, source: Source) -> Option<&Peer> {
        match source {
            Source::Child(child) => self.children.peer(child),
            Source::Successor => self.upgrade.peer(),
            Source::Signals
            | Source::SuccessorEnd
            | Source::Earlier(_)
            | Source::Tree
            | Source::Output(_) => None,
        }
    }

    pub(super) fn peer_mut(&mut self, source: Source) -> Option<&mut Peer> {
        match source {
            Source::Child(child) => self.children.peer_mut(child),
            Source::Successor => self.upgrade.peer_mut(),
            Source::Signals
            | Source::SuccessorEnd
            | Source::Earlier(_)
            | Source::Tree
            | Source::Output(_) => None,
        }
    }
}
