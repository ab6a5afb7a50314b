//! Records that come from a server, in whatever pieces.

use super::{HEADER, VERSION, kind, request_id};

/// A part of a server's answer.
#[derive(Debug, PartialEq, Eq)]
pub enum DecodeEvent<'i> {
    /// More of the response: its head, then its body.
    Stdout(&'i [u8]),
    /// Something for the log.
    Stderr(&'i [u8]),
    /// The request has ended. Nothing about it follows.
    End(RequestEndStatus),
}

/// Why a request has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestEndStatus {
    /// The answer is complete.
    Complete,
    /// The server does not take it: it has too much to do, or takes one at a time.
    Overloaded,
    /// The server does not answer requests at all.
    UnknownRole,
}

/// Bytes that are not an answer of FastCGI.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum RecordError {
    /// Most probably it speaks another protocol.
    #[error("it does not speak FastCGI: a record of version {0}")]
    Version(u8),
    /// The record belongs to a request that was not made.
    #[error("a record about request {0}, which was not made")]
    Request(u16),
    /// Nothing that servers send.
    #[error("a record of type {0}, which no server sends")]
    Kind(u8),
    /// Shorter than the specification wants it.
    #[error("a record of {0} bytes ends the request")]
    End(usize),
    /// Behind the end of the request.
    #[error("a record about the request behind its end")]
    Late,
}

/// Takes records apart.
#[derive(Debug)]
pub struct Decoder {
    /// The number of the request.
    request: u16,
    /// Requests on the connection before this one.
    n_before: u32,
    header: [u8; HEADER],
    n_header: usize,
    /// Bytes of the content, and of the padding behind it, that are still to come.
    n_content: usize,
    n_padding: usize,
    /// The content of the record that ends the request, as far as it is there.
    end: [u8; END],
    n_end: usize,
    is_over: bool,
}

/// Bytes that the record at a request's end has at least.
const END: usize = 8;

impl Default for Decoder {
    /// For the first request on a connection.
    fn default() -> Self {
        Self::for_request(1)
    }
}

impl Decoder {
    /// For the n-th request on a connection.
    #[must_use]
    pub fn for_request(nth: u32) -> Self {
        Self {
            request: request_id(nth),
            n_before: nth.saturating_sub(1),
            header: [0; HEADER],
            n_header: 0,
            n_content: 0,
            n_padding: 0,
            end: [0; END],
            n_end: 0,
            is_over: false,
        }
    }

