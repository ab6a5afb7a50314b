//! Servers behind the server: they say the very bytes that a test wants, at the time that it wants.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use rustls::{ServerConfig, ServerConnection, StreamOwned};

use crate::http2::{Frame, flag, kind};
use crate::tls::{Authority, Bundle};
use crate::wait::PATIENCE;

/// A server that treats each connection as its function says. Ends when it is dropped.
#[derive(Debug)]
pub struct Origin {
    address: SocketAddr,
    n_connections: Arc<AtomicUsize>,
    ends: Arc<AtomicBool>,
}

/// One connection of an origin.
pub struct OriginPeer {
    stream: OriginStream,
    /// Received and not consumed yet.
    buffer: Vec<u8>,
    /// 1 for the first connection.
    pub number: usize,
}

enum OriginStream {
    Plain(TcpStream),
    Tls(Box<StreamOwned<ServerConnection, TcpStream>>),
}

impl Origin {
    /// Starts one at a free port.
    ///
    /// # Panics
    /// When there is none.
    #[must_use]
    pub fn start(serve: impl Fn(&mut OriginPeer) + Send + Sync + 'static) -> Self {
        Self::start_with(None, serve)
    }

    /// Starts one that speaks TLS.
    ///
    /// # Panics
    /// When the certificate is none.
    #[must_use]
    pub fn start_tls(bundle: &Bundle, serve: impl Fn(&mut OriginPeer) + Send + Sync + 'static) -> Self {
        let mut config = bundle.server_config();
        // For a `OriginPeer::blurt`.
        config.send_half_rtt_data = true;
        Self::start_with(Some(Arc::new(config)), serve)
    }

    /// Starts one that speaks TLS with clients that have a certificate of this authority.
    ///
    /// # Panics
    /// When the certificate is none.
    #[must_use]
    pub fn start_mutual_tls(
        bundle: &Bundle,
        authority: &Authority,
        serve: impl Fn(&mut OriginPeer) + Send + Sync + 'static,
    ) -> Self {
        Self::start_with(Some(Arc::new(bundle.mutual_config(authority))), serve)
    }

    /// Answers every request of every connection with the same bytes.
    #[must_use]
    pub fn answering(response: impl Into<Vec<u8>>) -> Self {
        let response = response.into();
        Self::start(move |peer| while peer.read_request().is_some() && peer.write(&response) {})
    }

    /// Answers every request with this body.
    #[must_use]
    pub fn saying(body: &str) -> Self {
        Self::answering(format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len()))
    }

    /// Answers every request with the request itself, head and body.
    #[must_use]
    pub fn echo() -> Self {
        Self::start(|peer| {
            while let Some(request) = peer.read_request() {
                let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", request.len());
                if !peer.write(&[head.as_bytes(), &request].concat()) {
                    return;
                }
            }
        })
    }

    /// `IP:PORT`.
    #[must_use]
    pub fn address(&self) -> String {
        self.address.to_string()
    }

    /// The value of `proxy` that leads here.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The port that the server listens on.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// Connections that were accepted.
    #[must_use]
    pub fn n_connections(&self) -> usize {
        self.n_connections.load(Ordering::SeqCst)
    }

    fn start_with(
        tls: Option<Arc<ServerConfig>>,
        serve: impl Fn(&mut OriginPeer) + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("the address of a listener");
        let (n_connections, ends) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicBool::new(false)));
        let origin = Self { address, n_connections: Arc::clone(&n_connections), ends: Arc::clone(&ends) };
        let serve = Arc::new(serve);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if ends.load(Ordering::SeqCst) {
                    return;
                }
                let number = n_connections.fetch_add(1, Ordering::SeqCst) + 1;
                let (tls, serve) = (tls.clone(), Arc::clone(&serve));
                std::thread::spawn(move || {
                    serve(&mut OriginPeer {
                        stream: OriginStream::new(stream, tls),
                        buffer: Vec::new(),
                        number,
                    });
                });
            }
        });
        origin
    }
}

impl Drop for Origin {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::SeqCst);
        // Wakes the thread that accepts; whether it still does makes no difference.
        let _ = TcpStream::connect(self.address);
    }
}

impl OriginStream {
    fn new(stream: TcpStream, tls: Option<Arc<ServerConfig>>) -> Self {
        stream.set_read_timeout(Some(PATIENCE)).expect("a time-out");
        stream.set_nodelay(true).expect("no delay");
        match tls {
            None => Self::Plain(stream),
            Some(config) => {
                let connection = ServerConnection::new(config).expect("a session");
                Self::Tls(Box::new(StreamOwned::new(connection, stream)))
            }
        }
    }
}

impl OriginPeer {
    /// The address that the connection comes from.
    #[must_use]
    pub fn client(&self) -> SocketAddr {
        let stream = match &self.stream {
            OriginStream::Plain(stream) => stream,
            OriginStream::Tls(stream) => &stream.sock,
        };
        stream.peer_addr().expect("a connection has two ends")
    }

