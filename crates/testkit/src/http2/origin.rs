//! Servers of HTTP/2 behind the server, which keep to the protocol.

use std::future::Future;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use bytes::Bytes;
use h2::server::{Builder, SendResponse};
use h2::{Reason, RecvStream, SendStream};
use http::{HeaderMap, HeaderName, HeaderValue, Request, Response};
use rustls::ServerConfig;
use tokio::sync::Notify;
use tokio::task::LocalSet;
use tokio_rustls::TlsAcceptor;

use super::body;
use super::connection::{Link, plain, runtime};
use crate::tls::Bundle;

/// A server that treats each request as its function says. Accepts nothing more when it is dropped.
#[derive(Debug)]
pub struct Http2Origin {
    address: SocketAddr,
    n_connections: Arc<AtomicUsize>,
    ends: Arc<AtomicBool>,
}

/// A request, and its answer.
pub struct Asked {
    /// The head.
    pub request: Request<()>,
    /// The number of its connection: 1 for the first one.
    pub connection: usize,
    body: RecvStream,
    respond: SendResponse<Bytes>,
    closing: Rc<Notify>,
}

impl Http2Origin {
    /// Starts one at a free port.
    #[must_use]
    pub fn start<F: Future<Output = ()> + 'static>(
        serve: impl Fn(Asked) -> F + Send + Sync + 'static,
    ) -> Self {
        Self::start_with(|_| (), None, serve)
    }

    /// Starts one that speaks TLS, and offers these protocols.
    #[must_use]
    pub fn start_tls<F: Future<Output = ()> + 'static>(
        bundle: &Bundle,
        protocols: &[&str],
        serve: impl Fn(Asked) -> F + Send + Sync + 'static,
    ) -> Self {
        let mut tls = bundle.server_config();
        tls.alpn_protocols = protocols.iter().map(|name| name.as_bytes().to_vec()).collect();
        Self::start_with(|_| (), Some(tls), serve)
    }

    /// Starts one with settings of its own.
    ///
    /// # Panics
    /// When there is no port.
    #[must_use]
    pub fn start_with<F: Future<Output = ()> + 'static>(
        settings: impl Fn(&mut Builder) + Send + Sync + 'static,
        tls: Option<ServerConfig>,
        serve: impl Fn(Asked) -> F + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("the address of a listener");
        let (n_connections, ends) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicBool::new(false)));
        let origin = Self { address, n_connections: Arc::clone(&n_connections), ends: Arc::clone(&ends) };
        let (serve, settings, tls) = (Arc::new(serve), Arc::new(settings), tls.map(Arc::new));
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if ends.load(Ordering::SeqCst) {
                    return;
                }
                let number = n_connections.fetch_add(1, Ordering::SeqCst) + 1;
                let (serve, settings, tls) = (Arc::clone(&serve), Arc::clone(&settings), tls.clone());
                std::thread::spawn(move || {
                    let mut builder = Builder::new();
                    settings(&mut builder);
                    let talking = async {
                        let Some(link) = accept(stream, tls).await else { return };
                        talk(link, &builder, number, &*serve).await;
                    };
                    LocalSet::new().block_on(&runtime(), talking);
                });
            }
        });
        origin
    }

    /// `IP:PORT`.
    #[must_use]
    pub fn address(&self) -> String {
        self.address.to_string()
    }

    /// The port that the server listens on.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// The value of `proxy` that leads here, without TLS.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Connections that were accepted.
    #[must_use]
    pub fn n_connections(&self) -> usize {
        self.n_connections.load(Ordering::SeqCst)
    }
}

impl Drop for Http2Origin {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::SeqCst);
        // Wakes the thread that accepts; whether it still does makes no difference.
        let _ = TcpStream::connect(self.address);
    }
}

async fn accept(stream: TcpStream, tls: Option<Arc<ServerConfig>>) -> Option<Link> {
    stream.set_nodelay(true).ok()?;
    let stream = plain(stream).ok()?;
    match tls {
        None => Some(stream),
        Some(tls) => Some(Box::new(TlsAcceptor::from(tls).accept(stream).await.ok()?)),
    }
}