    /// The next part of the answer in `input`, which loses what was used; none when more has to come.
    ///
    /// # Errors
    /// When it is not FastCGI, or about something else than the request.
    pub fn next<'i>(&mut self, input: &mut &'i [u8]) -> Result<Option<DecodeEvent<'i>>, RecordError> {
        loop {
            if self.n_header < HEADER {
                if !self.take_header(input) {
                    return Ok(None);
                }
                self.check_header()?;
            }
            if self.n_content > 0 {
                let content = take(input, self.n_content);
                self.n_content -= content.len();
                match self.event(content) {
                    Some(event) => return Ok(Some(event)),
                    None if self.n_content > 0 => return Ok(None),
                    None => continue,
                }
            }
            self.n_padding -= take(input, self.n_padding).len();
            if self.n_padding > 0 {
                return Ok(None);
            }
            self.n_header = 0;
        }
    }

    /// Whether everything about the request has arrived, and nothing has begun behind that.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.is_over && self.n_header == 0
    }

    fn take_header(&mut self, input: &mut &[u8]) -> bool {
        let piece = take(input, HEADER - self.n_header);
        self.header[self.n_header..self.n_header + piece.len()].copy_from_slice(piece);
        self.n_header += piece.len();
        self.n_header == HEADER
    }

    fn check_header(&mut self) -> Result<(), RecordError> {
        let [version, kind, id_high, id_low, len_high, len_low, padding, _] = self.header;
        let id = u16::from_be_bytes([id_high, id_low]);
        self.n_content = usize::from(u16::from_be_bytes([len_high, len_low]));
        self.n_padding = usize::from(padding);
        match kind {
            _ if version != VERSION => Err(RecordError::Version(version)),
            // About the connection: it was not asked for, and is not needed.
            _ if id == 0 => Ok(()),
            // A process that says something about a request when that is over may do so: its words are dropped.
            _ if self.is_former(id) => Ok(()),
            _ if id != self.request => Err(RecordError::Request(id)),
            _ if self.is_over => Err(RecordError::Late),
            kind::END_REQUEST if self.n_content < END => Err(RecordError::End(self.n_content)),
            kind::STDOUT | kind::STDERR | kind::END_REQUEST => Ok(()),
            _ => Err(RecordError::Kind(kind)),
        }
    }

    /// Whether another request on this connection has had that number.
    fn is_former(&self, id: u16) -> bool {
        id != self.request && u32::from(id) <= self.n_before
    }

    /// The event in a piece of a record's content; none if it says nothing, or nothing yet.
    fn event<'i>(&mut self, content: &'i [u8]) -> Option<DecodeEvent<'i>> {
        let [_, kind, id_high, id_low, ..] = self.header;
        let is_ours = u16::from_be_bytes([id_high, id_low]) == self.request;
        match kind {
            _ if content.is_empty() || !is_ours => None,
            kind::STDOUT => Some(DecodeEvent::Stdout(content)),
            kind::STDERR => Some(DecodeEvent::Stderr(content)),
            _ => self.take_end(content),
        }
    }

    fn take_end<'i>(&mut self, content: &[u8]) -> Option<DecodeEvent<'i>> {
        let piece = &content[..content.len().min(END - self.n_end)];
        self.end[self.n_end..self.n_end + piece.len()].copy_from_slice(piece);
        self.n_end += piece.len();
        if self.is_over || self.n_end < END {
            return None;
        }
        self.is_over = true;
        Some(DecodeEvent::End(match self.end[4] {
            0 => RequestEndStatus::Complete,
            1 | 2 => RequestEndStatus::Overloaded,
            _ => RequestEndStatus::UnknownRole,
        }))
    }
}

