//! Hands a request to an application and its answer to the client.

mod content;
mod delivery;
mod upload;

use std::net::IpAddr;
use std::pin::pin;

use corral_channel::MAX_INLINE_BODY;
use corral_channel::message::{self, RequestHead};
use corral_config::address::ListenAddress;
use corral_http::request::Framing;
use smallvec::SmallVec;

use self::delivery::relay;
use self::upload::Upload;
use crate::answer::{program, websocket};
use crate::client::connection::Connection;
use crate::event_loop::deadline::{Deadline, Elapsed};
use crate::instance::{App, Exchange, Failure, Patience, Piece};
use crate::io::Stream;
use crate::observe::telemetry::TRACEPARENT;
use crate::reply::interim;
use crate::request::body::rest::RequestBody;
use crate::request::body::{BodyError, Stored};
use crate::request::client::Gone;
use crate::request::head::Request;
use crate::request::ip_text;
use crate::storage::buffers;
use crate::transaction::Transaction;

/// Answers a request by an application.
pub(crate) async fn answer(tx: &mut Transaction<'_>, app: usize, target: u16) -> Result<(), Gone> {
    let Some(app) = tx.settings.generation.apps.get(app) else { return tx.send_error(503).await };
    if app.runs_programs() {
        return program::answer(tx, app).await;
    }
    if let Some(status) = websocket::refusal(tx.request) {
        tx.reply.close = true;
        return tx.send_error(status).await;
    }
    let (mut body, upload) = match receive(tx, &app.app).await {
        Ok(received) => received,
        Err(error) => return tx.fail_body(&error).await,
    };
    if websocket::is_wanted(tx.request) {
        body.rest = RequestBody::Messages;
    }
    let payload = encode(tx, &body, target);
    if payload.len() + body.inline.len() > corral_channel::MAX_REQUEST_PAYLOAD {
        tracing::warn!("\"{}\": a request head of {} bytes is too large", app.app.spec.name, payload.len());
        buffers::give(payload);
        return tx.send_error(431).await;
    }
    let exchange = app.begin(payload, body.inline, body.rest, tx.connection.now());
    let mut answer = Answer { exchange: &exchange, upload, refused: None };
    let answered = relay(tx, &mut answer, &app.app, body.held).await;
    let refused = answer.refused;
    drop(exchange);
    match refused {
        Some(error) => tx.fail_body(&error).await,
        None => answered,
    }
}

/// The request's body, or what goes on as it comes if the application takes it so. What answers in the place of an error
/// gets none, because somebody may have had it already.
async fn receive(tx: &mut Transaction<'_>, app: &App) -> Result<(Stored, Option<Upload>), BodyError> {
    if tx.answers_error() {
        return Ok((Stored::none(), None));
    }
    let rules = tx.rules();
    let Transaction { incoming, connection, rest, .. } = tx;
    if !app.streams() {
        return Ok((incoming.store(connection, rest, rules).await?, None));
    }
    let at_hand = incoming.take_at_hand(connection, rest, rules).await?;
    if incoming.is_done() && at_hand.len() <= MAX_INLINE_BODY {
        return Ok((Stored::inline(at_hand), None));
    }
    Ok((Stored { rest: RequestBody::Live, ..Stored::none() }, Some(Upload::new(at_hand.into_vec()))))
}

fn encode(tx: &Transaction<'_>, body: &Stored, target: u16) -> Vec<u8> {
    let Request { head, bytes, .. } = tx.request;
    let mut text = AddressText::default();
    let (local_addr, local_port) = text.local(tx.connection);
    let mut remote = AddressText::default();
    let request = RequestHead {
        method: head.method(bytes),
        target: head.target(bytes),
        path: tx.path(),
        query: head.query(bytes).unwrap_or_default(),
        version_minor: head.version_minor(),
        host: head.host(bytes),
        remote_addr: remote.ip(tx.client.address.map(|address| address.ip())),
        local_addr,
        local_port,
        tls: tx.client.tls,
        app_target: target,
        content_length: match body.rest {
            RequestBody::Live => head.content_length(),
            _ => has_body(tx, body).then_some(body.len),
        },
        body_complete: matches!(body.rest, RequestBody::Complete | RequestBody::Messages),
        websocket: matches!(body.rest, RequestBody::Messages),
    };
    let mut payload = buffers::take();
    let parent = tx.trace.as_ref().map(|trace| trace.header());
    let replaced = |name: &[u8]| parent.is_some() && name.eq_ignore_ascii_case(TRACEPARENT);
    let fields = tx.request_fields().filter(|(name, _)| !is_hop_by_hop(name) && !replaced(name));
    let fields = fields.chain(parent.as_ref().map(|parent| (TRACEPARENT, &parent[..])));
    message::encode_request(&mut payload, &request, fields);
    payload
}

/// Whether the request had a body, if only an empty one.
fn has_body(tx: &Transaction<'_>, body: &Stored) -> bool {
    let head = tx.request.head;
    body.len > 0 || head.content_length().is_some() || head.framing() == Framing::Chunked
}

