//! The chunked transfer coding (RFC 9112 section 7.1): a decoder for requests, heads of chunks for replies.
//!
//! Chunk extensions and trailer fields are checked, and discarded unless the caller wants the latter. Lines end with
//! CRLF, never with a bare LF: smuggling by chunk extensions lives on front ends that disagree about that.

use std::ops::Range;

use corral_syntax::hex_digit;

use crate::chars::{self, CLASS};

/// Why a chunked body is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ChunkError {
    /// No hexadecimal size where one has to be, or more than 16 digits.
    #[error("invalid chunk size")]
    BadSize,
    /// A control character or a malformed beginning of a chunk extension.
    #[error("invalid chunk extension")]
    BadExtension,
    /// More than `MAX_EXTENSIONS` bytes of them in one body.
    #[error("chunk extensions are too long")]
    ExtensionsTooLong,
    /// A line that ends otherwise than with CRLF, or a chunk longer than its size says.
    #[error("chunk does not end with CRLF")]
    BadLineEnd,
    /// A trailer line that is not a field.
    #[error("invalid trailer")]
    BadTrailer,
    /// More than `MAX_TRAILERS` bytes of them (431).
    #[error("trailers are too long")]
    TrailersTooLong,
    /// The decoded body is longer than permitted (413).
    #[error("chunked body is too large")]
    BodyTooLarge,
}

impl ChunkError {
    /// The status of the reply.
    pub fn status(self) -> u16 {
        match self {
            ChunkError::BodyTooLarge => 413,
            ChunkError::TrailersTooLong => 431,
            _ => 400,
        }
    }
}

/// Result of one call of `ChunkDecoder::decode`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Decoded {
    /// Bytes of the input that are done with.
    pub consumed: usize,
    /// The body is complete; what follows in the input is the next request.
    pub done: bool,
}

/// Decodes one body, however its bytes are split.
#[derive(Debug, Clone)]
pub struct ChunkDecoder {
    state: ChunkState,
    /// Bytes that the body may still grow by.
    room: u64,
    /// Size of the chunk while it is read, then what is left of it.
    chunk: u64,
    n_digits: u8,
    n_extension_bytes: u16,
    n_trailer_bytes: u16,
    /// The lines of trailer fields, if they are wanted.
    trailers: Option<Vec<u8>>,
}

impl ChunkDecoder {
    /// Permits so many bytes of what is still to come.
    pub fn limit(&mut self, max_body: u64) {
        self.room = max_body;
    }

    /// A decoder of a body that may have `max_body` bytes when decoded.
    pub fn new(max_body: u64) -> ChunkDecoder {
        ChunkDecoder {
            state: ChunkState::Size,
            room: max_body,
            chunk: 0,
            n_digits: 0,
            n_extension_bytes: 0,
            n_trailer_bytes: 0,
            trailers: None,
        }
    }

    /// Keeps the trailer fields.
    #[must_use]
    pub fn keeping_trailers(self) -> ChunkDecoder {
        ChunkDecoder { trailers: Some(Vec::new()), ..self }
    }

    /// Names and values of the trailer fields that were kept, in order, when the body is complete.
    pub fn trailers(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        let lines = self.trailers.as_deref().unwrap_or_default().split(|&b| b == b'\n');
        lines.filter_map(|line| {
            let colon = line.iter().position(|&b| b == b':')?;
            Some((&line[..colon], line[colon + 1..].trim_ascii()))
        })
    }

    /// Decodes what it can of `input` and appends at most `limit` bytes to `out`.
    ///
    /// Stops at the end of the input, of the body, or when `limit` is used up; the caller gives the rest
    /// of the input again. After an error or `done` the decoder is of no use any more.
    pub fn decode(&mut self, input: &[u8], out: &mut Vec<u8>, limit: usize) -> Result<Decoded, ChunkError> {
        let mut consumed = 0;
        let mut left = limit;
        while consumed < input.len() && left > 0 && self.state != ChunkState::Done {
            let piece = self.next_piece(&input[consumed..], left)?;
            out.extend_from_slice(&input[consumed..][piece.data.clone()]);
            left -= piece.data.len();
            consumed += piece.consumed;
        }
        Ok(Decoded { consumed, done: self.state == ChunkState::Done })
    }

