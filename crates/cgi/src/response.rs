//! The head of a CGI program's response (RFC 3875 section 6), and of one that begins with a status line all the same.

use std::ops::Range;

use corral_http::{is_field_value, is_token, trim};

/// A response's head: where its fields are in the buffer that it was parsed from.
#[derive(Debug, PartialEq, Eq)]
pub struct Head {
    status: u16,
    len: usize,
    length: Option<u64>,
    fields: Vec<(Range<usize>, Range<usize>)>,
}

/// Why a response is of no use (502).
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ResponseHeadError {
    /// Without a colon, or folded.
    #[error("a line of the response's head is not a header")]
    Line,
    /// Not a token (RFC 9110 section 5.6.2).
    #[error("a header of the response has an invalid name")]
    Name,
    /// With a control character.
    #[error("a header of the response has an invalid value")]
    Value,
    /// No number from 200 to 999.
    #[error("the response's status is not a status")]
    Status,
    /// No number, or two that differ.
    #[error("invalid Content-Length")]
    Length,
}

impl Head {
    /// Reads the head at the start of `buf`; none when there has to be more. `searched` bytes of it were there before.
    ///
    /// # Errors
    /// When it is not a head.
    pub fn parse(buf: &[u8], searched: usize) -> Result<Option<Self>, ResponseHeadError> {
        let Some(len) = end(buf, searched) else { return Ok(None) };
        let mut head = Self { status: 0, len, length: None, fields: Vec::new() };
        let mut location = false;
        let mut start = 0;
        while start < len {
            let line_len = memchr::memchr(b'\n', &buf[start..len]).unwrap_or(len - start);
            let line = start..start + line_len;
            start = line.end + 1;
            let line = if buf[line.clone()].ends_with(b"\r") { line.start..line.end - 1 } else { line };
            if line.is_empty() {
                break;
            }
            if line.start == 0 && buf.starts_with(b"HTTP/") {
                head.status = status_of_line(&buf[line])?;
            } else {
                location |= head.take_line(buf, line)?;
            }
        }
        if head.status == 0 {
            // RFC 3875 section 6.2.3: the server says it then.
            head.status = if location { 302 } else { 200 };
        }
        Ok(Some(head))
    }

    /// 200 to 999.
    #[must_use]
    pub fn status(&self) -> u16 {
        self.status
    }

    /// Bytes of the buffer that the head takes.
    #[expect(clippy::len_without_is_empty, reason = "a head is never empty")]
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// How long the body is, if the program says so.
    #[must_use]
    pub fn content_length(&self) -> Option<u64> {
        self.length
    }

    /// The fields that are passed on, in order. Those that a server says itself are not among them.
    pub fn fields<'b>(&'b self, buf: &'b [u8]) -> impl Iterator<Item = (&'b [u8], &'b [u8])> {
        let of = |range: &Range<usize>| buf.get(range.clone()).unwrap_or_default();
        let fields = self.fields.iter().map(move |(name, value)| (of(name), of(value)));
        fields.filter(|(name, _)| self.status == UPGRADE_REQUIRED || !name.eq_ignore_ascii_case(b"upgrade"))
    }

    /// Takes a field; whether it is where to go.
    fn take_line(&mut self, buf: &[u8], line: Range<usize>) -> Result<bool, ResponseHeadError> {
        let text = &buf[line.clone()];
        let colon = memchr::memchr(b':', text).ok_or(ResponseHeadError::Line)?;
        let name = &text[..colon];
        let value = trim(&text[colon + 1..]);
        if !is_token(name) {
            return Err(if name.is_empty() || name[0].is_ascii_whitespace() {
                ResponseHeadError::Line
            } else {
                ResponseHeadError::Name
            });
        }
        if !is_field_value(value) {
            return Err(ResponseHeadError::Value);
        }
        if name.eq_ignore_ascii_case(b"status") {
            self.status = status(value)?;
        } else if name.eq_ignore_ascii_case(b"content-length") {
            let length = decimal(value).ok_or(ResponseHeadError::Length)?;
            if self.length.replace(length).is_some_and(|before| before != length) {
                return Err(ResponseHeadError::Length);
            }
        } else if !(is_ours(name) || value.is_empty() && name.eq_ignore_ascii_case(b"content-type")) {
            let blanks = text[colon + 1..].iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
            let value_start = line.start + colon + 1 + if value.is_empty() { 0 } else { blanks };
            self.fields.push((line.start..line.start + colon, value_start..value_start + value.len()));
        }
        Ok(name.eq_ignore_ascii_case(b"location"))
    }
}

