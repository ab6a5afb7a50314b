//! Why a request head is refused: one variant for each rule, each with its status.

use crate::path::PathError;

/// A request head that is refused. The connection is closed after the reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum RequestHeadError {
    /// The request line does not begin with a method of the letters `A`–`Z`, `_` and `-` and a space.
    #[error("invalid method")]
    BadMethod,
    /// A control character (bare CR, NUL, tab …) in the request line.
    #[error("control character in the request line")]
    ControlInRequestLine,
    /// No `HTTP/x.y` at the end of the request line (HTTP/0.9), or no target before it.
    #[error("request line is not \"METHOD TARGET HTTP/x.y\"")]
    BadRequestLine,
    /// A version other than HTTP/1.0 to HTTP/1.9 (505).
    #[error("unsupported HTTP version")]
    UnsupportedVersion,
    /// A target of another form than its method may have, or garbage.
    #[error("request target is neither a path nor a URL with \"http\" or \"https\"")]
    BadTarget,
    /// `CONNECT`, which asks for a tunnel to somewhere else (405).
    #[error("CONNECT is for proxies")]
    Connect,
    /// The path cannot be decoded or climbs above the root.
    #[error(transparent)]
    Path(#[from] PathError),
    /// The head is larger than permitted (431).
    #[error("request head is too large")]
    TooLarge,
    /// One line is longer than permitted (431).
    #[error("line of the request head is too long")]
    LineTooLong,
    /// A field name of more than 255 bytes (431).
    #[error("header name is longer than 255 bytes")]
    FieldNameTooLong,
    /// A line that begins with a space or tab: a folded line, or a name with space before it.
    #[error("folded header line")]
    Folded,
    /// A line without a colon.
    #[error("header line without a colon")]
    MissingColon,
    /// Nothing before the colon.
    #[error("empty header name")]
    EmptyFieldName,
    /// A space or tab between the name and the colon.
    #[error("space between header name and colon")]
    SpaceBeforeColon,
    /// A byte that no field name may hold.
    #[error("invalid character in a header name")]
    BadFieldName,
    /// A control character (bare CR, NUL …) in a value.
    #[error("control character in a header value")]
    ControlInValue,
    /// No `Host` in a request of HTTP/1.1.
    #[error("no Host header")]
    MissingHost,
    /// More than one `Host`.
    #[error("duplicate Host header")]
    DuplicateHost,
    /// A `Host` or a target whose host is empty or malformed, or followed by a malformed port.
    #[error("invalid host")]
    BadHost,
    /// More than one field of a name whose meaning is one value.
    #[error("duplicate header that may be there once")]
    DuplicateField,
    /// More options of `Connection` than a client has use for (431).
    #[error("too many options in Connection")]
    TooManyOptions,
    /// More than one `Content-Length`, even of the same value.
    #[error("duplicate Content-Length header")]
    DuplicateContentLength,
    /// A `Content-Length` that is not a decimal number below 2^63.
    #[error("invalid Content-Length header")]
    BadContentLength,
    /// More than one `Transfer-Encoding`.
    #[error("duplicate Transfer-Encoding header")]
    DuplicateTransferEncoding,
    /// `Transfer-Encoding` together with `Content-Length`.
    #[error("both Content-Length and Transfer-Encoding")]
    LengthAndTransferEncoding,
    /// `Transfer-Encoding` in a request of HTTP/1.0.
    #[error("Transfer-Encoding in an HTTP/1.0 request")]
    TransferEncodingInHttp10,
    /// An empty or malformed `Transfer-Encoding`, or `chunked` twice in it.
    #[error("invalid Transfer-Encoding header")]
    BadTransferEncoding,
    /// A transfer coding other than `chunked` (501).
    #[error("unknown transfer coding")]
    UnknownTransferCoding,
    /// A chunked body where the configuration does not permit it (411).
    #[error("chunked request bodies are not permitted")]
    ChunkedRefused,
}

impl RequestHeadError {
    /// The status of the reply.
    pub fn status(self) -> u16 {
        match self {
            RequestHeadError::Connect => 405,
            RequestHeadError::ChunkedRefused => 411,
            RequestHeadError::TooLarge
            | RequestHeadError::LineTooLong
            | RequestHeadError::FieldNameTooLong
            | RequestHeadError::TooManyOptions => 431,
            RequestHeadError::UnknownTransferCoding => 501,
            RequestHeadError::UnsupportedVersion => 505,
            _ => 400,
        }
    }
}
