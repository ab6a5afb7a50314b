//! One client connection: waits for requests without holding buffers, reads their heads, answers them in order.

use std::cell::RefCell;
use std::future::poll_fn;
use std::mem;
use std::net::SocketAddr;
use std::pin::pin;
use std::rc::Rc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use corral_http::request::{Head, HeadError, Progress, parse_head};
use corral_ipc::log::{self, ConnectionId};

use crate::client::accept::{self, Slot, SlotSettings};
use crate::client::admission::Place;
use crate::client::prelude::{self, Prepared};
use crate::control::desk;
use crate::event_loop::EventLoop;
use crate::event_loop::deadline::{Deadline, Elapsed};
use crate::generation::rules::Rules;
use crate::io::{Stream, now};
use crate::storage::buffers;
use crate::transaction;

/// How long a connection lingers after the last reply for a client that still sends.
const LINGER_TIME: Duration = Duration::from_secs(2);

/// How long a connection that was accepted after the end of its listener, or only to be refused, may take to send
/// something.
const LAST_CALL: Duration = Duration::from_secs(1);

/// Bytes that such a client may send before the connection is closed all the same.
const MAX_LINGER_BYTES: usize = 1024 * 1024;

/// Pipelined requests that are answered before other connections of the event loop get their turn.
const REQUESTS_PER_TURN: usize = 32;

/// A client's connection between and during requests. Kept small: tens of thousands of them wait.
pub(crate) struct Connection {
    /// What log lines call it.
    id: ConnectionId,
    pub(crate) event_loop: Rc<EventLoop>,
    pub(crate) slot: Rc<Slot>,
    pub(crate) stream: Stream,
    pub(crate) deadline: Deadline,
    /// The client's address, as the PROXY protocol has it if that is spoken; none for a Unix socket.
    pub(crate) peer: Option<SocketAddr>,
    /// What comes before the first request is done.
    is_prepared: bool,
    /// The last request had a body that is worth a large buffer.
    pub(crate) sends_much: bool,
    place: Place,
    /// A copy of the event loop's, if it is only told why it is refused.
    refused: Option<Rc<()>>,
}

/// What a connection needs while it is busy. In a box that others use after it, so that it is never moved.
#[derive(Default)]
pub(crate) struct Work {
    /// What the client sent: a head, then whatever came along with it.
    pub(crate) input: Vec<u8>,
    pub(crate) head: Head,
    /// When the first byte of the request came.
    started: Option<Instant>,
}

/// What happens to the connection after a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Next {
    /// It is kept for the next request.
    Keep,
    /// It ends here: everything was said and read, or nothing can be any more.
    Close,
    /// Everything was said, but the client may still send: it gets the time to read first.
    Linger,
}

/// How reading a head ended.
pub(crate) enum HeadResult {
    Complete,
    /// The client has closed the connection between two requests.
    Closed,
    /// There was nothing to read after all.
    NothingYet,
    Refused(Refusal),
}

impl Work {
    /// When the request has begun.
    pub(crate) fn started(&self, connection: &Connection) -> Instant {
        self.started.unwrap_or_else(|| connection.now())
    }
}

/// Why there is no request to answer.
#[derive(Debug, Clone, Copy, thiserror::Error)]
pub(crate) enum Refusal {
    #[error(transparent)]
    Malformed(#[from] HeadError),
    #[error("the head did not arrive in time")]
    TimedOut,
    #[error("the client closed the connection within the head")]
    Cut,
    #[error("the client does not speak TLS")]
    PlainOnTls,
    #[error("the client's address has too many connections")]
    Crowded,
}

impl Connection {
    pub(crate) fn new(
        event_loop: Rc<EventLoop>,
        slot: Rc<Slot>,
        stream: Stream,
        peer: Option<SocketAddr>,
        place: Place,
    ) -> Self {
        let deadline = event_loop.deadlines.add(slot.id());
        Self {
            id: next_id(),
            event_loop,
            slot,
            stream,
            deadline,
            peer,
            is_prepared: false,
            sends_much: false,
            place,
            refused: None,
        }
    }

    /// Its first request is answered with the word that there are too many connections.
    pub(crate) fn refuse(&mut self) {
        self.refused = Some(Rc::clone(&self.event_loop.refusing));
    }

    /// Waits for the first byte of a request; false when none will come.
    async fn wait(&self) -> bool {
        if self.stream.is_read() {
            return false;
        }
        let limit = self.patience();
        if limit.is_zero() {
            return false;
        }
        match self.deadline.limit_idle(limit, pin!(self.stream.readable())).await {
            Ok(readable) => readable.is_ok(),
            // A request may have arrived that the event loop has not heard of.
            Err(Elapsed) => self.stream.has_arrived(),
        }
    }

