//! The field names that the server itself understands, recognised by length and first letter.

/// A field name that the server looks into, or any other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
#[expect(missing_docs, reason = "each is the field of that name")]
pub enum KnownField {
    Other,
    AcceptEncoding,
    Authorization,
    Connection,
    ContentLength,
    ContentType,
    Cookie,
    Expect,
    Host,
    IfMatch,
    IfModifiedSince,
    IfNoneMatch,
    IfRange,
    IfUnmodifiedSince,
    Range,
    Referer,
    SecWebSocketKey,
    SecWebSocketVersion,
    Te,
    Trailer,
    TransferEncoding,
    Upgrade,
    UserAgent,
}

impl KnownField {
    /// The set of the names that a precondition or a range begins with.
    pub(super) const CONDITIONAL: u32 = KnownField::IfMatch.bit()
        | KnownField::IfModifiedSince.bit()
        | KnownField::IfNoneMatch.bit()
        | KnownField::IfUnmodifiedSince.bit()
        | KnownField::Range.bit();

    /// The set of the names that may be there once, beside those that have an error of their own. Two of them would be
    /// read as one value here, and as another one by a server behind.
    pub(super) const SINGULAR: u32 = KnownField::IfMatch.bit()
        | KnownField::IfNoneMatch.bit()
        | KnownField::IfRange.bit()
        | KnownField::Range.bit()
        | KnownField::Expect.bit();

    /// Recognises a name, in any case.
    pub fn of(name: &[u8]) -> KnownField {
        let Some((&first, _)) = name.split_first() else { return KnownField::Other };
        let (candidate, text): (KnownField, &[u8]) = match (name.len(), first | 0x20) {
            (2, b't') => (KnownField::Te, b"te"),
            (4, b'h') => (KnownField::Host, b"host"),
            (5, b'r') => (KnownField::Range, b"range"),
            (6, b'c') => (KnownField::Cookie, b"cookie"),
            (6, b'e') => (KnownField::Expect, b"expect"),
            (7, b'r') => (KnownField::Referer, b"referer"),
            (7, b't') => (KnownField::Trailer, b"trailer"),
            (7, b'u') => (KnownField::Upgrade, b"upgrade"),
            (8, b'i') if name[3] | 0x20 == b'm' => (KnownField::IfMatch, b"if-match"),
            (8, b'i') => (KnownField::IfRange, b"if-range"),
            (10, b'c') => (KnownField::Connection, b"connection"),
            (10, b'u') => (KnownField::UserAgent, b"user-agent"),
            (12, b'c') => (KnownField::ContentType, b"content-type"),
            (13, b'a') => (KnownField::Authorization, b"authorization"),
            (13, b'i') => (KnownField::IfNoneMatch, b"if-none-match"),
            (14, b'c') => (KnownField::ContentLength, b"content-length"),
            (15, b'a') => (KnownField::AcceptEncoding, b"accept-encoding"),
            (17, b'i') => (KnownField::IfModifiedSince, b"if-modified-since"),
            (17, b's') => (KnownField::SecWebSocketKey, b"sec-websocket-key"),
            (17, b't') => (KnownField::TransferEncoding, b"transfer-encoding"),
            (19, b'i') => (KnownField::IfUnmodifiedSince, b"if-unmodified-since"),
            (21, b's') => (KnownField::SecWebSocketVersion, b"sec-websocket-version"),
            _ => return KnownField::Other,
        };
        if name.eq_ignore_ascii_case(text) { candidate } else { KnownField::Other }
    }

    /// One bit for each name; none for `Other`.
    pub(super) const fn bit(self) -> u32 {
        match self {
            KnownField::Other => 0,
            _ => 1 << self as u8,
        }
    }
}
