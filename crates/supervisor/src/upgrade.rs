//! A main process that is to take over, or has: of an executable that may have been replaced.

use std::os::fd::BorrowedFd;
use std::time::{Duration, Instant};

use corral_ipc::message::FromSuccessor;
use corral_sys::signal::{Pid, Signal};

use crate::peer::Peer;

/// A successor that does not serve by then hangs: the control API waits for it. Applications may take two minutes
/// to load.
const LONGEST_START: Duration = Duration::from_secs(3 * 60);

/// The upgrade that goes on, and what became of the last one.
#[derive(Default)]
pub(crate) struct Upgrade {
    successor: Option<Successor>,
    /// Why the last one has failed.
    pub(crate) trouble: Option<String>,
}

struct Successor {
    peer: Peer,
    /// When it is killed, unless it serves.
    deadline: Instant,
    is_serving: bool,
}

/// The outcome of listening for a successor's message.
pub(crate) enum Heard {
    Nothing,
    /// The message needs no answer.
    Word,
    /// The successor serves from now on.
    Serving(Pid),
}

impl Upgrade {
    /// Whether there is a successor, which may serve.
    pub(crate) fn goes_on(&self) -> bool {
        self.successor.is_some()
    }

    pub(crate) fn begin(&mut self, peer: Peer) {
        let deadline = Instant::now() + LONGEST_START;
        self.successor = Some(Successor { peer, deadline, is_serving: false });
    }

    pub(crate) fn failed(&mut self, reason: String) {
        tracing::error!(target: "alert", "upgrade: {reason}; this process goes on");
        self.trouble = Some(reason);
    }

    pub(crate) fn peer(&self) -> Option<&Peer> {
        self.successor.as_ref().map(|successor| &successor.peer)
    }

    pub(crate) fn peer_mut(&mut self) -> Option<&mut Peer> {
        self.successor.as_mut().map(|successor| &mut successor.peer)
    }

    /// The successor, once it serves.
    pub(crate) fn serving_peer(&mut self) -> Option<&mut Peer> {
        self.successor.as_mut().filter(|successor| successor.is_serving).map(|successor| &mut successor.peer)
    }

    /// Readable when the successor has ended.
    pub(crate) fn end(&self) -> Option<BorrowedFd<'_>> {
        self.peer()?.end()
    }

    /// One that serves is not this process's to end.
    pub(crate) fn unready(&self) -> Option<&Peer> {
        self.successor.as_ref().filter(|successor| !successor.is_serving).map(|successor| &successor.peer)
    }

    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.successor.as_ref().filter(|successor| !successor.is_serving).map(|successor| successor.deadline)
    }

    /// Tells one to end that does not serve yet.
    pub(crate) fn end_unready(&self) {
        self.unready().into_iter().for_each(|successor| successor.kill(Signal::TERM));
    }

    /// Kills a successor that does not serve in time.
    pub(crate) fn kill_unready(&self) {
        self.unready().into_iter().for_each(|successor| successor.kill(Signal::KILL));
    }

    /// Takes one message of the successor.
    pub(crate) fn hear(&mut self) -> Heard {
        let Some(successor) = &mut self.successor else { return Heard::Nothing };
        match successor.peer.next_message() {
            // Said again, it would put off the end of this process.
            Some((FromSuccessor::Serving, _)) if successor.is_serving => Heard::Word,
            Some((FromSuccessor::Serving, _)) => {
                successor.is_serving = true;
                Heard::Serving(successor.peer.pid())
            }
            Some((FromSuccessor::Failed { reason }, _)) => {
                self.trouble = Some(reason);
                Heard::Word
            }
            None => Heard::Nothing,
        }
    }

    /// The successor has ended. If it never served, this process goes on as before.
    pub(crate) fn ended(&mut self) {
        let Some(Successor { peer, is_serving, .. }) = self.successor.take() else { return };
        let pid = peer.pid().as_raw_nonzero();
        tracing::info!(target: "notice", "process {pid} has ended (successor)");
        if !is_serving {
            let reason = self.trouble.take();
            let reason = reason.map_or_else(String::new, |reason| format!(": {reason}"));
            self.failed(format!("the new process could not take over{reason}"));
        }
    }
}
