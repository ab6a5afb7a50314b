//! Hands a request to a program that serves HTTP itself when it is its turn, and passes the answer on as that of a
//! proxied server: bodies as streams, upgrades, connections that are used again.

use std::iter;
use std::pin::pin;
use std::rc::Rc;

use corral_channel::message::{self, RequestHead};

use crate::answer::application::{fail, patiently};
use crate::answer::proxy::{Attempt, Destination, Outcome, Upload};
use crate::exchange::Exchange;
use crate::instance::{App, Failure, LoopApp, Program, Turn};
use crate::request::client::Gone;
use crate::storage::buffers;
use crate::upstream::ServerFailure;

/// Programs that a request is given to one after the other when they accept no connections.
const MOST_ATTEMPTS: usize = 5;

/// Answers a request by a program of an application.
pub(crate) async fn answer(exchange: &mut Exchange<'_>, app: &Rc<LoopApp>) -> Result<(), Gone> {
    let mut upload = match Upload::begin(exchange, Destination::Http1).await {
        Ok(upload) => upload,
        Err(error) => return exchange.fail_body(&error).await,
    };
    let mut n_attempts = 0;
    loop {
        let turn = app.begin_turn(describe(exchange), exchange.now());
        let program = match wait(exchange, &turn).await? {
            Ok(program) => program,
            Err(failure) => return fail(exchange, &app.app, &failure).await,
        };
        let server = app.server(&program, &exchange.services.proxy_servers);
        n_attempts += 1;
        let upgraded = || turn.become_tunnel();
        let mut attempt = Attempt::new(&server, &mut upload).tell_of_upgrade(&upgraded);
        let outcome = attempt.run(exchange).await?;
        let was_sent = attempt.was_sent();
        let failure = match outcome {
            Outcome::Answered => return Ok(()),
            Outcome::Body(error) => return exchange.fail_body(&error).await,
            Outcome::Cut(failure) => {
                let (app, pid) = (&app.app.spec.name, program.pid);
                tracing::error!("\"{app}\": process {pid}: {failure}; the response is cut off");
                return Err(Gone);
            }
            Outcome::Failed(failure) => failure,
        };
        if matches!(failure, ServerFailure::Connect(_)) {
            app.app.forsake(&program, &failure);
            // One that was under way may be what the program has died of: it is not tried on others.
            if !was_sent && n_attempts < MOST_ATTEMPTS && upload.rewind() {
                continue;
            }
        }
        let failure = explain(failure, &app.app, &program, &turn);
        drop(turn);
        return fail(exchange, &app.app, &failure).await;
    }
}

/// What is said about a request that runs for long or kills its process. The program reads it from its socket.
fn describe(exchange: &Exchange<'_>) -> Vec<u8> {
    let (head, bytes) = (exchange.request.head, exchange.request.bytes);
    let request = RequestHead {
        method: head.method(bytes),
        target: head.target(bytes),
        path: b"",
        query: b"",
        host: b"",
        remote_addr: b"",
        remote_user: b"",
        auth_type: b"",
        local_addr: b"",
        local_port: 0,
        version: exchange.request.version(),
        tls: exchange.client.tls,
        app_target: 0,
        content_length: None,
        body_complete: true,
        websocket: false,
    };
    let mut payload = buffers::take();
    message::encode_request(&mut payload, &request, iter::empty());
    payload
}

/// Waits for the turn: for as long as a request may, or until the client is gone.
async fn wait(
    exchange: &Exchange<'_>,
    turn: &Turn,
) -> Result<Result<std::sync::Arc<Program>, Failure>, Gone> {
    if let Some(begun) = turn.try_begin() {
        return Ok(begun);
    }
    let (carrier, deadline) = (&*exchange.carrier, exchange.deadline);
    let waiting = async {
        tokio::select! {
            biased;
            begun = turn.begin() => Ok(begun),
            // Also one that would still read: it has most likely left.
            () = carrier.finished() => Err(Gone),
        }
    };
    patiently(deadline, turn.patience(), || true, pin!(waiting)).await
}

/// What became of the request, in the terms of applications.
fn explain(failure: ServerFailure, app: &App, program: &Program, turn: &Turn) -> Failure {
    if let Some(verdict) = program.verdict(turn.request()) {
        return verdict;
    }
    match (failure, app.spec.limits.timeout) {
        (
            ServerFailure::ResponseTimedOut(_)
            | ServerFailure::ReadTimedOut(_)
            | ServerFailure::SendTimedOut(_),
            Some(timeout),
        ) => Failure::TimedOut(timeout),
        (failure, _) => Failure::Program { pid: program.pid, failure: std::sync::Arc::new(failure) },
    }
}