    /// Whether the body is complete.
    pub fn is_done(&self) -> bool {
        self.state == ChunkState::Done
    }

    /// Reads framing up to and with the first piece of data, of at most `limit` bytes.
    fn next_piece(&mut self, input: &[u8], limit: usize) -> Result<FramedPiece, ChunkError> {
        let mut at = 0;
        while at < input.len() && self.state != ChunkState::Done {
            if self.state == ChunkState::Data {
                let available = (input.len() - at).min(limit);
                let n = usize::try_from(self.chunk).map_or(available, |left| left.min(available));
                self.chunk -= n as u64;
                if self.chunk == 0 {
                    self.state = ChunkState::DataCr;
                }
                return Ok(FramedPiece { data: at..at + n, consumed: at + n });
            }
            self.state = self.framing_byte(input[at])?;
            at += 1;
        }
        Ok(FramedPiece { data: 0..0, consumed: at })
    }

    fn framing_byte(&mut self, b: u8) -> Result<ChunkState, ChunkError> {
        match self.state {
            ChunkState::Size => self.size_byte(b),
            ChunkState::SizeBlank | ChunkState::Extension => self.extension_byte(b),
            ChunkState::SizeLf => {
                expect_lf(b)?;
                self.chunk_begins()
            }
            ChunkState::DataCr => {
                if b == b'\r' {
                    Ok(ChunkState::DataLf)
                } else {
                    Err(ChunkError::BadLineEnd)
                }
            }
            ChunkState::DataLf => {
                expect_lf(b)?;
                self.n_digits = 0;
                Ok(ChunkState::Size)
            }
            ChunkState::TrailerStart | ChunkState::TrailerName | ChunkState::TrailerValue => {
                self.trailer_byte(b)
            }
            ChunkState::TrailerLf => expect_lf(b).map(|()| ChunkState::TrailerStart),
            ChunkState::EndLf => expect_lf(b).map(|()| ChunkState::Done),
            ChunkState::Data | ChunkState::Done => Ok(self.state),
        }
    }

    fn size_byte(&mut self, b: u8) -> Result<ChunkState, ChunkError> {
        if let Some(digit) = hex_digit(b) {
            if self.n_digits == MAX_DIGITS {
                return Err(ChunkError::BadSize);
            }
            self.n_digits += 1;
            self.chunk = self.chunk << 4 | u64::from(digit);
            return Ok(ChunkState::Size);
        }
        match b {
            _ if self.n_digits == 0 => Err(ChunkError::BadSize),
            b'\r' => Ok(ChunkState::SizeLf),
            b'\n' => Err(ChunkError::BadLineEnd),
            b' ' | b'\t' | b';' => self.extension_byte(b),
            _ => Err(ChunkError::BadSize),
        }
    }

    /// Blanks may stand before the semicolon, not before the line end: `5 \r\n` is not a chunk head.
    fn extension_byte(&mut self, b: u8) -> Result<ChunkState, ChunkError> {
        self.n_extension_bytes += 1;
        if self.n_extension_bytes > MAX_EXTENSIONS {
            return Err(ChunkError::ExtensionsTooLong);
        }
        match (self.state, b) {
            (ChunkState::Extension, b'\r') => Ok(ChunkState::SizeLf),
            (_, b'\n') => Err(ChunkError::BadLineEnd),
            (ChunkState::Extension, b) if chars::is_field_value(&[b]) => Ok(ChunkState::Extension),
            (ChunkState::Size | ChunkState::SizeBlank, b' ' | b'\t') => Ok(ChunkState::SizeBlank),
            (ChunkState::Size | ChunkState::SizeBlank, b';') => Ok(ChunkState::Extension),
            _ => Err(ChunkError::BadExtension),
        }
    }