    /// Reads a request, head and body; none when the connection ends.
    pub fn read_request(&mut self) -> Option<Vec<u8>> {
        let end = self.read_until(b"\r\n\r\n")?;
        let head = String::from_utf8_lossy(&self.buffer[..end]).to_ascii_lowercase();
        let length = head.split("\r\ncontent-length: ").nth(1).and_then(|rest| rest.split("\r\n").next());
        let length: usize = length.map_or(0, |length| length.parse().expect("a length"));
        while self.buffer.len() < end + length {
            self.fill()?;
        }
        let rest = self.buffer.split_off(end + length);
        Some(std::mem::replace(&mut self.buffer, rest))
    }

    /// Reads the head of a request; the body stays where it is.
    pub fn read_head(&mut self) -> Option<String> {
        let end = self.read_until(b"\r\n\r\n")?;
        let rest = self.buffer.split_off(end);
        Some(String::from_utf8_lossy(&std::mem::replace(&mut self.buffer, rest)).into_owned())
    }

    /// The next frame of HTTP/2; none when the connection ends.
    pub fn read_frame(&mut self) -> Option<Frame> {
        loop {
            if let Some(frame) = Frame::take(&mut self.buffer) {
                return Some(frame);
            }
            self.fill()?;
        }
    }

    /// Begins to speak HTTP/2 with these settings, once the client does.
    pub fn greet(&mut self, settings: &[(u16, u32)]) {
        let preface = self.read_until(b"SM\r\n\r\n").unwrap_or_default();
        self.buffer.drain(..preface);
        self.write(&Frame::settings(settings).encode());
    }

    /// Reads frames up to the head of the next request, and answers those that want it; none when the connection ends.
    pub fn read_stream(&mut self) -> Option<u32> {
        loop {
            let frame = self.read_frame()?;
            match frame.kind {
                kind::SETTINGS if frame.flags & flag::ACK == 0 => {
                    self.write(&Frame::settings(&[]).with(flag::ACK).encode());
                }
                kind::PING if frame.flags & flag::ACK == 0 => {
                    self.write(&frame.with(flag::ACK).encode());
                }
                kind::HEADERS => return Some(frame.stream),
                _ => {}
            }
        }
    }

    /// The next bytes of the client; empty when the connection ends.
    pub fn read(&mut self) -> Vec<u8> {
        if self.buffer.is_empty() {
            self.fill();
        }
        std::mem::take(&mut self.buffer)
    }

    /// Sends bytes; false when the connection is broken.
    pub fn write(&mut self, bytes: &[u8]) -> bool {
        match &mut self.stream {
            OriginStream::Plain(stream) => stream.write_all(bytes).is_ok(),
            OriginStream::Tls(stream) => stream.write_all(bytes).is_ok(),
        }
    }

    /// Sends bytes together with its part of the handshake of TLS, before the client can have asked for anything. Goes
    /// out with what is done next.
    ///
    /// # Panics
    /// Without TLS.
    pub fn blurt(&mut self, bytes: &[u8]) {
        let OriginStream::Tls(stream) = &mut self.stream else { panic!("this is for TLS") };
        stream.conn.writer().write_all(bytes).expect("there is room");
    }

    /// Says that nothing more is sent.
    pub fn finish_writing(&self) {
        if let OriginStream::Plain(stream) = &self.stream {
            let _ = stream.shutdown(Shutdown::Write);
        }
    }

    /// Has the connection reset when the function of this peer returns.
    ///
    /// # Panics
    /// With TLS.
    pub fn reset(&self) {
        let OriginStream::Plain(stream) = &self.stream else { panic!("this is for plain connections") };
        rustix::net::sockopt::set_socket_linger(stream, Some(Duration::ZERO)).expect("it is a socket");
    }

    /// Reads until the end; the error that is there instead, if one is.
    pub fn read_error(&mut self) -> Option<ErrorKind> {
        let OriginStream::Plain(stream) = &mut self.stream else { return None };
        std::io::copy(stream, &mut std::io::sink()).err().map(|error| error.kind())
    }

    fn read_until(&mut self, end: &[u8]) -> Option<usize> {
        loop {
            if let Some(at) = self.buffer.windows(end.len()).position(|window| window == end) {
                return Some(at + end.len());
            }
            self.fill()?;
        }
    }

    /// Reads more; nothing when there is no more.
    fn fill(&mut self) -> Option<()> {
        let mut piece = [0; 65536];
        loop {
            let read = match &mut self.stream {
                OriginStream::Plain(stream) => stream.read(&mut piece),
                OriginStream::Tls(stream) => stream.read(&mut piece),
            };
            match read {
                Ok(n) if n > 0 => {
                    self.buffer.extend_from_slice(&piece[..n]);
                    return Some(());
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                _ => return None,
            }
        }
    }
}
