//! Sends a reply that has been opened: its head with the first piece of its body, then the other pieces, changed on
//! their way if that was decided, and never more than the client was promised.

use std::fs::File;
use std::io;

use corral_http::range::ByteRange;
use corral_http::response::ReplyFraming;

use super::filter::{BodyFilter, failed};
use super::pace::Pace;
use super::response::ResponseWriter;
use crate::reply::compression::Encoder;
use crate::reply::compression::cache::{FileParts, PartEncoder};
use crate::request::client::Gone;

/// A piece up to this size is copied behind the head.
const MAX_JOINED: usize = 4096;

/// Steps of a filter after which others have their turn.
const TURN: u32 = 16;

/// Sends the pieces of a body.
pub(crate) struct BodyWriter {
    /// Bytes that may still be sent.
    left: u64,
    /// Their number was announced, so that the client would wait for those that are missing.
    is_measured: bool,
    is_head: bool,
    /// The connection ends with the reply.
    closes: bool,
    /// Lines behind the body.
    trailers: Vec<u8>,
    filter: Option<Box<BodyFilter>>,
    pace: Option<Box<Pace>>,
}

impl BodyWriter {
    /// For a reply whose head is held.
    pub(super) fn new(framing: ReplyFraming, is_head: bool) -> Self {
        let left = match framing {
            ReplyFraming::Length(length) => length,
            ReplyFraming::NoBody => 0,
            ReplyFraming::Chunked | ReplyFraming::UntilClose | ReplyFraming::UntilEnd => u64::MAX,
        };
        let is_measured = matches!(framing, ReplyFraming::Length(_));
        Self { left, is_measured, is_head, closes: false, trailers: Vec::new(), filter: None, pace: None }
    }

    /// Whether the connection ends with the reply.
    pub(super) fn closing(self, closes: bool) -> Self {
        Self { closes, ..self }
    }

    /// Sends the body at a pace, if there is one.
    pub(super) fn paced(self, pace: Option<Box<Pace>>) -> Self {
        Self { pace, ..self }
    }

    /// Changes the body on its way.
    pub(super) fn filtered(mut self, filter: BodyFilter) -> Self {
        if !self.is_head {
            self.filter = Some(Box::new(filter));
        }
        self
    }

    /// Puts lines behind the body (RFC 9112 section 7.1.2). One whose length was announced may have none.
    pub(crate) fn set_trailers(&mut self, lines: Vec<u8>) {
        self.trailers = lines;
    }

    /// Whether a last piece with so many bytes would leave the body shorter, or make it longer, than was announced.
    pub(crate) fn is_wrong_with(&self, n_last: usize) -> bool {
        match &self.filter {
            Some(filter) => filter.is_wrong_with(n_last),
            None => self.is_measured && !self.is_head && self.left != n_last as u64,
        }
    }

    /// Sends a piece of the body. What is changed on its way may be kept for later: call `flush` before you wait for
    /// something else than the client.
    pub(crate) async fn send(
        &mut self,
        response: &mut ResponseWriter<'_, '_>,
        piece: &[u8],
    ) -> Result<(), Gone> {
        if self.filter.is_some() {
            return Box::pin(self.send_filtered(response, piece)).await;
        }
        self.send_piece(response, piece).await
    }

    async fn send_filtered(
        &mut self,
        response: &mut ResponseWriter<'_, '_>,
        piece: &[u8],
    ) -> Result<(), Gone> {
        let Some(filter) = &mut self.filter else { return Ok(()) };
        let (piece, is_live) = (filter.clip(piece), filter.is_live);
        self.filter_piece(response, piece).await?;
        if is_live { self.flush_filter(response).await } else { Ok(()) }
    }

    /// Sends all that was given so far.
    pub(crate) async fn flush(&mut self, response: &mut ResponseWriter<'_, '_>) -> Result<(), Gone> {
        if self.filter.is_some() {
            return Box::pin(self.flush_filter(response)).await;
        }
        Ok(())
    }

    async fn flush_filter(&mut self, response: &mut ResponseWriter<'_, '_>) -> Result<(), Gone> {
        let Some(filter) = &mut self.filter else { return Ok(()) };
        filter.hurry()?;
        self.filter_piece(response, b"").await?;
        let Some(filter) = &mut self.filter else { return Ok(()) };
        let output = filter.flush()?;
        self.send_piece(response, &output).await
    }

