//! The loop of a connection: waits for requests without holding buffers, reads their heads, and has them answered in
//! order.

use std::future::poll_fn;
use std::mem;
use std::pin::pin;
use std::rc::Rc;
use std::time::Duration;

use corral_ipc::log;

use crate::client::address;
use crate::client::connection::{AfterRequest, ClientConnection};
use crate::client::handshake::HandshakeCount;
use crate::client::http1::head::{HeadRefusal, HeadResult};
use crate::client::linger;
use crate::client::prelude::{self, PreludeOutcome};
use crate::client::request_state::RequestState;
use crate::client::{http1, http2};
use crate::clock::deadline::Elapsed;
use crate::counters::connections::ActiveConnection;
use crate::dev_reload;
use crate::io::session::ServerSession;
use crate::tls::NoCertificate;

/// How long a connection that was accepted after the end of its listener, or only to be refused, may take to send
/// something.
const LAST_CALL: Duration = Duration::from_secs(1);

/// Pipelined requests that are answered before other connections of the event loop get their turn.
const REQUESTS_PER_TURN: usize = 32;

/// Serves a connection to its end. In a box, because a future keeps the place of an argument that it has moved.
pub(crate) async fn run(mut connection: Box<ClientConnection>) {
    while connection.wait().await {
        // In a box of its own, so that a connection that waits is not as large as one that works.
        let id = connection.id;
        let mut working = Box::into_pin(Box::write(Box::new_uninit(), connection.work_counted()));
        let next = poll_fn(|context| log::about(id, || working.as_mut().poll(context))).await;
        drop(working);
        match next {
            AfterRequest::Keep => {}
            AfterRequest::Http2(input) => {
                Box::pin(http2::run(connection, input)).await;
                return;
            }
            AfterRequest::Close | AfterRequest::Linger => break,
        }
    }
    connection.stream.say_goodbye();
}

impl ClientConnection {
    /// Waits for the first byte of a request; false when none will come.
    async fn wait(&self) -> bool {
        if self.stream.is_read() {
            return false;
        }
        let limit = self.idle_limit();
        if limit.is_zero() {
            return false;
        }
        let readable = poll_fn(|context| self.stream.poll_readable(context));
        match self.deadline.limit_idle(limit, pin!(readable)).await {
            Ok(readable) => readable.is_ok(),
            // A request may have arrived that the event loop has not heard of.
            Err(Elapsed) => self.stream.has_arrived(),
        }
    }

    /// For how long it may wait for a request. On its own, because a connection that waits must not hold a
    /// configuration.
    fn idle_limit(&self) -> Duration {
        let settings = self.handle.settings();
        let rules = &settings.generation.shared.request_settings;
        match (self.handle.keep_idle(), self.is_prepared) {
            _ if self.refused.is_some() => LAST_CALL,
            // A client that is to begin with TLS or a header has no reason to wait.
            (None, false) if settings.has_prelude() => rules.idle_timeout.min(rules.header_read_timeout),
            (None, _) => rules.idle_timeout,
            // It was waiting to be accepted when the listener was removed.
            (Some(_), false) => LAST_CALL,
            (Some(limit), true) => limit.min(rules.idle_timeout),
        }
    }

    /// The same as `work`, of a connection that counts as active meanwhile.
    async fn work_counted(&mut self) -> AfterRequest {
        let services = Rc::clone(&self.services);
        let _active = ActiveConnection::begin(&services.counters);
        self.work().await
    }

    /// Answers requests until there is nothing more to read for now.
    async fn work(&mut self) -> AfterRequest {
        let mut work = RequestState::take();
        let prepared =
            if self.is_prepared { PreludeOutcome::Ready } else { self.prepare(&mut work.input).await };
        let next = match prepared {
            PreludeOutcome::Ready if self.stream.tls().is_some_and(ServerSession::speaks_http2) => {
                AfterRequest::Http2(mem::take(&mut work.input))
            }
            PreludeOutcome::Ready => self.answer_requests(&mut work).await,
            PreludeOutcome::Waiting => AfterRequest::Keep,
            PreludeOutcome::PlainOnTls => self.refuse_request(&mut work, HeadRefusal::PlainOnTls).await,
            PreludeOutcome::Refused => self.refuse_request(&mut work, HeadRefusal::Crowded).await,
            PreludeOutcome::NoCertificate(reason) => {
                self.note_no_certificate(reason);
                AfterRequest::Linger
            }
            PreludeOutcome::Validated | PreludeOutcome::Broken => AfterRequest::Linger,
            PreludeOutcome::Gone => AfterRequest::Close,
        };
        if next == AfterRequest::Linger {
            linger::run(&mut self.stream, &self.deadline, &mut work.input).await;
        }
        work.give();
        next
    }

