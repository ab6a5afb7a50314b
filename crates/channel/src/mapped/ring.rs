//! A ring in shared memory.

#[cfg(test)]
mod tests;

use crate::frame::FRAME_UNIT;
use crate::mapped::region::{SharedBytes, SharedView};
use crate::ring::{Cursors, RingMemory};
use crate::sync::Ordering;

/// The cursors and the data of one ring, wherever they are in the region.
#[derive(Debug)]
pub(crate) struct MappedRing {
    pub(crate) cursors: SharedView<Cursors>,
    pub(crate) data: SharedBytes,
}

impl MappedRing {
    /// Whether no frame was ever written or read here.
    pub(crate) fn is_fresh(&self) -> bool {
        let produced = self.cursors.producer.0.produced.load(Ordering::Relaxed);
        produced == 0 && self.cursors.consumed.0.load(Ordering::Relaxed) == 0
    }
}

impl RingMemory for MappedRing {
    fn cursors(&self) -> &Cursors {
        &self.cursors
    }

    fn capacity(&self) -> usize {
        self.data.len()
    }

    fn write(&self, at: usize, bytes: &[u8]) {
        self.data.write(at, bytes);
    }

    fn read(&self, at: usize, len: usize, out: &mut Vec<u8>) {
        self.data.read(at, len, out);
    }

    fn read_head(&self, at: usize) -> [u8; FRAME_UNIT] {
        self.data.read_array(at)
    }
}
