//! A worker's end of its channel, and whether the other end is still in use.

use std::os::fd::{AsFd, BorrowedFd};

use corral_channel::{FrameHead, SendError, WorkerEnd};
use corral_sys::forked::is_stranger;
use rustix::process::{Pid, getppid};

use crate::client_gone::ClientGone;
use crate::file::FileRest;
use crate::log::complain;

/// The end with what is known about the other one.
pub(crate) struct WorkerChannel {
    pub(crate) end: WorkerEnd,
    parent: Pid,
    /// The memory is not what it should be.
    is_damaged: bool,
}

/// The fate of a file that the router was to have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Handover {
    Done,
    /// The ring has no room for the frame: try again.
    NoRoom,
    /// The file cannot be sent.
    Refused,
}

impl WorkerChannel {
    pub(crate) fn new(end: WorkerEnd, parent: Pid) -> Self {
        Self { end, parent, is_damaged: false }
    }

    /// The next frame, its payload in `payload`. A damaged channel has none.
    pub(crate) fn recv(&mut self, payload: &mut Vec<u8>) -> Option<FrameHead> {
        if is_stranger() {
            return None;
        }
        self.end.recv(payload).unwrap_or_else(|error| {
            self.give_up(&error);
            None
        })
    }

    /// Sends a frame and wakes its receiver; false if there is no room for it.
    pub(crate) fn try_send(&mut self, frame: FrameHead, pieces: &[&[u8]]) -> Result<bool, ClientGone> {
        if is_stranger() {
            return Err(ClientGone);
        }
        let sent = self.end.send(frame, pieces);
        self.end.ring(frame.lane);
        match sent {
            Ok(()) => Ok(true),
            Err(SendError::Full) => Ok(false),
            Err(error) => {
                self.give_up(&error);
                Err(ClientGone)
            }
        }
    }

    /// As [`WorkerChannel::try_send`] with a file, if that can be sent; nothing is sent else.
    pub(crate) fn try_send_file(
        &mut self,
        frame: FrameHead,
        pieces: &[&[u8]],
        file: &FileRest<'_>,
    ) -> Result<Handover, ClientGone> {
        if is_stranger() {
            return Err(ClientGone);
        }
        let sent = self.end.send_file(frame, pieces, file.as_fd(), file.part());
        self.handed_over(frame, sent)
    }

    /// The same with a socket.
    pub(crate) fn try_send_socket(
        &mut self,
        frame: FrameHead,
        socket: BorrowedFd<'_>,
    ) -> Result<Handover, ClientGone> {
        if is_stranger() {
            return Err(ClientGone);
        }
        let sent = self.end.send_socket(frame, socket);
        self.handed_over(frame, sent)
    }

    fn handed_over(
        &mut self,
        frame: FrameHead,
        sent: Result<bool, SendError>,
    ) -> Result<Handover, ClientGone> {
        self.end.ring(frame.lane);
        match sent {
            Ok(true) => Ok(Handover::Done),
            Ok(false) => Ok(Handover::Refused),
            Err(SendError::Full) => Ok(Handover::NoRoom),
            Err(error) => {
                self.give_up(&error);
                Err(ClientGone)
            }
        }
    }

    fn give_up(&mut self, error: &dyn std::error::Error) {
        if !self.is_damaged {
            complain(format_args!("the worker leaves, its channel is damaged: {error}"));
        }
        self.is_damaged = true;
    }

    /// Nothing can be received from now on, so no thread is to wait for more.
    pub(crate) fn is_damaged(&self) -> bool {
        self.is_damaged
    }

    /// Without its prototype a worker gets no orders. It may be that main and router are gone too. A process that the
    /// application has forked off never had one.
    pub(crate) fn is_orphan(&self) -> bool {
        is_stranger() || getppid() != Some(self.parent)
    }

    /// Whether waiting for the router is of no use.
    pub(crate) fn is_broken(&self) -> bool {
        self.is_damaged || self.is_orphan()
    }
}
