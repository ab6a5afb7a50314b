//! One request on one connection to a server, up to the head of the response.

use std::future::poll_fn;
use std::io::{self, IoSlice};
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use corral_config::upstream::Timeouts;
use corral_http::upstream::{ResponseHead, parse_response};

use super::upload::Upload;
use crate::client::connection::Connection;
use crate::io::{Stream, Wanted};
use crate::reply::interim;
use crate::request::body::BodyError;
use crate::request::client::Gone;
use crate::storage::buffers;
use crate::transaction::Transaction;
use crate::upstream::{Failure, Line};

/// Room for a read from a server that follows others into the same buffer.
const LEAST_ROOM: usize = 16 * 1024;

/// Longest head of a response, as in Unit.
const MAX_HEAD: usize = 64 * 1024;

/// Heads before that of the response: a server that has something to say now and then says less.
const MOST_INTERIM: u32 = 1000;

/// A response whose head has arrived.
pub(crate) struct Answer {
    pub(crate) head: ResponseHead,
    /// The head and what came with it.
    pub(crate) input: Vec<u8>,
}

/// Why there is no answer.
pub(crate) enum Broken {
    /// The server's fault, and whether anything of a response had arrived.
    Server(Failure),
    /// The request's body could not be read.
    Body(BodyError),
    /// Nobody waits for an answer any more.
    Gone,
}

impl From<Failure> for Broken {
    fn from(failure: Failure) -> Self {
        Self::Server(failure)
    }
}

impl From<Gone> for Broken {
    fn from(_: Gone) -> Self {
        Self::Gone
    }
}

/// What there is to do next for a request that is on its way.
pub(crate) enum Event {
    /// So many bytes were received, or none at the end.
    Received(io::Result<usize>),
    /// The server takes more.
    Room,
    /// So many bytes came from the client, or none at the end.
    Client(io::Result<usize>),
    /// The client is gone.
    Gone,
    /// Nothing has happened for too long.
    Elapsed,
}

/// A request whose head is still to be sent.
pub(crate) struct Exchange<'e> {
    pub(crate) line: &'e mut Line,
    pub(crate) upload: &'e mut Upload,
    pub(crate) timeouts: &'e Timeouts,
    /// The request's head, as far as it was not sent.
    pub(crate) request: Request,
}

/// A head on its way out, whose buffer is given back as soon as it is gone.
pub(crate) struct Request {
    bytes: Vec<u8>,
    n_sent: usize,
}

impl Request {
    pub(crate) fn new(bytes: Vec<u8>) -> Self {
        Self { bytes, n_sent: 0 }
    }

    fn pending(&self) -> &[u8] {
        &self.bytes[self.n_sent..]
    }

    fn advance(&mut self, n: usize) {
        self.n_sent += n;
        if self.pending().is_empty() {
            self.abandon();
        }
    }

    /// Nothing more of it is sent.
    fn abandon(&mut self) {
        self.n_sent = 0;
        buffers::give(std::mem::take(&mut self.bytes));
    }
}

impl Drop for Request {
    fn drop(&mut self) {
        self.abandon();
    }
}

