//! Tasks of a connection that asked to be polled again.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Wake, Waker};

/// The connection's own task, and those of its streams.
pub(super) struct Wakes {
    connection: Arc<ConnectionWake>,
    streams: Arc<ReadyStreams>,
    /// A waker for each slot that was ever used, so that a request needs no new one.
    wakers: Vec<Waker>,
}

impl Default for Wakes {
    fn default() -> Self {
        let connection = Arc::new(ConnectionWake(AtomicBool::new(true)));
        Self { connection, streams: Arc::default(), wakers: Vec::new() }
    }
}

impl Wakes {
    pub(super) fn wake_connection(&self) {
        self.connection.0.store(true, Ordering::Relaxed);
    }

    /// Whether the connection has to be polled. It then has not, until it is woken again.
    pub(super) fn take_connection(&self) -> bool {
        self.connection.0.swap(false, Ordering::Relaxed)
    }

    pub(super) fn connection_waker(&self) -> Waker {
        Waker::from(Arc::clone(&self.connection))
    }

    pub(super) fn wake_stream(&self, slot: usize) {
        self.streams.push(slot);
    }

    /// A stream that has to be polled.
    pub(super) fn take_stream(&self) -> Option<usize> {
        self.streams.0.lock().unwrap_or_else(PoisonError::into_inner).pop()
    }

    pub(super) fn stream_waker(&mut self, slot: usize) -> Waker {
        for slot in self.wakers.len()..=slot {
            let wake = StreamWake { slot, ready: Arc::clone(&self.streams) };
            self.wakers.push(Waker::from(Arc::new(wake)));
        }
        self.wakers[slot].clone()
    }
}

struct ConnectionWake(AtomicBool);

impl Wake for ConnectionWake {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Slots of streams that are to be polled. One may be there twice, which costs a poll.
#[derive(Default)]
struct ReadyStreams(Mutex<Vec<usize>>);

impl ReadyStreams {
    fn push(&self, slot: usize) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(slot);
    }
}

struct StreamWake {
    slot: usize,
    ready: Arc<ReadyStreams>,
}

impl Wake for StreamWake {
    fn wake(self: Arc<Self>) {
        self.ready.push(self.slot);
    }
}
