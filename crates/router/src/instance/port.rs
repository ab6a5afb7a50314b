//! The pool's ports: over a real channel, or to a program.

use corral_channel::{RequestSlot, SendError, WorkerPort};

use super::pool::pool_request::PoolRequest;
use super::pool::port::PoolPort;
use super::pool::verdict::KillReason;
use super::program_port::ProgramPort;

/// How a worker is reached, whatever it is.
#[expect(clippy::large_enum_variant, reason = "there is one for each worker, and most are of the first kind")]
pub(crate) enum AnyPort {
    /// A process of a runtime, which reads its requests from a channel.
    Channel(ChannelPort),
    /// A program that serves HTTP itself.
    Program(ProgramPort),
}

impl AnyPort {
    pub(crate) fn channel_mut(&mut self) -> Option<&mut ChannelPort> {
        match self {
            Self::Channel(port) => Some(port),
            Self::Program(_) => None,
        }
    }
}

impl PoolPort for AnyPort {
    fn submit(&mut self, slot: RequestSlot, request: &PoolRequest) -> Result<(), SendError> {
        match self {
            Self::Channel(port) => port.submit(slot, request),
            Self::Program(port) => port.submit(slot, request),
        }
    }

    fn take_back(&self, slot: RequestSlot, request: &PoolRequest) -> bool {
        match self {
            Self::Channel(port) => port.take_back(slot, request),
            Self::Program(port) => port.take_back(slot, request),
        }
    }

    fn is_started(&self, slot: RequestSlot, request: &PoolRequest) -> bool {
        match self {
            Self::Channel(port) => port.is_started(slot, request),
            Self::Program(port) => port.is_started(slot, request),
        }
    }

    fn quit(&mut self) {
        match self {
            Self::Channel(port) => port.quit(),
            Self::Program(port) => port.quit(),
        }
    }

    fn is_waiting(&self) -> bool {
        match self {
            Self::Channel(port) => port.is_waiting(),
            Self::Program(port) => port.is_waiting(),
        }
    }

    fn note(&self) -> Vec<u8> {
        match self {
            Self::Channel(port) => port.note(),
            Self::Program(port) => port.note(),
        }
    }

    fn condemn(&self, kill_reason: KillReason) {
        match self {
            Self::Channel(port) => port.condemn(kill_reason),
            Self::Program(port) => port.condemn(kill_reason),
        }
    }
}

/// The sending half of a worker's channel.
#[derive(Debug)]
pub(crate) struct ChannelPort {
    pub(crate) channel: WorkerPort,
    /// Connections that the worker has taken over and that go on, once it has.
    n_hijacked: Option<u32>,
}

impl ChannelPort {
    pub(crate) fn new(channel: WorkerPort) -> Self {
        Self { channel, n_hijacked: None }
    }

    /// The worker has taken a connection over.
    pub(super) fn hold(&mut self) {
        *self.n_hijacked.get_or_insert(0) += 1;
    }

    /// A connection that was taken over has ended.
    pub(super) fn release(&mut self) {
        self.n_hijacked = self.n_hijacked.map(|n| n.saturating_sub(1));
    }

    /// Tells a worker that wants to leave, and has taken connections over, if it may. Others do not ask.
    pub(super) fn let_go(&mut self) {
        if self.n_hijacked.is_some() {
            self.quit();
        }
    }
}

impl PoolPort for ChannelPort {
    fn submit(&mut self, slot: RequestSlot, request: &PoolRequest) -> Result<(), SendError> {
        self.channel.submit(slot, request.id, request.lane, &[&request.payload, &request.inline])
    }

    fn take_back(&self, slot: RequestSlot, request: &PoolRequest) -> bool {
        self.channel.take_back(slot, request.id, request.lane)
    }

    fn is_started(&self, slot: RequestSlot, request: &PoolRequest) -> bool {
        self.channel.is_started(slot, request.id, request.lane)
    }

    fn quit(&mut self) {
        if self.n_hijacked.is_some_and(|n| n > 0) {
            return; // it is told when the last of these connections has ended
        }
        // A worker without room for three words is stuck or hostile, and is ended by other means.
        let _ = self.channel.quit();
    }

    fn is_waiting(&self) -> bool {
        self.channel.is_asleep()
    }

    fn note(&self) -> Vec<u8> {
        self.channel.note()
    }
}
