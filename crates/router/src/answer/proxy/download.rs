//! The body of a response, taken out of its framing.

use corral_http::chunked::{ChunkDecoder, ChunkError};
use corral_http::upstream::ResponseBody;

use crate::reply::trailers;

/// A body on its way in.
pub(crate) struct Download {
    left: BodyRemainder,
    /// The bytes that were decoded last.
    decoded: Vec<u8>,
    /// More has come than belongs to the response.
    has_excess: bool,
}

/// The part that is still to come.
enum BodyRemainder {
    Bytes(u64),
    Chunks(ChunkDecoder),
    UntilClose,
}

impl Download {
    /// A body that begins; the fields behind it are kept if they are wanted.
    pub(crate) fn new(body: ResponseBody, wants_trailers: bool) -> Self {
        let left = match body {
            ResponseBody::Absent => BodyRemainder::Bytes(0),
            ResponseBody::Length(length) => BodyRemainder::Bytes(length),
            ResponseBody::Chunked if wants_trailers => {
                BodyRemainder::Chunks(ChunkDecoder::new(u64::MAX).keeping_trailers())
            }
            ResponseBody::Chunked => BodyRemainder::Chunks(ChunkDecoder::new(u64::MAX)),
            ResponseBody::UntilClose => BodyRemainder::UntilClose,
        };
        Self { left, decoded: Vec::new(), has_excess: false }
    }

    /// The content among the received bytes; and the lines behind the body when nothing more belongs to the response.
    pub(crate) fn take<'p>(
        &'p mut self,
        received: &'p [u8],
    ) -> Result<(&'p [u8], Option<Vec<u8>>), ChunkError> {
        match &mut self.left {
            BodyRemainder::Bytes(left) => {
                let n = usize::try_from(*left).map_or(received.len(), |left| left.min(received.len()));
                *left -= n as u64;
                self.has_excess |= n < received.len();
                Ok((&received[..n], (*left == 0).then(Vec::new)))
            }
            BodyRemainder::Chunks(decoder) => {
                self.decoded.clear();
                let decoded = decoder.decode(received, &mut self.decoded, usize::MAX)?;
                self.has_excess |= decoded.consumed < received.len();
                Ok((&self.decoded, decoded.done.then(|| trailers::lines(decoder.trailers()))))
            }
            BodyRemainder::UntilClose => Ok((received, None)),
        }
    }

    /// Whether the connection's end is the body's.
    pub(crate) fn ends_with_connection(&self) -> bool {
        matches!(self.left, BodyRemainder::UntilClose)
    }

    pub(crate) fn has_excess(&self) -> bool {
        self.has_excess
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The pieces that come out, then `.` when the body is done and `!` when there is more than that.
    #[track_caller]
    fn check(body: ResponseBody, pieces: &[&str], expect: &str) {
        let mut download = Download::new(body, false);
        let mut out = String::new();
        for piece in pieces {
            match download.take(piece.as_bytes()) {
                Ok((content, None)) => out += &format!("{} ", String::from_utf8_lossy(content)),
                Ok((content, Some(_))) => out += &format!("{} .", String::from_utf8_lossy(content)),
                Err(error) => out += &error.to_string(),
            }
        }
        out += if download.has_excess() { "!" } else { "" };
        assert_eq!(out, expect, "{body:?} {pieces:?}");
    }

    #[test]
    fn fields_behind_the_body_are_kept_for_who_wants_them() {
        let body = "1\r\na\r\n0\r\nX-A:1\r\nContent-Length: 5\r\nX-B:  2 \r\nX-C:\r\n\r\n";
        let lines = |wants_trailers| {
            let mut download = Download::new(ResponseBody::Chunked, wants_trailers);
            let (_, lines) = download.take(body.as_bytes()).unwrap();
            String::from_utf8(lines.expect("all of it")).unwrap()
        };
        assert_eq!(lines(true), "X-A: 1\r\nX-B: 2\r\nX-C: \r\n");
        assert_eq!(lines(false), "");
    }

    #[test]
    fn bodies_end_where_their_framing_says() {
        check(ResponseBody::Absent, &[""], " .");
        check(ResponseBody::Absent, &["x"], " .!");
        check(ResponseBody::Length(5), &["abc"], "abc ");
        check(ResponseBody::Length(5), &["abc", "de"], "abc de .");
        check(ResponseBody::Length(5), &["abc", "defg"], "abc de .!");
        check(ResponseBody::Chunked, &["3\r\nabc\r", "\n2\r\nde\r\n"], "abc de ");
        check(ResponseBody::Chunked, &["3\r\nabc\r\n0\r\nTrailer: x\r\n\r\n"], "abc .");
        check(ResponseBody::Chunked, &["3\r\nabc\r\n0\r\n\r\nHTTP"], "abc .!");
        check(ResponseBody::Chunked, &["x"], "invalid chunk size");
        check(ResponseBody::UntilClose, &["abc", "de"], "abc de ");
    }
}