/// Serves one connection up to its end.
async fn talk<F: Future<Output = ()> + 'static>(
    link: Link,
    builder: &Builder,
    number: usize,
    serve: &impl Fn(Asked) -> F,
) {
    let Ok(mut connection) = builder.handshake(link).await else { return };
    let closing = Rc::new(Notify::new());
    loop {
        let asked = tokio::select! {
            asked = connection.accept() => asked,
            () = closing.notified() => {
                connection.graceful_shutdown();
                continue;
            }
        };
        let Some(Ok((request, respond))) = asked else { return };
        let (parts, body) = request.into_parts();
        let asked = Asked {
            request: Request::from_parts(parts, ()),
            connection: number,
            body,
            respond,
            closing: Rc::clone(&closing),
        };
        tokio::task::spawn_local(serve(asked));
    }
}

impl Asked {
    /// The head as text: method and URI, then a line for each field.
    #[must_use]
    pub fn shown(&self) -> String {
        let mut text = format!("{} {}\n", self.request.method(), self.request.uri());
        for (name, value) in self.request.headers() {
            text += &format!("{name}: {}\n", String::from_utf8_lossy(value.as_bytes()));
        }
        text
    }

    /// The next piece of the body; none at the end, or when the client has given up.
    pub async fn read(&mut self) -> Option<Bytes> {
        body::receive(&mut self.body).await.ok().flatten()
    }

    /// The whole body.
    pub async fn read_all(&mut self) -> Vec<u8> {
        let mut all = Vec::new();
        while let Some(piece) = self.read().await {
            all.extend_from_slice(&piece);
        }
        all
    }

    /// Sends the head of an interim response.
    ///
    /// # Panics
    /// When the client is gone.
    pub fn inform(&mut self, status: u16, fields: &[(&str, &str)]) {
        self.respond.send_informational(head(status, fields)).expect("the stream is open");
    }

    /// Sends the head of the response; its body is up to the caller.
    ///
    /// # Panics
    /// When the client is gone.
    pub fn begin(&mut self, status: u16, fields: &[(&str, &str)]) -> SendStream<Bytes> {
        self.respond.send_response(head(status, fields), false).expect("the stream is open")
    }

    /// Sends a response that is nothing but a head.
    ///
    /// # Panics
    /// When the client is gone.
    pub fn answer_head(&mut self, status: u16, fields: &[(&str, &str)]) {
        self.respond.send_response(head(status, fields), true).expect("the stream is open");
    }

    /// Sends a response.
    pub async fn answer(&mut self, status: u16, fields: &[(&str, &str)], body: impl AsRef<[u8]>) {
        let mut sending = self.begin(status, fields);
        // A client that has left does not see it.
        let _ = body::send(&mut sending, Bytes::copy_from_slice(body.as_ref())).await;
        let _ = sending.send_data(Bytes::new(), true);
    }

    /// Gives the stream up.
    pub fn reset(&mut self, reason: Reason) {
        self.respond.send_reset(reason);
    }

    /// Waits until the client has given the stream up, or is gone; none when it is gone.
    pub async fn given_up(&mut self) -> Option<Reason> {
        std::future::poll_fn(|context| self.respond.poll_reset(context)).await.ok()
    }

    /// Says that the connection takes nothing new.
    pub fn close(&self) {
        self.closing.notify_one();
    }
}

fn head(status: u16, fields: &[(&str, &str)]) -> Response<()> {
    let mut response = Response::builder().status(status).body(()).expect("a status");
    *response.headers_mut() = self::fields(fields);
    response
}

/// Fields, or trailers.
///
/// # Panics
/// When a field is invalid.
#[must_use]
pub fn fields(fields: &[(&str, &str)]) -> HeaderMap {
    let fields = fields.iter().map(|(name, value)| {
        let name = HeaderName::from_bytes(name.as_bytes()).expect("a name");
        (name, HeaderValue::from_str(value).expect("a value"))
    });
    fields.collect()
}
