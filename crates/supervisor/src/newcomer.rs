//! A worker that a prototype has made, on its way to the router.

use std::num::NonZeroU32;
use std::os::fd::{AsFd, OwnedFd};

use anyhow::Context;
use corral_ipc::message::{AppId, Door, ToRouter, WorkerId};
use corral_sys::process;

use crate::peer::Peer;

/// A worker that a prototype has made.
pub(crate) struct Newcomer {
    pub(crate) worker: WorkerId,
    /// As the prototype knows it.
    number: u32,
    /// Where it is reached, if it is a program that serves HTTP; else by its memory.
    door: Option<Door>,
    /// Its memory or its socket, if it has any and there was room.
    access: Option<OwnedFd>,
    /// Requests that it runs at once in an event loop, if it has said so.
    hands: Option<NonZeroU32>,
    /// The push of that loop's bell.
    bell: Option<OwnedFd>,
    /// Whether it sends files.
    has_files: bool,
    /// The socket for them.
    files: Option<OwnedFd>,
    pidfd: Option<OwnedFd>,
}

impl Newcomer {
    pub(crate) fn forked(
        worker: WorkerId,
        number: u32,
        hands: Option<NonZeroU32>,
        has_files: bool,
        fds: Vec<OwnedFd>,
    ) -> Self {
        let mut fds = fds.into_iter();
        let access = fds.next();
        let bell = hands.and_then(|_| fds.next());
        let files = if has_files { fds.next() } else { None };
        Self { worker, number, door: None, access, hands, bell, has_files, files, pidfd: fds.next() }
    }

    pub(crate) fn started(worker: WorkerId, number: u32, door: Door, fds: Vec<OwnedFd>) -> Self {
        let mut fds = fds.into_iter();
        let access = if door == Door::Socket { fds.next() } else { None };
        let pidfd = fds.next();
        let (hands, bell) = (None, None);
        let (has_files, files) = (false, None);
        Self { worker, number, door: Some(door), access, hands, bell, has_files, files, pidfd }
    }

    /// Its process. In a namespace of its own the prototype has other numbers than main.
    pub(crate) fn pid(&self) -> u32 {
        let known = self.pidfd.as_ref().and_then(process::pid_behind);
        known.map_or(self.number, |pid| pid.as_raw_nonzero().get().unsigned_abs())
    }

    /// Tells the router about it.
    pub(crate) fn announce(&self, app: AppId, router: &mut Peer) -> anyhow::Result<()> {
        let (worker, pid) = (self.worker, self.pid());
        let message = match self.door {
            None => ToRouter::WorkerReady { app, worker, pid, hands: self.hands, files: self.has_files },
            Some(door) => ToRouter::ProgramReady { app, worker, pid, door },
        };
        if let Some(Door::Port(_)) = self.door {
            return router.try_send(&message, &[]);
        }
        let access = self.access.as_ref().context("no descriptor is left for what it is reached by")?;
        let fds = [Some(access), self.bell.as_ref(), self.files.as_ref()];
        let fds: Vec<_> = fds.into_iter().flatten().map(AsFd::as_fd).collect();
        router.try_send(&message, &fds)
    }
}
