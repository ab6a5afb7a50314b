//! The router's way from a worker: one event loop's consumer of one lane.

use std::sync::Arc;

use corral_sys::deferred_close::ForeignFd;

use crate::frame::{FrameHead, Lane, RingDirection};
use crate::mapped::files::{Arrived, FileError, FileReceiver};
use crate::mapped::layout::ChannelShape;
use crate::mapped::region::{Region, SharedBytes, SharedView};
use crate::mapped::ring::MappedRing;
use crate::mapped::waker::Waker;
use crate::ring::{Consumer, Corrupt};
use crate::sleep::is_room_wanted;

/// Frames from one worker to one event loop. Every byte of them is hostile until checked.
#[derive(Debug)]
pub struct LaneReceiver {
    lane: Lane,
    worker: Waker,
    frames: Consumer<MappedRing>,
    /// Shared with the other lanes of the worker.
    files: Option<Arc<FileReceiver>>,
}

impl LaneReceiver {
    pub(crate) fn new(region: &Arc<Region>, shape: ChannelShape, lane: Lane, worker: Waker) -> Self {
        let ring = MappedRing {
            cursors: SharedView::new(region, shape.lane_cursors(lane.index())),
            data: SharedBytes::new(region, shape.lane_data(lane.index()), shape.lane_capacity()),
        };
        let frames = Consumer::new(ring, shape.max_response_payload(), RingDirection::FromWorker);
        Self { lane, worker, frames, files: None }
    }

    pub(crate) fn with_files(self, files: Option<Arc<FileReceiver>>) -> Self {
        Self { files, ..self }
    }

    /// Whether there is something to receive (or to find corrupt). One load.
    #[must_use]
    pub fn has_frames(&self) -> bool {
        self.frames.has_frames()
    }

    /// Receives a frame, its payload in `payload` in place of what was there.
    ///
    /// # Errors
    /// The worker broke the rules: to be ended, and everything that it held to be failed.
    pub fn recv(&mut self, payload: &mut Vec<u8>) -> Result<Option<FrameHead>, Corrupt> {
        payload.clear();
        let head = self.peek()?;
        if let Some(head) = head {
            self.read(head.len as usize, payload);
        }
        Ok(head)
    }

    /// The head of the next frame, the same one until its payload was read (also when it has none) or
    /// skipped.
    ///
    /// With [`LaneReceiver::read`] this is `recv` for a caller that wants the payload, or parts of it, in
    /// different places.
    ///
    /// # Errors
    /// As for [`LaneReceiver::recv`].
    pub fn peek(&mut self) -> Result<Option<FrameHead>, Corrupt> {
        // The lane is the ring's, whatever the worker wrote.
        Ok(self.frames.peek()?.map(|head| FrameHead { lane: self.lane, ..head }))
    }

    /// Appends up to `n` bytes of the payload of the frame that `peek` gave to `out` and says how many.
    /// The last one ends the frame; a frame without payload takes one call too.
    pub fn read(&mut self, n: usize, out: &mut Vec<u8>) -> usize {
        self.frames.read(n, out)
    }

    /// Drops the rest of the frame that `peek` gave.
    pub fn skip(&mut self) {
        self.frames.close();
    }

    /// Takes the file that a frame has named, in this or any lane; none if this process had no descriptor for it.
    ///
    /// # Errors
    /// As for [`LaneReceiver::recv`].
    pub fn take_file(&self, number: u32) -> Result<Option<Arrived>, FileError> {
        let files = self.files.as_ref().ok_or(FileError::Missing { number })?;
        files.take_file(number)
    }

    /// The same of a socket.
    ///
    /// # Errors
    /// As for [`LaneReceiver::recv`].
    pub fn take_socket(&self, number: u32) -> Result<Option<ForeignFd>, FileError> {
        let files = self.files.as_ref().ok_or(FileError::Missing { number })?;
        files.take_socket(number)
    }

    /// Wakes the worker if it waits for room in this lane; true if that took a system call. To be
    /// called when the lane was drained.
    pub fn wake_producer(&self) -> bool {
        is_room_wanted(&self.frames.cursors().producer.0.wants_room) && self.worker.wake()
    }
}
