//! The end of a bridge where a test speaks HTTP/1.

use std::io::{self, ErrorKind};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use tokio::io::{AsyncReadExt, AsyncWriteExt, Interest};
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};

use crate::http2::head::Framing;

/// Room for one read.
const PIECE: usize = 64 * 1024;

/// Both directions, of which one can wait while the other goes on.
pub(super) struct Near {
    pub(super) reader: Reader,
    pub(super) writer: OwnedWriteHalf,
}

pub(super) struct Reader {
    half: OwnedReadHalf,
    /// Received and not consumed yet.
    buffer: BytesMut,
}

impl Near {
    pub(super) fn new(stream: UnixStream) -> io::Result<Self> {
        stream.set_nonblocking(true)?;
        let (half, writer) = tokio::net::UnixStream::from_std(stream)?.into_split();
        Ok(Self { reader: Reader { half, buffer: BytesMut::new() }, writer })
    }

    pub(super) async fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.writer.write_all(bytes).await
    }

    pub(super) async fn fill(&mut self) -> io::Result<()> {
        self.reader.fill().await
    }

    /// The lines of a head that is complete, without the empty one.
    pub(super) fn take_head(&mut self) -> Option<Vec<u8>> {
        self.reader.take_until(b"\r\n\r\n").map(|head| head.to_vec())
    }

    /// The proxy's word about the client behind it (PROXY protocol, as a line or in bytes), if all of it is there.
    pub(super) fn take_proxy_header(&mut self) -> Option<Bytes> {
        const SIGNATURE: &[u8] = b"\r\n\r\n\0\r\nQUIT\n";
        let buffer = &mut self.reader.buffer;
        let length = if buffer.starts_with(b"PROXY ") {
            buffer.windows(2).position(|window| window == b"\r\n")? + 2
        } else if buffer.starts_with(SIGNATURE) {
            let length = buffer.get(14..16)?;
            16 + usize::from(u16::from_be_bytes([length[0], length[1]]))
        } else {
            return None;
        };
        (buffer.len() >= length).then(|| buffer.split_to(length).freeze())
    }

    /// The head of the next request.
    pub(super) async fn next_head(&mut self) -> io::Result<Vec<u8>> {
        loop {
            if let Some(head) = self.take_head() {
                return Ok(head);
            }
            self.fill().await?;
        }
    }
}

impl Reader {
    /// The next piece of a body of which `framing` says what is to come; none at its end. Safe to be given up.
    pub(super) async fn piece(&mut self, framing: &mut Framing) -> io::Result<Option<Bytes>> {
        loop {
            match framing {
                Framing::None | Framing::Length(0) => return Ok(None),
                Framing::Length(left) if !self.buffer.is_empty() => {
                    let n = usize::try_from(*left).unwrap_or(usize::MAX).min(self.buffer.len());
                    *left -= n as u64;
                    return Ok(Some(self.buffer.split_to(n).freeze()));
                }
                Framing::Tunnel if !self.buffer.is_empty() => return Ok(Some(self.buffer.split().freeze())),
                Framing::Chunked => {
                    if let Some(chunk) = self.take_chunk()? {
                        return Ok(Some(chunk).filter(|chunk| !chunk.is_empty()));
                    }
                }
                Framing::Length(_) | Framing::Tunnel => {}
            }
            match self.fill().await {
                Err(error) if *framing == Framing::Tunnel && error.kind() == ErrorKind::UnexpectedEof => {
                    return Ok(None);
                }
                filled => filled?,
            }
        }
    }

    /// A chunk that is complete. The empty one is the last.
    fn take_chunk(&mut self) -> io::Result<Option<Bytes>> {
        let Some(at) = self.buffer.windows(2).position(|window| window == b"\r\n") else { return Ok(None) };
        let size = std::str::from_utf8(&self.buffer[..at]).ok();
        let size = size.and_then(|size| usize::from_str_radix(size.split(';').next()?, 16).ok());
        let size = size.ok_or_else(|| io::Error::other("this is for tests of HTTP/1"))?;
        if self.buffer.len() - (at + 2) < size.saturating_add(2) {
            return Ok(None);
        }
        let _line = self.buffer.split_to(at + 2);
        let chunk = self.buffer.split_to(size).freeze();
        let _line = self.buffer.split_to(2);
        Ok(Some(chunk))
    }

    fn take_until(&mut self, end: &[u8]) -> Option<Bytes> {
        let at = self.buffer.windows(end.len()).position(|window| window == end)?;
        let found = self.buffer.split_to(at).freeze();
        let _end = self.buffer.split_to(end.len());
        Some(found)
    }

    /// Reads more; the end is an error.
    async fn fill(&mut self) -> io::Result<()> {
        self.buffer.reserve(PIECE);
        match self.half.read_buf(&mut self.buffer).await? {
            0 => Err(ErrorKind::UnexpectedEof.into()),
            _ => Ok(()),
        }
    }

    /// Waits until the test has closed its end altogether. What it says meanwhile is kept for later.
    pub(super) async fn gone(&mut self) {
        while self.fill().await.is_ok() {}
        while !self.half.ready(Interest::WRITABLE).await.is_ok_and(|ready| ready.is_write_closed()) {
            tokio::time::sleep(Duration::from_millis(4)).await;
        }
    }
}
