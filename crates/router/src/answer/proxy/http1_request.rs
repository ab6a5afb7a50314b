//! One request on one connection to a server, up to the head of the response.

use std::future::poll_fn;
use std::io::{self, IoSlice};
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use corral_config::upstream::Timeouts;
use corral_http::upstream::{ResponseHead, parse_response};

use super::time_limit::TimeLimit;
use super::upload::Upload;
use crate::exchange::carrier::{Carrier, ClientSignal};
use crate::exchange::downstream::Downstream;
use crate::exchange::response::ResponseWriter;
use crate::io::{SocketInterest, now};
use crate::reply::interim;
use crate::request::body::BodyError;
use crate::request::client::Gone;
use crate::storage::buffers;
use crate::upstream::{ServerConnection, ServerFailure};

/// Room for a read from a server that follows others into the same buffer.
const LEAST_ROOM: usize = 16 * 1024;

/// Longest head of a response, as in Unit.
pub(super) const MAX_HEAD: usize = 64 * 1024;

/// Heads before that of the response: a server that has something to say now and then says less.
pub(super) const MOST_INTERIM: u32 = 1000;

/// A response whose head has arrived.
pub(crate) struct ResponseStart {
    pub(crate) head: ResponseHead,
    /// The head and what came with it.
    pub(crate) input: Vec<u8>,
}

impl ResponseStart {
    /// Copies the fields to the reply that switches the client's connection, too.
    pub(super) fn copy_fields(&self, response: &mut ResponseWriter<'_, '_>) {
        for (name, value) in self.head.fields(&self.input) {
            response.reply.fields.push_checked(name, value);
        }
    }
}

/// Why there is no answer.
pub(crate) enum Http1Failure {
    /// The server's fault, and whether anything of a response had arrived.
    Server(ServerFailure),
    /// The request's body could not be read.
    Body(BodyError),
    /// The answer is not waited for any more.
    Gone,
}

impl From<ServerFailure> for Http1Failure {
    fn from(failure: ServerFailure) -> Self {
        Self::Server(failure)
    }
}

impl From<Gone> for Http1Failure {
    fn from(_: Gone) -> Self {
        Self::Gone
    }
}

/// The next thing to do for a request that is on its way.
pub(crate) enum Http1Event<R = io::Result<usize>> {
    /// So many bytes were received, or none at the end; for HTTP/2, what a stream has brought.
    Received(R),
    /// The server takes more.
    Room,
    /// More of the body came from the client, or why none will.
    Client(Result<(), BodyError>),
    /// The client is gone.
    Gone,
    /// Nothing has happened for too long.
    Elapsed,
}

/// A request whose head is still to be sent.
pub(crate) struct Http1Request<'e> {
    pub(crate) connection: &'e mut ServerConnection,
    pub(crate) upload: &'e mut Upload,
    pub(crate) timeouts: &'e Timeouts,
    /// The request's head, as far as it was not sent.
    pub(crate) request: OutgoingHead,
    /// Interim heads of the server are meant for the client.
    pub(crate) passes_interim: bool,
}

/// A head on its way out, whose buffer is given back as soon as it is gone.
pub(crate) struct OutgoingHead {
    bytes: Vec<u8>,
    n_sent: usize,
}

impl OutgoingHead {
    pub(crate) fn new(bytes: Vec<u8>) -> Self {
        Self { bytes, n_sent: 0 }
    }

    pub(super) fn pending(&self) -> &[u8] {
        &self.bytes[self.n_sent..]
    }

    pub(super) fn advance(&mut self, n: usize) {
        self.n_sent += n;
        if self.pending().is_empty() {
            self.abandon();
        }
    }

    /// Nothing more of it is sent.
    pub(super) fn abandon(&mut self) {
        self.n_sent = 0;
        buffers::give(std::mem::take(&mut self.bytes));
    }
}

impl Drop for OutgoingHead {
    fn drop(&mut self) {
        self.abandon();
    }
}

