//! Carriers of HTTP/2: a socket, or TLS that agrees on `h2`.

use std::future::Future;
use std::io;
use std::net::TcpStream;
use std::sync::Arc;
use std::time::Duration;

use rustls::HandshakeKind;
use rustls_pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::runtime::{Builder, Runtime};
use tokio::time::timeout;
use tokio_rustls::{TlsConnector, client, server};

use crate::tls::TlsClient;
use crate::wait::PATIENCE;

/// Both directions of a connection.
pub(super) trait Io: AsyncRead + AsyncWrite + Unpin + Send {
    /// Whether an earlier session of TLS was resumed.
    fn is_resumed(&self) -> bool {
        false
    }
}

impl Io for tokio::net::TcpStream {}

impl Io for server::TlsStream<Link> {}

impl Io for client::TlsStream<Link> {
    fn is_resumed(&self) -> bool {
        self.get_ref().1.handshake_kind() == Some(HandshakeKind::Resumed)
    }
}

/// A connection as it is before HTTP/2 is spoken.
pub(super) type Link = Box<dyn Io>;

/// A runtime for one thread.
pub(super) fn runtime() -> Runtime {
    Builder::new_current_thread().enable_all().build().expect("the system has descriptors")
}

/// Hands a socket to the runtime that this is called in.
pub(super) fn plain(stream: TcpStream) -> io::Result<Link> {
    stream.set_nonblocking(true)?;
    Ok(Box::new(tokio::net::TcpStream::from_std(stream)?))
}

/// Begins to speak TLS, and insists on HTTP/2.
pub(super) async fn encrypted(stream: TcpStream, tls: &TlsClient, host: &str) -> io::Result<Link> {
    let mut config = (*tls.config()).clone();
    config.alpn_protocols = vec![b"h2".to_vec()];
    let host = ServerName::try_from(host.to_owned()).expect("a valid host name");
    let stream = TlsConnector::from(Arc::new(config)).connect(host, plain(stream)?).await?;
    match stream.get_ref().1.alpn_protocol() {
        Some(b"h2") => Ok(Box::new(stream)),
        other => Err(io::Error::other(format!("the server chose {other:?} in place of h2"))),
    }
}

/// Waits for work that is done in time; panics otherwise, with its name.
#[track_caller]
pub(super) fn in_time<T>(runtime: &Runtime, what: &str, work: impl Future<Output = T>) -> T {
    let in_time = |limit: Duration| runtime.block_on(async { timeout(limit, work).await.ok() });
    in_time(PATIENCE).unwrap_or_else(|| panic!("not within {PATIENCE:?}: {what}"))
}
