//! The worker's end of its channel. It trusts the router, but checks like the router does.

use std::io;
use std::mem::offset_of;
use std::ops::Range;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{Ordering, fence};
use std::time::Duration;

use corral_sys::doorbell::Doorbell;
use corral_sys::forked::{self, Withheld};
use corral_sys::signal;

use crate::frame::{Flags, FrameHead, FrameKind, Lane, RingDirection};
use crate::mapped::bell::WorkerBell;
use crate::mapped::files::FileSender;
use crate::mapped::layout::{MAX_REQUEST_PAYLOAD, MemoryKind, WorkerHeader};
use crate::mapped::map;
use crate::mapped::region::{Region, SharedBytes, SharedView};
use crate::mapped::ring::MappedRing;
use crate::message::FilePart;
use crate::ring::{Consumer, Corrupt, Producer, SendError};
use crate::sleep::sleep_for_room;
use crate::slot;

/// One worker's channel: made by the prototype before it forks, used by the fork alone.
#[derive(Debug)]
pub struct WorkerEnd {
    header: SharedView<WorkerHeader>,
    requests: Consumer<MappedRing>,
    lanes: Vec<Producer<MappedRing>>,
    bell: WorkerBell,
    files: Option<FileSender>,
}

/// The sleep of a worker with several threads. Any number of them may sleep; a wake-up wakes one.
///
/// A thread that leaves the channel alone for a while announces the sleep of the others once more, so that one of
/// them is woken for frames that come meanwhile.
#[derive(Debug, Clone)]
pub struct WorkerSleep(SharedView<WorkerHeader>);

impl WorkerSleep {
    /// From now on the router wakes a sleeper when it has sent something. What came before has to be looked for
    /// ([`WorkerEnd::has_frames`]) after this call.
    pub fn announce(&self) {
        self.0.sleeping.0.announce();
    }

    /// Ends the announcement: no thread sleeps, or needs to be woken.
    pub fn cancel(&self) {
        self.0.sleeping.0.cancel();
    }

    /// Sleeps if the announcement still stands; may return early.
    pub fn sleep(&self, timeout: Duration) {
        self.0.sleeping.0.sleep(Some(timeout));
    }

    /// Ends the sleep of all threads.
    pub fn wake_all(&self) {
        self.0.sleeping.0.end_all();
    }

    /// Has SIGTERM noted (`corral_sys::signal::is_termination_noted`), and end all sleep: a thread that looks for it
    /// after the announcement does not sleep through it.
    ///
    /// # Errors
    /// Errors of sigaction(2).
    pub fn end_at_termination(self) -> io::Result<()> {
        let wake = move || {
            // The note is there before the word changes, as the announcement is before the look for the note.
            fence(Ordering::SeqCst);
            self.wake_all();
        };
        // SAFETY: a fence, a store, and futex(2) by rustix, which makes the system call itself and sets no errno.
        unsafe { signal::note_termination(wake) }
    }
}

/// Why `send_blocking` did not send.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Unsent {
    /// The caller did not want to wait any longer.
    #[error("gave up waiting for room")]
    GaveUp,
    /// Waiting does not help.
    #[error(transparent)]
    Refused(SendError),
}

impl WorkerEnd {
    /// Makes the channel of one worker. The descriptor is for the router.
    ///
    /// # Errors
    /// No memory or no descriptor is left.
    pub fn create(bell: &WorkerBell) -> io::Result<(Self, OwnedFd)> {
        let shape = bell.shape();
        let (region, memory) = map::create("corral-worker", shape, MemoryKind::Worker, shape.worker_size())?;
        Ok((Self::new(&region, bell), memory))
    }

    pub(crate) fn new(region: &Arc<Region>, bell: &WorkerBell) -> Self {
        let shape = bell.shape();
        let requests = MappedRing {
            cursors: SharedView::new(region, offset_of!(WorkerHeader, requests)),
            data: SharedBytes::new(region, shape.request_data(), shape.request_capacity()),
        };
        let lane = |lane| {
            let ring = MappedRing {
                cursors: SharedView::new(region, shape.lane_cursors(lane)),
                data: SharedBytes::new(region, shape.lane_data(lane), shape.lane_capacity()),
            };
            Producer::new(ring, shape.max_response_payload())
        };
        Self {
            header: SharedView::new(region, 0),
            requests: Consumer::new(requests, MAX_REQUEST_PAYLOAD, RingDirection::ToWorker),
            lanes: (0..usize::from(shape.n_lanes)).map(lane).collect(),
            bell: bell.share(),
            files: None,
        }
    }

