//! TLS on one connection. The protocol is rustls's, the buffers are ours: they are borrowed while there is
//! something in them, so that a connection that waits holds none.

use std::fs::File;
use std::io::{self, IoSlice};
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use rustls::ServerConfig;
use rustls::server::UnbufferedServerConnection;
use rustls::unbuffered::{ConnectionState, EncodeError, EncryptError, UnbufferedStatus};

use super::socket::AnySocket;
use crate::storage::buffers;
use crate::tls::{ACME_TLS_1, HTTP_2, NoCertificate, TlsPeer, certificate_choice};

/// Bytes that are encrypted before they are sent: three records.
const MAX_SEALED: usize = 48 * 1024;

/// Most bytes that a record adds to its content, and more than an alert takes.
const RECORD_OVERHEAD: usize = 64;

/// Greatest content of a record.
const RECORD_CONTENT: usize = 16 * 1024;

/// Room for the largest record on its way in.
const RECORD_ROOM: usize = RECORD_CONTENT + 512;

/// A TLS session.
pub(crate) struct ServerSession {
    connection: UnbufferedServerConnection,
    /// The host name that the client has asked for.
    server_name: Box<str>,
    /// Received and not decrypted: less than a record.
    incoming: Vec<u8>,
    outgoing: EncryptedOutput,
    /// The client has said that it sends nothing more.
    is_read: bool,
    /// The client broke the protocol. rustls must not be asked for anything any more: it remembers places in what
    /// was received, and that is gone.
    is_broken: bool,
}

/// Bytes that were encrypted and are to be sent.
#[derive(Default)]
struct EncryptedOutput {
    /// Encrypted.
    bytes: Vec<u8>,
    /// How many of them were sent.
    n_sent: usize,
    /// Bytes of the caller's that are among them, and that the caller does not know of.
    n_sealed: usize,
    /// To be encrypted together with what comes next.
    held: Vec<u8>,
}

/// Why there is no session.
#[derive(Debug)]
pub(crate) enum SessionError {
    /// The session cannot even be begun.
    Start(rustls::Error),
    /// No certificate is there for the client.
    NoCertificate(NoCertificate),
    /// The client went away, or does not speak TLS as it should.
    Failed(io::Error),
}

impl SessionError {
    /// The error as readers and writers know it.
    fn into_io(self) -> io::Error {
        match self {
            Self::Failed(error) => error,
            // There are neither before the handshake is done.
            Self::Start(_) | Self::NoCertificate(_) => io::ErrorKind::InvalidData.into(),
        }
    }
}

impl From<io::Error> for SessionError {
    fn from(error: io::Error) -> Self {
        Self::Failed(error)
    }
}

impl ServerSession {
    /// A session that begins with what was `received` already.
    pub(crate) fn new(config: Arc<ServerConfig>, received: Vec<u8>) -> Result<Self, SessionError> {
        let connection = UnbufferedServerConnection::new(config).map_err(SessionError::Start)?;
        Ok(Self {
            connection,
            server_name: Box::default(),
            incoming: received,
            outgoing: EncryptedOutput::default(),
            is_read: false,
            is_broken: false,
        })
    }

    /// Whether the client has said that it sends nothing more.
    pub(crate) fn is_read(&self) -> bool {
        self.is_read
    }

    /// Whether something encrypted is still to be sent.
    pub(crate) fn wants_room(&self) -> bool {
        !self.outgoing.bytes.is_empty()
    }

    /// Whether HTTP/2 was agreed on.
    pub(crate) fn speaks_http2(&self) -> bool {
        self.connection.alpn_protocol() == Some(HTTP_2)
    }

    /// Whether the client is an authority that wanted the handshake alone.
    pub(crate) fn was_challenge(&self) -> bool {
        self.connection.alpn_protocol() == Some(ACME_TLS_1)
    }

    /// The host name that the client has asked for; empty if it has named none.
    pub(crate) fn server_name(&self) -> &str {
        &self.server_name
    }

