//! HTTP on the control socket: one request for each connection (contract 3.1).

use std::convert::Infallible;
use std::io;
use std::net;
use std::os::fd::OwnedFd;
use std::os::unix;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use anyhow::Context as _;
use bytes::Bytes;
use corral_config::json::edit;
use corral_http::encoding::Accepted;
use http_body_util::{Either, Full};
use hyper::body::Incoming;
use hyper::header::{self, HeaderValue};
use hyper::http::request::Parts;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, UnixListener, UnixStream};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{Notify, mpsc};
use tokio::time::timeout;

use crate::access::ControlAccess;
use crate::api;
use crate::api_request::ApiRequest;
use crate::body::{self, BodyLimit};
use crate::caller::Caller;
use crate::conditions::Conditions;
use crate::dashboard::page;
use crate::dashboard::viewers::EventBody;
use crate::peers::Peers;
use crate::reply::{ApiReply, ReplyContent};
use crate::state::Controller;
use crate::write_timeout::WriteTimeout;

/// The socket that main bound for the control API.
pub(crate) enum ControlSocket {
    Unix(UnixListener, Peers),
    Tcp(TcpListener),
}

impl ControlSocket {
    /// Finds out what kind of socket `fd` is. Must be called inside the event loop.
    pub(crate) fn new(fd: OwnedFd, peers: Peers) -> io::Result<Self> {
        let unix = unix::net::UnixListener::from(fd);
        if unix.local_addr().is_ok() {
            unix.set_nonblocking(true)?;
            return UnixListener::from_std(unix).map(|unix| Self::Unix(unix, peers));
        }
        let tcp = net::TcpListener::from(OwnedFd::from(unix));
        tcp.set_nonblocking(true)?;
        TcpListener::from_std(tcp).map(Self::Tcp)
    }

    /// Whether it is on a port, and no Unix socket.
    pub(crate) fn is_port(&self) -> bool {
        matches!(self, Self::Tcp(_))
    }

    /// Accepts and answers until SIGTERM. Then clients whose change has been made get their reply; main is asked for
    /// nothing any more.
    pub(crate) async fn serve(self, controller: Controller, access: ControlAccess) -> anyhow::Result<()> {
        let mut termination = signal(SignalKind::terminate()).context("listen to SIGTERM")?;
        let (open, mut all_closed) = mpsc::channel::<Infallible>(1);
        tokio::select! {
            never = self.accept(&controller, &access, &open) => match never {},
            _ = termination.recv() => {}
        }
        // A successor accepts from now on.
        drop((self, open));
        controller.event_hub().viewers.close();
        controller.main().seal();
        let _ = timeout(LAST_REPLIES, all_closed.recv()).await;
        Ok(())
    }