    /// The same, which can send files. The other end of the socket is for the router.
    #[must_use]
    pub fn with_files(self, files: Option<FileSender>) -> Self {
        Self { files, ..self }
    }

    /// Keeps the channel and its doorbell from processes that the application forks off this one, for as long as this
    /// one lives: see `corral_sys::forked`.
    ///
    /// # Errors
    /// When memory is lacking.
    pub fn withhold_from_children(&self, doorbell: Option<&Doorbell>) -> io::Result<()> {
        let socket = self.files.as_ref().map(|files| Arc::clone(&files.socket));
        let sockets: Vec<_> = socket.into_iter().chain(doorbell.map(Doorbell::share)).collect();
        let descriptors = self.bell.descriptors().chain(sockets.iter().map(AsRawFd::as_raw_fd)).collect();
        let maps = vec![self.header.region().span(), self.bell.span()];
        let owner = Box::new((self.header.clone(), self.bell.share(), sockets));
        // SAFETY: what is named is that of the three handles which `owner` consists of.
        unsafe { forked::withhold(Withheld { maps, descriptors, owner }) }
    }

    /// Bytes of payload that one frame to the router can have.
    #[must_use]
    pub fn max_payload(&self) -> usize {
        self.bell.shape().max_response_payload()
    }

    /// Receives a frame, its payload in `payload` in place of what was there. Never blocks. A Request
    /// frame is to be begun with [`WorkerEnd::start`]; when that says no, it and the Body frames behind
    /// it are to be dropped.
    ///
    /// # Errors
    /// The memory is damaged: leave.
    pub fn recv(&mut self, payload: &mut Vec<u8>) -> Result<Option<FrameHead>, Corrupt> {
        let head = self.requests.recv(payload)?;
        let n_lanes = self.bell.shape().n_lanes;
        match head {
            Some(head) if head.lane.0 >= n_lanes => Err(Corrupt::Lane { lane: head.lane.0, n_lanes }),
            head => Ok(head),
        }
    }

    /// Whether `recv` has something to say.
    #[must_use]
    pub fn has_frames(&self) -> bool {
        self.requests.has_frames()
    }

    /// Sleeps until there is a frame; may return early. True if that took a system call: none when
    /// there is a frame already.
    pub fn wait(&self, timeout: Option<Duration>) -> bool {
        self.wait_unless(timeout, || false)
    }

    /// As [`WorkerEnd::wait`], unless there is something else that must not be slept through, which is asked after the
    /// announcement.
    pub fn wait_unless(&self, timeout: Option<Duration>, has_news: impl FnOnce() -> bool) -> bool {
        self.header.sleeping.0.sleep_unless(timeout, || self.requests.has_frames() || has_news())
    }

    /// As the first half of [`WorkerEnd::wait`], of a worker that sleeps in an event loop: from now on its bell rings
    /// for a frame. True when there is one already.
    #[must_use]
    pub fn announce_at_bell(&self) -> bool {
        self.header.sleeping.0.announce_at_bell();
        self.requests.has_frames()
    }

    /// The event loop is up: the bell need not ring.
    pub fn cancel_sleep(&self) {
        self.header.sleeping.0.cancel();
    }

    /// Sleeps until a frame with `len` bytes of payload fits in `lane` or there is a frame to receive;
    /// may return early. True if that took a system call.
    ///
    /// # Panics
    /// If there is no such lane.
    pub fn wait_for_room(&self, lane: Lane, len: usize, timeout: Option<Duration>) -> bool {
        let frames = &self.lanes[lane.index()];
        let wants_room = &frames.cursors().producer.0.wants_room;
        sleep_for_room(&self.header.sleeping.0, wants_room, timeout, || {
            self.requests.has_frames() || frames.is_worth_trying(len)
        })
    }

    /// For a worker with several threads, which sleep while others use this end.
    #[must_use]
    pub fn sleep(&self) -> WorkerSleep {
        WorkerSleep(self.header.clone())
    }

    /// Whether the router is to wake the worker when it has read something of `lane`.
    ///
    /// # Panics
    /// If there is no such lane.
    pub fn want_room(&self, lane: Lane, wants: bool) {
        let wants_room = &self.lanes[lane.index()].cursors().producer.0.wants_room;
        if wants {
            wants_room.announce();
        } else {
            wants_room.cancel();
        }
    }

