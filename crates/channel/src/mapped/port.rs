//! The router's way to a worker: submitting requests, taking them back.

use std::os::fd::OwnedFd;
use std::sync::Arc;

use corral_sys::deferred_close::ForeignFd;
use corral_sys::doorbell::BellPush;

use crate::frame::{Flags, FrameHead, FrameKind, Lane, RequestId};
use crate::mapped::files::{FileReceiver, FileSocket};
use crate::mapped::layout::{
    CONTROL_RESERVE, ChannelShape, MAX_REQUEST_PAYLOAD, MemoryKind, REQUEST_HOME, WorkerHeader,
};
use crate::mapped::map::{self, MemoryError};
use crate::mapped::receiver::LaneReceiver;
use crate::mapped::region::{Region, SharedBytes, SharedView};
use crate::mapped::ring::MappedRing;
use crate::mapped::waker::{Sleeper, Waker};
use crate::opcode::Opcode;
use crate::ring::{Corrupt, Producer, SendError};
use crate::slot::{self, N_SLOTS, RequestSlot, SlotState, SubmissionTicket};

/// Descriptors that a worker has given beside its memory.
#[derive(Debug, Default)]
pub struct WorkerDescriptors {
    /// The push of its bell, if it may sleep in an event loop.
    pub bell: Option<OwnedFd>,
    /// The socket for its files, if it may send any.
    pub files: Option<OwnedFd>,
}

/// The same once it is known to be what it should be.
#[derive(Debug, Default)]
pub(crate) struct Checked {
    bell: Option<BellPush>,
    files: Option<FileSocket>,
}

impl WorkerDescriptors {
    fn checked(self) -> Result<Checked, MemoryError> {
        // Both are taken over, so that both are closed as they should be.
        let bell = self.bell.map(BellPush::try_from).transpose();
        let files = self.files.map(FileSocket::try_from).transpose();
        Ok(Checked { bell: bell.map_err(MemoryError::Beside)?, files: files.map_err(MemoryError::Beside)? })
    }
}

/// Submission to one worker, its slots and its note. Used by all event loops, one at a time.
///
/// Nothing but [`WorkerPort::wake`] makes a system call, so a batch of frames costs one wake-up at most.
#[derive(Debug)]
pub struct WorkerPort {
    header: SharedView<WorkerHeader>,
    worker: Waker,
    requests: Producer<MappedRing>,
    /// The last submission in each slot. Private, so that a worker cannot make us mistake one for another.
    submitted: [Option<Submission>; N_SLOTS],
    next_ticket: SubmissionTicket,
}

#[derive(Debug, Clone, Copy)]
struct Submission {
    lane: Lane,
    request: RequestId,
    ticket: SubmissionTicket,
}

impl WorkerPort {
    /// Takes the memory of `WorkerEnd::create`; the receivers are those of lane 0, 1, …
    ///
    /// # Errors
    /// When the memory is not that of a fresh worker of this shape, or cannot be mapped.
    pub fn map(memory: OwnedFd, shape: ChannelShape) -> Result<(Self, Vec<LaneReceiver>), MemoryError> {
        Self::map_with(memory, WorkerDescriptors::default(), shape)
    }

    /// As [`WorkerPort::map`], of a worker that has given more than its memory.
    ///
    /// # Errors
    /// As for [`WorkerPort::map`].
    pub fn map_with(
        memory: OwnedFd,
        beside: WorkerDescriptors,
        shape: ChannelShape,
    ) -> Result<(Self, Vec<LaneReceiver>), MemoryError> {
        let (memory, beside) = (ForeignFd::from(memory), beside.checked()?);
        let region = map::open(&memory, shape, MemoryKind::Worker, shape.worker_size())?;
        // What is mapped is memory.
        drop(memory.into_inner());
        Self::new(&region, beside, shape)
    }

    pub(crate) fn new(
        region: &Arc<Region>,
        beside: Checked,
        shape: ChannelShape,
    ) -> Result<(Self, Vec<LaneReceiver>), MemoryError> {
        let header = SharedView::<WorkerHeader>::new(region, 0);
        let ring = MappedRing {
            cursors: SharedView::new(region, std::mem::offset_of!(WorkerHeader, requests)),
            data: SharedBytes::new(region, shape.request_data(), shape.request_capacity()),
        };
        if !ring.is_fresh() {
            return Err(MemoryError::Used);
        }
        let worker = Waker::new(header.clone(), beside.bell);
        let files = beside.files.map(|files| Arc::new(FileReceiver::new(files, header.clone())));
        let receiver =
            |lane| LaneReceiver::new(region, shape, Lane(lane), worker.clone()).with_files(files.clone());
        let lanes = (0..shape.n_lanes).map(receiver).collect();
        let port = Self {
            header,
            worker,
            requests: Producer::new(ring, MAX_REQUEST_PAYLOAD).with_home(REQUEST_HOME),
            submitted: [None; N_SLOTS],
            next_ticket: SubmissionTicket::FIRST,
        };
        Ok((port, lanes))
    }