/// Takes at most `n` bytes from the start of `input`.
fn take<'i>(input: &mut &'i [u8], n: usize) -> &'i [u8] {
    let (piece, rest) = input.split_at(n.min(input.len()));
    *input = rest;
    piece
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A record with this much padding.
    fn record(kind: u8, id: u16, content: &[u8], padding: u8) -> Vec<u8> {
        let len = u16::try_from(content.len()).unwrap().to_be_bytes();
        let id = id.to_be_bytes();
        let mut bytes = vec![1, kind, id[0], id[1], len[0], len[1], padding, 0];
        bytes.extend_from_slice(content);
        bytes.extend(vec![0xaa; usize::from(padding)]);
        bytes
    }

    fn end(status: u8) -> Vec<u8> {
        record(kind::END_REQUEST, 1, &[0, 0, 0, 0, status, 0, 0, 0], 0)
    }

    /// The events of bytes that come in pieces of `step`: content as text, `!` in front of what is for the log, then
    /// the end and whether it is clean.
    fn decode(bytes: &[u8], step: usize) -> String {
        let mut decoder = Decoder::default();
        let (mut out, mut log, mut tail) = (String::new(), String::new(), String::new());
        for mut piece in bytes.chunks(step) {
            loop {
                match decoder.next(&mut piece) {
                    Ok(Some(DecodeEvent::Stdout(bytes))) => out += &String::from_utf8_lossy(bytes),
                    Ok(Some(DecodeEvent::Stderr(bytes))) => log += &String::from_utf8_lossy(bytes),
                    Ok(Some(DecodeEvent::End(end))) => tail += &format!(" {end:?}"),
                    Ok(None) => break,
                    Err(error) => return error.to_string(),
                }
            }
            assert!(piece.is_empty(), "all of a piece is used");
        }
        tail += if decoder.is_done() { "." } else { "" };
        format!("{out}!{log}{tail}")
    }

    #[track_caller]
    fn check(records: &[Vec<u8>], expect: &str) {
        let bytes = records.concat();
        for step in [1, 2, 7, 8, 9, 1000] {
            assert_eq!(decode(&bytes, step), expect, "in pieces of {step}");
        }
    }

    #[test]
    fn output_errors_and_the_end_are_told_apart() {
        check(
            &[record(6, 1, b"ab", 6), record(7, 1, b"log", 0), record(6, 1, b"c", 1), end(0)],
            "abc!log Complete.",
        );
        check(&[record(6, 1, b"", 3), record(7, 1, b"", 0), end(0)], "! Complete.");
        check(&[record(6, 1, b"ab", 0)], "ab!");
    }

    #[test]
    fn a_request_may_be_turned_away() {
        check(&[end(1)], "! Overloaded.");
        check(&[end(2)], "! Overloaded.");
        check(&[end(3)], "! UnknownRole.");
    }

    #[test]
    fn padding_and_more_behind_the_end_belong_to_it() {
        let long = record(3, 1, &[0, 0, 0, 9, 0, 0, 0, 0, 7, 7], 5);
        check(&[record(6, 1, b"a", 0), long.clone()], "a! Complete.");
        check(&[record(6, 1, b"a", 0), long[..long.len() - 1].to_vec()], "a! Complete");
    }

    #[test]
    fn what_is_about_the_connection_is_passed_over() {
        check(&[record(11, 0, b"unknown!", 2), record(6, 1, b"a", 0), end(0)], "a! Complete.");
        check(&[end(0), record(10, 0, b"", 0)], "! Complete.");
    }

    #[test]
    fn everything_else_is_refused() {
        check(&[b"HTTP/1.1 200 OK\r\n\r\n".to_vec()], "it does not speak FastCGI: a record of version 72");
        check(&[record(6, 2, b"a", 0)], "a record about request 2, which was not made");
        check(&[record(1, 1, b"12345678", 0)], "a record of type 1, which no server sends");
        check(&[record(3, 1, b"1234567", 0)], "a record of 7 bytes ends the request");
        check(&[record(6, 1, b"", 0), end(0), end(0)], "a record about the request behind its end");
    }

    #[test]
    fn late_records_of_former_requests_count_for_nobody() {
        let late = [
            record(6, 1, b"late", 1),
            record(7, 2, b"late", 0),
            record(3, 1, &[0; 8], 0),
            record(9, 2, b"", 0),
        ];
        let ours = [record(6, 3, b"ours", 0), record(3, 3, &[0; 8], 0)];
        let bytes = [late.concat(), ours[0].clone(), late.concat(), ours[1].clone()].concat();
        let mut decoder = Decoder::for_request(3);
        let (mut rest, mut out) = (&bytes[..], Vec::new());
        while let Some(event) = decoder.next(&mut rest).expect("nothing is wrong") {
            match event {
                DecodeEvent::Stdout(bytes) => out.extend_from_slice(bytes),
                other => assert_eq!(other, DecodeEvent::End(RequestEndStatus::Complete)),
            }
        }
        assert_eq!((out, decoder.is_done()), (b"ours".to_vec(), true));
        let mut decoder = Decoder::for_request(3);
        assert_eq!(decoder.next(&mut &record(6, 4, b"x", 0)[..]), Err(RecordError::Request(4)));
    }

    #[test]
    fn numbers_of_requests_begin_again() {
        assert_eq!([0, 1, 2, 65_535, 65_536, u32::MAX].map(request_id), [1, 1, 2, 65_535, 1, 65_535]);
        assert_eq!(Decoder::for_request(65_536).next(&mut &record(6, 65_535, b"x", 0)[..]), Ok(None));
    }

    proptest! {
        #[test]
        fn pieces_make_no_difference(bytes: Vec<u8>, step in 1..40_usize) {
            let (whole, pieces) = (decode(&bytes, bytes.len().max(1)), decode(&bytes, step));
            prop_assert_eq!(whole, pieces);
        }
    }
}