    /// Begins the request of this Request frame; false when the router took it back.
    #[must_use]
    pub fn start(&self, request: &FrameHead) -> bool {
        debug_assert_eq!(request.kind, FrameKind::Request);
        let (slot, ticket) = slot::unpack(request.aux);
        self.header.slots[slot.index()].start(ticket)
    }

    /// Sends a frame to the loop that `head` names, its payload being `pieces` one after the other.
    /// The loop is not woken: call [`WorkerEnd::ring`] afterwards.
    ///
    /// # Errors
    /// Then nothing was sent.
    ///
    /// # Panics
    /// If there is no such lane.
    pub fn send(&mut self, head: FrameHead, pieces: &[&[u8]]) -> Result<(), SendError> {
        self.lanes[head.lane.index()].push(head, pieces, 0)
    }

    /// Sends a frame as [`WorkerEnd::send`], and with it a part of a file with which the response's body ends. False,
    /// and nothing is sent, when the file cannot be: then its bytes have to be.
    ///
    /// # Errors
    /// Then nothing was sent.
    ///
    /// # Panics
    /// If there is no such lane.
    pub fn send_file(
        &mut self,
        head: FrameHead,
        pieces: &[&[u8]],
        file: BorrowedFd<'_>,
        part: Range<u64>,
    ) -> Result<bool, SendError> {
        let Some(files) = &mut self.files else { return Ok(false) };
        let lane = &mut self.lanes[head.lane.index()];
        let n_bytes = pieces.iter().map(|piece| piece.len()).sum::<usize>();
        // What fits now fits afterwards: the file goes first, or the router could miss it.
        lane.check_room(n_bytes + FilePart::SIZE, 0)?;
        let part = FilePart { number: files.next(), offset: part.start, len: part.end - part.start };
        if files.send(file, &self.header).is_err() {
            return Ok(false);
        }
        let end = part.to_bytes();
        let pieces: Vec<&[u8]> = pieces.iter().copied().chain([&end[..]]).collect();
        lane.push(head.with_flags(head.flags | Flags::FILE), &pieces, 0)?;
        Ok(true)
    }

    /// Sends a frame as [`WorkerEnd::send`], whose `aux` says which socket has been sent before it. False, and nothing
    /// is sent, when that cannot be.
    ///
    /// # Errors
    /// Then nothing was sent.
    ///
    /// # Panics
    /// If there is no such lane.
    pub fn send_socket(&mut self, head: FrameHead, socket: BorrowedFd<'_>) -> Result<bool, SendError> {
        let Some(files) = &mut self.files else { return Ok(false) };
        let lane = &mut self.lanes[head.lane.index()];
        lane.check_room(0, 0)?;
        let number = files.next();
        if files.send(socket, &self.header).is_err() {
            return Ok(false);
        }
        lane.push(head.with_aux(number), &[], 0)?;
        Ok(true)
    }

    /// As `send`, but while there is no room it rings, asks `keep_waiting`, and sleeps. `keep_waiting`
    /// must receive what there is to receive (otherwise there is no sleep), and says no when the
    /// request was cancelled.
    ///
    /// # Errors
    /// Then nothing was sent.
    ///
    /// # Panics
    /// If there is no such lane.
    pub fn send_blocking(
        &mut self,
        head: FrameHead,
        pieces: &[&[u8]],
        mut keep_waiting: impl FnMut(&mut Self) -> bool,
    ) -> Result<(), Unsent> {
        let len = pieces.iter().map(|piece| piece.len()).sum();
        loop {
            match self.send(head, pieces) {
                Ok(()) => return Ok(()),
                Err(SendError::Full) => {}
                Err(error) => return Err(Unsent::Refused(error)),
            }
            self.ring(head.lane);
            if !keep_waiting(self) {
                return Err(Unsent::GaveUp);
            }
            self.wait_for_room(head.lane, len, None);
        }
    }

    /// Wakes the loop of `lane` if it sleeps; true if that took a system call. To be called after
    /// frames were sent.
    ///
    /// # Panics
    /// If there is no such lane.
    pub fn ring(&self, lane: Lane) -> bool {
        self.bell.ring(lane)
    }

    /// Says what the worker is doing (a script's path), for log lines about its death. Cut to
    /// [`crate::MAX_NOTE`] bytes.
    pub fn set_note(&self, note: &[u8]) {
        self.header.note.set(note);
    }
}
