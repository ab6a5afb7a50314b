//! A client of HTTP/2 that keeps to the protocol: several streams at a time on one connection.

use std::future::Future;
use std::io;
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};

use bytes::Bytes;
use h2::client::{Builder, SendRequest};
use h2::{Error, Ping, PingPong};
use http::Method;
use http::uri::Scheme;
use tokio::runtime::Runtime;

use super::connection::{Link, encrypted, in_time, plain, runtime};
use super::head::{self, Head};
use super::stream::Http2Stream;
use crate::request::Request;
use crate::response::Response;
use crate::tls::TlsClient;
use crate::wait::PATIENCE;

/// One connection, which a thread of its own keeps going.
#[derive(Debug)]
pub struct Http2 {
    runtime: Arc<Runtime>,
    requests: SendRequest<Bytes>,
    pings: PingPong,
    scheme: Scheme,
    is_resumed: bool,
    /// How the connection has ended.
    end: Receiver<Result<(), Error>>,
}

impl Http2 {
    /// Connects without TLS, knowing that the server speaks HTTP/2.
    #[must_use]
    #[track_caller]
    pub fn connect(address: SocketAddr) -> Self {
        Self::connect_with(address, |_| ())
    }

    /// Connects without TLS, with settings of its own.
    #[must_use]
    #[track_caller]
    pub fn connect_with(address: SocketAddr, settings: impl FnOnce(&mut Builder)) -> Self {
        Self::begin(address, Scheme::HTTP, settings, |stream| async { plain(stream) })
            .unwrap_or_else(|error| panic!("HTTP/2 with {address}: {error}"))
    }

    /// Connects by TLS with the host of this name, and has it agree on `h2`.
    #[must_use]
    #[track_caller]
    pub fn connect_tls(address: SocketAddr, tls: &TlsClient, host: &str) -> Self {
        Self::try_connect_tls(address, tls, host)
            .unwrap_or_else(|error| panic!("HTTP/2 with {address}: {error}"))
    }

    /// As `connect_tls`, or says why not.
    ///
    /// # Errors
    /// Errors of the system, of the handshake, and a server that does not choose `h2`.
    #[track_caller]
    pub fn try_connect_tls(address: SocketAddr, tls: &TlsClient, host: &str) -> io::Result<Self> {
        // Made before it is copied: it keeps the sessions for the connections after this one.
        let _ = tls.config();
        let (tls, host) = (tls.clone(), host.to_owned());
        let connect = |stream| async move { encrypted(stream, &tls, &host).await };
        Self::begin(address, Scheme::HTTPS, |_| (), connect)
    }

    #[track_caller]
    fn begin<F: Future<Output = io::Result<Link>>>(
        address: SocketAddr,
        scheme: Scheme,
        settings: impl FnOnce(&mut Builder),
        connect: impl FnOnce(TcpStream) -> F + Send + 'static,
    ) -> io::Result<Self> {
        let stream = TcpStream::connect_timeout(&address, PATIENCE)?;
        stream.set_nodelay(true)?;
        let mut builder = Builder::new();
        // A stream that a test does not read must not hold up the others.
        builder.initial_connection_window_size(16 << 20);
        settings(&mut builder);
        let (begun, beginning) = channel();
        let (ended, end) = channel();
        std::thread::spawn(move || {
            runtime().block_on(async {
                let link = match connect(stream).await {
                    Ok(link) => link,
                    Err(error) => return drop(begun.send(Err(error))),
                };
                let is_resumed = link.is_resumed();
                match builder.handshake(link).await {
                    Ok((requests, mut connection)) => {
                        let pings = connection.ping_pong().expect("nobody has asked for it");
                        let _ = begun.send(Ok((requests, pings, is_resumed)));
                        let _ = ended.send(connection.await);
                    }
                    Err(error) => drop(begun.send(Err(io::Error::other(error)))),
                }
            });
        });
        let (requests, pings, is_resumed) = beginning.recv_timeout(PATIENCE).map_err(io::Error::other)??;
        Ok(Self { runtime: Arc::new(runtime()), requests, pings, scheme, is_resumed, end })
    }

    /// A GET.
    #[track_caller]
    pub fn get(&mut self, target: &str) -> Response {
        self.send(&Request::get(target))
    }