    /// Accepts and answers for ever. `open` is held by each connection.
    async fn accept(
        &self,
        controller: &Controller,
        access: &ControlAccess,
        open: &mpsc::Sender<Infallible>,
    ) -> Infallible {
        loop {
            let accepted = match self {
                Self::Unix(listener, peers) => listener.accept().await.map(|(stream, _)| {
                    if admits(*peers, &stream) {
                        let uid = stream.peer_cred().ok().map(|credentials| credentials.uid());
                        spawn(stream, Caller::Socket { uid }, controller, access, open);
                    }
                }),
                Self::Tcp(listener) => listener.accept().await.map(|(stream, address)| {
                    spawn(stream, Caller::Port(address.ip()), controller, access, open);
                }),
            };
            if let Err(error) = accepted {
                tracing::warn!("accept a connection to the control API: {error}");
                // Descriptors may have run out; trying at once again would only burn the processor.
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

/// Whether the process at the other end may ask. One that may not finds the connection closed.
fn admits(peers: Peers, stream: &UnixStream) -> bool {
    let uid = stream.peer_cred().map(|credentials| credentials.uid());
    let is_admitted = uid.as_ref().is_ok_and(|uid| peers.admit(*uid));
    if !is_admitted {
        tracing::info!("refused a connection to the control API from user {uid:?}");
    }
    is_admitted
}

fn spawn<S>(
    stream: S,
    caller: Caller,
    controller: &Controller,
    access: &ControlAccess,
    open: &mpsc::Sender<Infallible>,
) where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let served = connection(stream, caller, controller.clone(), access.clone());
    let open = open.clone();
    tokio::spawn(async move {
        served.await;
        drop(open);
    });
}

/// Answers one request on a connection.
pub(crate) async fn connection(
    io: impl AsyncRead + AsyncWrite + Unpin,
    caller: Caller,
    controller: Controller,
    access: ControlAccess,
) {
    let io = TokioIo::new(WriteTimeout::new(io, WRITE_TIMEOUT));
    let abort = Arc::new(Notify::new());
    let service = service_fn(|request| {
        // A task of its own, so that a change goes on to its end when the client does not wait.
        let answered = handle(controller.clone(), access.clone(), caller, Arc::clone(&abort), request);
        let answered = tokio::spawn(answered);
        async { Ok::<_, Infallible>(answered.await.unwrap_or_else(|_| response(internal_error()))) }
    });
    let served = http1::Builder::new()
        .keep_alive(false)
        // A client that has sent all it wants to send may still wait for the reply.
        .half_close(true)
        .title_case_headers(true)
        .max_buf_size(MAX_HEAD)
        .max_headers(MAX_FIELDS)
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIMEOUT)
        .serve_connection(io, service);
    tokio::select! {
        served = served => {
            if let Err(error) = served {
                tracing::debug!("a connection to the control API failed: {error}");
            }
        }
        () = abort.notified() => {}
    }
}

async fn handle(
    controller: Controller,
    access: ControlAccess,
    caller: Caller,
    abort: Arc<Notify>,
    request: Request<Incoming>,
) -> Response<ReplyStream> {
    let (head, body) = request.into_parts();
    let target = head.uri.path_and_query().map_or("", |target| target.as_str());
    let segments = edit::segments(target.as_bytes()).unwrap_or_default();
    let mut reply = answer(&controller, &access, caller, &abort, &head, body).await;
    if page::is_below(&segments) {
        reply.fields.extend(page::GUARDS);
    }
    response(reply)
}

async fn answer(
    controller: &Controller,
    access: &ControlAccess,
    caller: Caller,
    abort: &Arc<Notify>,
    head: &Parts,
    body: Incoming,
) -> ApiReply {
    let target = head.uri.path_and_query().map_or("", |target| target.as_str());
    let grant = match access.admit(head, Instant::now()) {
        Ok(grant) => grant,
        Err(refusal) => return *refusal,
    };
    let body = match body::read(body, BodyLimit::of(target)).await {
        Ok(body) => body,
        Err(reply) => return reply,
    };
    // A body may come slowly.
    if !grant.permission.is_alive(Instant::now()) {
        return ApiReply::too_late();
    }
    let accept = head.headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok());
    let codings = head.headers.get_all(header::ACCEPT_ENCODING).iter();
    let call = ApiRequest {
        method: &head.method,
        target,
        conditions: Conditions::from_fields(&head.headers),
        accept: &accept.collect::<Vec<_>>().join(","),
        codings: Accepted::parse(codings.map(HeaderValue::as_bytes)),
        body: &body,
        caller,
        grant: &grant,
        abort,
    };
    api::answer(controller, access, &call).await
}

/// The body of a reply, whole or going on.
type ReplyStream = Either<Full<Bytes>, EventBody>;

/// With the fields in Unit's order.
fn response(reply: ApiReply) -> Response<ReplyStream> {
    let is_empty = reply.status == StatusCode::NOT_MODIFIED;
    let (media_type, body) = match reply.content {
        Some(ReplyContent { media_type, bytes }) => (media_type, bytes),
        None if is_empty => ("", Bytes::new()),
        None => ("application/json", reply.body.pretty().into()),
    };
    let len = reply.stream.is_none().then_some(body.len());
    let body = reply.stream.map_or_else(|| Either::Left(Full::from(body)), Either::Right);
    let mut response = Response::new(body);
    *response.status_mut() = reply.status;
    let fields = response.headers_mut();
    fields.insert(header::SERVER, HeaderValue::from_static(SERVER));
    if let Ok(date) = HeaderValue::try_from(httpdate::fmt_http_date(SystemTime::now())) {
        fields.insert(header::DATE, date);
    }
    if !is_empty {
        fields.insert(header::CONTENT_TYPE, HeaderValue::from_static(media_type));
        if let Some(len) = len {
            fields.insert(header::CONTENT_LENGTH, HeaderValue::from(len));
        }
    }
    if reply.status == StatusCode::UNAUTHORIZED {
        fields.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer realm=\"corral\""));
    }
    fields.insert(header::CONNECTION, HeaderValue::from_static("close"));
    if let Some(tag) = reply.tag.as_deref().and_then(|tag| HeaderValue::try_from(tag).ok()) {
        fields.insert(header::ETAG, tag);
    }
    fields.extend(reply.fields);
    response
}

fn internal_error() -> ApiReply {
    ApiReply::error(StatusCode::INTERNAL_SERVER_ERROR, "Internal error.")
}

/// Time for the last replies, of connections that are open when the process is told to end.
const LAST_REPLIES: Duration = Duration::from_secs(1);

const SERVER: &str = concat!("Corral/", env!("CARGO_PKG_VERSION"));
/// For the whole head of a request.
const HEAD_TIMEOUT: Duration = Duration::from_secs(300);
/// Between two successful writes of a reply.
const WRITE_TIMEOUT: Duration = Duration::from_secs(60);
/// Longest head of a request, in bytes.
const MAX_HEAD: usize = 1024 * 1024;
/// Most fields in a head.
const MAX_FIELDS: usize = 1000;
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