    /// Queues a request whose payload (`message::encode_request`, then what there is of the body) is
    /// `pieces` one after the other. `slot` must not hold a request that the worker may still start.
    /// Call [`WorkerPort::wake`] afterwards.
    ///
    /// # Errors
    /// Then nothing was queued.
    pub fn submit(
        &mut self,
        slot: RequestSlot,
        request: RequestId,
        lane: Lane,
        pieces: &[&[u8]],
    ) -> Result<(), SendError> {
        let len = pieces.iter().map(|piece| piece.len()).sum();
        self.requests.check_room(len, CONTROL_RESERVE)?;
        let ticket = self.next_ticket;
        self.next_ticket = ticket.next();
        self.submitted[slot.index()] = Some(Submission { lane, request, ticket });
        self.header.slots[slot.index()].queue(ticket);
        let head = FrameHead::new(FrameKind::Request, lane, request).with_aux(slot::pack(slot, ticket));
        self.requests.push(head, pieces, CONTROL_RESERVE)
    }

    /// Sends more of a request's body; `end` says that this is the last of it.
    ///
    /// # Errors
    /// Then nothing was sent.
    pub fn body(&mut self, request: RequestId, lane: Lane, bytes: &[u8], end: bool) -> Result<(), SendError> {
        let flags = if end { Flags::END } else { Flags::NONE };
        let head = FrameHead::new(FrameKind::Body, lane, request).with_flags(flags);
        self.requests.push(head, &[bytes], CONTROL_RESERVE)
    }

    /// Sends a part of a WebSocket message; `end` says that it is the last one. All parts have the same opcode.
    ///
    /// # Errors
    /// Then nothing was sent.
    pub fn message(
        &mut self,
        request: RequestId,
        lane: Lane,
        bytes: &[u8],
        opcode: Opcode,
        end: bool,
    ) -> Result<(), SendError> {
        let flags = if end { Flags::END } else { Flags::NONE };
        let head =
            FrameHead::new(FrameKind::Message, lane, request).with_flags(flags).with_aux(opcode as u32);
        self.requests.push(head, &[bytes], CONTROL_RESERVE)
    }

    /// Allows the worker `bytes` more of response body. Grant in steps of a few KiB, not for each byte.
    ///
    /// # Errors
    /// As for [`WorkerPort::cancel`].
    pub fn credit(&mut self, request: RequestId, lane: Lane, bytes: u32) -> Result<(), SendError> {
        self.control(FrameHead::new(FrameKind::Credit, lane, request).with_aux(bytes))
    }

    /// Tells the worker that the response is not read.
    ///
    /// # Errors
    /// The ring is full: 4096 such frames have room in it besides requests and bodies. A worker that reads
    /// none of them is stuck, and a worker that breaks the rules is hostile: both should be ended.
    pub fn cancel(&mut self, request: RequestId, lane: Lane) -> Result<(), SendError> {
        self.control(FrameHead::new(FrameKind::Cancel, lane, request))
    }

    /// Tells the worker that the client sends nothing more.
    ///
    /// # Errors
    /// As for [`WorkerPort::cancel`].
    pub fn left(&mut self, request: RequestId, lane: Lane) -> Result<(), SendError> {
        self.control(FrameHead::new(FrameKind::Left, lane, request))
    }

    /// Asks the worker to leave when it has finished what it started.
    ///
    /// # Errors
    /// As for [`WorkerPort::cancel`].
    pub fn quit(&mut self) -> Result<(), SendError> {
        self.control(FrameHead::new(FrameKind::Quit, Lane(0), RequestId(0)))
    }

    fn control(&mut self, head: FrameHead) -> Result<(), SendError> {
        self.requests.push(head, &[], 0)
    }

    /// Takes back what was submitted in `slot`, if the worker has not started it; the slot is free
    /// then. The frames stay in the ring and the worker drops them.
    #[must_use]
    pub fn take_back(&self, slot: RequestSlot, request: RequestId, lane: Lane) -> bool {
        let submission = self.submission(slot, request, lane);
        submission.is_some_and(|it| self.header.slots[slot.index()].take_back(it.ticket))
    }

    /// Whether the worker has started what was submitted in `slot`.
    #[must_use]
    pub fn is_started(&self, slot: RequestSlot, request: RequestId, lane: Lane) -> bool {
        let submission = self.submission(slot, request, lane);
        submission.is_some_and(|it| self.header.slots[slot.index()].is(it.ticket, SlotState::Started))
    }

    fn submission(&self, slot: RequestSlot, request: RequestId, lane: Lane) -> Option<Submission> {
        self.submitted[slot.index()].filter(|it| it.request == request && it.lane == lane)
    }

    /// Wakes the worker if it sleeps; true if that took a system call. To be called after frames were sent.
    pub fn wake(&self) -> bool {
        self.worker.wake()
    }

    /// The same in two steps, for a caller that holds a lock: this one makes no system call, and what
    /// it gives makes one. The caller has to wake the worker with it, since no other side will.
    #[must_use]
    pub fn claim_sleeper(&self) -> Option<Sleeper> {
        self.worker.claim()
    }

    /// Whether the worker sleeps now, for want of work or of room.
    #[must_use]
    pub fn is_asleep(&self) -> bool {
        self.header.sleeping.0.is_announced()
    }

    /// The worker's note about its present doing, at most [`crate::MAX_NOTE`] bytes. Any bytes:
    /// escape them before they reach a terminal or a log.
    #[must_use]
    pub fn note(&self) -> Vec<u8> {
        self.header.note.to_vec()
    }

    /// Bytes of payload that one frame to the worker can have now.
    ///
    /// # Errors
    /// The worker broke the rules, as for [`LaneReceiver::recv`].
    pub fn free_space(&self) -> Result<usize, Corrupt> {
        let usable = self.requests.free()?.saturating_sub(CONTROL_RESERVE + crate::FRAME_UNIT);
        Ok(usable.min(MAX_REQUEST_PAYLOAD))
    }
}
