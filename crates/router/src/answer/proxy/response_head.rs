//! Heads of responses as they come from a server: those of interim responses, then that of the response.

use corral_http::upstream::{ResponseHead, parse_response};

use super::server_headers;
use crate::exchange::response::ResponseWriter;
use crate::reply::interim;
use crate::request::client::Gone;
use crate::storage::buffers;
use crate::upstream::ServerFailure;

/// Longest head of a response, as in Unit.
pub(super) const MAX_HEAD: usize = 64 * 1024;

/// Heads before that of the response: a server that has something to say now and then says less.
const MOST_INTERIM: u32 = 1000;

/// A response whose head has arrived.
pub(crate) struct ResponseStart {
    pub(crate) head: ResponseHead,
    /// The head and what came with it.
    pub(crate) input: Vec<u8>,
}

impl ResponseStart {
    /// Copies the fields to the reply that switches the client's connection, too.
    pub(super) fn copy_fields(&self, response: &mut ResponseWriter<'_, '_>) {
        server_headers::take_over(response, self.head.fields(&self.input));
    }
}

/// Reads heads up to that of the response.
#[derive(Default)]
pub(super) struct HeadReader {
    n_interim: u32,
}

/// The beginning of what a server has sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HeadStatus {
    /// A part of a head.
    Partial,
    /// The head of an interim response; another one follows.
    Interim,
    /// The head of the response.
    Final,
}

impl HeadReader {
    /// Looks for a head at the start of the input.
    pub(super) fn read(
        &mut self,
        head: &mut ResponseHead,
        input: &[u8],
    ) -> Result<HeadStatus, ServerFailure> {
        let is_complete = parse_response(head, input)?;
        if if is_complete { head.len() } else { input.len() } > MAX_HEAD {
            return Err(ServerFailure::TooLarge(MAX_HEAD));
        }
        if !is_complete {
            return Ok(HeadStatus::Partial);
        }
        if !head.is_interim() {
            return Ok(HeadStatus::Final);
        }
        self.count_interim()?;
        Ok(HeadStatus::Interim)
    }

    pub(super) fn count_interim(&mut self) -> Result<(), ServerFailure> {
        self.n_interim += 1;
        if self.n_interim > MOST_INTERIM { Err(ServerFailure::TooManyInterim(MOST_INTERIM)) } else { Ok(()) }
    }
}

const EARLY_HINTS: u16 = 103;

/// Passes on what the client may load already, and nothing else that comes before the response.
pub(super) async fn pass_on_interim(
    response: &mut ResponseWriter<'_, '_>,
    head: &ResponseHead,
    input: &[u8],
) -> Result<(), Gone> {
    if head.status() != EARLY_HINTS {
        return Ok(());
    }
    let mut hints = buffers::take();
    interim::append(&mut hints, EARLY_HINTS, head.fields(input));
    let sent = response.send_interim(&hints).await;
    buffers::give(hints);
    sent
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The statuses of the heads in the input, up to the first that is not an interim one, and how that was found.
    #[track_caller]
    fn check(input: &str, expect: &[u16], end: Result<HeadStatus, &str>) {
        let (mut reader, mut head) = (HeadReader::default(), ResponseHead::default());
        let (mut rest, mut found) = (input.as_bytes(), Vec::new());
        let last = loop {
            let read = reader.read(&mut head, rest);
            if !matches!(read, Ok(HeadStatus::Partial) | Err(_)) {
                found.push(head.status());
                rest = &rest[head.len()..];
            }
            if !matches!(read, Ok(HeadStatus::Interim)) {
                break read;
            }
        };
        assert_eq!(found, expect, "{input:.80}");
        assert_eq!(last.map_err(|failure| failure.to_string()), end.map_err(str::to_owned), "{input:.80}");
    }

    #[test]
    fn interim_responses_come_first() {
        let hints = "HTTP/1.1 103 Early Hints\r\n\r\n";
        let last = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
        check(last, &[200], Ok(HeadStatus::Final));
        check(&[hints, hints, last].concat(), &[103, 103, 200], Ok(HeadStatus::Final));
        check(hints, &[103], Ok(HeadStatus::Partial));
        check("", &[], Ok(HeadStatus::Partial));
        check("HTTP/1.1 2", &[], Ok(HeadStatus::Partial));
        check("HTTP/1.1 101 Switching Protocols\r\n\r\n", &[101], Ok(HeadStatus::Final));
    }

    #[test]
    fn neither_heads_nor_their_number_grow_without_bound() {
        let endless = format!("HTTP/1.1 200 OK\r\nA: {}", "a".repeat(MAX_HEAD));
        check(&endless, &[], Err("the response's head is larger than 65536 bytes"));
        check(&format!("{endless}\r\n\r\n"), &[], Err("the response's head is larger than 65536 bytes"));
        let hints = "HTTP/1.1 103 Early Hints\r\n\r\n".repeat(MOST_INTERIM as usize + 1);
        let before = [103; MOST_INTERIM as usize];
        check(&hints, &before, Err("more than 1000 responses before the response"));
    }
}
