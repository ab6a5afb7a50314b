//! Hands a request to an application and its answer to the client.

mod content;
mod delivery;
mod empty_error;
mod live_body;

use std::future::pending;
use std::pin::{Pin, pin};
use std::rc::Rc;

use corral_channel::MAX_INLINE_BODY;
use corral_channel::message::{self, RequestHead};
use corral_config::gateway::EntryPoint;
use corral_config::template::PathFault;
use corral_http::request::RequestFraming;
use corral_ipc::message::Refusal;

use self::delivery::relay;
use self::live_body::LiveBody;
use crate::answer::description::ConnectionFacts;
use crate::answer::websocket;
use crate::clock::deadline::{Deadline, Elapsed};
use crate::error_chain::Chain;
use crate::exchange::carrier::ClientSignal;
use crate::exchange::client_presence::ClientPresence;
use crate::exchange::request::RoutedRequest;
use crate::exchange::response::ResponseWriter;
use crate::instance::{AnswerPiece, AppCall, AppFailure, AppInstance, LoopApp, RequestTimeouts};
use crate::request::body::rest::RequestBody;
use crate::request::body::{BodyError, StoredBody};
use crate::request::client::Gone;
use crate::storage::buffers;

/// Answers a request by a target of an application, which gets the variables of `entry`.
pub(crate) async fn answer(
    response: &mut ResponseWriter<'_, '_>,
    app: &Rc<LoopApp>,
    (target, entry): (u16, Option<&EntryPoint>),
) -> Result<(), Gone> {
    if let Some(status) = websocket::refusal(response.request.received) {
        response.reply.refuse(Refusal::Malformed);
        response.reply.close = true;
        return response.send_error(status).await;
    }
    let (mut body, live_body) = match receive(response, &app.app).await {
        Ok(received) => received,
        Err(error) => return response.fail_body(&error).await,
    };
    if websocket::is_wanted(response.request.received) {
        body.rest = RequestBody::Messages;
    }
    let params = match params(response, entry) {
        Ok(params) => params,
        Err(PathFault::Script(exception)) => return response.fail_script(&exception).await,
        Err(stray @ PathFault::Stray(_)) => {
            tracing::info!("\"{}\": {stray}", app.app.spec.name);
            return response.send_error(404).await;
        }
    };
    response.begin_part();
    let payload = encode(response, &body, (target, &params));
    if payload.len() + body.inline.len() > corral_channel::MAX_REQUEST_PAYLOAD {
        tracing::warn!("\"{}\": a request head of {} bytes is too large", app.app.spec.name, payload.len());
        buffers::give(payload);
        response.reply.refuse(Refusal::TooLarge);
        return response.send_error(431).await;
    }
    let began = response.now();
    let call = app.begin(payload, body.inline, body.rest, began);
    let mut app_exchange = AppExchange { call: &call, live_body, refused: None };
    let answered = relay(response, &mut app_exchange, &app.app, body.held).await;
    let refused = app_exchange.refused;
    // Before an error page is sent, for which the client may take its time.
    let failure = answered.as_ref().err().and_then(Unanswered::failure);
    response.note_run(&app.app.spec.name, call.times(began, response.now(), failure));
    drop(call);
    match (refused, &answered) {
        (Some(error), _) => response.fail_body(&error).await,
        (None, Ok(())) => Ok(()),
        (None, Err(Unanswered::Gone)) => Err(Gone),
        (None, Err(Unanswered::Failed(failure))) => fail(response, app, failure).await,
    }
}

/// Why the client has not got all of an answer.
enum Unanswered {
    /// The answer is not waited for any more, or was cut off.
    Gone,
    /// Nothing was sent to the client.
    Failed(AppFailure),
}

impl Unanswered {
    fn failure(&self) -> Option<&AppFailure> {
        match self {
            Self::Gone => None,
            Self::Failed(failure) => Some(failure),
        }
    }
}

impl From<Gone> for Unanswered {
    fn from(_: Gone) -> Self {
        Self::Gone
    }
}

impl From<AppFailure> for Unanswered {
    fn from(failure: AppFailure) -> Self {
        Self::Failed(failure)
    }
}

/// The request's body, or what goes on as it comes if the application takes it so. An action in the place of
/// another gets none, because the first one may have had it already.
async fn receive(
    response: &mut ResponseWriter<'_, '_>,
    app: &AppInstance,
) -> Result<(StoredBody, Option<LiveBody>), BodyError> {
    if response.answers_in_place() {
        return Ok((StoredBody::none(), None));
    }
    if !app.streams() || response.client.bounds().request_buffering {
        return Ok((response.client.store_body().await?, None));
    }
    let at_hand = response.client.take_body_at_hand().await?;
    if response.client.carrier.body_is_done() && at_hand.len() <= MAX_INLINE_BODY {
        return Ok((StoredBody::inline(at_hand), None));
    }
    Ok((
        StoredBody { rest: RequestBody::Live, ..StoredBody::none() },
        Some(LiveBody::new(at_hand.into_vec())),
    ))
}

/// The variables of the configuration, with their values for the request.
fn params(response: &ResponseWriter<'_, '_>, entry: Option<&EntryPoint>) -> Result<Vec<u8>, PathFault> {
    let mut params = Vec::new();
    if let Some(root) = entry.and_then(|entry| entry.root.as_ref()) {
        let mut folder = Vec::new();
        root.render_folder(&mut response.variables(), &mut folder)?;
        message::params::add(&mut params, message::params::ROOT, Some(&folder));
    }
    for (name, template) in response.params(entry) {
        let mut value = Vec::new();
        if let Some(template) = template {
            template.render(&mut response.variables(), &mut value)?;
        }
        message::params::add(&mut params, name.as_bytes(), template.as_ref().map(|_| &*value));
    }
    Ok(params)
}