impl Exchange<'_> {
    /// Sends the request and waits for the head of the response.
    pub(crate) async fn run(mut self, tx: &mut Transaction<'_>) -> Result<Answer, Broken> {
        let mut answer = Answer { head: ResponseHead::default(), input: Vec::new() };
        let mut send_error = None;
        let mut n_interim = 0;
        loop {
            if let Err(error) = self.send() {
                // The server may have answered before it closed.
                self.upload.abandon();
                self.line.spoil();
                self.request.abandon();
                send_error = Some(error);
            }
            if let Some(body) = read_client_now(tx, self.upload) {
                body.map_err(Broken::Body)?;
                continue;
            }
            match self.next_event(tx, &mut answer.input).await {
                Event::Received(Ok(n)) if n > 0 => {
                    if take_head(tx, &mut answer, &mut n_interim).await? {
                        if self.is_blocked() || !self.upload.is_sent() {
                            // Nobody knows what it makes of the rest of the request.
                            self.line.spoil();
                        }
                        return Ok(answer);
                    }
                }
                Event::Received(received) => {
                    return Err(ended(received, send_error, !answer.input.is_empty()).into());
                }
                Event::Room => {}
                Event::Client(read) => take_body(tx, self.upload, &read).map_err(Broken::Body)?,
                Event::Gone => return Err(Broken::Gone),
                Event::Elapsed => return Err(self.elapsed()),
            }
        }
    }

    /// Sends as much as there is room for.
    fn send(&mut self) -> io::Result<()> {
        while !self.request.pending().is_empty() {
            let head = self.request.pending();
            let pieces = [IoSlice::new(head), IoSlice::new(self.upload.pending())];
            let pieces = if self.upload.pending().is_empty() { &pieces[..1] } else { &pieces[..] };
            let Some(n) = write_now(self.line, pieces)? else { return Ok(()) };
            let n_head = n.min(head.len());
            self.request.advance(n_head);
            self.upload.advance(n - n_head)?;
        }
        send_body(self.line, self.upload)
    }

    fn is_blocked(&self) -> bool {
        !self.request.pending().is_empty() || !self.upload.pending().is_empty()
    }

    async fn next_event(&mut self, tx: &mut Transaction<'_>, input: &mut Vec<u8>) -> Event {
        let limit = if self.is_blocked() {
            self.timeouts.send
        } else if self.upload.is_starving() {
            tx.rules().body_read_timeout
        } else {
            self.timeouts.response
        };
        let wants_room = self.is_blocked();
        next_event(tx, self.line, self.upload, wants_room, input, limit).await
    }

    fn elapsed(&self) -> Broken {
        if self.is_blocked() {
            Failure::SendTimedOut(self.timeouts.send).into()
        } else if self.upload.is_starving() {
            Broken::Body(BodyError::TimedOut)
        } else {
            Failure::ResponseTimedOut(self.timeouts.response).into()
        }
    }
}

/// Sends as much of the body as there is room for.
pub(crate) fn send_body(line: &mut Line, upload: &mut Upload) -> io::Result<()> {
    while !upload.pending().is_empty() {
        let Some(n) = write_now(line, &[IoSlice::new(upload.pending())])? else { break };
        upload.advance(n)?;
    }
    Ok(())
}

/// None when there is no room.
fn write_now(line: &mut Line, pieces: &[IoSlice<'_>]) -> io::Result<Option<usize>> {
    match line.try_write(pieces) {
        Ok(n) => Ok(Some(n)),
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
        Err(error) => Err(error),
    }
}

/// What happens first: the server sends or takes something, the client sends more of the body or goes away, or
/// nothing does for too long.
pub(crate) async fn next_event(
    tx: &mut Transaction<'_>,
    line: &mut Line,
    upload: &Upload,
    wants_room: bool,
    input: &mut Vec<u8>,
    limit: Duration,
) -> Event {
    let is_starving = upload.is_starving();
    let closes = tx.reply.close;
    let Transaction { connection, rest, .. } = tx;
    let Connection { stream, deadline, .. } = &mut **connection;
    let event = async {
        if !wants_room
            && !is_starving
            && !closes
            && let Some(event) = response_first(line, stream, input).await
        {
            return event;
        }
        let client = async {
            if is_starving {
                rest.reserve(crate::request::body::READ_STEP);
                return Event::Client(stream.read(rest).await);
            }
            stream.gone(closes).await;
            Event::Gone
        };
        let server = async {
            if wants_room {
                if line.ready(Wanted { bytes: true, room: true }).await.is_ok_and(|ready| !ready.bytes) {
                    return Event::Room;
                }
            } else if let Err(error) = line.readable().await {
                return Event::Received(Err(error));
            }
            Event::Received(line.read(make_room(input)).await)
        };
        // In a box of its own, because few requests need it.
        Box::pin(async {
            tokio::select! {
                biased;
                event = server => event,
                event = client => event,
            }
        })
        .await
    };
    deadline.limit(limit, pin!(event)).await.unwrap_or(Event::Elapsed)
}

/// What nearly always happens first, and is cheap to wait for; none when the client has done something before, or
/// there is more to look at.
async fn response_first(line: &Line, stream: &Stream, input: &mut Vec<u8>) -> Option<Event> {
    let socket = line.plain().filter(|_| !stream.is_read())?;
    poll_fn(|context| {
        while let Poll::Ready(ready) = socket.poll_readable(context) {
            match ready.and_then(|()| socket.receive(make_room(input))) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                received => return Poll::Ready(Some(Event::Received(received))),
            }
        }
        stream.poll_readable(context).map(|_| None)
    })
    .await
}

