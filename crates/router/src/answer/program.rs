//! Hands a request to a program of an application when it is its turn, and passes the answer on as that of a proxied
//! server: bodies as streams, upgrades, connections that are used again. Programs of FastCGI and CGI get a
//! `GatewayRequest`.
//!
//! The pool treats a program as a worker to which nothing is handed over: it tells the waiting connection that its turn
//! has come. The end of the turn is what the end of a response is on a channel. An upgrade turns it into a tunnel,
//! which keeps the program alive but is not a request of the pool. A program is told to end after its last turn, never
//! in the middle of a request.
//!
//! A request that must not be repeated is sent to a FastCGI program only when the kernel shows that the program is
//! back, or has read its beginning.

use std::cell::Cell;
use std::iter;
use std::pin::pin;
use std::rc::Rc;

use corral_channel::message::{self, RequestHead};
use corral_ipc::message::Refusal;

use crate::answer::application::{fail, with_timeouts};
use crate::answer::proxy::{
    Attempt, AttemptOutcome, FailedAttempt, GatewayRequest, ProgramRequest, RetryState, RetryTarget, Upload,
    UploadDestination, await_return,
};
use crate::answer::websocket;
use crate::error_chain::Chain;
use crate::exchange::request::RoutedRequest;
use crate::exchange::response::ResponseWriter;
use crate::instance::{AppFailure, AppInstance, LoopApp, ProgramTurn, ReadyProgram};
use crate::request::client::Gone;
use crate::request::head::ReceivedRequest;
use crate::storage::buffers;
use crate::upstream::{LoopServer, ServerFailure};

/// Answers a request by a program of an application that serves HTTP.
pub(crate) async fn answer(response: &mut ResponseWriter<'_, '_>, app: &Rc<LoopApp>) -> Result<(), Gone> {
    if app.is_written_for_unit()
        && let Some(status) = websocket::refusal(response.request.received)
    {
        response.reply.refuse(Refusal::Malformed);
        response.reply.close = true;
        return response.send_error(status).await;
    }
    match Upload::begin(response, UploadDestination::Http1).await {
        Ok(upload) => give(response, app, upload, None).await,
        Err(error) => response.fail_body(&error).await,
    }
}

/// Gives a request to a program of an application, as a `GatewayRequest` or in HTTP.
pub(crate) async fn give(
    response: &mut ResponseWriter<'_, '_>,
    app: &Rc<LoopApp>,
    mut upload: Upload,
    gateway_request: Option<&GatewayRequest>,
) -> Result<(), Gone> {
    // One in HTTP has been repeated where that helps.
    let may_repeat = gateway_request.is_some() && response.request.received.is_idempotent();
    let mut retries = RetryState::new(RetryTarget::Program, may_repeat);
    loop {
        // A description names one part for all programs that get it.
        if gateway_request.is_none() {
            response.begin_part();
        }
        let queued = response.now();
        let turn = app.begin_turn(describe(response.request), queued);
        let waited = wait(response, &turn).await;
        if !matches!(waited, Ok(Ok(_))) {
            response.note_run(&app.app.spec.name, turn.times(queued, response.now(), None));
        }
        let program = match waited? {
            Ok(program) => program,
            Err(failure) => return fail(response, app, &failure).await,
        };
        let server = app.server(&program, &response.services.proxy_servers);
        let held_turn = HeldTurn { turn, is_free: Cell::new(false) };
        let asked = match gateway_request {
            None => ask(response, app, &held_turn, &server, &mut upload).await,
            Some(gateway_request) => {
                // One that cannot be repeated, and one that was.
                let is_careful = !retries.may_repeat();
                let on_end = || {
                    program.note_answer();
                    held_turn.free();
                };
                let program_request = ProgramRequest {
                    server: &server,
                    upload: &mut upload,
                    gateway_request,
                    on_end: &on_end,
                    is_careful,
                };
                // A program that closes a connection may have had the request that came there.
                let outcome = program_request.run(response).await;
                outcome.map(|outcome| (outcome, false))
            }
        };
        let times = held_turn.turn.times(queued, response.now(), Some(program.pid));
        response.note_run(&app.app.spec.name, times);
        let verdict = program.verdict(held_turn.turn.request());
        held_turn.end(asked.as_ref().ok().map(|(outcome, _)| outcome), &server);
        let (outcome, was_sent) = asked?;
        let failure = match outcome {
            AttemptOutcome::Answered => return Ok(()),
            AttemptOutcome::Body(error) => return response.fail_body(&error).await,
            AttemptOutcome::Cut(failure) => {
                let (app, pid) = (&app.app.spec.name, program.pid);
                let failure = Chain(&failure);
                tracing::error!("\"{app}\": process {pid}: {failure}; the response is cut off");
                return Err(Gone);
            }
            AttemptOutcome::Failed(failure) => failure,
        };
        let is_unreached = matches!(failure, ServerFailure::Connect(_));
        if is_unreached {
            app.app.forsake(&program, &failure);
        }
        // A program that ends after some requests says nothing of the next one.
        let was_used = gateway_request.is_some() && program.has_answered();
        // One that was under way may be what the program has died of: it is not tried on others.
        let is_suspect = if is_unreached { was_sent } else { verdict.is_some() };
        let attempt = FailedAttempt { was_used, is_suspect, ..FailedAttempt::new(&failure) };
        if retries.retry(attempt, &mut upload) {
            continue;
        }
        let failure = verdict.unwrap_or_else(|| explain(failure, &app.app, &program));
        return fail(response, app, &failure).await;
    }
}