    /// Has a piece changed, and sends what comes of it as soon as that is much.
    async fn filter_piece(
        &mut self,
        response: &mut ResponseWriter<'_, '_>,
        piece: &[u8],
    ) -> Result<(), Gone> {
        let mut rest = piece;
        let mut n_steps = 0_u32;
        loop {
            let Some(filter) = &mut self.filter else { return Ok(()) };
            let has_more = filter.advance(&mut rest)?;
            if filter.is_full() {
                let output = filter.take();
                self.send_piece(response, &output).await?;
            }
            if !has_more {
                return Ok(());
            }
            n_steps += 1;
            // A client that takes everything at once is not the only one.
            if n_steps.is_multiple_of(TURN) {
                Box::pin(tokio::task::yield_now()).await;
            }
        }
    }

    /// Sends what is held with a piece.
    async fn send_piece(&mut self, response: &mut ResponseWriter<'_, '_>, piece: &[u8]) -> Result<(), Gone> {
        if self.pace.is_some() {
            return Box::pin(self.send_paced(response, piece)).await;
        }
        let piece = self.join(response, piece);
        response.client.send(piece).await
    }

    /// The same at the body's pace.
    async fn send_paced(&mut self, response: &mut ResponseWriter<'_, '_>, piece: &[u8]) -> Result<(), Gone> {
        let mut rest = piece;
        loop {
            let wanted = self.left.min(rest.len() as u64);
            let n = match &mut self.pace {
                Some(pace) if wanted > 0 => pace.take(wanted).await as usize,
                _ => rest.len(),
            };
            let (now, later) = rest.split_at(n);
            let piece = self.join(response, now);
            response.client.send(piece).await?;
            if later.is_empty() {
                return Ok(());
            }
            rest = later;
        }
    }

    /// Sends the last piece and what ends the body.
    pub(crate) async fn finish(
        mut self,
        response: &mut ResponseWriter<'_, '_>,
        piece: &[u8],
    ) -> Result<(), Gone> {
        if self.filter.is_some() {
            return Box::pin(self.finish_filtered(response, piece)).await;
        }
        self.send_last(response, piece).await
    }

    async fn finish_filtered(
        &mut self,
        response: &mut ResponseWriter<'_, '_>,
        piece: &[u8],
    ) -> Result<(), Gone> {
        let Some(filter) = &mut self.filter else { return Ok(()) };
        let piece = filter.clip(piece);
        self.filter_piece(response, piece).await?;
        let Some(filter) = &mut self.filter else { return Ok(()) };
        filter.end()?;
        self.filter_piece(response, b"").await?;
        let Some(filter) = self.filter.take() else { return Ok(()) };
        let output = filter.finish()?;
        self.send_last(response, &output).await
    }

    async fn send_last(&mut self, response: &mut ResponseWriter<'_, '_>, piece: &[u8]) -> Result<(), Gone> {
        let piece = if self.pace.is_some() {
            Box::pin(self.send_paced(response, piece)).await?;
            b""
        } else {
            self.cork(response);
            self.join(response, piece)
        };
        if !piece.is_empty() {
            response.client.send(piece).await?;
        }
        // A body that is shorter than announced can only be told by the connection's end.
        let is_short = self.is_measured && self.left > 0 && !self.is_head;
        if !is_short {
            response.client.carrier.end(&self.trailers);
        }
        response.client.send(b"").await?;
        response.reply.is_complete = !is_short;
        if is_short { Err(Gone) } else { Ok(()) }
    }

    /// Only the last bytes of the reply follow: the end of the connection may travel with them.
    fn cork(&self, response: &mut ResponseWriter<'_, '_>) {
        if self.closes {
            response.client.carrier.cork();
        }
    }

    /// Keeps a short piece to be sent with the next one.
    pub(crate) fn hold(&mut self, response: &mut ResponseWriter<'_, '_>, piece: &[u8]) {
        let piece = self.clip(response, piece);
        response.client.carrier.hold(piece);
    }

