//! One line of a head: the request line taken apart, and the name of a field line.

use super::HttpVersion;
use super::error::RequestHeadError;
use super::target::RequestTarget;
use crate::chars::{self, CLASS};

/// A request line taken apart.
#[derive(Debug)]
pub(super) struct RequestLine<'l> {
    pub(super) method: &'l [u8],
    pub(super) target: RequestTarget<'l>,
    /// Where the path of the target begins in the line.
    pub(super) target_start: usize,
    pub(super) version: HttpVersion,
}

/// Refuses a line, or the beginning of one, whose first word is not a method.
pub(super) fn check_method(line: &[u8]) -> Result<(), RequestHeadError> {
    match line.iter().position(|&b| CLASS[b as usize] & chars::METHOD == 0) {
        Some(end) if end == 0 || line[end] != b' ' => Err(RequestHeadError::BadMethod),
        _ => Ok(()),
    }
}

/// Takes apart a line whose method has been checked. Its version is that of a stream if `is_stream`, else one of
/// HTTP/1.
pub(super) fn parse(line: &[u8], is_stream: bool) -> Result<RequestLine<'_>, RequestHeadError> {
    if chars::has_control(line) {
        return Err(RequestHeadError::ControlInRequestLine);
    }
    let method_len = memchr::memchr(b' ', line).ok_or(RequestHeadError::BadRequestLine)?;
    let version_start = memchr::memrchr(b' ', line).ok_or(RequestHeadError::BadRequestLine)? + 1;
    let version = version(&line[version_start..], is_stream)?;
    let between = &line[method_len..version_start];
    let lead = between.iter().position(|&b| b != b' ').ok_or(RequestHeadError::BadRequestLine)?;
    let method = &line[..method_len];
    let target = RequestTarget::of(chars::trim(between), method, is_stream)?;
    Ok(RequestLine { method, target_start: method_len + lead + target.path_at(), target, version })
}

fn version(word: &[u8], is_stream: bool) -> Result<HttpVersion, RequestHeadError> {
    if is_stream {
        return if word == HTTP_2 { Ok(HttpVersion::Http2) } else { Err(RequestHeadError::BadRequestLine) };
    }
    let numbers = word.strip_prefix(b"HTTP/").ok_or(RequestHeadError::BadRequestLine)?;
    if let &[b'1', b'.', minor @ b'0'..=b'9'] = numbers {
        return Ok(if minor == b'0' { HttpVersion::Http10 } else { HttpVersion::Http11 });
    }
    let mut parts = numbers.split(|&b| b == b'.');
    let both = [parts.next(), parts.next()].map(|part| part.is_some_and(is_number));
    if both == [true, true] && parts.next().is_none() {
        return Err(RequestHeadError::UnsupportedVersion);
    }
    Err(RequestHeadError::BadRequestLine)
}

fn is_number(digits: &[u8]) -> bool {
    !digits.is_empty() && digits.iter().all(u8::is_ascii_digit)
}

/// The length of the name before the colon, and the classes that all its bytes are in.
pub(super) fn field_name(line: &[u8]) -> Result<(usize, u8), RequestHeadError> {
    let mut class = u8::MAX;
    for (at, &b) in line.iter().enumerate() {
        if b != b':' {
            class &= CLASS[b as usize];
            continue;
        }
        if at == 0 {
            return Err(RequestHeadError::EmptyFieldName);
        }
        if class & chars::TOKEN == 0 {
            return Err(bad_name(&line[..at]));
        }
        if at > MAX_NAME {
            return Err(RequestHeadError::FieldNameTooLong);
        }
        return Ok((at, class));
    }
    Err(if is_blank(line[0]) { RequestHeadError::Folded } else { RequestHeadError::MissingColon })
}

fn bad_name(name: &[u8]) -> RequestHeadError {
    match (name[0], name[name.len() - 1]) {
        (first, _) if is_blank(first) => RequestHeadError::Folded,
        (_, last) if is_blank(last) => RequestHeadError::SpaceBeforeColon,
        _ => RequestHeadError::BadFieldName,
    }
}

fn is_blank(b: u8) -> bool {
    b == b' ' || b == b'\t'
}

/// The version in the request line of a stream.
pub const HTTP_2: &[u8] = b"HTTP/2.0";

/// As in Unit.
pub(super) const MAX_NAME: usize = 255;