    /// The client at the other end.
    pub(crate) fn peer(&self) -> TlsPeer<'_> {
        TlsPeer::new(&self.connection, &self.server_name)
    }

    /// Agrees with the client on everything. What it sends at once behind that is appended to `out`.
    pub(crate) async fn handshake(
        &mut self,
        socket: &mut AnySocket,
        out: &mut Vec<u8>,
    ) -> Result<(), SessionError> {
        loop {
            let processed = self.process(socket, out);
            if let Some(name) = certificate_choice::take_wanted() {
                self.server_name = name;
            }
            processed?;
            if !self.connection.is_handshaking() {
                // What is left to be said goes with the first reply, unless the client waits for it.
                if !out.is_empty() {
                    return Ok(());
                }
                if self.outgoing.bytes.is_empty() {
                    socket.acknowledge();
                }
                return Ok(self.flush_all(socket).await?);
            }
            if self.fill(socket, 0).await? == 0 {
                return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
            }
        }
    }

    /// Appends what there is to read; 0 at the end. Cancel safe.
    pub(crate) async fn read(&mut self, socket: &mut AnySocket, out: &mut Vec<u8>) -> io::Result<usize> {
        let before = out.len();
        loop {
            self.process(socket, out).map_err(SessionError::into_io)?;
            if out.len() > before || self.is_read {
                return Ok(out.len() - before);
            }
            if self.fill(socket, out.capacity() - out.len()).await? == 0 {
                return Ok(0);
            }
        }
    }

    /// Gives back the buffer that a read has left behind that found nothing.
    pub(crate) fn rest(&mut self) {
        if self.incoming.is_empty() {
            buffers::give(std::mem::take(&mut self.incoming));
        }
    }

    /// Reads from the socket, which first gets what it waits for.
    async fn fill(&mut self, socket: &mut AnySocket, room: usize) -> io::Result<usize> {
        self.flush_all(socket).await?;
        if self.incoming.capacity() == 0 {
            self.incoming = buffers::take();
        } else if !self.incoming.is_empty() {
            self.incoming.reserve(RECORD_ROOM);
        }
        self.incoming.reserve(room);
        socket.read(&mut self.incoming).await
    }

    /// Decrypts all that has arrived. What there is to answer is left in `outgoing`, so that it can be sent
    /// together with a reply.
    fn process(&mut self, socket: &AnySocket, out: &mut Vec<u8>) -> Result<(), SessionError> {
        if self.is_broken {
            return Err(io::Error::from(io::ErrorKind::NotConnected).into());
        }
        let mut n_used = 0;
        let result: Result<(), rustls::Error> = loop {
            let status = self.connection.process_tls_records(&mut self.incoming[n_used..]);
            let UnbufferedStatus { mut discard, state } = status;
            let mut is_done = false;
            match state {
                Ok(ConnectionState::ReadTraffic(mut traffic)) => {
                    while let Some(Ok(record)) = traffic.next_record() {
                        discard += record.discard;
                        out.extend_from_slice(record.payload);
                    }
                }
                Ok(ConnectionState::EncodeTlsData(mut data)) => {
                    self.outgoing.append(RECORD_OVERHEAD, |room| {
                        data.encode(room).map_err(|error| need_of_encode(&error))
                    });
                }
                Ok(ConnectionState::TransmitTlsData(data)) => data.done(),
                Ok(ConnectionState::PeerClosed) => self.is_read = true,
                Ok(ConnectionState::BlockedHandshake | ConnectionState::WriteTraffic(_)) => is_done = true,
                Ok(_) => {
                    self.is_read = true;
                    is_done = true;
                }
                Err(error) => break Err(error),
            }
            n_used += discard;
            if is_done {
                break Ok(());
            }
        };
        if let Err(error) = result {
            let reason = certificate_choice::take_no_certificate();
            self.fail(socket, n_used, reason);
            let failed = || SessionError::Failed(io::Error::new(io::ErrorKind::InvalidData, error));
            return Err(reason.map_or_else(failed, SessionError::NoCertificate));
        }
        self.incoming.drain(..n_used);
        self.rest();
        Ok(())
    }

    /// Tells the client that it broke the protocol, or has no certificate to expect, if there is room for it. `n_used`
    /// bytes of the input were good.
    fn fail(&mut self, socket: &AnySocket, n_used: usize, reason: Option<NoCertificate>) {
        self.is_broken = true;
        match reason {
            // The library knows one alert for all of them, which says that the client lacks permission.
            Some(reason) => self.outgoing.bytes.extend_from_slice(&reason.record()),
            None => self.encode_last_words(n_used),
        }
        buffers::give(std::mem::take(&mut self.incoming));
        // The connection ends in any case.
        let _ = self.flush(socket);
    }

    /// Encodes all that there is to say: an alert may come behind what has begun the handshake.
    fn encode_last_words(&mut self, n_used: usize) {
        let mut n_used = n_used;
        loop {
            let status = self.connection.process_tls_records(&mut self.incoming[n_used..]);
            n_used += status.discard;
            let Ok(ConnectionState::EncodeTlsData(mut data)) = status.state else { return };
            self.outgoing
                .append(RECORD_OVERHEAD, |room| data.encode(room).map_err(|error| need_of_encode(&error)));
        }
    }

    /// Encrypts and sends as much of the pieces as there is room for.
    pub(crate) fn try_write(&mut self, socket: &AnySocket, pieces: &[IoSlice<'_>]) -> io::Result<usize> {
        if self.outgoing.n_sealed == 0 {
            self.outgoing.n_sealed = match pieces {
                [piece] if self.outgoing.held.is_empty() => self.seal_start(piece)?,
                pieces => self.seal_joined(pieces)?,
            };
        }
        self.flush(socket)?;
        Ok(std::mem::take(&mut self.outgoing.n_sealed))
    }

    /// Encrypts bytes that are sent with what comes next, or by [`flush`](Self::flush); returns how many wait by then.
    pub(crate) fn gather(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.seal(bytes)?;
        Ok(self.outgoing.bytes.len())
    }

    /// Keeps bytes that are to be sent together with what comes next.
    pub(crate) fn hold(&mut self, bytes: &[u8]) -> usize {
        self.outgoing.held.extend_from_slice(bytes);
        bytes.len()
    }

    /// Reads a piece of a file, encrypts and sends it; returns how much of it.
    pub(crate) fn try_send_file(
        &mut self,
        socket: &AnySocket,
        file: &File,
        offset: u64,
        len: u64,
    ) -> io::Result<usize> {
        if self.outgoing.n_sealed == 0 {
            let mut content = std::mem::take(&mut self.outgoing.held);
            let n_held = content.len();
            let room = MAX_SEALED.saturating_sub(n_held).max(1) as u64;
            content.resize(n_held + len.min(room) as usize, 0);
            let n = file.read_at(&mut content[n_held..], offset)?;
            content.truncate(n_held + n);
            let sealed = self.seal(&content);
            buffers::give(content);
            sealed?;
            self.outgoing.n_sealed = n;
        }
        self.flush(socket)?;
        Ok(std::mem::take(&mut self.outgoing.n_sealed))
    }

    /// Says that nothing more will be written, if there is room for it.
    pub(crate) fn close(&mut self, socket: &AnySocket) {
        if self.is_broken {
            return;
        }
        let status = self.connection.process_tls_records(&mut self.incoming);
        if let Ok(ConnectionState::WriteTraffic(mut traffic)) = status.state {
            self.outgoing.append(RECORD_OVERHEAD, |room| {
                traffic.queue_close_notify(room).map_err(|error| need_of_encrypt(&error))
            });
        }
        // The connection ends in any case.
        let _ = self.flush(socket);
    }

    /// Encrypts the start of a piece; returns how much of it.
    fn seal_start(&mut self, piece: &[u8]) -> io::Result<usize> {
        let piece = &piece[..piece.len().min(MAX_SEALED)];
        self.seal(piece)?;
        Ok(piece.len())
    }

    /// Encrypts what is held and the start of the pieces; returns how much of them.
    fn seal_joined(&mut self, pieces: &[IoSlice<'_>]) -> io::Result<usize> {
        let mut content = std::mem::take(&mut self.outgoing.held);
        if content.capacity() == 0 {
            content = buffers::take();
        }
        let n_held = content.len();
        for piece in pieces {
            let room = MAX_SEALED.saturating_sub(content.len());
            content.extend_from_slice(&piece[..piece.len().min(room)]);
        }
        let n = content.len() - n_held;
        let sealed = self.seal(&content);
        buffers::give(content);
        sealed.map(|()| n)
    }

    fn seal(&mut self, content: &[u8]) -> io::Result<()> {
        if self.is_broken {
            return Err(io::ErrorKind::NotConnected.into());
        }
        loop {
            // Less than a record has arrived, so there is nothing to be read here.
            let status = self.connection.process_tls_records(&mut self.incoming);
            match status.state {
                Ok(ConnectionState::WriteTraffic(mut traffic)) => {
                    let n_records = content.len().div_ceil(RECORD_CONTENT);
                    let room = content.len() + n_records * RECORD_OVERHEAD;
                    let sealed = self.outgoing.append(room, |room| {
                        traffic.encrypt(content, room).map_err(|error| need_of_encrypt(&error))
                    });
                    return if sealed { Ok(()) } else { Err(io::ErrorKind::NotConnected.into()) };
                }
                Ok(ConnectionState::EncodeTlsData(mut data)) => {
                    self.outgoing.append(RECORD_OVERHEAD, |room| {
                        data.encode(room).map_err(|error| need_of_encode(&error))
                    });
                }
                Ok(ConnectionState::TransmitTlsData(data)) => data.done(),
                Ok(ConnectionState::PeerClosed) => self.is_read = true,
                Ok(_) | Err(_) => return Err(io::ErrorKind::NotConnected.into()),
            }
        }
    }

    /// Sends what was encrypted, and waits for the room. Cancel safe.
    async fn flush_all(&mut self, socket: &AnySocket) -> io::Result<()> {
        while let Err(error) = self.flush(socket) {
            if error.kind() != io::ErrorKind::WouldBlock {
                return Err(error);
            }
            socket.writable().await?;
        }
        Ok(())
    }

    /// Sends what was encrypted, as far as there is room.
    pub(crate) fn flush(&mut self, socket: &AnySocket) -> io::Result<()> {
        let EncryptedOutput { bytes, n_sent, .. } = &mut self.outgoing;
        while *n_sent < bytes.len() {
            match socket.try_write(&[IoSlice::new(&bytes[*n_sent..])])? {
                0 => return Err(io::ErrorKind::WriteZero.into()),
                n => *n_sent += n,
            }
        }
        *n_sent = 0;
        buffers::give(std::mem::take(bytes));
        Ok(())
    }
}

/// Why something could not be put into a buffer.
enum BufferNeed {
    Room(usize),
    /// Another reason, about which nothing could be done.
    Other,
}

fn need_of_encode(error: &EncodeError) -> BufferNeed {
    match error {
        EncodeError::InsufficientSize(size) => BufferNeed::Room(size.required_size),
        EncodeError::AlreadyEncoded => BufferNeed::Other,
    }
}

fn need_of_encrypt(error: &EncryptError) -> BufferNeed {
    match error {
        EncryptError::InsufficientSize(size) => BufferNeed::Room(size.required_size),
        EncryptError::EncryptExhausted => BufferNeed::Other,
    }
}

impl EncryptedOutput {
    /// Appends what `encode` writes into the room that it gets; false when it cannot.
    fn append(
        &mut self,
        room: usize,
        mut encode: impl FnMut(&mut [u8]) -> Result<usize, BufferNeed>,
    ) -> bool {
        if self.bytes.capacity() == 0 {
            self.bytes = if room > buffers::SMALL_CAPACITY { buffers::take_large() } else { buffers::take() };
        }
        let start = self.bytes.len();
        let mut room = room;
        loop {
            self.bytes.resize(start + room, 0);
            match encode(&mut self.bytes[start..]) {
                Ok(n) => {
                    self.bytes.truncate(start + n);
                    return true;
                }
                Err(BufferNeed::Room(needed)) if needed > room => room = needed,
                Err(_) => {
                    self.bytes.truncate(start);
                    return false;
                }
            }
        }
    }
}
