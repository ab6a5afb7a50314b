//! One connection to a server with the requests on it, whatever the protocol. It begins to connect when it is made.

mod http1;
mod http2;

use std::collections::VecDeque;
use std::mem;
use std::sync::Arc;

use self::http1::Http1;
use self::http2::Http2;
use crate::clock::{Clock, Nanos};
use crate::expect::Expectation;
use crate::failure::Failure;
use crate::outcome::{Job, Marks, Outcome};
use crate::requests::{Protocol, Requests};
use crate::transport::Transport;

/// Parts of a thread that its connections work with.
pub(crate) struct Context {
    pub(crate) clock: Clock,
    pub(crate) requests: Arc<Requests>,
    pub(crate) expectation: Arc<Expectation>,
    pub(crate) protocol: Protocol,
    /// Requests at a time on a connection of HTTP/2.
    pub(crate) n_streams: usize,
    pub(crate) buffer: Box<[u8]>,
    /// Requests that have ended since the engine looked last.
    pub(crate) done: Vec<Outcome>,
    /// Requests that no server has begun, for another connection.
    pub(crate) returned: Vec<Job>,
}

impl Context {
    fn room(&self) -> usize {
        if self.protocol == Protocol::Http2 { self.n_streams } else { 1 }
    }
}

/// A connection; an error of any of its functions means that it is over.
pub(crate) struct Connection {
    pub(crate) origin: usize,
    /// Whether the engine has it in its list of connections with room.
    pub(crate) is_listed: bool,
    stage: Stage,
}

enum Stage {
    Opening {
        transport: Transport,
        jobs: VecDeque<Job>,
    },
    Http1(Http1),
    Http2(Box<Http2>),
    /// Between two of the others.
    Changing,
}

impl Connection {
    pub(crate) fn new(origin: usize, transport: Transport) -> Self {
        Self { origin, is_listed: false, stage: Stage::Opening { transport, jobs: VecDeque::new() } }
    }

    /// Whether the connection takes one more request.
    pub(crate) fn has_room(&self, cx: &Context) -> bool {
        match &self.stage {
            Stage::Opening { jobs, .. } => jobs.len() < cx.room(),
            Stage::Http1(http1) => http1.is_idle(),
            Stage::Http2(http2) => http2.has_room(cx.n_streams),
            Stage::Changing => false,
        }
    }

    /// Takes a request; there has to be room. A request of HTTP/2 leaves with the next [`Self::drive`].
    pub(crate) fn take(&mut self, job: Job, cx: &mut Context) -> Result<(), Failure> {
        match &mut self.stage {
            Stage::Opening { jobs, .. } => jobs.push_back(job),
            Stage::Http1(http1) => return http1.send(job, job.taken, cx),
            Stage::Http2(http2) => http2.take(job),
            Stage::Changing => {}
        }
        Ok(())
    }

    /// Reacts to an event of the socket. After the end of what the server sends, `is_hup` is set.
    pub(crate) fn on_event(&mut self, is_hup: bool, cx: &mut Context) -> Result<(), Failure> {
        if matches!(self.stage, Stage::Opening { .. }) {
            self.advance(cx)?;
        }
        match &mut self.stage {
            Stage::Http1(http1) => http1.on_event(is_hup, cx),
            Stage::Http2(http2) => {
                http2.wake();
                http2.drive(cx)
            }
            Stage::Opening { .. } | Stage::Changing => Ok(()),
        }
    }

    /// Does what requests that were taken ask for, after the last of them.
    pub(crate) fn drive(&mut self, cx: &mut Context) -> Result<(), Failure> {
        match &mut self.stage {
            Stage::Http2(http2) => http2.drive(cx),
            _ => Ok(()),
        }
    }

    /// Goes on with the connection, and sends what waits for it.
    fn advance(&mut self, cx: &mut Context) -> Result<(), Failure> {
        let is_http2 = cx.protocol == Protocol::Http2;
        let Stage::Opening { transport, .. } = &mut self.stage else { return Ok(()) };
        if !transport.advance(is_http2)? {
            return Ok(());
        }
        let Stage::Opening { transport, mut jobs } = mem::replace(&mut self.stage, Stage::Changing) else {
            return Ok(());
        };
        let ready = cx.clock.now();
        if is_http2 {
            self.stage = Stage::Http2(Box::new(Http2::new(transport, jobs, ready)));
            return Ok(());
        }
        let mut http1 = Http1::new(transport);
        let sent = jobs.pop_front().map_or(Ok(()), |job| http1.send(job, ready, cx));
        self.stage = Stage::Http1(http1);
        sent
    }

    /// Gives up one request. The rest of the connection may go on if this returns no error.
    pub(crate) fn expire(&mut self, place: u64, cx: &mut Context) -> Result<(), Failure> {
        match &mut self.stage {
            Stage::Http2(http2) => http2.expire(place, cx),
            // The answer may come yet, and nothing else can be asked before it.
            _ => Err(Failure::Timeout),
        }
    }

    /// Ends all requests that are left.
    pub(crate) fn abandon(&mut self, failure: Failure, cx: &mut Context) {
        let end = cx.clock.now();
        match &mut self.stage {
            Stage::Opening { jobs, .. } => {
                let failed =
                    |job: Job| Outcome::failed(job, Marks { ready: end, ..Marks::default() }, end, failure);
                cx.done.extend(jobs.drain(..).map(failed));
            }
            Stage::Http1(http1) => http1.abandon(failure, end, cx),
            Stage::Http2(http2) => http2.abandon(failure, end, cx),
            Stage::Changing => {}
        }
    }
}

/// The length of a time that is over, if it has begun.
pub(crate) fn between(from: Nanos, to: Nanos) -> Nanos {
    if from == 0 { 0 } else { to.saturating_sub(from) }
}
