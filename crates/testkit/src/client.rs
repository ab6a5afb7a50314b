//! A raw HTTP/1.1 client: it sends the very bytes that a test wants and reads with deadlines.

use std::io::{ErrorKind, Read, Write};
use std::net::{IpAddr, Shutdown, SocketAddr, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::Path;

use rustls::{ClientConnection, HandshakeKind, StreamOwned};
use rustls_pki_types::ServerName;

use crate::carrier::Carrier;
use crate::dial::{Width, dial};
use crate::http2::{Far, carry};
use crate::request::Request;
use crate::response::Response;
use crate::tls::TlsClient;
use crate::wait::PATIENCE;

/// One connection.
#[derive(Debug)]
pub struct Client {
    stream: ClientStream,
    /// Received and not consumed yet.
    buffer: Vec<u8>,
}

#[derive(Debug)]
enum ClientStream {
    Tcp(TcpStream),
    Unix(UnixStream),
    Tls(Box<StreamOwned<ClientConnection, TcpStream>>),
}

impl Client {
    /// Connects by TCP.
    #[must_use]
    #[track_caller]
    pub fn connect(address: SocketAddr) -> Self {
        Self::try_connect(address).unwrap_or_else(|error| panic!("connect to {address}: {error}"))
    }

    /// Connects by TCP, or says why not.
    ///
    /// # Errors
    /// Errors of the system.
    pub fn try_connect(address: SocketAddr) -> std::io::Result<Self> {
        Self::carried(connect_tcp(address)?)
    }

    /// Connects by TCP, and speaks HTTP/1 whatever carries the requests of this run.
    ///
    /// # Errors
    /// Errors of the system.
    pub fn try_connect_http1(address: SocketAddr) -> std::io::Result<Self> {
        Ok(Self::over(ClientStream::Tcp(connect_tcp(address)?)))
    }

    /// Connects by TCP from one of this machine's addresses.
    #[must_use]
    #[track_caller]
    pub fn connect_from(source: IpAddr, address: SocketAddr) -> Self {
        let stream = dial(source, address, Width::Usual).and_then(with_patience);
        let client = stream.and_then(Self::carried);
        client.unwrap_or_else(|error| panic!("connect from {source} to {address}: {error}"))
    }

    /// Connects by TCP and speaks TLS with the host of this name.
    #[must_use]
    #[track_caller]
    pub fn connect_tls(address: SocketAddr, tls: &TlsClient, host: &str) -> Self {
        Self::try_connect_tls(address, tls, host)
            .unwrap_or_else(|error| panic!("TLS with {address}: {error}"))
    }

    /// As `connect_tls`, or says why not. In TLS 1.3 a server that refuses the client says so only when the
    /// client reads.
    ///
    /// # Errors
    /// Errors of the system and of the handshake.
    pub fn try_connect_tls(address: SocketAddr, tls: &TlsClient, host: &str) -> std::io::Result<Self> {
        match Carrier::of_this_run() {
            Carrier::Http1 => Self::try_connect_http1(address)?.into_tls(tls, host),
            Carrier::Http2 => {
                let far = Far::Tls(Box::new(tls.clone()), host.to_owned());
                Ok(Self::over(ClientStream::Unix(carry(connect_tcp(address)?, far)?)))
            }
        }
    }

    /// Begins to speak TLS on a connection.
    ///
    /// # Errors
    /// Errors of the system and of the handshake.
    pub fn into_tls(self, tls: &TlsClient, host: &str) -> std::io::Result<Self> {
        let ClientStream::Tcp(mut socket) = self.stream else { panic!("TLS is spoken over TCP") };
        let host = ServerName::try_from(host.to_owned()).expect("a valid host name");
        let mut connection = ClientConnection::new(tls.config(), host).map_err(std::io::Error::other)?;
        while connection.is_handshaking() {
            connection.complete_io(&mut socket)?;
        }
        let stream = ClientStream::Tls(Box::new(StreamOwned::new(connection, socket)));
        Ok(Self { stream, buffer: self.buffer })
    }

    /// The TLS session: version, cipher and protocol that both sides agreed on.
    #[must_use]
    pub fn tls(&self) -> &ClientConnection {
        match &self.stream {
            ClientStream::Tls(stream) => &stream.conn,
            _ => panic!("the connection does not speak TLS"),
        }
    }

    /// Where it has connected from.
    #[must_use]
    pub fn own_address(&self) -> SocketAddr {
        match &self.stream {
            ClientStream::Tcp(stream) => stream.local_addr().expect("a connection has two ends"),
            _ => panic!("the connection is not plain TCP"),
        }
    }

    /// Whether an earlier session was resumed.
    #[must_use]
    pub fn is_resumed(&self) -> bool {
        self.tls().handshake_kind() == Some(HandshakeKind::Resumed)
    }

    /// Connects to a Unix socket, or says why not.
    ///
    /// # Errors
    /// Errors of the system.
    pub fn try_connect_unix(path: &Path) -> std::io::Result<Self> {
        let stream = UnixStream::connect(path)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        Ok(Self::over(ClientStream::Unix(stream)))
    }

    fn carried(stream: TcpStream) -> std::io::Result<Self> {
        Ok(Self::over(match Carrier::of_this_run() {
            Carrier::Http1 => ClientStream::Tcp(stream),
            Carrier::Http2 => ClientStream::Unix(carry(stream, Far::Plain)?),
        }))
    }

    fn over(stream: ClientStream) -> Self {
        Self { stream, buffer: Vec::new() }
    }

    /// A GET on this connection.
    #[track_caller]
    pub fn get(&mut self, target: &str) -> Response {
        self.send(&Request::get(target))
    }

    /// Sends a request and reads the response.
    #[track_caller]
    pub fn send(&mut self, request: &Request) -> Response {
        self.try_send(request).unwrap_or_else(|error| panic!("{request:?}: {error}"))
    }

    /// Sends a request and reads the response, or says what went wrong.
    ///
    /// # Errors
    /// Errors of the connection, and a text that is not a response.
    pub fn try_send(&mut self, request: &Request) -> Result<Response, String> {
        // A server may answer and close before it has read everything: look at the answer.
        let written = self.try_write(&request.encode());
        match self.try_read_response_to(request.method()) {
            Ok(response) => Ok(response),
            Err(read) => Err(written.err().map_or(read.clone(), |error| format!("{error}; {read}"))),
        }
    }

    /// Sends bytes.
    #[track_caller]
    pub fn write(&mut self, bytes: impl AsRef<[u8]>) {
        self.try_write(bytes.as_ref()).expect("write to the server");
    }

    /// Sends bytes, or says why not.
    ///
    /// # Errors
    /// Errors of the connection.
    pub fn try_write(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        match &mut self.stream {
            ClientStream::Tcp(stream) => stream.write_all(bytes),
            ClientStream::Unix(stream) => stream.write_all(bytes),
            ClientStream::Tls(stream) => stream.write_all(bytes).and_then(|()| stream.flush()),
        }
    }

    /// Tells the server that nothing more is sent.
    pub fn finish_writing(&mut self) {
        let _ = match &mut self.stream {
            ClientStream::Tcp(stream) => stream.shutdown(Shutdown::Write),
            ClientStream::Unix(stream) => stream.shutdown(Shutdown::Write),
            ClientStream::Tls(stream) => {
                stream.conn.send_close_notify();
                stream.flush().and_then(|()| stream.sock.shutdown(Shutdown::Write))
            }
        };
    }

    /// Reads the response to a request other than HEAD.
    #[track_caller]
    pub fn read_response(&mut self) -> Response {
        self.try_read_response_to("GET").unwrap_or_else(|error| panic!("{error}"))
    }

    /// Reads one response; informational ones are returned like any other.
    ///
    /// # Errors
    /// Errors of the connection, and a text that is not a response.
    pub fn try_read_response_to(&mut self, method: &str) -> Result<Response, String> {
        let head = self.read_until(b"\r\n\r\n")?;
        let mut response = Response::parse_head(&head)?;
        if method == "HEAD" || matches!(response.status, 100..=199 | 204 | 304) {
            return Ok(response);
        }
        if response.field("Transfer-Encoding").is_some_and(|coding| coding.eq_ignore_ascii_case("chunked")) {
            response.body = self.read_chunks()?;
        } else if let Some(length) = response.field("Content-Length") {
            let length = length.parse().map_err(|_| format!("Content-Length {length:?}"))?;
            response.body = self.read_exactly(length)?;
        } else {
            response.until_close = true;
            response.body = self.try_read_to_end()?;
        }
        Ok(response)
    }

    /// Everything until the server closes.
    #[track_caller]
    pub fn read_to_end(&mut self) -> Vec<u8> {
        self.try_read_to_end().unwrap_or_else(|error| panic!("{error}"))
    }

    /// Reads until `text` was received, and returns all up to its end.
    #[track_caller]
    pub fn read_until_text(&mut self, text: &str) -> String {
        let mut found = self.read_until(text.as_bytes()).unwrap_or_else(|error| panic!("{error}"));
        found.extend_from_slice(text.as_bytes());
        String::from_utf8_lossy(&found).into_owned()
    }

    /// Bytes that have been received and not been read yet. Waits for some, and is empty only at the end.
    #[track_caller]
    pub fn read_some(&mut self) -> Vec<u8> {
        if self.buffer.is_empty() {
            self.fill().unwrap_or_else(|error| panic!("{error}"));
        }
        std::mem::take(&mut self.buffer)
    }

    /// Whether the server has closed; waits for it.
    #[must_use]
    pub fn is_closed(&mut self) -> bool {
        self.buffer.is_empty() && matches!(self.fill(), Ok(0))
    }

    fn try_read_to_end(&mut self) -> Result<Vec<u8>, String> {
        while self.fill()? > 0 {}
        Ok(std::mem::take(&mut self.buffer))
    }

    fn read_chunks(&mut self) -> Result<Vec<u8>, String> {
        let mut body = Vec::new();
        loop {
            let line = String::from_utf8_lossy(&self.read_until(b"\r\n")?).into_owned();
            let size = line.split(';').next().unwrap_or_default();
            let size = usize::from_str_radix(size, 16).map_err(|_| format!("chunk size {line:?}"))?;
            let mut chunk = self.read_exactly(size + 2)?;
            if chunk.split_off(size) != b"\r\n" {
                return Err("a chunk without its end of line".into());
            }
            if size == 0 {
                return Ok(body);
            }
            body.append(&mut chunk);
        }
    }

    fn read_until(&mut self, end: &[u8]) -> Result<Vec<u8>, String> {
        let mut searched = 0;
        loop {
            if let Some(at) = self.buffer[searched..].windows(end.len()).position(|window| window == end) {
                let rest = self.buffer.split_off(searched + at + end.len());
                let mut found = std::mem::replace(&mut self.buffer, rest);
                found.truncate(searched + at);
                return Ok(found);
            }
            searched = self.buffer.len().saturating_sub(end.len() - 1);
            self.fill_or_fail()?;
        }
    }

    fn read_exactly(&mut self, length: usize) -> Result<Vec<u8>, String> {
        while self.buffer.len() < length {
            self.fill_or_fail()?;
        }
        let rest = self.buffer.split_off(length);
        Ok(std::mem::replace(&mut self.buffer, rest))
    }

    fn fill_or_fail(&mut self) -> Result<(), String> {
        match self.fill()? {
            0 => Err(format!("closed by the server after {:?}", String::from_utf8_lossy(&self.buffer))),
            _ => Ok(()),
        }
    }

    fn fill(&mut self) -> Result<usize, String> {
        let mut piece = [0; 65536];
        let read = match &mut self.stream {
            ClientStream::Tcp(stream) => stream.read(&mut piece),
            ClientStream::Unix(stream) => stream.read(&mut piece),
            ClientStream::Tls(stream) => stream.read(&mut piece),
        };
        match read {
            Ok(n) => {
                self.buffer.extend_from_slice(&piece[..n]);
                Ok(n)
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => self.fill(),
            Err(error) => {
                Err(format!("read: {error}; received so far: {:?}", String::from_utf8_lossy(&self.buffer)))
            }
        }
    }
}

fn connect_tcp(address: SocketAddr) -> std::io::Result<TcpStream> {
    with_patience(TcpStream::connect_timeout(&address, PATIENCE)?)
}

fn with_patience(stream: TcpStream) -> std::io::Result<TcpStream> {
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    stream.set_nodelay(true)?;
    Ok(stream)
}