    fn chunk_begins(&mut self) -> Result<ChunkState, ChunkError> {
        if self.chunk == 0 {
            return Ok(ChunkState::TrailerStart);
        }
        self.room = self.room.checked_sub(self.chunk).ok_or(ChunkError::BodyTooLarge)?;
        Ok(ChunkState::Data)
    }

    fn trailer_byte(&mut self, b: u8) -> Result<ChunkState, ChunkError> {
        if self.state == ChunkState::TrailerStart && b == b'\r' {
            return Ok(ChunkState::EndLf);
        }
        self.n_trailer_bytes += 1;
        if self.n_trailer_bytes > MAX_TRAILERS {
            return Err(ChunkError::TrailersTooLong);
        }
        if let Some(lines) = &mut self.trailers {
            // CR is not a part of a value; a line feed is none of a line that is accepted.
            lines.push(if b == b'\r' { b'\n' } else { b });
        }
        match (self.state, b) {
            (_, b'\n') => Err(ChunkError::BadLineEnd),
            (ChunkState::TrailerValue, b'\r') => Ok(ChunkState::TrailerLf),
            (ChunkState::TrailerValue, b) if chars::is_field_value(&[b]) => Ok(ChunkState::TrailerValue),
            (ChunkState::TrailerName, b':') => Ok(ChunkState::TrailerValue),
            (ChunkState::TrailerStart | ChunkState::TrailerName, b)
                if CLASS[b as usize] & chars::TOKEN != 0 =>
            {
                Ok(ChunkState::TrailerName)
            }
            _ => Err(ChunkError::BadTrailer),
        }
    }
}

/// The part of a chunk that follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ChunkState {
    /// Digits of a size, then CR, a blank or a semicolon.
    Size,
    /// Blanks before a semicolon.
    SizeBlank,
    Extension,
    SizeLf,
    Data,
    DataCr,
    DataLf,
    /// A trailer field, or the CR of the last line.
    TrailerStart,
    TrailerName,
    TrailerValue,
    TrailerLf,
    EndLf,
    Done,
}

/// Framing, and the data behind it.
struct FramedPiece {
    data: Range<usize>,
    consumed: usize,
}

fn expect_lf(b: u8) -> Result<(), ChunkError> {
    if b == b'\n' { Ok(()) } else { Err(ChunkError::BadLineEnd) }
}

/// Digits of a size; leading zeros count, since there is no honest use for more.
const MAX_DIGITS: u8 = 16;

/// Bytes of extensions in one body: one-byte chunks with long extensions cost more than they carry.
pub const MAX_EXTENSIONS: u16 = 4096;

/// Bytes of trailer fields in one body, as in FreeUnit.
pub const MAX_TRAILERS: u16 = 4096;

/// The last chunk of a body; then come trailer fields, if there are any, and [`CHUNK_END`].
pub const LAST_CHUNK: &[u8] = b"0\r\n";

/// End of each chunk's data, and of the body.
pub const CHUNK_END: &[u8] = b"\r\n";

/// The line before a chunk's data.
#[derive(Debug, Clone, Copy)]
pub struct ChunkHead {
    text: [u8; 18],
    start: u8,
}

impl ChunkHead {
    /// The head of a chunk of `len` bytes, which must not be 0: that would end the body.
    pub fn new(len: usize) -> ChunkHead {
        debug_assert!(len > 0);
        let mut text = *b"                \r\n";
        let mut start = 16;
        let mut rest = len as u64;
        while rest > 0 || start == 16 {
            start -= 1;
            text[start] = b"0123456789abcdef"[(rest & 15) as usize];
            rest >>= 4;
        }
        ChunkHead { text, start: start as u8 }
    }

    /// Digits and CRLF.
    pub fn as_bytes(&self) -> &[u8] {
        &self.text[usize::from(self.start)..]
    }
}

#[cfg(test)]
mod tests;
