//! The pool's port over a real channel.

use corral_channel::{SendError, Slot, WorkerPort};

use super::pool::{Port, Request};

/// The sending half of a worker's channel.
#[derive(Debug)]
pub(crate) struct ChannelPort {
    pub(crate) channel: WorkerPort,
}

impl Port for ChannelPort {
    fn submit(&mut self, slot: Slot, request: &Request) -> Result<(), SendError> {
        self.channel.submit(slot, request.id, request.lane, &[&request.payload])
    }

    fn take_back(&self, slot: Slot, request: &Request) -> bool {
        self.channel.take_back(slot, request.id, request.lane)
    }

    fn is_started(&self, slot: Slot, request: &Request) -> bool {
        self.channel.is_started(slot, request.id, request.lane)
    }

    fn quit(&mut self) {
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
