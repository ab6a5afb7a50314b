//! A body that is changed on its way: unpacked, its texts replaced, and compressed. Each step makes a bounded number of
//! bytes, so that what comes of a piece waits for the client, however much that is.

use std::io;
use std::mem;

use crate::reply::compression::Encoder;
use crate::reply::substituting::Substituter;
use crate::reply::unpacking::Unpacker;
use crate::request::client::Gone;

/// The steps that a body goes through, in this order.
#[derive(Default)]
pub(super) struct FilterSteps {
    pub(super) unpacker: Option<Unpacker>,
    pub(super) substituter: Option<Substituter>,
    pub(super) encoder: Option<Encoder>,
}

impl FilterSteps {
    pub(super) fn is_empty(&self) -> bool {
        self.unpacker.is_none() && self.substituter.is_none() && self.encoder.is_none()
    }
}

/// A body on its way.
pub(super) struct BodyFilter {
    steps: FilterSteps,
    /// The bytes that were made, if they are not compressed.
    output: Vec<u8>,
    /// The substituter has more to make.
    is_pending: bool,
    /// Bytes of the body that may still come.
    left: u64,
    /// The body's length was announced, so that it can be seen whether all of it came.
    is_measured: bool,
    /// The client is to see each piece at once.
    pub(super) is_live: bool,
    /// Something was written since the last flush.
    is_dirty: bool,
}

/// Bytes that are sent without waiting for more, and those that are taken at a time.
pub(super) const STEP: usize = 16 * 1024;

impl BodyFilter {
    /// For a body of which `length` is known. Server-sent events are `live`.
    pub(super) fn new(steps: FilterSteps, length: Option<u64>, is_live: bool) -> Self {
        let (left, is_measured) = (length.unwrap_or(u64::MAX), length.is_some());
        Self { steps, output: Vec::new(), is_pending: false, left, is_measured, is_live, is_dirty: false }
    }

    /// Whether a last piece with so many bytes would leave the body shorter, or make it longer, than was announced.
    pub(super) fn is_wrong_with(&self, n_last: usize) -> bool {
        self.is_measured && self.left != n_last as u64
    }

    /// The encoder, if the body goes through nothing else, for `len` bytes that are given to it elsewhere.
    pub(super) fn lend_encoder(&mut self, len: u64) -> Option<(Encoder, u64)> {
        if self.steps.unpacker.is_some() || self.steps.substituter.is_some() {
            return None;
        }
        let encoder = self.steps.encoder.take()?;
        let len = self.count(len);
        Some((encoder, len))
    }

    pub(super) fn return_encoder(&mut self, encoder: Encoder) {
        self.steps.encoder = Some(encoder);
    }

    /// The part of a piece that belongs to the body.
    pub(super) fn clip<'p>(&mut self, piece: &'p [u8]) -> &'p [u8] {
        let len = self.count(piece.len() as u64);
        piece.get(..len as usize).unwrap_or(piece)
    }

    fn count(&mut self, len: u64) -> u64 {
        let len = self.left.min(len);
        self.left -= len;
        self.is_dirty |= len > 0;
        len
    }

    /// Takes some of a piece; false when all of it, and what comes of it, was taken.
    pub(super) fn advance(&mut self, piece: &mut &[u8]) -> Result<bool, Gone> {
        if !self.is_pending && !piece.is_empty() {
            let taken = self.unpack(piece).map_err(|error| failed(&error))?;
            self.pass_on(&taken).map_err(|error| failed(&error))?;
        } else if self.is_pending {
            self.substitute().map_err(|error| failed(&error))?;
        }
        Ok(self.is_pending || !piece.is_empty())
    }

    fn unpack<'p>(&mut self, piece: &mut &'p [u8]) -> io::Result<std::borrow::Cow<'p, [u8]>> {
        if let Some(unpacker) = &mut self.steps.unpacker {
            return unpacker.step(piece).map(Into::into);
        }
        let (taken, rest) = piece.split_at(piece.len().min(STEP));
        *piece = rest;
        Ok(taken.into())
    }

    fn pass_on(&mut self, bytes: &[u8]) -> io::Result<()> {
        match &mut self.steps.substituter {
            Some(substituter) => {
                substituter.feed(bytes);
                self.substitute()
            }
            None => self.encode(bytes),
        }
    }

    fn substitute(&mut self) -> io::Result<()> {
        let Some(substituter) = &mut self.steps.substituter else { return Ok(()) };
        let mut made = Vec::new();
        self.is_pending = substituter.make(&mut made);
        self.encode(&made)
    }

    fn encode(&mut self, bytes: &[u8]) -> io::Result<()> {
        match &mut self.steps.encoder {
            Some(encoder) => encoder.write(bytes),
            None => {
                self.output.extend_from_slice(bytes);
                Ok(())
            }
        }
    }

    /// Notes that nothing more comes. What is left to make comes by `advance`, and then by `finish`.
    pub(super) fn end(&mut self) -> Result<(), Gone> {
        if self.is_measured && self.left > 0 {
            return Err(Gone);
        }
        let rest = match &mut self.steps.unpacker {
            Some(unpacker) => unpacker.finish().map_err(|error| failed(&error))?,
            None => Vec::new(),
        };
        let Some(substituter) = &mut self.steps.substituter else {
            return self.encode(&rest).map_err(|error| failed(&error));
        };
        substituter.feed(&rest);
        substituter.end();
        self.is_pending = true;
        Ok(())
    }

    /// Whether there is enough to be sent.
    pub(super) fn is_full(&mut self) -> bool {
        self.made().len() >= STEP
    }

    /// The bytes that were made and not taken.
    pub(super) fn take(&mut self) -> Vec<u8> {
        mem::take(self.made())
    }

    fn made(&mut self) -> &mut Vec<u8> {
        self.steps.encoder.as_mut().map_or(&mut self.output, Encoder::output)
    }

    /// Has everything made that can be made by now. It comes by `advance`, and then by `flush`.
    pub(super) fn hurry(&mut self) -> Result<(), Gone> {
        let Some(unpacker) = self.steps.unpacker.as_mut().filter(|_| self.is_dirty) else { return Ok(()) };
        let made = unpacker.flush().map_err(|error| failed(&error))?;
        self.pass_on(&made).map_err(|error| failed(&error))
    }

    /// All that was made, readable for the client.
    pub(super) fn flush(&mut self) -> Result<Vec<u8>, Gone> {
        if mem::take(&mut self.is_dirty)
            && let Some(encoder) = &mut self.steps.encoder
        {
            encoder.flush().map_err(|error| failed(&error))?;
        }
        Ok(self.take())
    }

    /// The last bytes.
    pub(super) fn finish(self) -> Result<Vec<u8>, Gone> {
        match self.steps.encoder {
            Some(encoder) => encoder.finish().map_err(|error| failed(&error)),
            None => Ok(self.output),
        }
    }
}

/// The reply cannot be completed; the client is told by the connection's end.
pub(super) fn failed(error: &io::Error) -> Gone {
    tracing::error!("change the body of a reply: {error}");
    Gone
}
