//! A non-blocking connection below HTTP: TCP, and TLS on it where the URL says so.

use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

use rustls::{ClientConfig, ClientConnection};
use rustls_pki_types::ServerName;
use socket2::{Domain, Protocol, Socket, Type};

use crate::failure::Failure;
use crate::origin::Origin;

/// One connection. Every call does what can be done at once; the caller comes back after an event of the socket.
#[derive(Debug)]
pub(crate) struct Transport {
    socket: TcpStream,
    is_connected: bool,
    tls: Option<Box<ClientConnection>>,
}

impl Transport {
    /// Begins to connect.
    pub(crate) fn open(origin: &Origin, tls: Option<&Arc<ClientConfig>>) -> Result<Self, Failure> {
        let tls = tls.map(|config| session(origin, config)).transpose()?;
        let socket = connect(origin).map_err(|error| Failure::of_connect(&error))?;
        Ok(Self { socket, is_connected: false, tls })
    }

    /// Goes on with connection and handshake; true once requests can be sent.
    pub(crate) fn advance(&mut self, is_http2: bool) -> Result<bool, Failure> {
        if !self.is_connected && !self.finish_connect().map_err(|error| Failure::of_connect(&error))? {
            return Ok(false);
        }
        if self.is_handshaking() {
            self.shake_hands()?;
        }
        let Some(tls) = self.tls.as_ref() else { return Ok(true) };
        if tls.is_handshaking() {
            return Ok(false);
        }
        let is_agreed = !is_http2 || tls.alpn_protocol() == Some(b"h2");
        if is_agreed { Ok(true) } else { Err(Failure::Tls) }
    }

    fn finish_connect(&mut self) -> io::Result<bool> {
        if let Some(error) = self.socket.take_error()? {
            return Err(error);
        }
        match self.socket.peer_addr() {
            Ok(_) => self.is_connected = true,
            Err(error) if error.kind() == ErrorKind::NotConnected => {}
            Err(error) => return Err(error),
        }
        Ok(self.is_connected)
    }

    fn is_handshaking(&self) -> bool {
        self.tls.as_ref().is_some_and(|tls| tls.is_handshaking())
    }

    fn shake_hands(&mut self) -> Result<(), Failure> {
        loop {
            let flushed = self.flush();
            match flushed.and_then(|()| if self.is_handshaking() { self.read_record() } else { Ok(None) }) {
                Ok(Some(0)) => return Err(Failure::Tls),
                Ok(Some(_)) => {}
                Ok(None) => return Ok(()),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == ErrorKind::ConnectionReset => return Err(Failure::Reset),
                Err(_) => return Err(Failure::Tls),
            }
        }
    }

    /// Reads what the socket has for TLS; nothing if there is no TLS.
    fn read_record(&mut self) -> io::Result<Option<usize>> {
        let Some(tls) = self.tls.as_mut() else { return Ok(None) };
        let n_read = tls.read_tls(&mut self.socket)?;
        if let Err(error) = tls.process_new_packets() {
            // The alert that tells the server why is worth one try.
            drop(tls.write_tls(&mut self.socket));
            return Err(io::Error::new(ErrorKind::InvalidData, error));
        }
        Ok(Some(n_read))
    }

    /// Writes what TLS holds back.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        let Some(tls) = self.tls.as_mut() else { return Ok(()) };
        while tls.wants_write() {
            tls.write_tls(&mut self.socket)?;
        }
        Ok(())
    }

    /// Whether a read of so many bytes into a buffer of this size took all that the socket had.
    pub(crate) fn is_drained(&self, n_read: usize, size: usize) -> bool {
        self.tls.is_none() && n_read < size
    }
}

impl Read for Transport {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let Some(tls) = self.tls.as_mut() else { return self.socket.read(buffer) };
        loop {
            match tls.reader().read(buffer) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                // A server that closes without saying so in TLS: HTTP tells whether something is missing.
                Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(0),
                other => return other,
            }
            tls.read_tls(&mut self.socket)?;
            if let Err(error) = tls.process_new_packets() {
                return Err(io::Error::new(ErrorKind::InvalidData, error));
            }
        }
    }
}

impl Write for Transport {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let Some(tls) = self.tls.as_mut() else { return self.socket.write(bytes) };
        let n_taken = tls.writer().write(bytes)?;
        match self.flush() {
            Err(error) if error.kind() != ErrorKind::WouldBlock => Err(error),
            // Nothing is taken while all of the buffer waits for the socket.
            Err(error) if n_taken == 0 => Err(error),
            _ => Ok(n_taken),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Self::flush(self)
    }
}

impl AsFd for Transport {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

fn connect(origin: &Origin) -> io::Result<TcpStream> {
    let kind = Type::STREAM.nonblocking().cloexec();
    let socket = Socket::new(Domain::for_address(origin.address), kind, Some(Protocol::TCP))?;
    socket.set_tcp_nodelay(true)?;
    match socket.connect(&origin.address.into()) {
        Err(error) if error.raw_os_error() != Some(rustix::io::Errno::INPROGRESS.raw_os_error()) => {
            Err(error)
        }
        _ => Ok(socket.into()),
    }
}

fn session(origin: &Origin, config: &Arc<ClientConfig>) -> Result<Box<ClientConnection>, Failure> {
    let name = ServerName::try_from(origin.host().to_owned()).map_err(|_| Failure::Tls)?;
    let tls = ClientConnection::new(Arc::clone(config), name).map_err(|_| Failure::Tls)?;
    Ok(Box::new(tls))
}
