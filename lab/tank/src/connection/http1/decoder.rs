//! Answers of HTTP/1, piece by piece as they come. No bytes are kept but those of a head that is not whole yet.

mod chunks;

use httparse::{EMPTY_HEADER, Header, Response, Status};

use self::chunks::Chunks;
use crate::expect::{BodyCheck, Expectation};

/// The longest head that is read.
const MOST_HEAD: usize = 64 * 1024;

const MOST_HEADERS: usize = 128;

/// An answer that is not HTTP.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Malformed;

/// The answer to one request.
#[derive(Debug, Default)]
pub(super) struct Decoder {
    /// The head as far as it came in earlier pieces.
    head: Vec<u8>,
    expecting: Expecting,
    n_pieces: usize,
    is_head_request: bool,
    keeps_alive: bool,
    status: u16,
    body: BodyCheck,
}

#[derive(Debug, Default, PartialEq, Eq)]
enum Expecting {
    #[default]
    Head,
    /// So many bytes are to come.
    Length(u64),
    Chunked(Chunks),
    UntilClose,
    Done,
}

impl Decoder {
    /// Starts with the next answer.
    pub(super) fn begin(&mut self, is_head_request: bool) {
        self.head.clear();
        self.expecting = Expecting::Head;
        self.n_pieces = 0;
        self.is_head_request = is_head_request;
        self.status = 0;
        self.body = BodyCheck::default();
    }

    /// Takes bytes until the end of the answer and returns how many.
    pub(super) fn take(&mut self, input: &[u8], expectation: &Expectation) -> Result<usize, Malformed> {
        self.n_pieces += 1;
        let mut n_taken = 0;
        while self.expecting == Expecting::Head {
            match self.take_head(&input[n_taken..])? {
                Some(n_head) => n_taken += n_head,
                None => return Ok(input.len()),
            }
        }
        Ok(n_taken + self.take_body(&input[n_taken..], expectation)?)
    }

    /// Takes a head if it is whole; otherwise keeps what there is of it.
    fn take_head(&mut self, input: &[u8]) -> Result<Option<usize>, Malformed> {
        if self.head.is_empty() {
            let n_head = self.parse_head(input)?;
            if n_head.is_none() {
                self.head.extend_from_slice(input);
            }
            return Ok(n_head);
        }
        let n_before = self.head.len();
        self.head.extend_from_slice(input);
        if !ends_head(&self.head, n_before) {
            return if self.head.len() > MOST_HEAD { Err(Malformed) } else { Ok(None) };
        }
        let head = std::mem::take(&mut self.head);
        let n_head = self.parse_head(&head)?;
        Ok(n_head.map(|n_head| n_head - n_before))
    }

    /// Reads a head, and how its body is delimited; interim answers are skipped.
    fn parse_head(&mut self, input: &[u8]) -> Result<Option<usize>, Malformed> {
        let mut headers = [EMPTY_HEADER; MOST_HEADERS];
        let mut response = Response::new(&mut headers);
        let Status::Complete(n_head) = response.parse(input).map_err(|_| Malformed)? else {
            return if input.len() > MOST_HEAD { Err(Malformed) } else { Ok(None) };
        };
        let status = response.code.unwrap_or_default();
        if status == 101 {
            return Err(Malformed);
        }
        if status >= 200 {
            self.status = status;
            let framing = Framing::read(response.headers)?;
            self.keeps_alive = framing.keep_alive.unwrap_or(response.version == Some(1));
            self.expecting = self.body_of(&framing);
        }
        Ok(Some(n_head))
    }

    fn body_of(&mut self, framing: &Framing) -> Expecting {
        let has_body = !self.is_head_request && !matches!(self.status, 204 | 304);
        match framing.length {
            _ if !has_body => Expecting::Done,
            _ if framing.is_chunked => Expecting::Chunked(Chunks::default()),
            Some(0) => Expecting::Done,
            Some(length) => Expecting::Length(length),
            None => {
                self.keeps_alive = false;
                Expecting::UntilClose
            }
        }
    }

    fn take_body(&mut self, input: &[u8], expectation: &Expectation) -> Result<usize, Malformed> {
        match &mut self.expecting {
            Expecting::Length(left) => {
                let n_taken = input.len().min(usize::try_from(*left).unwrap_or(usize::MAX));
                self.body.take(&input[..n_taken], expectation);
                *left -= n_taken as u64;
                if *left == 0 {
                    self.expecting = Expecting::Done;
                }
                Ok(n_taken)
            }
            Expecting::Chunked(chunks) => {
                let body = &mut self.body;
                let n_taken = chunks.take(input, |data| body.take(data, expectation))?;
                if chunks.is_done() {
                    self.expecting = Expecting::Done;
                }
                Ok(n_taken)
            }
            Expecting::UntilClose => {
                self.body.take(input, expectation);
                Ok(input.len())
            }
            Expecting::Head | Expecting::Done => Ok(0),
        }
    }

    pub(super) fn is_done(&self) -> bool {
        self.expecting == Expecting::Done
    }

    /// Whether the answer is whole if the server closes now.
    pub(super) fn ends_with_connection(&self) -> bool {
        self.expecting == Expecting::UntilClose
    }

    /// Whether all of the answer was in one read.
    pub(super) fn came_at_once(&self) -> bool {
        self.n_pieces == 1 && self.expecting == Expecting::Done
    }

    /// Whether the connection may be used for the next request.
    pub(super) fn keeps_alive(&self) -> bool {
        self.keeps_alive
    }

    /// The status; 0 before the end of the head.
    pub(super) fn status(&self) -> u16 {
        self.status
    }

    pub(super) fn body(&self) -> &BodyCheck {
        &self.body
    }
}

/// Whether a head ends in the part that begins at `from`, or across its beginning.
fn ends_head(head: &[u8], from: usize) -> bool {
    let new = &head[from.saturating_sub(3)..];
    memchr::memchr_iter(b'\n', new).any(|at| matches!(&new[at + 1..], [b'\n', ..] | [b'\r', b'\n', ..]))
}

/// Headers that say where the body ends.
#[derive(Debug, Default)]
struct Framing {
    length: Option<u64>,
    is_chunked: bool,
    keep_alive: Option<bool>,
}

impl Framing {
    fn read(headers: &[Header<'_>]) -> Result<Self, Malformed> {
        let mut framing = Self::default();
        for header in headers {
            framing.take(header)?;
        }
        Ok(framing)
    }

    fn take(&mut self, header: &Header<'_>) -> Result<(), Malformed> {
        let name = header.name;
        if name.eq_ignore_ascii_case("content-length") {
            let length = str::from_utf8(header.value).ok().and_then(|value| value.trim().parse().ok());
            let length = length.ok_or(Malformed)?;
            if self.length.is_some_and(|before| before != length) {
                return Err(Malformed);
            }
            self.length = Some(length);
        } else if name.eq_ignore_ascii_case("transfer-encoding") {
            self.is_chunked =
                tokens(header.value).last().is_some_and(|last| last.eq_ignore_ascii_case(b"chunked"));
        } else if name.eq_ignore_ascii_case("connection") {
            for token in tokens(header.value) {
                match () {
                    () if token.eq_ignore_ascii_case(b"close") => self.keep_alive = Some(false),
                    () if token.eq_ignore_ascii_case(b"keep-alive") => self.keep_alive = Some(true),
                    () => {}
                }
            }
        }
        Ok(())
    }
}

fn tokens(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    value.split(|byte| *byte == b',').map(<[u8]>::trim_ascii)
}

#[cfg(test)]
mod tests;
