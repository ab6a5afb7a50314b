//! Replays the table against the parsers, in one piece and byte by byte.

use std::collections::HashSet;

use super::*;
use crate::chunked::ChunkDecoder;
use crate::request::{HeadProgress, HeadRules, ParsedHead, RequestFraming, parse_head};

/// Messages that a connection finds in its bytes when `received` grows by `step`.
#[derive(Debug, PartialEq)]
struct ConnectionOutcome {
    n_accepted: usize,
    refused: Option<u16>,
}

/// A connection as the router has one, without the replies.
struct TestConnection<'b> {
    bytes: &'b [u8],
    step: usize,
    rules: HeadRules,
    n_accepted: usize,
}

impl TestConnection<'_> {
    fn run(mut self) -> ConnectionOutcome {
        let refused = loop {
            match self.request() {
                Ok(true) => self.n_accepted += 1,
                Ok(false) => break None,
                Err(status) => break Some(status),
            }
        };
        ConnectionOutcome { n_accepted: self.n_accepted, refused }
    }

    /// Reads one request, `false` when the bytes end before it does.
    fn request(&mut self) -> Result<bool, u16> {
        let mut head = ParsedHead::default();
        let mut received = 0;
        let len = loop {
            received = self.bytes.len().min(received + self.step);
            let progress = parse_head(&mut head, &self.bytes[..received], &self.rules);
            match progress.map_err(|error| error.status())? {
                HeadProgress::Complete { len } => break len,
                HeadProgress::Partial if received == self.bytes.len() => return Ok(false),
                HeadProgress::Partial => {}
            }
        };
        self.bytes = &self.bytes[len..];
        match head.framing() {
            RequestFraming::Chunked => self.chunks(),
            RequestFraming::Length(n) => {
                let rest = self.bytes.get(n as usize..);
                self.bytes = rest.unwrap_or_default();
                Ok(rest.is_some())
            }
        }
    }

    fn chunks(&mut self) -> Result<bool, u16> {
        let mut decoder = ChunkDecoder::new(1 << 23);
        let mut body = Vec::new();
        while !self.bytes.is_empty() && !decoder.is_done() {
            let piece = &self.bytes[..self.bytes.len().min(self.step)];
            let decoded = decoder.decode(piece, &mut body, usize::MAX).map_err(|error| error.status())?;
            self.bytes = &self.bytes[decoded.consumed..];
        }
        Ok(decoder.is_done())
    }
}

#[test]
fn every_case_ends_as_the_table_says() {
    let cases = cases();
    assert!(cases.len() > 80, "the table was cut");
    let names: HashSet<_> = cases.iter().map(|case| &case.name).collect();
    assert_eq!(names.len(), cases.len(), "two cases have one name");
    for case in &cases {
        let expect = ConnectionOutcome { n_accepted: case.n_accepted, refused: case.refused };
        for step in [case.bytes.len(), 1, 2, 3, 7] {
            let rules =
                HeadRules { chunked_permitted: !case.without_chunked, ..HeadRules::from_buffers(8192, 4) };
            let connection = TestConnection { bytes: &case.bytes, step, rules, n_accepted: 0 };
            assert_eq!(connection.run(), expect, "{}: {} (pieces of {step})", case.name, case.about);
        }
    }
}

#[test]
fn every_case_says_what_it_is_about() {
    for case in cases() {
        assert!(!case.about.is_empty() && !case.bytes.is_empty(), "{}", case.name);
        assert!(case.refused.is_some() || case.n_accepted > 0, "{} expects nothing", case.name);
    }
}