fn encode(response: &ResponseWriter<'_, '_>, body: &StoredBody, (target, params): (u16, &[u8])) -> Vec<u8> {
    let facts = ConnectionFacts::of(response);
    let request = RequestHead {
        app_target: target,
        content_length: match body.rest {
            RequestBody::Live => response.request.received.head.content_length(),
            _ => has_body(response.request, body).then_some(body.len),
        },
        body_complete: matches!(body.rest, RequestBody::Complete | RequestBody::Messages),
        websocket: matches!(body.rest, RequestBody::Messages),
        params,
        ..facts.describe(response.request)
    };
    let mut payload = buffers::take();
    message::encode_request(&mut payload, &request, facts.fields(response.request));
    payload
}

/// Whether the request had a body, if only an empty one.
fn has_body(request: &RoutedRequest<'_>, body: &StoredBody) -> bool {
    let head = request.received.head;
    body.len > 0 || head.content_length().is_some() || head.framing() == RequestFraming::Chunked
}

/// A request while an application answers it, with what there still is of its body.
struct AppExchange<'e> {
    call: &'e AppCall,
    /// The part that still comes; none once all of it has gone on, or was stored before.
    live_body: Option<LiveBody>,
    /// The body is refused.
    refused: Option<BodyError>,
}

impl AppExchange<'_> {
    /// The first piece of the response itself. What the client may know before that is sent to it at once.
    async fn first_piece(
        &mut self,
        response: &mut ResponseWriter<'_, '_>,
    ) -> Result<Result<AnswerPiece, AppFailure>, Gone> {
        loop {
            match self.next_piece(response).await? {
                Ok(AnswerPiece::Interim(heads)) => response.send_interim(&heads).await?,
                piece => return Ok(piece),
            }
        }
    }

    /// Waits for the next piece: for as long as the application may be silent, or until the client is gone.
    async fn next_piece(
        &mut self,
        response: &mut ResponseWriter<'_, '_>,
    ) -> Result<Result<AnswerPiece, AppFailure>, Gone> {
        let call = self.call;
        if let Some(live_body) = &mut self.live_body {
            // Boxed, because most requests have all of their body by now.
            match Box::pin(live_body.run(response, call)).await {
                Ok(()) => self.live_body = None,
                Err(live_body::BodyStop::Answered) => {}
                Err(live_body::BodyStop::Gone) => return Err(Gone),
                Err(live_body::BodyStop::Failed(failure)) => return Ok(Err(failure)),
                Err(live_body::BodyStop::Refused(error)) => {
                    self.refused = Some(error);
                    return Err(Gone);
                }
            }
        }
        if let Some(piece) = call.try_next_piece() {
            return Ok(piece);
        }
        let (presence, deadline) = (response.presence(), response.client.deadline);
        let waiting = async {
            tokio::select! {
                biased;
                piece = call.next_piece() => Ok(piece),
                () = left(presence, call) => Err(Gone),
            }
        };
        with_timeouts(deadline, call.timeouts(), || call.is_queued(), pin!(waiting)).await
    }
}

/// Waits until the answer is of no use any more. A client that only says that it sends nothing more wants it if it has
/// announced that, or if the application is not to be disturbed; but one whose request waits behind others has most
/// likely left, and is not waited for.
pub(super) async fn left(presence: ClientPresence<'_>, call: &AppCall) {
    presence.gone(ClientSignal::Finished).await;
    if call.is_queued() && presence.is_run_without() {
        return pending().await;
    }
    let may_be_usual = presence.closes || !call.streams();
    if may_be_usual && call.is_in_hand() {
        call.client_left();
        presence.gone(if call.streams() { ClientSignal::Lasting } else { ClientSignal::Broken }).await;
    }
}

/// Waits for a worker, or for something from it, until a timeout.
pub(crate) async fn with_timeouts<T>(
    deadline: &Deadline,
    mut timeouts: RequestTimeouts,
    is_queued: impl Fn() -> bool,
    mut waiting: Pin<&mut impl Future<Output = Result<Result<T, AppFailure>, Gone>>>,
) -> Result<Result<T, AppFailure>, Gone> {
    loop {
        let Some(step) = timeouts.step() else { return waiting.await };
        match deadline.limit(step, waiting.as_mut()).await {
            Ok(result) => return result,
            Err(Elapsed) => {
                if let Some(failure) = timeouts.end_step(is_queued()) {
                    return Ok(Err(failure));
                }
            }
        }
    }
}

/// Answers a request that an application did not.
pub(crate) async fn fail(
    response: &mut ResponseWriter<'_, '_>,
    app: &LoopApp,
    failure: &AppFailure,
) -> Result<(), Gone> {
    if let Some(refusal) = failure.refusal() {
        response.reply.refuse(refusal);
        // Also where the application is to answer for another refusal.
        app.count_refused(refusal);
    }
    if failure.is_overload() {
        app.app.note_overload();
        response.reply.retry_after = Some(RETRY_AFTER);
    } else {
        let target =
            String::from_utf8_lossy(response.request.received.head.target(response.request.received.bytes));
        let (name, failure) = (&app.app.spec.name, Chain(failure));
        tracing::error!("\"{name}\": {failure}, request \"{}\"", target.escape_debug());
    }
    response.send_error(failure.status()).await
}

/// Seconds after which a client may try again that has found too many others waiting.
const RETRY_AFTER: u32 = 1;
