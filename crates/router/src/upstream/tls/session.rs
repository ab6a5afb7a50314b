//! One TLS session with a server.

use std::io::{self, BufRead, IoSlice, Read, Write};

use rustls::ClientConnection;
use tokio::io::ReadBuf;

use super::TlsTarget;
use crate::io::{AnySocket, SocketInterest};

/// Reads of tickets and the like between two requests.
const MOST_QUIET_READS: usize = 16;

/// A session; its handshake is done once it is in use.
pub(crate) struct ClientSession {
    connection: ClientConnection,
}

impl ClientSession {
    /// Connects, and verifies the server's certificate.
    pub(crate) async fn connect(socket: &AnySocket, target: &TlsTarget) -> io::Result<Self> {
        let connection = ClientConnection::new(target.config.clone(), target.name.clone());
        let mut session = Self { connection: connection.map_err(io::Error::other)? };
        while session.connection.is_handshaking() {
            session.flush(socket)?;
            match session.receive(socket) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => session.wait(socket).await?,
                Err(error) => {
                    // The server learns why, if there is room for it.
                    let _ = session.flush(socket);
                    return Err(error);
                }
            }
        }
        session.flush(socket)?;
        Ok(session)
    }

    /// As `ServerConnection::read`. All that was decrypted is taken before anything waits, so that a socket with
    /// nothing to read means a session with nothing to read.
    pub(crate) async fn read(&mut self, socket: &AnySocket, buffer: &mut Vec<u8>) -> io::Result<usize> {
        loop {
            match self.take_plaintext(buffer) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                result => return result,
            }
            self.flush(socket)?;
            match self.receive(socket) {
                // What comes may be nothing to be taken, and never end.
                Ok(_) => tokio::task::coop::consume_budget().await,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => self.wait(socket).await?,
                Err(error) => return Err(error),
            }
        }
    }

    /// Reads what was decrypted, without waiting.
    pub(crate) fn try_read(&mut self, buffer: &mut ReadBuf<'_>) -> io::Result<()> {
        let n = self.connection.reader().read(buffer.initialize_unfilled())?;
        buffer.advance(n);
        Ok(())
    }

    /// Whether both sides have agreed to speak this protocol (ALPN).
    pub(crate) fn speaks(&self, protocol: &[u8]) -> bool {
        self.connection.alpn_protocol() == Some(protocol)
    }

    /// As `ServerConnection::try_write`. What is encrypted and not sent goes out with the next call of anything.
    pub(crate) fn try_write(&mut self, socket: &AnySocket, pieces: &[IoSlice<'_>]) -> io::Result<usize> {
        self.flush(socket)?;
        if self.connection.wants_write() {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        let n = self.connection.writer().write_vectored(pieces)?;
        self.flush(socket)?;
        Ok(n)
    }

    /// Whether something encrypted is still to be sent.
    pub(crate) fn wants_room(&self) -> bool {
        self.connection.wants_write()
    }

    /// As `ServerConnection::is_quiet`; tickets and the like are not noise, unless there is no end of them.
    pub(crate) fn is_quiet(&mut self, socket: &AnySocket) -> bool {
        let mut reads = (0..MOST_QUIET_READS).map(|_| self.receive(socket));
        let end = reads.find(|read| !matches!(read, Ok(n) if *n > 0));
        if !matches!(end, Some(Err(error)) if error.kind() == io::ErrorKind::WouldBlock) {
            return false;
        }
        let left = self.connection.reader().fill_buf().map(<[u8]>::len);
        matches!(left, Err(error) if error.kind() == io::ErrorKind::WouldBlock)
    }

    /// As `ServerConnection::has_spoken`.
    pub(crate) fn has_spoken(&mut self, socket: &AnySocket) -> bool {
        !self.is_quiet(socket) && self.connection.reader().fill_buf().is_ok_and(|bytes| !bytes.is_empty())
    }

    /// Tells the server that this is the end, if there is room for it.
    pub(crate) fn say_goodbye(&mut self, socket: &AnySocket) {
        self.connection.send_close_notify();
        // The connection ends in any case.
        let _ = self.flush(socket);
    }

    fn take_plaintext(&mut self, buffer: &mut Vec<u8>) -> io::Result<usize> {
        let before = buffer.len();
        loop {
            let mut reader = self.connection.reader();
            let plaintext = match reader.fill_buf() {
                Ok(plaintext) => plaintext,
                Err(_) if buffer.len() > before => break,
                Err(error) => return Err(error),
            };
            let n = plaintext.len();
            if n == 0 {
                break;
            }
            buffer.extend_from_slice(plaintext);
            reader.consume(n);
        }
        Ok(buffer.len() - before)
    }

    /// Receives and decrypts; 0 at the end.
    pub(crate) fn receive(&mut self, socket: &AnySocket) -> io::Result<usize> {
        let n = self.connection.read_tls(&mut DirectSocket(socket))?;
        self.connection
            .process_new_packets()
            .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
        Ok(n)
    }

    /// Sends what is encrypted, as far as there is room.
    pub(crate) fn flush(&mut self, socket: &AnySocket) -> io::Result<()> {
        while self.connection.wants_write() {
            match self.connection.write_tls(&mut DirectSocket(socket)) {
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    async fn wait(&self, socket: &AnySocket) -> io::Result<()> {
        socket.wait(SocketInterest { bytes: true, room: self.wants_room() }).await.map(drop)
    }
}

/// A socket that is read and written without waiting.
struct DirectSocket<'s>(&'s AnySocket);

impl Read for DirectSocket<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.try_read(buffer)
    }
}

impl Write for DirectSocket<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.try_write(&[IoSlice::new(bytes)])
    }

    fn write_vectored(&mut self, pieces: &[IoSlice<'_>]) -> io::Result<usize> {
        self.0.try_write(pieces)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
