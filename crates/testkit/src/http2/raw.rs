//! A client of HTTP/2 that sends the very frames that a test wants, and shows those that come.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use super::frame::{Frame, flag, kind};
use crate::wait::PATIENCE;

/// The first bytes of a client.
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// One connection. Nothing is answered by itself.
#[derive(Debug)]
pub struct RawHttp2 {
    stream: TcpStream,
    /// Received and not consumed yet.
    received: Vec<u8>,
}

impl RawHttp2 {
    /// Connects and says that it knows HTTP/2, with no settings.
    #[must_use]
    #[track_caller]
    pub fn connect(address: SocketAddr) -> Self {
        Self::connect_with(address, &[])
    }

    /// Connects and says that it knows HTTP/2, with these settings.
    #[must_use]
    #[track_caller]
    pub fn connect_with(address: SocketAddr, settings: &[(u16, u32)]) -> Self {
        let stream = TcpStream::connect_timeout(&address, PATIENCE).and_then(|stream| {
            stream.set_nodelay(true)?;
            stream.set_write_timeout(Some(PATIENCE)).map(|()| stream)
        });
        let stream = stream.unwrap_or_else(|error| panic!("connect to {address}: {error}"));
        let mut client = Self { stream, received: Vec::new() };
        client.write([PREFACE, &Frame::settings(settings).encode()].concat());
        client
    }

    /// Sends bytes.
    #[track_caller]
    pub fn write(&mut self, bytes: impl AsRef<[u8]>) {
        self.try_write(bytes).unwrap_or_else(|error| panic!("write to the server: {error}"));
    }

    /// Sends bytes, or says why not.
    ///
    /// # Errors
    /// Errors of the connection.
    pub fn try_write(&mut self, bytes: impl AsRef<[u8]>) -> io::Result<()> {
        self.stream.write_all(bytes.as_ref())
    }

    /// Sends a frame.
    #[track_caller]
    pub fn send(&mut self, frame: &Frame) {
        self.write(frame.encode());
    }

    /// The next frame; none when the server has closed the connection. Panics when nothing comes.
    #[track_caller]
    pub fn receive(&mut self) -> Option<Frame> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            if let Some(frame) = Frame::take(&mut self.received) {
                return Some(frame);
            }
            match self.fill(deadline.saturating_duration_since(Instant::now())) {
                Ok(0) => return None,
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::ConnectionReset => return None,
                Err(error) => panic!("no frame within {PATIENCE:?}: {error}"),
            }
        }
    }

    /// Frames up to the first one that is asked for, and that one; all frames if the server closes before.
    #[track_caller]
    pub fn receive_until(&mut self, is_it: impl Fn(&Frame) -> bool) -> Vec<Frame> {
        let mut frames = Vec::new();
        while let Some(frame) = self.receive() {
            let is_it = is_it(&frame);
            frames.push(frame);
            if is_it {
                break;
            }
        }
        frames
    }

    /// Waits until the server answers a ping: everything before it has been read.
    #[track_caller]
    pub fn ping(&mut self) {
        self.send(&Frame::ping());
        let frames = self.receive_until(|frame| frame.kind == kind::PING && frame.flags == flag::ACK);
        assert_eq!(frames.last().map(|frame| frame.kind), Some(kind::PING), "closed after {frames:?}");
    }

    /// Waits until the server ends the connection, and returns the reason that its GOAWAY tells.
    #[track_caller]
    pub fn expect_goaway(&mut self) -> u32 {
        let frames = self.receive_until(|frame| frame.kind == kind::GOAWAY && frame.code() != 0);
        let last = frames.last().filter(|frame| frame.kind == kind::GOAWAY);
        last.unwrap_or_else(|| panic!("closed without a reason after {frames:?}")).code()
    }

    /// Waits until the server gives up a stream, and returns the reason.
    #[track_caller]
    pub fn expect_reset(&mut self, stream: u32) -> u32 {
        let frames = self.receive_until(|frame| frame.kind == kind::RST_STREAM && frame.stream == stream);
        let last = frames.last().filter(|frame| frame.kind == kind::RST_STREAM);
        last.unwrap_or_else(|| panic!("closed, and no reset, after {frames:?}")).code()
    }

    /// Reads and forgets what has come, without waiting. False when the server has closed.
    pub fn skip(&mut self) -> bool {
        self.received.clear();
        loop {
            match self.fill(Duration::ZERO) {
                Ok(0) => return false,
                Ok(_) => self.received.clear(),
                Err(error) => return matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut),
            }
        }
    }

    /// The socket itself.
    #[must_use]
    pub fn stream(&self) -> &TcpStream {
        &self.stream
    }

    fn fill(&mut self, limit: Duration) -> io::Result<usize> {
        self.stream.set_nonblocking(limit.is_zero())?;
        if !limit.is_zero() {
            self.stream.set_read_timeout(Some(limit))?;
        }
        let mut piece = [0; 65536];
        let read = self.stream.read(&mut piece);
        self.stream.set_nonblocking(false)?;
        let n = read?;
        self.received.extend_from_slice(&piece[..n]);
        Ok(n)
    }
}
