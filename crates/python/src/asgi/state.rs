//! The progress of a request, and what it waits for.

use corral_channel::message::RequestHead;
use pyo3::prelude::*;

use super::incoming::Socket;
use super::trailers::Trailers;

/// How far a request is.
pub(super) struct RequestState {
    /// The frames of a WebSocket connection.
    pub(super) websocket: Option<Socket>,
    /// With which code and why the application has closed it.
    pub(super) farewell: Option<(u16, Vec<u8>)>,
    /// The application was told that a client wants to connect. It may answer before it asks.
    pub(super) is_connect_told: bool,
    /// All of the body was given out.
    pub(super) is_body_taken: bool,
    /// Bytes that are still to come, if the head has said how many there are.
    pub(super) promised: Option<u64>,
    /// Behind the response's body.
    pub(super) trailers: Trailers,
    /// Futures that wait for the next event.
    pub(super) receivers: Vec<Py<PyAny>>,
    /// Futures that wait until the client has taken more.
    pub(super) senders: Vec<Py<PyAny>>,
    /// Keeps the coroutine's task alive.
    pub(super) task: Option<Py<PyAny>>,
}

impl RequestState {
    pub(super) fn new(head: &RequestHead<'_>) -> Self {
        Self {
            websocket: head.websocket.then_some(Socket::Connecting),
            farewell: None,
            is_connect_told: false,
            is_body_taken: false,
            promised: None,
            trailers: Trailers::default(),
            receivers: Vec::new(),
            senders: Vec::new(),
            task: None,
        }
    }

    /// The application, or the server in its place, closes the WebSocket connection.
    pub(super) fn close(&mut self, code: u16, reason: &[u8]) {
        if self.websocket.replace(Socket::Closed) == Some(Socket::Open) {
            self.farewell = Some((code, reason.to_vec()));
        }
    }

    /// Whether less of the body was sent than the head speaks of.
    pub(super) fn is_short(&self) -> bool {
        self.promised.is_some_and(|promised| promised > 0)
    }
}