    /// Sends a part of a file: straight from the page cache if that is possible, or compressed on its way.
    pub(crate) async fn send_file(
        &mut self,
        response: &mut ResponseWriter<'_, '_>,
        file: &File,
        range: ByteRange,
    ) -> Result<(), Gone> {
        if self.filter.is_some() {
            return Box::pin(self.filter_file(response, file, range)).await;
        }
        if self.is_head || self.left == 0 {
            return self.send_piece(response, b"").await;
        }
        let len = range.len().min(self.left);
        if len == self.left && self.pace.is_none() {
            self.cork(response);
        }
        response.client.carrier.begin_file(len);
        self.send_from_file(response, file, range.first, range.first + len).await?;
        response.client.carrier.end_file();
        Ok(())
    }

    async fn send_from_file(
        &mut self,
        response: &mut ResponseWriter<'_, '_>,
        file: &File,
        first: u64,
        end: u64,
    ) -> Result<(), Gone> {
        let mut offset = first;
        while offset < end {
            let wanted = match &mut self.pace {
                Some(pace) => pace.take(end - offset).await,
                None => end - offset,
            };
            let sent = response.client.carrier.try_send_file(file, offset, wanted);
            if let Some(pace) = &mut self.pace {
                pace.give_back(wanted - sent.as_ref().map_or(0, |&n| n as u64).min(wanted));
            }
            match sent {
                // The file was cut short after its length was announced.
                Ok(0) => return Err(Gone),
                Ok(n) => {
                    offset += n as u64;
                    self.left = self.left.saturating_sub(n as u64);
                    response.reply.n_body_bytes += n as u64;
                }
                Err(error) => response.client.wait_if_full(&error).await?,
            }
        }
        Ok(())
    }

    /// The same of a body that is changed on its way: in other threads, as for all files.
    async fn filter_file(
        &mut self,
        response: &mut ResponseWriter<'_, '_>,
        file: &File,
        range: ByteRange,
    ) -> Result<(), Gone> {
        let Some(filter) = &mut self.filter else { return Ok(()) };
        match filter.lend_encoder(range.len()) {
            Some((encoder, len)) => self.encode_file(response, (file, range.first, len), encoder).await,
            None => self.filter_parts(response, file, range).await,
        }
    }

    async fn encode_file(
        &mut self,
        response: &mut ResponseWriter<'_, '_>,
        (file, first, len): (&File, u64, u64),
        mut encoder: Encoder,
    ) -> Result<(), Gone> {
        let mut part = PartEncoder::new(file, first, len).map_err(|error| failed(&error))?;
        while !part.is_done() {
            let output;
            (encoder, output) = part.next(encoder).await.map_err(|error| cut(&error))?;
            if !output.is_empty() {
                self.send_piece(response, &output).await?;
            }
        }
        if let Some(filter) = &mut self.filter {
            filter.return_encoder(encoder);
        }
        Ok(())
    }

    async fn filter_parts(
        &mut self,
        response: &mut ResponseWriter<'_, '_>,
        file: &File,
        range: ByteRange,
    ) -> Result<(), Gone> {
        let mut parts = FileParts::new(file, range).map_err(|error| failed(&error))?;
        while let Some(piece) = parts.next().await.map_err(|error| cut(&error))? {
            self.send(response, &piece).await?;
        }
        Ok(())
    }

    /// Holds a piece, or leaves it to be sent when that is cheaper than copying it.
    fn join<'p>(&mut self, response: &mut ResponseWriter<'_, '_>, piece: &'p [u8]) -> &'p [u8] {
        let piece = self.clip(response, piece);
        if piece.len() > MAX_JOINED {
            return piece;
        }
        response.client.carrier.hold(piece);
        b""
    }

    /// The part of a piece that is sent: nothing to HEAD, and never more than was announced.
    fn clip<'p>(&mut self, response: &mut ResponseWriter<'_, '_>, piece: &'p [u8]) -> &'p [u8] {
        let len = if self.is_head { 0 } else { self.left.min(piece.len() as u64) as usize };
        self.left -= len as u64;
        response.reply.n_body_bytes += len as u64;
        &piece[..len]
    }
}

/// The file cannot be read as far as was promised.
fn cut(error: &io::Error) -> Gone {
    match error.kind() {
        // It was cut short.
        io::ErrorKind::UnexpectedEof => Gone,
        _ => failed(error),
    }
}