impl Http1Request<'_> {
    /// Sends the request and waits for the head of the response.
    pub(crate) async fn run(
        mut self,
        response: &mut ResponseWriter<'_, '_>,
    ) -> Result<ResponseStart, Http1Failure> {
        let mut answer = ResponseStart { head: ResponseHead::default(), input: Vec::new() };
        let mut send_error = None;
        let mut n_interim = 0;
        let mut clock = TimeLimit::default();
        loop {
            if let Err(error) = self.send() {
                // The server may have answered before it closed.
                self.upload.abandon();
                self.connection.spoil();
                self.request.abandon();
                send_error = Some(error);
            }
            if let Some(body) = read_client_now(response, self.upload) {
                body.map_err(Http1Failure::Body)?;
                continue;
            }
            match self.next_event(response, &mut clock, &mut answer.input).await {
                Http1Event::Received(Ok(n)) if n > 0 => {
                    if self.take_head(response, &mut answer, &mut n_interim).await? {
                        if self.is_blocked() || !self.upload.is_sent() {
                            // The server may make anything of the rest of the request.
                            self.connection.spoil();
                        }
                        return Ok(answer);
                    }
                    look_for_client(response, self.upload).await?;
                }
                Http1Event::Received(received) => {
                    return Err(ended(received, send_error, !answer.input.is_empty()).into());
                }
                Http1Event::Room => {}
                Http1Event::Client(read) => read.map_err(Http1Failure::Body)?,
                Http1Event::Gone => return Err(Http1Failure::Gone),
                Http1Event::Elapsed => return Err(self.elapsed()),
            }
        }
    }

    /// Sends as much as there is room for.
    fn send(&mut self) -> io::Result<()> {
        while !self.request.pending().is_empty() {
            let head = self.request.pending();
            let pieces = [IoSlice::new(head), IoSlice::new(self.upload.pending())];
            let pieces = if self.upload.pending().is_empty() { &pieces[..1] } else { &pieces[..] };
            let Some(n) = write_now(self.connection, pieces)? else { return Ok(()) };
            let n_head = n.min(head.len());
            self.request.advance(n_head);
            self.upload.advance(n - n_head)?;
        }
        send_body(self.connection, self.upload)
    }

    fn is_blocked(&self) -> bool {
        !self.request.pending().is_empty() || !self.upload.pending().is_empty()
    }

    /// Looks for the head of the response; heads of interim responses are passed over, and counted.
    async fn take_head(
        &self,
        response: &mut ResponseWriter<'_, '_>,
        answer: &mut ResponseStart,
        n_interim: &mut u32,
    ) -> Result<bool, Http1Failure> {
        let ResponseStart { head, input } = answer;
        let mut start = 0;
        let is_there = loop {
            let rest = &input[start..];
            let is_complete = parse_response(head, rest).map_err(ServerFailure::from)?;
            if if is_complete { head.len() } else { rest.len() } > MAX_HEAD {
                return Err(ServerFailure::TooLarge(MAX_HEAD).into());
            }
            if !is_complete || !head.is_interim() {
                break is_complete;
            }
            *n_interim += 1;
            if *n_interim > MOST_INTERIM {
                return Err(ServerFailure::TooManyInterim(MOST_INTERIM).into());
            }
            if self.passes_interim {
                pass_on_interim(response, head, rest).await?;
            }
            start += head.len();
        };
        input.drain(..start);
        Ok(is_there)
    }

    async fn next_event(
        &mut self,
        response: &mut ResponseWriter<'_, '_>,
        clock: &mut TimeLimit,
        input: &mut Vec<u8>,
    ) -> Http1Event {
        let limit = if self.is_blocked() {
            self.timeouts.send
        } else if self.upload.is_starving() {
            response.request.request_settings().body_read_timeout
        } else {
            clock.left(self.timeouts.response, response.now())
        };
        let wants_room = self.is_blocked();
        next_event(response, self.connection, self.upload, wants_room, input, limit).await
    }

    fn elapsed(&self) -> Http1Failure {
        if self.is_blocked() {
            ServerFailure::SendTimedOut(self.timeouts.send).into()
        } else if self.upload.is_starving() {
            Http1Failure::Body(BodyError::TimedOut)
        } else {
            ServerFailure::ResponseTimedOut(self.timeouts.response).into()
        }
    }
}

/// Sends as much of the body as there is room for.
pub(crate) fn send_body(connection: &mut ServerConnection, upload: &mut Upload) -> io::Result<()> {
    while !upload.pending().is_empty() {
        let Some(n) = write_now(connection, &[IoSlice::new(upload.pending())])? else { break };
        upload.advance(n)?;
    }
    Ok(())
}

