//! The working state of a busy connection, kept for the next one that is.
//!
//! A waiting connection has its task, its socket's registration and one deadline; no buffers. A client whose last
//! request had a large body is read into a large buffer, where the body stays without being moved; anything else that
//! arrives there is moved to a small one at once.

use std::cell::RefCell;
use std::mem;
use std::time::Instant;

use corral_http::request::ParsedHead;

use crate::client::connection::ClientConnection;
use crate::storage::buffers;

/// The state that a connection needs while it is busy. In a box that others use after it, so that it is never moved.
#[derive(Default)]
pub(crate) struct RequestState {
    /// The bytes that the client sent: a head, then whatever came along with it.
    pub(crate) input: Vec<u8>,
    pub(crate) head: ParsedHead,
    /// When the first byte of the request came.
    pub(super) started: Option<Instant>,
}

thread_local! {
    #[expect(clippy::vec_box, reason = "what is kept goes to the next request without being moved")]
    static KEPT: RefCell<Vec<Box<RequestState>>> = const { RefCell::new(Vec::new()) };
}

/// Most states that are kept for the next requests.
const MAX_KEPT: usize = 64;

impl RequestState {
    pub(super) fn take() -> Box<Self> {
        let mut work = Self::take_for_stream();
        work.input = buffers::take();
        work
    }

    /// As `take`, with an input that has no memory yet.
    pub(super) fn take_for_stream() -> Box<Self> {
        KEPT.with_borrow_mut(Vec::pop).unwrap_or_default()
    }

    /// Leaves it to others.
    pub(super) fn give(mut self: Box<Self>) {
        buffers::give(mem::take(&mut self.input));
        self.give_without_input();
    }

    /// As `give`, with an input that is nothing for others.
    pub(super) fn give_without_input(mut self: Box<Self>) {
        self.input = Vec::new();
        KEPT.with_borrow_mut(|kept| {
            if kept.len() < MAX_KEPT {
                kept.push(self);
            }
        });
    }

    /// When the request has begun.
    pub(crate) fn started(&self, connection: &ClientConnection) -> Instant {
        self.started.unwrap_or_else(|| connection.now())
    }
}