/// Fields that speak of the connection to this server: the application gets the decoded body.
fn is_hop_by_hop(name: &[u8]) -> bool {
    name.len() == 17 && name.eq_ignore_ascii_case(b"transfer-encoding")
}

/// The text of an address, without an allocation.
#[derive(Default)]
struct AddressText {
    text: SmallVec<[u8; 48]>,
}

impl AddressText {
    fn ip(&mut self, ip: Option<IpAddr>) -> &[u8] {
        ip_text::append(ip, &mut self.text);
        &self.text
    }

    /// The address that the client connected to. The kernel is asked only when the listener does not say.
    fn local(&mut self, connection: &Connection) -> (&[u8], u16) {
        let address = match &connection.slot.address {
            ListenAddress::Inet(address) if !address.ip().is_unspecified() => Some(*address),
            ListenAddress::Inet(_) => connection.stream.local_address(),
            ListenAddress::Unix(path) => {
                use std::os::unix::ffi::OsStrExt;
                self.text.extend_from_slice(b"unix:");
                self.text.extend_from_slice(path.as_os_str().as_bytes());
                return (&self.text, 0);
            }
            ListenAddress::Abstract(_) => None,
        };
        (self.ip(address.map(|address| address.ip())), address.map_or(0, |address| address.port()))
    }
}

/// An application's answer, and what there still is of the request's body.
struct Answer<'e> {
    exchange: &'e Exchange,
    /// None once all of it has gone on, or was stored before.
    upload: Option<Upload>,
    /// The body is refused.
    refused: Option<BodyError>,
}

impl Answer<'_> {
    /// The first piece of the response itself. What the client may know before that is sent to it at once.
    async fn first_piece(&mut self, tx: &mut Transaction<'_>) -> Result<Result<Piece, Failure>, Gone> {
        loop {
            match self.next_piece(tx).await? {
                Ok(Piece::Interim(heads)) => interim::send(tx, &heads).await?,
                piece => return Ok(piece),
            }
        }
    }

    /// Waits for the next piece: for as long as the application may be silent, or until the client is gone.
    async fn next_piece(&mut self, tx: &mut Transaction<'_>) -> Result<Result<Piece, Failure>, Gone> {
        let exchange = self.exchange;
        if let Some(upload) = &mut self.upload {
            match upload.run(tx, exchange).await {
                Ok(()) => self.upload = None,
                Err(upload::Stop::Answered) => {}
                Err(upload::Stop::Gone) => return Err(Gone),
                Err(upload::Stop::Failed(failure)) => return Ok(Err(failure)),
                Err(upload::Stop::Refused(error)) => {
                    self.refused = Some(error);
                    return Err(Gone);
                }
            }
        }
        if let Some(piece) = exchange.try_next_piece() {
            return Ok(piece);
        }
        let closes = tx.reply.close;
        let Connection { stream, deadline, .. } = &*tx.connection;
        let waiting = async {
            tokio::select! {
                biased;
                piece = exchange.next_piece() => Ok(piece),
                () = left(stream, exchange, closes) => Err(Gone),
            }
        };
        patiently(deadline, exchange.patience(), || exchange.is_queued(), waiting).await
    }
}

/// Waits until nobody wants the answer any more. A client that only says that it sends nothing more wants it if it has
/// announced that, or if the application is not to be disturbed; but one whose request waits behind others has most
/// likely left, and is not waited for.
pub(super) async fn left(stream: &Stream, exchange: &Exchange, closes: bool) {
    let may_be_usual = closes || !exchange.streams();
    stream.finished().await;
    if may_be_usual && exchange.is_in_hand() {
        exchange.client_left();
        stream.gone(true).await;
    }
}

/// Waits for a worker, or for something from it, for as long as there is patience.
pub(crate) async fn patiently<T>(
    deadline: &Deadline,
    mut patience: Patience,
    is_queued: impl Fn() -> bool,
    waiting: impl Future<Output = Result<Result<T, Failure>, Gone>>,
) -> Result<Result<T, Failure>, Gone> {
    let mut waiting = pin!(waiting);
    loop {
        let Some(step) = patience.step() else { return waiting.await };
        match deadline.limit(step, waiting.as_mut()).await {
            Ok(result) => return result,
            Err(Elapsed) => {
                if let Some(failure) = patience.end_step(is_queued()) {
                    return Ok(Err(failure));
                }
            }
        }
    }
}

/// Answers a request that an application did not.
pub(crate) async fn fail(tx: &mut Transaction<'_>, app: &App, failure: &Failure) -> Result<(), Gone> {
    if failure.is_overload() {
        app.count_refused();
        tx.reply.retry_after = Some(RETRY_AFTER);
    } else {
        let target = String::from_utf8_lossy(tx.request.head.target(tx.request.bytes));
        tracing::error!("\"{}\": {failure}, request \"{}\"", app.spec.name, target.escape_debug());
    }
    tx.send_error(failure.status()).await
}

/// Seconds after which a client may try again that has found too many others waiting.
const RETRY_AFTER: &[u8] = b"1";