/// Bytes up to the end of the empty line that ends a head.
fn end(buf: &[u8], searched: usize) -> Option<usize> {
    if buf.starts_with(b"\n") || buf.starts_with(b"\r\n") {
        return Some(if buf[0] == b'\n' { 1 } else { 2 });
    }
    // The line before the empty one may have been all that there was.
    let from = searched.saturating_sub(3).min(buf.len());
    memchr::memchr_iter(b'\n', &buf[from..]).find_map(|at| {
        let behind = from + at + 1;
        match &buf[behind..] {
            [b'\n', ..] => Some(behind + 1),
            [b'\r', b'\n', ..] => Some(behind + 2),
            _ => None,
        }
    })
}

/// `404 Not Found`: what is behind the number is nobody's business.
fn status(value: &[u8]) -> Result<u16, ResponseHeadError> {
    let digits = value.split(|byte| *byte == b' ').next().unwrap_or_default();
    let number = decimal(digits).and_then(|number| u16::try_from(number).ok());
    // What comes before a response is nothing that CGI knows.
    number.filter(|number| digits.len() == 3 && *number >= 200).ok_or(ResponseHeadError::Status)
}

/// `HTTP/1.1 404 Not Found`, as servers of uwsgi say it.
fn status_of_line(line: &[u8]) -> Result<u16, ResponseHeadError> {
    let space = memchr::memchr(b' ', line).ok_or(ResponseHeadError::Status)?;
    status(trim(&line[space..]))
}

fn decimal(digits: &[u8]) -> Option<u64> {
    let is_number = !digits.is_empty() && digits.iter().all(u8::is_ascii_digit);
    let number = std::str::from_utf8(digits).ok().filter(|_| is_number)?.parse().ok();
    number.filter(|number| *number <= i64::MAX as u64)
}

/// The status that says by `Upgrade` what else the server speaks (RFC 9110 section 15.5.22).
const UPGRADE_REQUIRED: u16 = 426;