    /// Sends a request and reads the response.
    #[track_caller]
    pub fn send(&mut self, request: &Request) -> Response {
        self.try_send(request).unwrap_or_else(|error| panic!("{request:?}: {error}"))
    }

    /// Sends a request and reads the response, or says why there is none.
    ///
    /// # Errors
    /// When the stream or the connection has ended early.
    #[track_caller]
    pub fn try_send(&mut self, request: &Request) -> Result<Response, Error> {
        self.try_open(request, request.content().is_empty()).and_then(|mut stream| {
            if !request.content().is_empty() {
                // A server may answer before it has read everything.
                let _ = stream.try_write(request.content()).is_ok_and(|()| {
                    stream.finish();
                    true
                });
            }
            stream.try_response()
        })
    }

    /// Sends a request without a body.
    #[track_caller]
    pub fn begin_get(&mut self, target: &str) -> Http2Stream {
        self.try_begin_get(target).unwrap_or_else(|error| panic!("{target}: {error}"))
    }

    /// Sends a request without a body, or says why not.
    ///
    /// # Errors
    /// When the connection takes no more requests.
    #[track_caller]
    pub fn try_begin_get(&mut self, target: &str) -> Result<Http2Stream, Error> {
        self.try_open(&Request::get(target), true)
    }

    /// Sends the head of a request; its body, of which no length is told, is up to the caller, and so is the end.
    #[track_caller]
    pub fn open(&mut self, request: &Request) -> Http2Stream {
        let mut head = self.head(request);
        head.request.headers_mut().remove(http::header::CONTENT_LENGTH);
        self.try_begin(head, false).unwrap_or_else(|error| panic!("{request:?}: {error}"))
    }

    /// Sends an extended CONNECT (RFC 8441), once the server has said that it knows it.
    #[track_caller]
    pub fn connect_protocol(&mut self, protocol: &'static str, request: &Request) -> Http2Stream {
        let mut head = self.head(request);
        *head.request.method_mut() = Method::CONNECT;
        head.request.extensions_mut().insert(h2::ext::Protocol::from_static(protocol));
        self.ping();
        let stream = self.try_begin(head, false);
        stream.unwrap_or_else(|error| panic!("{request:?}: {error}"))
    }

    /// Sends a ping and waits for the pong; the settings of the server have come by then.
    #[track_caller]
    pub fn ping(&mut self) {
        let pong = self.pings.ping(Ping::opaque());
        in_time(&self.runtime, "a pong", pong).unwrap_or_else(|error| panic!("{error}"));
    }

    /// Whether an earlier session of TLS was resumed.
    #[must_use]
    pub fn is_resumed(&self) -> bool {
        self.is_resumed
    }

    /// How many streams the server allows at a time.
    #[must_use]
    pub fn max_streams(&self) -> usize {
        self.requests.current_max_send_streams()
    }

    /// Waits until the connection ends, and says how.
    ///
    /// # Errors
    /// When it is not the usual way.
    ///
    /// # Panics
    /// When it goes on.
    #[track_caller]
    pub fn wait_for_end(&mut self) -> Result<(), Error> {
        match self.end.recv_timeout(PATIENCE) {
            Ok(end) => end,
            Err(RecvTimeoutError::Timeout) => panic!("the connection goes on"),
            Err(RecvTimeoutError::Disconnected) => panic!("its end has been told"),
        }
    }

    #[track_caller]
    fn head(&self, request: &Request) -> Head {
        let head = request.encode_head();
        head::parse(&head, self.scheme.clone())
            .unwrap_or_else(|what| panic!("HTTP/2 has no words for {what}"))
    }

    #[track_caller]
    fn try_open(&mut self, request: &Request, is_all: bool) -> Result<Http2Stream, Error> {
        let head = self.head(request);
        self.try_begin(head, is_all)
    }

    #[track_caller]
    fn try_begin(&mut self, head: Head, is_all: bool) -> Result<Http2Stream, Error> {
        let ready = self.requests.clone().ready();
        self.requests = in_time(&self.runtime, "room for a stream", ready)?;
        let (response, sending) = self.requests.send_request(head.request, is_all)?;
        Ok(Http2Stream { runtime: Arc::clone(&self.runtime), response, sending, receiving: None })
    }
}
