//! `settings.http.compression` (contract 16): which replies are compressed, and how.
//!
//! Files are compressed once and kept (`cache`); everything else goes through an encoder on its way out.

pub(crate) mod cache;
mod codec;
pub(crate) mod tally;

use corral_config::pattern::PatternSet;
use corral_config::settings::{self, Compressor, Encoding, Level};
use corral_http::encoding::{self, ContentCoding};
use corral_http::request::KnownField;
use corral_http::{list, trim};

pub(crate) use self::codec::{Effort, Encoder};
use crate::reply::ReplyFields;
use crate::request::head::ReceivedRequest;

/// The configured compressors in the form in which replies need them.
pub(crate) struct Compressors {
    types: Option<PatternSet>,
    compressors: Vec<Compressor>,
}

/// One compressor, chosen for a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ChosenCompressor {
    pub(crate) coding: ContentCoding,
    /// As configured; `None` leaves it to what is compressed.
    pub(crate) level: Option<i32>,
    pub(crate) min_length: u64,
}

/// The form of a reply whose coding depends on the request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CompressionChoice {
    /// The reply goes out as it is, with this weight for the client in thousandths.
    Plain(u16),
    /// The reply goes through a compressor, with this weight.
    Compressed(ChosenCompressor, u16),
    /// The client takes nothing that there is.
    NotAcceptable,
}

impl Compressors {
    pub(crate) fn new(configured: &settings::Compression) -> Self {
        for compressor in &configured.compressors {
            if let Level::OutOfRange(level) = compressor.level {
                let (least, greatest) = compressor.encoding.levels();
                tracing::info!(
                    target: "notice",
                    "compression level {level} of \"{}\" is not between {least} and {greatest}; \
                     the default is used",
                    coding(compressor.encoding).name()
                );
            }
        }
        Self { types: configured.types.clone(), compressors: configured.compressors.clone() }
    }

    /// Whether replies of this type are compressed; one whose type cannot be judged is sent as it is.
    pub(crate) fn applies_to(&self, content_type: &[u8]) -> bool {
        let Some(types) = &self.types else { return true };
        types.matches(content_type).unwrap_or_else(|given_up| {
            tracing::warn!("{given_up}; a reply is not compressed");
            false
        })
    }

    /// The choice for a request by its `Accept-Encoding`.
    pub(crate) fn decide(&self, request: &ReceivedRequest<'_>) -> CompressionChoice {
        let fields = request.head.values(request.bytes, KnownField::AcceptEncoding);
        let chosen = encoding::negotiate(fields, |coding| self.find(coding).is_some());
        match chosen {
            None => CompressionChoice::NotAcceptable,
            Some((coding, weight)) => match self.find(coding) {
                Some(chosen) if coding != ContentCoding::Identity => {
                    CompressionChoice::Compressed(chosen, weight)
                }
                _ => CompressionChoice::Plain(weight),
            },
        }
    }

    fn find(&self, wanted: ContentCoding) -> Option<ChosenCompressor> {
        let compressor = self.compressors.iter().find(|known| coding(known.encoding) == wanted)?;
        let level = match compressor.level {
            Level::Chosen(level) => Some(level),
            Level::Default | Level::OutOfRange(_) => None,
        };
        Some(ChosenCompressor { coding: wanted, level, min_length: compressor.min_length })
    }
}

/// Whether a reply with these fields could be compressed, whatever the client accepts: it has a body of its own, a
/// type, no coding yet, and no `no-transform`.
pub(crate) fn is_compressible(compression: &Compressors, status: u16, fields: &ReplyFields) -> bool {
    has_own_body(status)
        && fields.get(b"Content-Encoding").is_none()
        && fields.get(b"Content-Type").is_some_and(|content_type| compression.applies_to(content_type))
        && fields.get(b"Content-Range").is_none()
        && !fields.get(b"Cache-Control").is_some_and(forbids_transformation)
}

/// Whether replies of this status have a body that is not a part of another.
pub(crate) fn has_own_body(status: u16) -> bool {
    !matches!(status, 0..=199 | 204 | 206 | 304)
}

/// RFC 9111 section 5.2.2.6.
pub(crate) fn forbids_transformation(cache_control: &[u8]) -> bool {
    list(cache_control).any(|directive| trim(directive).eq_ignore_ascii_case(b"no-transform"))
}

/// Makes the fields of a reply those of its compressed form.
pub(crate) fn change_fields(fields: &mut ReplyFields, coding: ContentCoding) {
    fields.push(b"Content-Encoding", coding.name().as_bytes());
    lose_identity(fields);
}

