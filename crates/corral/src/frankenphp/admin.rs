//! The few calls of Caddy's admin API that Octane makes: is it there, restart the workers, stop.

use std::convert::Infallible;
use std::net;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use corral_config::address::ListenAddress;
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Incoming;
use hyper::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderValue};
use hyper::http::request::Parts;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::{Notify, Semaphore};
use tokio::time::timeout;

use super::document::APPLICATION;
use crate::client::{ApiCall, Daemon};

/// The server that the calls are about.
pub(super) struct Admin {
    /// The answer to `GET /config/apps/frankenphp`.
    pub(super) document: Value,
    /// The control socket of the daemon.
    pub(super) control: PathBuf,
    /// Told when the server is to stop.
    pub(super) stop: Notify,
}

/// An answer: a status, and perhaps an object.
type AdminAnswer = (StatusCode, Option<Value>);

/// No document is larger.
const MAX_BODY: usize = 1 << 20;

/// Octane sends its calls at once.
const LONGEST_BODY: Duration = Duration::from_secs(10);

/// Connections at a time: with the bodies that each may send, what strangers on this machine can make this process
/// keep.
const MOST_CONNECTIONS: usize = 32;

/// Accepts and answers for ever.
pub(super) async fn serve(listener: net::TcpListener, admin: Arc<Admin>) -> anyhow::Result<()> {
    listener.set_nonblocking(true)?;
    let listener = TcpListener::from_std(listener)?;
    let places = Arc::new(Semaphore::new(MOST_CONNECTIONS));
    loop {
        let place = places.clone().acquire_owned().await?;
        match listener.accept().await {
            Ok((stream, _)) => {
                let connection = connection(TokioIo::new(stream), admin.clone());
                tokio::spawn(async move {
                    // One that neither asks nor leaves gives its place to others.
                    let _ = timeout(LONGEST_CONNECTION, connection).await;
                    drop(place);
                });
            }
            Err(_) => tokio::time::sleep(ACCEPT_PAUSE).await,
        }
    }
}

/// Descriptors may have run out.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// A restart answers when new workers serve, which may take minutes.
const LONGEST_CONNECTION: Duration = Duration::from_secs(600);

/// One that waits for a next call holds a place for this long.
const LONGEST_HEAD: Duration = Duration::from_secs(10);

async fn connection(io: TokioIo<tokio::net::TcpStream>, admin: Arc<Admin>) {
    let service = service_fn(|request| {
        let admin = admin.clone();
        async move { Ok::<_, Infallible>(response(admin.answer(request).await)) }
    });
    // A client that leaves in the middle has no answer.
    let _ = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(LONGEST_HEAD)
        .serve_connection(io, service)
        .await;
}

fn response((status, body): AdminAnswer) -> Response<Full<Bytes>> {
    let text = body.as_ref().map_or_else(String::new, |body| format!("{body}\n"));
    let mut response = Response::new(Full::new(text.into()));
    *response.status_mut() = status;
    if body.is_some() {
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    }
    response
}

fn error(status: StatusCode, text: impl Into<String>) -> AdminAnswer {
    (status, Some(json!({ "error": text.into() })))
}

impl Admin {
    async fn answer(&self, request: Request<Incoming>) -> AdminAnswer {
        let (head, body) = request.into_parts();
        if let Some(reason) = corral_controller::reason_to_refuse(&head) {
            return error(StatusCode::FORBIDDEN, reason);
        }
        let body = match timeout(LONGEST_BODY, Limited::new(body, MAX_BODY).collect()).await {
            Ok(Ok(body)) => body,
            Ok(Err(_)) => return error(StatusCode::BAD_REQUEST, "the body was not understood"),
            Err(_) => return error(StatusCode::REQUEST_TIMEOUT, "the body did not come"),
        };
        let path = head.uri.path().trim_end_matches('/');
        match (&head.method, path) {
            (&Method::GET | &Method::HEAD, CONFIGURATION) => (StatusCode::OK, Some(self.document.clone())),
            (&Method::PATCH, CONFIGURATION) => self.patch(&head, &body.to_bytes()).await,
            (&Method::POST, "/frankenphp/workers/restart") => self.restart().await,
            (&Method::POST, "/stop") => {
                self.stop.notify_one();
                (StatusCode::OK, None)
            }
            (method, path) => error(StatusCode::NOT_FOUND, format!("{method} {path} is not known here")),
        }
    }

    /// The same document is not a change, unless everything is to be loaded anew; another one cannot be put in force.
    async fn patch(&self, head: &Parts, body: &[u8]) -> AdminAnswer {
        if serde_json::from_slice::<Value>(body).ok().as_ref() != Some(&self.document) {
            return error(StatusCode::BAD_REQUEST, "the configuration can only be changed in the Caddyfile");
        }
        let is_forced = head.headers.get_all(CACHE_CONTROL).iter().any(|value| value == "must-revalidate");
        if is_forced { self.restart().await } else { (StatusCode::OK, None) }
    }

    /// Returns when new workers serve.
    async fn restart(&self) -> AdminAnswer {
        let daemon = Daemon::at(ListenAddress::Unix(self.control.clone()));
        let restart = move || {
            let path = format!("/control/applications/{APPLICATION}/restart");
            daemon.ask(ApiCall { method: "POST", path: &path, body: None, if_match: None })
        };
        let failed = |reason: String| error(StatusCode::INTERNAL_SERVER_ERROR, reason);
        match tokio::task::spawn_blocking(restart).await {
            Ok(Ok(answer)) if answer.status == 200 => (StatusCode::OK, None),
            Ok(Ok(answer)) => failed(String::from_utf8_lossy(&answer.body).into_owned()),
            Ok(Err(reason)) => failed(format!("{reason:#}")),
            Err(reason) => failed(reason.to_string()),
        }
    }
}

const CONFIGURATION: &str = "/config/apps/frankenphp";