/// A buffer is taken when there is something to put into it: many requests wait at a time.
fn make_room(input: &mut Vec<u8>) -> &mut Vec<u8> {
    if input.capacity() == 0 {
        *input = buffers::take_large();
    }
    input.reserve(LEAST_ROOM);
    input
}

/// Takes what came along with the request's head before anybody waits for more.
pub(crate) fn read_client_now(
    tx: &mut Transaction<'_>,
    upload: &mut Upload,
) -> Option<Result<(), BodyError>> {
    if !upload.is_starving() {
        return None;
    }
    if let Err(error) = tx.incoming.invite(tx.connection, &tx.rest) {
        return Some(Err(error));
    }
    if tx.rest.is_empty() {
        return None;
    }
    let taken = upload.take(tx);
    (taken.is_err() || !upload.is_starving()).then_some(taken)
}

/// Takes what the client has sent.
pub(crate) fn take_body(
    tx: &mut Transaction<'_>,
    upload: &mut Upload,
    read: &io::Result<usize>,
) -> Result<(), BodyError> {
    match read {
        Ok(n) if *n > 0 => upload.take(tx),
        _ => Err(BodyError::Gone),
    }
}

/// Looks for the head of the response; heads of interim responses are passed over, and counted.
async fn take_head(
    tx: &mut Transaction<'_>,
    answer: &mut Answer,
    n_interim: &mut u32,
) -> Result<bool, Broken> {
    let Answer { head, input } = answer;
    let mut start = 0;
    let is_there = loop {
        let rest = &input[start..];
        let is_complete = parse_response(head, rest).map_err(Failure::from)?;
        if if is_complete { head.len() } else { rest.len() } > MAX_HEAD {
            return Err(Failure::TooLarge(MAX_HEAD).into());
        }
        if !is_complete || !head.is_interim() {
            break is_complete;
        }
        *n_interim += 1;
        if *n_interim > MOST_INTERIM {
            return Err(Failure::TooManyInterim(MOST_INTERIM).into());
        }
        if head.status() == EARLY_HINTS {
            send_hints(tx, head, rest).await?;
        }
        start += head.len();
    };
    input.drain(..start);
    Ok(is_there)
}

const EARLY_HINTS: u16 = 103;

/// Passes on what the client may load already.
async fn send_hints(tx: &mut Transaction<'_>, head: &ResponseHead, input: &[u8]) -> Result<(), Gone> {
    let mut hints = buffers::take();
    interim::append(&mut hints, EARLY_HINTS, head.fields(input));
    let sent = interim::send(tx, &hints).await;
    buffers::give(hints);
    sent
}

/// The connection has ended before there was a head.
fn ended(received: io::Result<usize>, send_error: Option<io::Error>, has_begun: bool) -> Failure {
    match (received, send_error) {
        _ if has_begun => Failure::Cut,
        (_, Some(error)) => Failure::Send(error),
        (Err(error), None) => Failure::Receive(error),
        (Ok(_), None) => Failure::Closed,
    }
}