/// Makes the fields of a reply those of other bytes that mean the same.
pub(crate) fn lose_identity(fields: &mut ReplyFields) {
    // The other bytes are not those that the application had in mind.
    for name in [&b"Accept-Ranges"[..], b"Content-MD5", b"Content-Digest", b"Digest", b"Repr-Digest"] {
        fields.remove(name);
    }
    let weak = fields.get(b"ETag").filter(|etag| !etag.starts_with(b"W/")).map(weakened);
    if let Some(weak) = weak {
        fields.set(b"ETag", &weak);
    }
}

/// The same tag for representations that only mean the same (RFC 9110 section 8.8.1).
pub(crate) fn weakened(etag: &[u8]) -> Vec<u8> {
    [b"W/", etag].concat()
}

/// Says that the reply depends on what the request says in the field `name`.
pub(crate) fn add_vary(fields: &mut ReplyFields, name: &[u8]) {
    let Some(vary) = fields.get(b"Vary") else { return fields.push(b"Vary", name) };
    let is_named = |known: &[u8]| known == b"*" || known.eq_ignore_ascii_case(name);
    if list(vary).any(|known| is_named(trim(known))) {
        return;
    }
    let joined = [vary, b", ", name].concat();
    fields.set(b"Vary", &joined);
}

fn coding(encoding: Encoding) -> ContentCoding {
    match encoding {
        Encoding::Gzip => ContentCoding::Gzip,
        Encoding::Deflate => ContentCoding::Deflate,
        Encoding::Zstd => ContentCoding::Zstd,
        Encoding::Brotli => ContentCoding::Br,
        Encoding::Identity => ContentCoding::Identity,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compression() -> Compressors {
        let mut types = PatternSet::default();
        types.add(b"text/*", corral_config::pattern::Flavor::CaseInsensitive).unwrap();
        Compressors { types: Some(types), compressors: Vec::new() }
    }

    #[track_caller]
    fn check(status: u16, fields: &[(&str, &str)], expect: bool) {
        let mut reply = ReplyFields::default();
        for (name, value) in fields {
            reply.push(name.as_bytes(), value.as_bytes());
        }
        assert_eq!(is_compressible(&compression(), status, &reply), expect, "{status} {fields:?}");
    }

    #[test]
    fn only_own_bodies_of_a_wanted_type_are_compressed() {
        let html = ("Content-Type", "text/html; charset=utf-8");
        check(200, &[html], true);
        check(404, &[html], true);
        check(200, &[("content-type", "TEXT/plain")], true);
        check(200, &[], false);
        check(200, &[("Content-Type", "image/png")], false);
        for status in [101, 204, 206, 304] {
            check(status, &[html], false);
        }
        check(200, &[html, ("Content-Encoding", "gzip")], false);
        check(200, &[html, ("Content-Range", "bytes 0-1/2")], false);
        check(200, &[html, ("Cache-Control", "public, no-transform")], false);
        check(200, &[html, ("Cache-Control", "public")], true);
    }

    #[track_caller]
    fn check_vary(before: Option<&str>, after: &str) {
        let mut fields = ReplyFields::default();
        before.inspect(|before| fields.push(b"Vary", before.as_bytes()));
        add_vary(&mut fields, b"Accept-Encoding");
        assert_eq!(fields.get(b"vary").map(String::from_utf8_lossy).as_deref(), Some(after));
    }

    #[test]
    fn vary_names_a_field_once() {
        check_vary(None, "Accept-Encoding");
        check_vary(Some("Cookie"), "Cookie, Accept-Encoding");
        check_vary(Some("cookie , accept-encoding"), "cookie , accept-encoding");
        check_vary(Some("*"), "*");
    }

    #[test]
    fn a_strong_tag_becomes_weak_and_ranges_are_not_offered() {
        let mut fields = ReplyFields::default();
        fields.push(b"ETag", b"\"1\"");
        fields.push(b"Accept-Ranges", b"bytes");
        change_fields(&mut fields, ContentCoding::Br);
        assert_eq!(fields.get(b"etag"), Some(&b"W/\"1\""[..]));
        assert_eq!(fields.get(b"content-encoding"), Some(&b"br"[..]));
        assert_eq!(fields.get(b"accept-ranges"), None);
        change_fields(&mut fields, ContentCoding::Br);
        assert_eq!(fields.get(b"etag"), Some(&b"W/\"1\""[..]));
    }
}