    /// For how long it may wait for a request. On its own, because who waits must not hold a configuration.
    fn patience(&self) -> Duration {
        let settings = self.slot.settings();
        let rules = &settings.generation.shared.rules;
        match (self.slot.keep_idle(), self.is_prepared) {
            _ if self.refused.is_some() => LAST_CALL,
            // Who is to begin with TLS or a header has no reason to wait.
            (None, false) if settings.has_prelude() => rules.idle_timeout.min(rules.header_read_timeout),
            (None, _) => rules.idle_timeout,
            // It was waiting to be accepted when the listener was removed.
            (Some(_), false) => LAST_CALL,
            (Some(limit), true) => limit.min(rules.idle_timeout),
        }
    }

    /// Answers requests until there is nothing more to read for now.
    async fn work(&mut self) -> Next {
        let mut work = take_work();
        let prepared = if self.is_prepared { Prepared::Ready } else { self.prepare(&mut work.input).await };
        let next = match prepared {
            Prepared::Ready => self.answer_requests(&mut work).await,
            Prepared::Waiting => Next::Keep,
            Prepared::PlainOnTls => self.refuse_request(&mut work, Refusal::PlainOnTls).await,
            Prepared::Refused => self.refuse_request(&mut work, Refusal::Crowded).await,
            Prepared::Broken => Next::Linger,
            Prepared::Gone => Next::Close,
        };
        if next == Next::Linger {
            self.linger(&mut work).await;
        }
        give_work(work);
        next
    }

