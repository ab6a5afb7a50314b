//! Preconditions of requests (RFC 9110 section 13): entity tags, dates, and what follows from them.

use std::fmt;
use std::io::Write;

use smallvec::SmallVec;

use crate::request::{KnownField, ParsedHead};
use crate::response::parse_date;

/// Result of a request's preconditions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PreconditionResult {
    /// Answer as if there were none.
    Proceed,
    /// 304, with the fields `ETag`, `Last-Modified` and those about caching, without a body.
    NotModified,
    /// 412.
    PreconditionFailed,
}

/// The strong entity tag of a file, `"MTIMEHEX-SIZEHEX"`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct EntityTag {
    text: [u8; TAG_LEN],
    len: u8,
}

/// Three numbers of 16 digits, what separates them, and quotes.
const TAG_LEN: usize = 3 * 16 + 4;

impl EntityTag {
    /// The tag of a file with that modification time (seconds since 1970 and nanoseconds) and size (bytes). Files that
    /// came from an archive have whole seconds, and the tag that NGINX Unit gives them.
    pub fn of_file((seconds, nanoseconds): (i64, i64), size: u64) -> EntityTag {
        let mut text = [0; TAG_LEN];
        let mut rest = &mut text[..];
        let written = match nanoseconds {
            0 => write!(rest, "\"{seconds:x}-{size:x}\""),
            part => write!(rest, "\"{seconds:x}.{part:x}-{size:x}\""),
        };
        written.expect("three numbers of at most 16 digits fit");
        let left = rest.len();
        EntityTag { text, len: (TAG_LEN - left) as u8 }
    }

    /// With its quotes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.text[..usize::from(self.len)]
    }
}

impl fmt::Debug for EntityTag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&String::from_utf8_lossy(self.as_bytes()))
    }
}

/// Date and tag that a representation is compared by.
#[derive(Debug, Clone, Copy)]
pub struct Validators<'a> {
    /// The current entity tag with its quotes and a possible `W/`.
    pub etag: Option<&'a [u8]>,
    /// Modification time, seconds since 1970.
    pub modified: Option<u64>,
}

/// The precondition fields of one request.
#[derive(Debug, Default)]
pub struct Preconditions<'a> {
    /// Values of all `If-Match` fields.
    pub if_match: SmallVec<[&'a [u8]; 1]>,
    /// Values of all `If-None-Match` fields.
    pub if_none_match: SmallVec<[&'a [u8]; 1]>,
    /// Value of `If-Modified-Since`.
    pub if_modified_since: Option<&'a [u8]>,
    /// Value of `If-Unmodified-Since`.
    pub if_unmodified_since: Option<&'a [u8]>,
    /// Value of `If-Range`.
    pub if_range: Option<&'a [u8]>,
}

impl<'a> Preconditions<'a> {
    /// Collects them from a request head.
    pub fn of_request(head: &'a ParsedHead, buf: &'a [u8]) -> Preconditions<'a> {
        if !head.is_conditional() {
            return Preconditions::default();
        }
        Preconditions {
            if_match: head.values(buf, KnownField::IfMatch).collect(),
            if_none_match: head.values(buf, KnownField::IfNoneMatch).collect(),
            if_modified_since: head.value(buf, KnownField::IfModifiedSince),
            if_unmodified_since: head.value(buf, KnownField::IfUnmodifiedSince),
            if_range: head.value(buf, KnownField::IfRange),
        }
    }

    /// Evaluates them in the order of RFC 9110 section 13.2.2 for a representation that exists.
    pub fn evaluate(&self, method: &[u8], current: &Validators<'_>) -> PreconditionResult {
        if !self.still_wanted(current) {
            return PreconditionResult::PreconditionFailed;
        }
        if !self.if_none_match.is_empty() {
            let seen = self.if_none_match.iter().any(|value| any_tag(value, current.etag, weakly_equal));
            return match (seen, is_read(method)) {
                (false, _) => PreconditionResult::Proceed,
                (true, true) => PreconditionResult::NotModified,
                (true, false) => PreconditionResult::PreconditionFailed,
            };
        }
        match (self.if_modified_since.and_then(parse_date), current.modified) {
            (Some(since), Some(modified)) if is_read(method) && modified <= since => {
                PreconditionResult::NotModified
            }
            _ => PreconditionResult::Proceed,
        }
    }

    /// `If-Match`, or without it `If-Unmodified-Since`.
    fn still_wanted(&self, current: &Validators<'_>) -> bool {
        if !self.if_match.is_empty() {
            return self.if_match.iter().any(|value| any_tag(value, current.etag, strongly_equal));
        }
        match (self.if_unmodified_since.and_then(parse_date), current.modified) {
            (Some(since), Some(modified)) => modified <= since,
            _ => true,
        }
    }

    /// Whether a `Range` field may be followed: no `If-Range`, or one that names exactly the current
    /// representation. `now` (seconds since 1970) because a date is a strong validator only when its
    /// second is over (RFC 9110 section 8.8.2.2).
    pub fn permit_range(&self, current: &Validators<'_>, now: u64) -> bool {
        let Some(condition) = self.if_range else { return true };
        if condition.starts_with(b"\"") || condition.starts_with(b"W/") {
            return current.etag.is_some_and(|etag| strongly_equal(condition, etag));
        }
        let date = parse_date(condition);
        date.is_some() && date == current.modified && current.modified < Some(now)
    }
}

fn is_read(method: &[u8]) -> bool {
    method == b"GET" || method == b"HEAD"
}

/// Whether `*`, or a tag of the list that equals the current one, is in `value`.
fn any_tag(value: &[u8], current: Option<&[u8]>, equal: fn(&[u8], &[u8]) -> bool) -> bool {
    if value == b"*" {
        return true;
    }
    let Some(current) = current else { return false };
    TagList { rest: value }.any(|tag| equal(tag, current))
}

/// RFC 9110 section 8.8.3.2.
fn weakly_equal(a: &[u8], b: &[u8]) -> bool {
    opaque(a) == opaque(b)
}

fn strongly_equal(a: &[u8], b: &[u8]) -> bool {
    a == b && !a.starts_with(b"W/")
}

fn opaque(tag: &[u8]) -> &[u8] {
    tag.strip_prefix(b"W/").unwrap_or(tag)
}

/// The entity tags of a list, which may hold commas within their quotes. Ends at what is not a tag.
struct TagList<'a> {
    rest: &'a [u8],
}

impl<'a> Iterator for TagList<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        let start = self.rest.iter().position(|b| !matches!(b, b' ' | b'\t' | b','))?;
        let from = &self.rest[start..];
        let prefix = if from.starts_with(b"W/") { 2 } else { 0 };
        let inner = from[prefix..].strip_prefix(b"\"")?;
        let len = prefix + 1 + memchr::memchr(b'"', inner)? + 1;
        let (tag, rest) = from.split_at(len);
        self.rest = rest;
        Some(tag)
    }
}

#[cfg(test)]
mod tests;