    async fn answer_requests(&mut self, work: &mut RequestState) -> AfterRequest {
        let mut n_answered = 0;
        loop {
            let settings = self.handle.settings();
            let next = match self.read_head(work, &settings).await {
                HeadResult::Complete => {
                    let settings = match dev_reload::watching() {
                        // Boxed, as a daemon has no use for it.
                        Some(dev) => {
                            Box::pin(dev.be_current()).await;
                            self.handle.settings()
                        }
                        None => settings,
                    };
                    http1::run(self, work, settings).await
                }
                HeadResult::Refused(refusal) => {
                    http1::refuse(self, work, &settings, refusal).await;
                    AfterRequest::Linger
                }
                HeadResult::Http2 => return AfterRequest::Http2(mem::take(&mut work.input)),
                HeadResult::Closed => AfterRequest::Close,
                HeadResult::NothingYet => AfterRequest::Keep,
            };
            if next != AfterRequest::Keep || work.input.is_empty() {
                return next;
            }
            n_answered += 1;
            if n_answered == REQUESTS_PER_TURN {
                n_answered = 0;
                tokio::task::yield_now().await;
            }
        }
    }

    /// Does what comes before the first request.
    pub(super) async fn prepare(&mut self, input: &mut Vec<u8>) -> PreludeOutcome {
        self.is_prepared = true;
        let settings = self.handle.settings();
        if self.refused.is_some() {
            return PreludeOutcome::Refused;
        }
        if !settings.has_prelude() {
            return PreludeOutcome::Ready;
        }
        let limit = settings.generation.shared.request_settings.header_read_timeout;
        let limit = if self.handle.is_closed() { limit.min(LAST_CALL) } else { limit };
        let accepted_from = prelude::ShownPeer(self.peer);
        let Self { services, stream, deadline, peer, permit, .. } = self;
        let admit = |peer| address::admit(services, &settings, peer, permit);
        let begun = || deadline.is_under_way();
        let handshake = HandshakeCount::new(&services.counters.traffic.tls);
        // In a box of its own, so that requests are not as large as handshakes.
        let preparing = Box::pin(prelude::run(stream, peer, admit, (begun, handshake), &settings, input));
        match deadline.limit_greeting(limit, pin!(preparing)).await {
            Ok(prepared) => prepared,
            Err(Elapsed) => {
                if !self.handle.is_closed() {
                    tracing::info!("{accepted_from}: the connection was not ready in time");
                }
                PreludeOutcome::Gone
            }
        }
    }

    pub(super) fn note_no_certificate(&self, reason: NoCertificate) {
        let name = self.stream.tls().map(ServerSession::server_name).unwrap_or_default();
        self.services.uncertified.note(name, reason, self.peer, self.now());
    }

    /// Answers the first request with why it is not served, once it has shown what it is.
    async fn refuse_request(&mut self, work: &mut RequestState, reason: HeadRefusal) -> AfterRequest {
        let settings = self.handle.settings();
        let refusal = loop {
            match self.read_head(work, &settings).await {
                HeadResult::Complete => break reason,
                HeadResult::Refused(refusal) => break refusal,
                HeadResult::Http2 | HeadResult::Closed => return AfterRequest::Close,
                HeadResult::NothingYet => {}
            }
            if !matches!(self.deadline.limit(LAST_CALL, pin!(self.stream.readable())).await, Ok(Ok(()))) {
                return AfterRequest::Close;
            }
        };
        http1::refuse(self, work, &settings, refusal).await;
        AfterRequest::Linger
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn size_of_task<F>(_: fn(Box<ClientConnection>) -> F) -> usize {
        size_of::<F>()
    }

    /// Tens of thousands of connections wait at a time: what they need to work must not be among this. With what tokio
    /// adds, and rounded up to its alignment, the task takes 256 bytes; the next size of the allocator is 512.
    #[test]
    fn a_waiting_connection_is_small() {
        let size = size_of_task(run);
        assert!(size <= 144, "the task of a connection has {size} bytes");
    }
}