/// Fields about the connection to the client, and the name of the server. `Upgrade` is one, too, unless the status asks
/// for it.
fn is_ours(name: &[u8]) -> bool {
    let ours: &[u8] = match name.len() {
        6 => b"server",
        7 => b"trailer",
        10 if name[0] | 0x20 == b'c' => b"connection",
        10 => b"keep-alive",
        16 => b"proxy-connection",
        17 => b"transfer-encoding",
        _ => return false,
    };
    name.eq_ignore_ascii_case(ours)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks how a head is read when it is there at once, and byte by byte.
    #[track_caller]
    fn check(text: &str, expect: &str) {
        let buf = text.as_bytes();
        assert_eq!(describe(buf, Head::parse(buf, 0)), expect, "{text:?}");
        let mut found = Ok(None);
        for n in 1..=buf.len() {
            found = Head::parse(&buf[..n], n - 1);
            if !matches!(found, Ok(None)) {
                break;
            }
        }
        assert_eq!(describe(buf, found), expect, "{text:?} byte by byte");
    }

    fn describe(buf: &[u8], found: Result<Option<Head>, ResponseHeadError>) -> String {
        match found {
            Err(error) => error.to_string(),
            Ok(None) => "more".to_owned(),
            Ok(Some(head)) => {
                let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
                let fields = head.fields(buf).map(|(name, value)| format!(" {}={}", text(name), text(value)));
                let length = head.content_length().map_or(String::new(), |length| format!(" ({length})"));
                let body = String::from_utf8_lossy(&buf[head.len()..]);
                format!("{}{}{length}|{body}", head.status(), fields.collect::<String>())
            }
        }
    }

    #[test]
    fn lines_end_with_or_without_carriage_return() {
        check("Content-Type: text/html\r\nX-A:b \r\n\r\n", "200 Content-Type=text/html X-A=b|");
        check("Content-Type: text/html\nX-A:  b\n\n", "200 Content-Type=text/html X-A=b|");
        check("X-A: b\n\r\n", "200 X-A=b|");
        check("X-A:\r\n\n", "200 X-A=|");
    }

    #[test]
    fn the_body_begins_behind_the_first_empty_line() {
        let buf = b"A: b\n\n\nbody\n\n";
        assert_eq!(describe(buf, Head::parse(buf, 0)), "200 A=b|\nbody\n\n");
    }

    #[test]
    fn the_status_is_a_field_or_a_line() {
        check("Status: 404 Not Found\nA: b\n\n", "404 A=b|");
        check("A: b\nstatus:503\n\n", "503 A=b|");
        check("Status: 204\n\n", "204|");
        check("HTTP/1.1 201 Created\r\nA: b\r\n\r\n", "201 A=b|");
        check("HTTP/1.0  404\r\n\r\n", "404|");
        check("Location: /x\n\n", "302 Location=/x|");
        check("Status: 201\nLocation: /x\n\n", "201 Location=/x|");
    }

    #[test]
    fn the_length_is_taken_out() {
        check("Content-Length: 5\n\n", "200 (5)|");
        check("Content-Length: 5\nContent-length: 5\n\n", "200 (5)|");
    }

    #[test]
    fn fields_of_the_connection_are_dropped() {
        check(
            "A: b\nConnection: close\nTransfer-Encoding: chunked\nServer: x\nKeep-Alive: 1\n\n",
            "200 A=b|",
        );
    }

    #[test]
    fn a_head_may_be_empty() {
        check("\n", "200|");
        check("\r\nbody", "200|body");
        check("Server: x\n\n", "200|");
    }

    #[test]
    fn a_type_without_a_value_is_none() {
        check("Content-Type:\nA:\n\n", "200 A=|");
        check("content-type: \t\r\nStatus: 201\r\n\r\n", "201|");
    }

    #[test]
    fn an_upgrade_that_is_required_is_named() {
        check("Status: 426\nUpgrade: h2c\nConnection: upgrade\n\n", "426 Upgrade=h2c|");
        check("Upgrade: h2c\nStatus: 426\n\n", "426 Upgrade=h2c|");
        check("Status: 200\nUpgrade: h2c\n\n", "200|");
    }

    #[test]
    fn what_is_not_all_there_is_waited_for() {
        check("", "more");
        check("A: b", "more");
        check("A: b\n", "more");
        check("A: b\r\n\r", "more");
    }

    #[test]
    fn what_is_no_head_is_refused() {
        check("<html>\n\n", "a line of the response's head is not a header");
        check("A: b\n c\n\n", "a line of the response's head is not a header");
        check("A B: c\n\n", "a header of the response has an invalid name");
        check("A : c\n\n", "a header of the response has an invalid name");
        check("A: b\0c\n\n", "a header of the response has an invalid value");
        check("A: b\rc\n\n", "a header of the response has an invalid value");
        check("Status: ok\n\n", "the response's status is not a status");
        check("Status: 100\n\n", "the response's status is not a status");
        check("Status: 2000\n\n", "the response's status is not a status");
        check("Status: +20\n\n", "the response's status is not a status");
        check("HTTP/1.1\n\n", "the response's status is not a status");
        check("Content-Length: -1\n\n", "invalid Content-Length");
        check("Content-Length: 1, 1\n\n", "invalid Content-Length");
        check("Content-Length: 99999999999999999999\n\n", "invalid Content-Length");
        check("Content-Length: 1\nContent-Length: 2\n\n", "invalid Content-Length");
    }
}