/// Writes without waiting; none when there is no room.
pub(super) fn write_now(
    connection: &mut ServerConnection,
    pieces: &[IoSlice<'_>],
) -> io::Result<Option<usize>> {
    match connection.try_write(pieces) {
        Ok(n) => Ok(Some(n)),
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
        Err(error) => Err(error),
    }
}

/// The event that comes first: the server sends or takes something, the client sends more of the body or goes away, or
/// nothing happens for too long.
pub(crate) async fn next_event(
    response: &mut ResponseWriter<'_, '_>,
    connection: &mut ServerConnection,
    upload: &mut Upload,
    wants_room: bool,
    input: &mut Vec<u8>,
    limit: Duration,
) -> Http1Event {
    if limit.is_zero() {
        return Http1Event::Elapsed;
    }
    let is_starving = upload.is_starving();
    let sign = response.sign_of_departure();
    let Downstream { carrier, deadline, .. } = &mut *response.client;
    let event = async {
        if !wants_room
            && !is_starving
            && sign == ClientSignal::Finished
            && let Some(event) = response_first(connection, &**carrier, input).await
        {
            return event;
        }
        let client = async {
            if is_starving {
                return Http1Event::Client(
                    poll_fn(|context| upload.poll_take(&mut **carrier, context)).await,
                );
            }
            carrier.gone(sign).await;
            Http1Event::Gone
        };
        let server = async {
            if wants_room {
                if connection
                    .ready(SocketInterest { bytes: true, room: true })
                    .await
                    .is_ok_and(|ready| !ready.bytes)
                {
                    return Http1Event::Room;
                }
            } else if let Err(error) = connection.readable().await {
                return Http1Event::Received(Err(error));
            }
            Http1Event::Received(connection.read(make_room(input)).await)
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
    deadline.limit(limit, pin!(event)).await.unwrap_or(Http1Event::Elapsed)
}

/// Fails when the client has left, which does not show while there is always something from the server.
pub(super) async fn look_for_client(response: &ResponseWriter<'_, '_>, upload: &Upload) -> Result<(), Gone> {
    let sign = match response.sign_of_departure() {
        // Nothing lasts in one look.
        ClientSignal::Lasting => ClientSignal::Broken,
        sign => sign,
    };
    let is_gone = !upload.is_starving() && now(response.client.carrier.gone(sign)).await.is_some();
    if is_gone { Err(Gone) } else { Ok(()) }
}

/// The event that nearly always comes first, and is cheap to wait for; none when the client has done something before,
/// or there is more to look at.
async fn response_first(
    connection: &ServerConnection,
    carrier: &dyn Carrier,
    input: &mut Vec<u8>,
) -> Option<Http1Event> {
    let socket = connection.plain()?;
    poll_fn(|context| {
        while let Poll::Ready(ready) = socket.poll_readable(context) {
            match ready.and_then(|()| socket.receive(make_room(input))) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => give_back(input),
                received => return Poll::Ready(Some(Http1Event::Received(received))),
            }
        }
        carrier.poll_stir(context).map(|()| None)
    })
    .await
}

/// A buffer is taken when there is something to put into it: many requests wait at a time.
pub(super) fn make_room(input: &mut Vec<u8>) -> &mut Vec<u8> {
    if input.capacity() == 0 {
        *input = buffers::take_large();
    }
    input.reserve(LEAST_ROOM);
    input
}

/// Gives the buffer back if there was nothing to put into it after all.
fn give_back(input: &mut Vec<u8>) {
    if input.is_empty() {
        buffers::give(std::mem::take(input));
    }
}

/// Takes what came along with the request's head before anything waits for more.
pub(crate) fn read_client_now(
    response: &mut ResponseWriter<'_, '_>,
    upload: &mut Upload,
) -> Option<Result<(), BodyError>> {
    if !upload.is_starving() {
        return None;
    }
    let carrier = &mut *response.client.carrier;
    let taken = carrier.invite_body().and_then(|()| upload.take(carrier));
    (taken.is_err() || !upload.is_starving()).then_some(taken)
}

const EARLY_HINTS: u16 = 103;

/// Passes on what the client may load already, and nothing else that comes before the response.
pub(super) async fn pass_on_interim(
    response: &mut ResponseWriter<'_, '_>,
    head: &ResponseHead,
    input: &[u8],
) -> Result<(), Gone> {
    if head.status() != EARLY_HINTS {
        return Ok(());
    }
    let mut hints = buffers::take();
    interim::append(&mut hints, EARLY_HINTS, head.fields(input));
    let sent = response.send_interim(&hints).await;
    buffers::give(hints);
    sent
}

/// The connection has ended before there was a head.
fn ended(received: io::Result<usize>, send_error: Option<io::Error>, has_begun: bool) -> ServerFailure {
    match (received, send_error) {
        _ if has_begun => ServerFailure::Cut,
        (_, Some(error)) => ServerFailure::Send(error),
        (Err(error), None) => ServerFailure::Receive(error),
        (Ok(_), None) => ServerFailure::Closed,
    }
}
