//! Sends a reply that has been opened: its head with the first piece of its body, then the other pieces,
//! in the framing that the client was promised.

use std::fs::File;
use std::io::{self, IoSlice};

use corral_http::chunked::{CHUNK_END, ChunkHead, LAST_CHUNK};
use corral_http::range::ByteRange;
use corral_http::response::Framing;

use crate::reply::compression::Encoder;
use crate::reply::compression::cache::Part;
use crate::request::client::Gone;
use crate::storage::buffers;
use crate::transaction::Transaction;

/// A piece up to this size is copied behind the head.
const MAX_JOINED: usize = 4096;

/// Puts the pieces of a body into their frame.
pub(crate) struct Writer {
    framing: Framing,
    /// Bytes that may still be sent under `Content-Length`.
    left: u64,
    is_head: bool,
    /// What has to be sent before the next piece: at first the reply's head.
    prefix: Vec<u8>,
    /// Lines behind a body in chunks.
    trailers: Vec<u8>,
    encoding: Option<Box<Encoding>>,
}

/// A body that is compressed on its way.
struct Encoding {
    encoder: Encoder,
    /// Bytes of the body before compression that may still come.
    left: u64,
    /// The body's length was announced, so that it can be seen whether all of it came.
    is_measured: bool,
    /// The client is to see each piece at once.
    is_live: bool,
    /// Something was written since the last flush.
    is_dirty: bool,
}

/// Compressed bytes that are sent without waiting for more.
const ENCODED_STEP: usize = 16 * 1024;

impl Writer {
    pub(crate) fn new(framing: Framing, is_head: bool, head: Vec<u8>) -> Self {
        let left = match framing {
            Framing::Length(length) => length,
            Framing::NoBody => 0,
            Framing::Chunked | Framing::UntilClose => u64::MAX,
        };
        Self { framing, left, is_head, prefix: head, trailers: Vec::new(), encoding: None }
    }

    /// Compresses the body, of which `length` is known. Server-sent events are `live`.
    pub(crate) fn encoded(mut self, encoder: Encoder, length: Option<u64>, is_live: bool) -> Self {
        if !self.is_head {
            let left = length.unwrap_or(u64::MAX);
            let is_measured = length.is_some();
            self.encoding = Some(Box::new(Encoding { encoder, left, is_measured, is_live, is_dirty: false }));
        }
        self
    }

    /// Puts lines behind the body (RFC 9112 section 7.1.2). One whose length was announced has none.
    pub(crate) fn set_trailers(&mut self, lines: Vec<u8>) {
        self.trailers = lines;
    }

    /// Sends a piece of the body. What is compressed may be kept for later: call `flush` before you wait for
    /// something else than the client.
    pub(crate) async fn send(&mut self, tx: &mut Transaction<'_>, piece: &[u8]) -> Result<(), Gone> {
        let Some(encoding) = &mut self.encoding else { return self.send_piece(tx, piece).await };
        encoding.write(piece)?;
        if encoding.is_live {
            return self.flush(tx).await;
        }
        if encoding.encoder.output().len() < ENCODED_STEP {
            return Ok(());
        }
        let output = std::mem::take(encoding.encoder.output());
        self.send_piece(tx, &output).await
    }

    /// Sends all that was given so far.
    pub(crate) async fn flush(&mut self, tx: &mut Transaction<'_>) -> Result<(), Gone> {
        let Some(encoding) = &mut self.encoding else { return Ok(()) };
        let output = encoding.flush()?;
        if output.is_empty() && self.prefix.is_empty() {
            return Ok(());
        }
        self.send_piece(tx, &output).await
    }

    async fn send_piece(&mut self, tx: &mut Transaction<'_>, piece: &[u8]) -> Result<(), Gone> {
        let piece = self.clip(tx, piece);
        // An empty chunk would be the last one.
        let sent = if self.framing == Framing::Chunked && !piece.is_empty() {
            let chunk = ChunkHead::new(piece.len());
            let mut slices = [self.prefix.as_slice(), chunk.as_bytes(), piece, CHUNK_END].map(IoSlice::new);
            tx.send(&mut slices).await
        } else {
            self.send_joined(tx, piece).await
        };
        self.prefix.clear();
        sent
    }

    /// Sends the last piece and what ends the body.
    pub(crate) async fn finish(mut self, tx: &mut Transaction<'_>, piece: &[u8]) -> Result<(), Gone> {
        let sent = match self.encoding.take() {
            Some(encoding) => {
                let output = encoding.finish(piece)?;
                self.send_last(tx, &output).await
            }
            None => self.send_last(tx, piece).await,
        };
        buffers::give(self.prefix);
        sent
    }

    /// Keeps a short piece to be sent with the next one.
    pub(crate) fn hold(&mut self, tx: &mut Transaction<'_>, piece: &[u8]) {
        let piece = self.clip(tx, piece);
        self.prefix.extend_from_slice(piece);
    }

