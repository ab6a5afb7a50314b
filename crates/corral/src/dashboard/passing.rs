//! Passes requests of a browser on to the control socket, one by one as they are, with a header that says where they
//! come from. The daemon asks for a session then, as it does on a port.

use std::convert::Infallible;
use std::io;
use std::net::{self, SocketAddr};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use bytes::Bytes;
use http_body_util::{Either, Full};
use hyper::body::Incoming;
use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};
use hyper::http::request::Parts;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode, Uri, client, server};
use hyper_util::rt::{TokioIo, TokioTimer};
use serde_json::json;
use tokio::net::{TcpListener, TcpStream, UnixStream};
use tokio::sync::{Notify, Semaphore};

/// The socket of a control API.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ControlSocket {
    File(PathBuf),
    Abstract(Vec<u8>),
}

/// The way from a port to a control socket.
pub(super) struct Passage {
    socket: ControlSocket,
    /// The address that browsers ask for.
    own: SocketAddr,
    session_begun: Notify,
}

/// The daemon takes what has this for a browser's.
const PASSED_ON: HeaderName = HeaderName::from_static("corral-dashboard");

/// Fields that are about one connection.
const HOP_BY_HOP: [HeaderName; 7] = [
    header::CONNECTION,
    HeaderName::from_static("keep-alive"),
    HeaderName::from_static("proxy-connection"),
    header::TE,
    header::TRAILER,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
];

/// Connections at a time.
const MOST_CONNECTIONS: usize = 128;

/// One that waits for a next request holds a place for this long.
const LONGEST_HEAD: Duration = Duration::from_secs(30);

/// Descriptors may have run out.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// A body that is made here, or is passed on.
type PassedBody = Either<Full<Bytes>, Incoming>;

impl Passage {
    pub(super) fn new(socket: ControlSocket, own: SocketAddr) -> Arc<Self> {
        Arc::new(Self { socket, own, session_begun: Notify::new() })
    }

    /// Waits until a browser has begun a session.
    pub(super) async fn session_begun(&self) {
        self.session_begun.notified().await;
    }
}

/// Accepts and passes on for ever.
pub(super) async fn serve(listener: net::TcpListener, passage: Arc<Passage>) -> anyhow::Result<()> {
    listener.set_nonblocking(true).context("listen without waiting")?;
    let listener = TcpListener::from_std(listener).context("use the port")?;
    let places = Arc::new(Semaphore::new(MOST_CONNECTIONS));
    loop {
        let place = places.clone().acquire_owned().await?;
        match listener.accept().await {
            Ok((stream, _)) => {
                let served = connection(stream, Arc::clone(&passage));
                tokio::spawn(async move {
                    served.await;
                    drop(place);
                });
            }
            Err(_) => tokio::time::sleep(ACCEPT_PAUSE).await,
        }
    }
}

async fn connection(stream: TcpStream, passage: Arc<Passage>) {
    let service = service_fn(|request| {
        let passage = Arc::clone(&passage);
        async move { Ok::<_, Infallible>(answer(&passage, request).await) }
    });
    // A browser that leaves in the middle has no answer.
    let _ = server::conn::http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(LONGEST_HEAD)
        .serve_connection(TokioIo::new(stream), service)
        .await;
}

async fn answer(passage: &Passage, request: Request<Incoming>) -> Response<PassedBody> {
    let (mut head, body) = request.into_parts();
    if let Some(reason) = reason_to_refuse(&head, passage.own) {
        return refusal(StatusCode::FORBIDDEN, "Forbidden.", &reason);
    }
    head.headers = passed_on(head.headers);
    head.headers.insert(PASSED_ON, HeaderValue::from_static("1"));
    head.uri = match head.uri.path_and_query() {
        Some(target) => Uri::from(target.clone()),
        None => Uri::from_static("/"),
    };
    let begins_session = head.method == Method::POST && head.uri.path() == "/dashboard/session";
    match exchange(&passage.socket, Request::from_parts(head, body)).await {
        Ok(response) => {
            if begins_session && response.status().is_success() {
                passage.session_begun.notify_one();
            }
            let (mut head, body) = response.into_parts();
            head.headers = passed_on(head.headers);
            Response::from_parts(head, Either::Right(body))
        }
        Err(error) => {
            let reason = format!("the daemon does not answer: {error:#}");
            refusal(StatusCode::BAD_GATEWAY, "Bad gateway.", &reason)
        }
    }
}

/// Why a request is not passed on: its name is not this command's own, or a page of another origin has sent it.
fn reason_to_refuse(head: &Parts, own: SocketAddr) -> Option<String> {
    let foreign = corral_controller::reason_to_refuse(head);
    foreign.or_else(|| (!is_for(head, own)).then(|| format!("use http://{own}/dashboard/")))
}

/// Whether the request has one name, which is that of this port.
fn is_for(head: &Parts, own: SocketAddr) -> bool {
    let names = [own.to_string(), format!("localhost:{}", own.port())];
    let is_own = |name: &[u8]| names.iter().any(|own| own.as_bytes().eq_ignore_ascii_case(name));
    let mut hosts = head.headers.get_all(header::HOST).iter();
    let (Some(host), None) = (hosts.next(), hosts.next()) else { return false };
    let target = head.uri.authority().is_none_or(|authority| is_own(authority.as_str().as_bytes()));
    is_own(host.as_bytes()) && target
}