/// Asks a program by HTTP. Whether it may have had the request, too.
async fn ask(
    response: &mut ResponseWriter<'_, '_>,
    app: &LoopApp,
    held_turn: &HeldTurn,
    server: &Rc<LoopServer>,
    upload: &mut Upload,
) -> Result<(AttemptOutcome, bool), Gone> {
    let upgraded = || held_turn.free();
    let watched = app.is_written_for_unit().then_some(&*app.app.spec.name);
    let mut attempt = Attempt::new(server, upload).tell_of_upgrade(&upgraded).watch(watched);
    let outcome = attempt.run(response).await?;
    Ok((outcome, attempt.was_sent()))
}

/// The turn of a request, which may be over for the program earlier than for the client.
struct HeldTurn {
    turn: ProgramTurn,
    is_free: Cell<bool>,
}

impl HeldTurn {
    /// The program can do something else; the turn keeps it alive.
    fn free(&self) {
        self.is_free.set(true);
        self.turn.become_tunnel();
    }

    /// The request is over. A program of FastCGI that was left in the middle of it goes on, and knows nothing of that
    /// before it writes: its turn lasts until it is back.
    fn end(self, outcome: Option<&AttemptOutcome>, server: &Rc<LoopServer>) {
        let is_left = !self.is_free.get() && server.shared.slots.is_some();
        if is_left && !matches!(outcome, Some(AttemptOutcome::Failed(ServerFailure::Connect(_)))) {
            let (turn, server) = (self.turn, Rc::clone(server));
            tokio::task::spawn_local(async move {
                await_return(server).await;
                drop(turn);
            });
        }
    }
}

/// The request for lines about one that runs for long or kills its process. The program reads it from its socket.
fn describe(request: &RoutedRequest<'_>) -> Vec<u8> {
    let ReceivedRequest { head, bytes, .. } = request.received;
    let head = RequestHead {
        method: head.method(bytes),
        target: head.target(bytes),
        path: b"",
        query: b"",
        host: b"",
        remote_addr: b"",
        remote_port: 0,
        remote_user: b"",
        auth_type: b"",
        local_addr: b"",
        local_port: 0,
        version: request.received.version(),
        tls: request.client.tls,
        app_target: 0,
        content_length: None,
        body_complete: true,
        websocket: false,
        params: b"",
    };
    let mut payload = buffers::take();
    message::encode_request(&mut payload, &head, iter::empty());
    payload
}

/// Waits for the turn: for as long as a request may, or until the client is gone.
async fn wait(
    response: &ResponseWriter<'_, '_>,
    turn: &ProgramTurn,
) -> Result<Result<std::sync::Arc<ReadyProgram>, AppFailure>, Gone> {
    if let Some(begun) = turn.try_begin() {
        return Ok(begun);
    }
    let deadline = response.client.deadline;
    let waiting = async {
        tokio::select! {
            biased;
            begun = turn.begin() => Ok(begun),
            () = response.presence().left_waiting() => Err(Gone),
        }
    };
    with_timeouts(deadline, turn.timeouts(), || true, pin!(waiting)).await
}

/// The failure of a server in the terms of applications.
fn explain(failure: ServerFailure, app: &AppInstance, program: &ReadyProgram) -> AppFailure {
    match (failure, app.spec.limits.timeout) {
        (
            ServerFailure::ResponseTimedOut(_)
            | ServerFailure::ReadTimedOut(_)
            | ServerFailure::SendTimedOut(_),
            Some(timeout),
        ) => AppFailure::TimedOut(timeout),
        (failure, _) => AppFailure::Program { pid: program.pid, failure: std::sync::Arc::new(failure) },
    }
}