    /// Sends a part of a file: straight from the page cache, unless it is compressed on its way.
    pub(crate) async fn send_file(
        &mut self,
        tx: &mut Transaction<'_>,
        file: &File,
        range: ByteRange,
    ) -> Result<(), Gone> {
        if self.encoding.is_some() {
            return self.encode_file(tx, file, range).await;
        }
        if self.is_head || self.left == 0 {
            return self.send_piece(tx, b"").await;
        }
        let len = range.len().min(self.left);
        if self.framing == Framing::Chunked {
            self.prefix.extend_from_slice(ChunkHead::new(len as usize).as_bytes());
        }
        self.send_prefix_before_more(tx).await?;
        self.send_from_file(tx, file, range.first, len).await?;
        if self.framing == Framing::Chunked {
            self.prefix.extend_from_slice(CHUNK_END);
        }
        Ok(())
    }

    async fn send_from_file(
        &mut self,
        tx: &mut Transaction<'_>,
        file: &File,
        first: u64,
        len: u64,
    ) -> Result<(), Gone> {
        let (mut offset, end) = (first, first + len);
        while offset < end {
            match tx.connection.stream.try_send_file(file, offset, end - offset) {
                // The file was cut short after its length was announced.
                Ok(0) => return Err(Gone),
                Ok(n) => {
                    offset += n as u64;
                    self.left = self.left.saturating_sub(n as u64);
                    tx.reply.n_body_bytes += n as u64;
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => tx.wait_writable().await?,
                Err(_) => return Err(Gone),
            }
        }
        Ok(())
    }

    /// The same through the encoder: in other threads, as for all files.
    async fn encode_file(
        &mut self,
        tx: &mut Transaction<'_>,
        file: &File,
        range: ByteRange,
    ) -> Result<(), Gone> {
        let Some(mut encoding) = self.encoding.take() else { return Ok(()) };
        let len = range.len().min(encoding.left);
        encoding.left -= len;
        encoding.is_dirty |= len > 0;
        let mut part = Part::new(file, range.first, len).map_err(|error| failed(&error))?;
        let Encoding { mut encoder, .. } = *encoding;
        while !part.is_done() {
            let output;
            (encoder, output) = part.next(encoder).await.map_err(|error| match error.kind() {
                // It was cut short.
                io::ErrorKind::UnexpectedEof => Gone,
                _ => failed(&error),
            })?;
            if !output.is_empty() {
                self.send_piece(tx, &output).await?;
            }
        }
        *encoding = Encoding { encoder, ..*encoding };
        self.encoding = Some(encoding);
        Ok(())
    }

    async fn send_prefix_before_more(&mut self, tx: &mut Transaction<'_>) -> Result<(), Gone> {
        let mut n_sent = 0;
        while n_sent < self.prefix.len() {
            match tx.connection.stream.try_write_more(&self.prefix[n_sent..]) {
                Ok(n) => n_sent += n,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => tx.wait_writable().await?,
                Err(_) => return Err(Gone),
            }
        }
        self.prefix.clear();
        Ok(())
    }

    /// What of a piece is sent: nothing to HEAD, and never more than was announced.
    fn clip<'p>(&mut self, tx: &mut Transaction<'_>, piece: &'p [u8]) -> &'p [u8] {
        let len = if self.is_head { 0 } else { self.left.min(piece.len() as u64) as usize };
        self.left -= len as u64;
        tx.reply.n_body_bytes += len as u64;
        &piece[..len]
    }

    /// Joined when that is cheaper than telling the kernel of two pieces.
    async fn send_joined(&mut self, tx: &mut Transaction<'_>, piece: &[u8]) -> Result<(), Gone> {
        if piece.len() > MAX_JOINED {
            return tx.send(&mut [IoSlice::new(&self.prefix), IoSlice::new(piece)]).await;
        }
        self.prefix.extend_from_slice(piece);
        tx.send(&mut [IoSlice::new(&self.prefix)]).await
    }

    async fn send_last(&mut self, tx: &mut Transaction<'_>, piece: &[u8]) -> Result<(), Gone> {
        if self.framing != Framing::Chunked || self.is_head {
            self.send_piece(tx, piece).await?;
            // A body that is shorter than announced can only be told by the connection's end.
            let is_short = matches!(self.framing, Framing::Length(_)) && self.left > 0 && !self.is_head;
            return if is_short { Err(Gone) } else { Ok(()) };
        }
        if !piece.is_empty() {
            self.send_piece(tx, piece).await?;
        }
        for part in [LAST_CHUNK, &self.trailers, CHUNK_END] {
            self.prefix.extend_from_slice(part);
        }
        tx.send(&mut [IoSlice::new(&self.prefix)]).await
    }
}

impl Encoding {
    fn write(&mut self, piece: &[u8]) -> Result<(), Gone> {
        let len = self.left.min(piece.len() as u64) as usize;
        self.left -= len as u64;
        self.is_dirty |= len > 0;
        self.encoder.write(&piece[..len]).map_err(|error| failed(&error))
    }

    fn flush(&mut self) -> Result<Vec<u8>, Gone> {
        if std::mem::take(&mut self.is_dirty) {
            self.encoder.flush().map_err(|error| failed(&error))?;
        }
        Ok(std::mem::take(self.encoder.output()))
    }

    fn finish(mut self, piece: &[u8]) -> Result<Vec<u8>, Gone> {
        self.write(piece)?;
        if self.is_measured && self.left > 0 {
            return Err(Gone);
        }
        self.encoder.finish().map_err(|error| failed(&error))
    }
}

/// The reply cannot be completed; the client is told by the connection's end.
fn failed(error: &io::Error) -> Gone {
    tracing::error!("compress a reply: {error}");
    Gone
}