/// The fields of a message without those that end here, and without one that only this command may add.
fn passed_on(mut fields: HeaderMap) -> HeaderMap {
    let named = fields.get_all(header::CONNECTION).iter().filter_map(|value| value.to_str().ok());
    let named =
        named.flat_map(|value| value.split(',')).filter_map(|name| name.trim().parse::<HeaderName>().ok());
    for name in named.collect::<Vec<_>>() {
        // What the rules about browsers look at is not a matter of one connection.
        if !KEPT.contains(&name) {
            fields.remove(name);
        }
    }
    HOP_BY_HOP.iter().chain([&PASSED_ON]).for_each(|name| drop(fields.remove(name)));
    fields
}

const KEPT: [HeaderName; 5] = [
    header::HOST,
    header::ORIGIN,
    header::COOKIE,
    header::AUTHORIZATION,
    HeaderName::from_static("sec-fetch-site"),
];

async fn exchange(socket: &ControlSocket, request: Request<Incoming>) -> anyhow::Result<Response<Incoming>> {
    let stream = socket.connect().await.context("connect to the control socket")?;
    let (mut sender, connection) = client::conn::http1::handshake(TokioIo::new(stream)).await?;
    tokio::spawn(async move {
        // Its end is that of the reply.
        let _ = connection.await;
    });
    Ok(sender.send_request(request).await?)
}

impl ControlSocket {
    async fn connect(&self) -> io::Result<UnixStream> {
        match self {
            Self::File(path) => UnixStream::connect(path).await,
            Self::Abstract(name) => {
                let address = unix::net::SocketAddr::from_abstract_name(name)?;
                let stream = unix::net::UnixStream::connect_addr(&address)?;
                stream.set_nonblocking(true)?;
                UnixStream::from_std(stream)
            }
        }
    }
}

fn refusal(status: StatusCode, title: &str, detail: &str) -> Response<PassedBody> {
    let text = format!("{}\n", json!({ "error": title, "detail": detail }));
    let mut response = Response::new(Either::Left(Full::from(text)));
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(target: &str, fields: &[(&str, &str)]) -> Parts {
        let mut request = Request::builder().uri(target);
        for (name, value) in fields {
            request = request.header(*name, *value);
        }
        request.body(()).unwrap().into_parts().0
    }

    #[track_caller]
    fn check(target: &str, fields: &[(&str, &str)], is_passed: bool) {
        let own = "127.0.0.1:4711".parse().unwrap();
        assert_eq!(reason_to_refuse(&head(target, fields), own).is_none(), is_passed, "{target} {fields:?}");
    }

    #[test]
    fn requests_for_this_port_are_passed_on() {
        check("/config", &[("Host", "127.0.0.1:4711")], true);
        check("/config", &[("Host", "LocalHost:4711")], true);
        check("/config", &[("Host", "127.0.0.1:4711"), ("Origin", "http://127.0.0.1:4711")], true);
        check("/config", &[("Host", "127.0.0.1:4711"), ("Sec-Fetch-Site", "none")], true);
        check("http://127.0.0.1:4711/config", &[("Host", "127.0.0.1:4711")], true);
    }

    #[test]
    fn requests_for_other_names_and_of_other_pages_are_not() {
        for host in [
            "evil.example",
            "evil.example:4711",
            "127.0.0.1",
            "127.0.0.1:80",
            "[::1]:4711",
            "127.0.0.2:4711",
            "",
        ] {
            check("/config", &[("Host", host)], false);
        }
        check("/config", &[], false);
        check("/config", &[("Host", "127.0.0.1:4711"), ("Host", "127.0.0.1:4711")], false);
        check("http://evil.example/config", &[("Host", "127.0.0.1:4711")], false);
        check("http://127.0.0.1:80/config", &[("Host", "127.0.0.1:4711")], false);
        for (name, value) in [
            ("Origin", "http://evil.example"),
            ("Origin", "null"),
            ("Origin", "http://localhost:4711"),
            ("Sec-Fetch-Site", "cross-site"),
            ("Sec-Fetch-Site", "same-site"),
        ] {
            check("/config", &[("Host", "127.0.0.1:4711"), (name, value)], false);
        }
    }

    #[test]
    fn fields_of_one_connection_end_here() {
        let fields = head(
            "/",
            &[
                ("Connection", "close, X-Mine, Origin, Cookie"),
                ("X-Mine", "1"),
                ("Keep-Alive", "1"),
                ("Upgrade", "websocket"),
                ("Corral-Dashboard", "0"),
                ("Origin", "http://127.0.0.1:4711"),
                ("Cookie", "a=b"),
                ("Accept", "*/*"),
            ],
        )
        .headers;
        let mut names: Vec<_> = passed_on(fields).keys().map(|name| name.as_str().to_owned()).collect();
        names.sort();
        assert_eq!(names, ["accept", "cookie", "origin"]);
    }
}
