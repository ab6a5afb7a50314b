//! The content of a response, which some applications put into chunks themselves (RFC 9112 section 7.1): framing is the
//! server's affair, so it is taken out of theirs first.
//!
//! Applications with an event loop are left out, as their interface leaves framing to the server.

use corral_http::chunked::ChunkDecoder;

use crate::instance::{AppFailure, AppInstance, FramingError, Leniency};
use crate::reply::trailers;

/// Bytes that are looked at for the size of a first chunk.
const LONGEST_SIZE: usize = 256;

/// The part of a response's body that is content.
pub(super) enum ContentDecoder {
    /// All of it.
    Whole,
    /// The inside of the chunks that an application has announced.
    Chunks(Box<Chunks>),
}

pub(super) struct Chunks {
    decoder: ChunkDecoder,
    /// The piece that was decoded last.
    decoded: Vec<u8>,
    found: ChunkedFields,
}

/// Whether there are chunks.
enum ChunkedFields {
    /// Undecided: these are the bytes that have come so far.
    Nothing(Vec<u8>),
    Chunks,
    /// The field is there and chunks are not: the application relies on its server to make them.
    None,
}

/// Content, and the lines behind it if nothing more belongs to the response.
pub(super) type TakenContent<'p> = (&'p [u8], Option<Vec<u8>>);

impl ContentDecoder {
    pub(super) fn new(is_chunked: bool, wants_trailers: bool) -> Self {
        if !is_chunked {
            return Self::Whole;
        }
        let decoder = ChunkDecoder::new(u64::MAX);
        let decoder = if wants_trailers { decoder.keeping_trailers() } else { decoder };
        let found = ChunkedFields::Nothing(Vec::new());
        Self::Chunks(Box::new(Chunks { decoder, decoded: Vec::new(), found }))
    }

    pub(super) fn is_whole(&self) -> bool {
        matches!(self, Self::Whole)
    }

    /// The content of the next piece, behind which nothing comes if it `is_last`.
    pub(super) fn take<'p>(
        &'p mut self,
        piece: &'p [u8],
        is_last: bool,
        app: &AppInstance,
    ) -> Result<TakenContent<'p>, AppFailure> {
        match self {
            Self::Whole => Ok((piece, is_last.then(Vec::new))),
            Self::Chunks(chunks) => chunks.take(piece, is_last, |leniency| app.tolerate(leniency)),
        }
    }
}

impl Chunks {
    fn take<'p>(
        &'p mut self,
        piece: &'p [u8],
        is_last: bool,
        tolerate: impl Fn(Leniency),
    ) -> Result<TakenContent<'p>, AppFailure> {
        self.decoded.clear();
        let mut rest = piece;
        if let ChunkedFields::Nothing(held) = &mut self.found {
            let line = first_line(piece);
            let is_size = self.decoder.decode(line, &mut self.decoded, usize::MAX).is_ok();
            let is_whole = line.ends_with(b"\n");
            let goes_on = !is_last && held.len() + line.len() <= LONGEST_SIZE;
            if !is_size || !(is_whole || goes_on) {
                tolerate(Leniency::NoChunks);
                self.decoded = std::mem::take(held);
                self.decoded.extend_from_slice(piece);
                self.found = ChunkedFields::None;
                return Ok((&self.decoded, is_last.then(Vec::new)));
            }
            if !is_whole {
                held.extend_from_slice(piece);
                return Ok((b"", None));
            }
            self.found = ChunkedFields::Chunks;
            rest = &piece[line.len()..];
        }
        if matches!(self.found, ChunkedFields::None) {
            return Ok((piece, is_last.then(Vec::new)));
        }
        let decoded =
            self.decoder.decode(rest, &mut self.decoded, usize::MAX).map_err(FramingError::Chunk)?;
        if decoded.consumed < rest.len() {
            tolerate(Leniency::BytesBehindChunks);
        }
        if is_last && !decoded.done {
            return Err(FramingError::Cut.into());
        }
        Ok((&self.decoded, decoded.done.then(|| trailers::lines(self.decoder.trailers()))))
    }
}

/// Up to the first line feed, and with it.
fn first_line(piece: &[u8]) -> &[u8] {
    let end = piece.iter().position(|&b| b == b'\n').map_or(piece.len(), |at| at + 1);
    &piece[..end]
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;
    use crate::error_chain::Chain;

    /// The content of each piece, `.` at the end, what is tolerated in parentheses, and why the rest is refused.
    #[track_caller]
    fn check(pieces: &[&str], expect: &str) {
        let ContentDecoder::Chunks(mut chunks) = ContentDecoder::new(true, true) else {
            panic!("it has chunks")
        };
        let out = RefCell::new(String::new());
        for (i, piece) in pieces.iter().enumerate() {
            let is_last = i + 1 == pieces.len();
            let tolerate = |leniency| *out.borrow_mut() += &format!("({leniency:?})");
            match chunks.take(piece.as_bytes(), is_last, tolerate) {
                Ok((content, end)) => {
                    let mut out = out.borrow_mut();
                    *out += &format!("[{}]", String::from_utf8_lossy(content));
                    if let Some(lines) = end {
                        *out += &format!("{}.", String::from_utf8_lossy(&lines).escape_debug());
                    }
                }
                Err(error) => {
                    let found = format!("{}{}", out.borrow(), Chain(&error));
                    return assert_eq!(found, expect, "{pieces:?}");
                }
            }
        }
        assert_eq!(out.into_inner(), expect, "{pieces:?}");
    }

    #[test]
    fn chunks_are_taken_apart_however_they_come() {
        check(&["3\r\nabc\r\n0\r\n\r\n"], "[abc].");
        check(&["3;x=1\r\nabc\r\n", "2\r\nde\r\n0\r\n\r\n"], "[abc][de].");
        check(&["3", "\r", "\nabc\r\n0\r\n\r\n", ""], "[][][abc].[].");
        check(&["", "0\r\n\r\n"], "[][].");
        check(&["0\r\nX-A: 1\r\n\r\n"], "[]X-A: 1\\r\\n.");
    }

    #[test]
    fn what_has_no_chunks_is_taken_as_it_is() {
        check(&["<html>", "\n"], "(NoChunks)[<html>][\n].");
        check(&["abc", "xyz\r\n"], "[](NoChunks)[abcxyz\r\n].");
        check(&["abc"], "(NoChunks)[abc].");
        check(&["abc", ""], "[](NoChunks)[abc].");
        check(&[""], "(NoChunks)[].");
        check(&["3\nabc\n0\n\n"], "(NoChunks)[3\nabc\n0\n\n].");
        let blanks = format!("3{}", " ".repeat(2 * LONGEST_SIZE));
        check(&[&blanks, "x"], &format!("(NoChunks)[{blanks}][x]."));
    }

    #[test]
    fn chunks_that_break_off_or_turn_out_wrong_are_refused() {
        check(&["3\r\nabc\r\n"], "the response is badly framed: its last chunk is missing");
        check(&["3\r\nabc\r\n", ""], "[abc]the response is badly framed: its last chunk is missing");
        check(&["3\r\nabcd\r\n0\r\n\r\n"], "the response is badly framed: chunk does not end with CRLF");
        check(&["3\r\nabc\r\nx", ""], "the response is badly framed: invalid chunk size");
    }

    #[test]
    fn what_is_behind_the_last_chunk_is_dropped() {
        check(&["1\r\na\r\n0\r\n\r\n\n"], "(BytesBehindChunks)[a].");
        check(&["1\r\na\r\n0\r\n\r\n", "more", ""], "[a].(BytesBehindChunks)[].[].");
    }
}
