//! The field names that the server itself understands, recognised by length and first letter.

/// A field name that the server looks into, or any other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
#[expect(missing_docs, reason = "each is the field of that name")]
pub enum Name {
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

impl Name {
    /// The set of the names that a precondition or a range begins with.
    pub(super) const CONDITIONAL: u32 = Name::IfMatch.bit()
        | Name::IfModifiedSince.bit()
        | Name::IfNoneMatch.bit()
        | Name::IfUnmodifiedSince.bit()
        | Name::Range.bit();

    /// The set of the names that may be there once, beside those that have an error of their own. Two of them would be read
    /// as one value here, and as another one by a server behind.
    pub(super) const SINGULAR: u32 = Name::IfMatch.bit()
        | Name::IfNoneMatch.bit()
        | Name::IfRange.bit()
        | Name::Range.bit()
        | Name::Expect.bit();

    /// Recognises a name, in any case.
    pub fn of(name: &[u8]) -> Name {
        let Some((&first, _)) = name.split_first() else { return Name::Other };
        let (candidate, text): (Name, &[u8]) = match (name.len(), first | 0x20) {
            (2, b't') => (Name::Te, b"te"),
            (4, b'h') => (Name::Host, b"host"),
            (5, b'r') => (Name::Range, b"range"),
            (6, b'c') => (Name::Cookie, b"cookie"),
            (6, b'e') => (Name::Expect, b"expect"),
            (7, b'r') => (Name::Referer, b"referer"),
            (7, b't') => (Name::Trailer, b"trailer"),
            (7, b'u') => (Name::Upgrade, b"upgrade"),
            (8, b'i') if name[3] | 0x20 == b'm' => (Name::IfMatch, b"if-match"),
            (8, b'i') => (Name::IfRange, b"if-range"),
            (10, b'c') => (Name::Connection, b"connection"),
            (10, b'u') => (Name::UserAgent, b"user-agent"),
            (12, b'c') => (Name::ContentType, b"content-type"),
            (13, b'a') => (Name::Authorization, b"authorization"),
            (13, b'i') => (Name::IfNoneMatch, b"if-none-match"),
            (14, b'c') => (Name::ContentLength, b"content-length"),
            (15, b'a') => (Name::AcceptEncoding, b"accept-encoding"),
            (17, b'i') => (Name::IfModifiedSince, b"if-modified-since"),
            (17, b's') => (Name::SecWebSocketKey, b"sec-websocket-key"),
            (17, b't') => (Name::TransferEncoding, b"transfer-encoding"),
            (19, b'i') => (Name::IfUnmodifiedSince, b"if-unmodified-since"),
            (21, b's') => (Name::SecWebSocketVersion, b"sec-websocket-version"),
            _ => return Name::Other,
        };
        if name.eq_ignore_ascii_case(text) { candidate } else { Name::Other }
    }

    /// One bit for each name; none for `Other`.
    pub(super) const fn bit(self) -> u32 {
        match self {
            Name::Other => 0,
            _ => 1 << self as u8,
        }
    }
}