    async fn answer_requests(&mut self, work: &mut Work) -> Next {
        let mut n_answered = 0;
        loop {
            let settings = self.slot.settings();
            let next = match self.read_head(work, &settings).await {
                HeadResult::Complete => {
                    let settings = match desk::watching() {
                        // Boxed, as a daemon has no use for it.
                        Some(desk) => {
                            Box::pin(desk.be_current()).await;
                            self.slot.settings()
                        }
                        None => settings,
                    };
                    transaction::run(self, work, settings).await
                }
                HeadResult::Refused(refusal) => {
                    transaction::refuse(self, work, &settings, refusal).await;
                    Next::Linger
                }
                HeadResult::Closed => Next::Close,
                HeadResult::NothingYet => Next::Keep,
            };
            if next != Next::Keep || work.input.is_empty() {
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
    async fn prepare(&mut self, input: &mut Vec<u8>) -> Prepared {
        self.is_prepared = true;
        let settings = self.slot.settings();
        if self.refused.is_some() {
            return Prepared::Refused;
        }
        if !settings.has_prelude() {
            return Prepared::Ready;
        }
        let limit = settings.generation.shared.rules.header_read_timeout;
        let limit = if self.slot.is_closed() { limit.min(LAST_CALL) } else { limit };
        let accepted_from = prelude::Shown(self.peer);
        let Self { event_loop, stream, deadline, peer, place, .. } = self;
        let admit = |peer| accept::admit(event_loop, &settings, peer, place);
        let begun = || deadline.is_under_way();
        // In a box of its own, so that requests are not as large as handshakes.
        let preparing = Box::pin(prelude::run(stream, peer, admit, begun, &settings, input));
        match deadline.limit_greeting(limit, pin!(preparing)).await {
            Ok(prepared) => prepared,
            Err(Elapsed) => {
                if !self.slot.is_closed() {
                    tracing::info!("{accepted_from}: the connection was not ready in time");
                }
                Prepared::Gone
            }
        }
    }

    /// Answers the first request with why it is not served, once it has shown what it is.
    async fn refuse_request(&mut self, work: &mut Work, reason: Refusal) -> Next {
        let settings = self.slot.settings();
        let refusal = loop {
            match self.read_head(work, &settings).await {
                HeadResult::Complete => break reason,
                HeadResult::Refused(refusal) => break refusal,
                HeadResult::Closed => return Next::Close,
                HeadResult::NothingYet => {}
            }
            if !matches!(self.deadline.limit(LAST_CALL, pin!(self.stream.readable())).await, Ok(Ok(()))) {
                return Next::Close;
            }
        };
        transaction::refuse(self, work, &settings, refusal).await;
        Next::Linger
    }

    /// Reads until the head is complete; what of it is in the input already is looked at first.
    async fn read_head(&mut self, work: &mut Work, settings: &SlotSettings) -> HeadResult {
        let rules = &settings.generation.shared.rules;
        work.head.clear();
        work.started = None;
        let Self { event_loop, stream, deadline, sends_much, .. } = self;
        if !work.input.is_empty()
            && let Some(result) = parse(event_loop, work, rules)
        {
            return result;
        }
        if work.input.is_empty() {
            if *sends_much && stream.tls().is_none() {
                buffers::give(mem::replace(&mut work.input, buffers::take_large()));
            }
            // Being readable may be a false alarm, above all of a fresh connection: it goes on waiting.
            match now(stream.read(&mut work.input)).await {
                None => return HeadResult::NothingYet,
                Some(Ok(0) | Err(_)) => return HeadResult::Closed,
                Some(Ok(_)) => {}
            }
            if let Some(result) = parse(event_loop, work, rules) {
                return result;
            }
            buffers::make_small(&mut work.input);
        }
        let reading = async {
            loop {
                match stream.read(&mut work.input).await {
                    Ok(0) | Err(_) => return cut(work),
                    Ok(_) => {}
                }
                if let Some(result) = parse(event_loop, work, rules) {
                    return result;
                }
            }
        };
        match deadline.limit(rules.header_read_timeout, pin!(reading)).await {
            Ok(result) => result,
            Err(Elapsed) => HeadResult::Refused(Refusal::TimedOut),
        }
    }

    /// Lets the client read the last reply before the connection is reset by what it still sends.
    async fn linger(&mut self, work: &mut Work) {
        if self.stream.shut_down().await.is_err() {
            return;
        }
        let Self { stream, deadline, .. } = self;
        let discarding = async {
            let mut n_discarded = 0;
            while n_discarded < MAX_LINGER_BYTES {
                match stream.discard(&mut work.input).await {
                    Ok(0) | Err(_) => return,
                    Ok(n) => n_discarded += n,
                }
            }
        };
        // Whether it ended by itself makes no difference: the connection is dropped next.
        let _ = deadline.limit(LINGER_TIME, pin!(discarding)).await;
    }

    /// When the event loop woke up for what is being done.
    pub(crate) fn now(&self) -> Instant {
        self.event_loop.deadlines.now()
    }
}

/// Serves a connection to its end. In a box, because a future keeps the place of an argument that it has moved.
pub(crate) async fn run(mut connection: Box<Connection>) {
    let counters = &Rc::clone(&connection.event_loop).counters;
    while connection.wait().await {
        counters.active.add(1);
        // In a box of its own, so that a connection that waits is not as large as one that works.
        let id = connection.id;
        let mut working = Box::into_pin(Box::write(Box::new_uninit(), connection.work()));
        let next = poll_fn(|context| log::about(id, || working.as_mut().poll(context))).await;
        drop(working);
        counters.active.subtract(1);
        if next != Next::Keep {
            break;
        }
    }
    connection.stream.say_goodbye();
    counters.closed.add(1);
}

/// Numbers count up from 1 over all event loops.
fn next_id() -> ConnectionId {
    static LAST: AtomicU64 = AtomicU64::new(0);
    ConnectionId::MIN.saturating_add(LAST.fetch_add(1, Ordering::Relaxed))
}

/// Looks at what has come of a head; with its first byte the request has begun, and counts.
fn parse(event_loop: &EventLoop, work: &mut Work, rules: &Rules) -> Option<HeadResult> {
    let parsed = parse_head(&mut work.head, &work.input, &rules.head);
    if work.started.is_none() && work.head.has_begun(&work.input) {
        work.started = Some(event_loop.deadlines.now());
        event_loop.counters.requests.add(1);
    }
    match parsed {
        Ok(Progress::Complete { .. }) => Some(HeadResult::Complete),
        Ok(Progress::Partial) => None,
        Err(error) => Some(HeadResult::Refused(error.into())),
    }
}

fn cut(work: &Work) -> HeadResult {
    if work.head.has_begun(&work.input) { HeadResult::Refused(Refusal::Cut) } else { HeadResult::Closed }
}

thread_local! {
    #[expect(clippy::vec_box, reason = "what is kept goes to the next request without being moved")]
    static KEPT: RefCell<Vec<Box<Work>>> = const { RefCell::new(Vec::new()) };
}

/// What is kept for the next requests.
const MAX_KEPT: usize = 64;

fn take_work() -> Box<Work> {
    let mut work = KEPT.with_borrow_mut(Vec::pop).unwrap_or_default();
    work.input = buffers::take();
    work
}

fn give_work(mut work: Box<Work>) {
    buffers::give(mem::take(&mut work.input));
    KEPT.with_borrow_mut(|kept| {
        if kept.len() < MAX_KEPT {
            kept.push(work);
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn size_of_task<F>(_: fn(Box<Connection>) -> F) -> usize {
        size_of::<F>()
    }

    /// Tens of thousands of connections wait at a time: what they need to work must not be among this.
    #[test]
    fn a_waiting_connection_is_small() {
        let size = size_of_task(run);
        assert!(size <= 256, "the task of a connection has {size} bytes");
    }
}
