//! Why a response of an upstream server is not passed on.

/// Why a response is of no use (502).
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ResponseError {
    /// The head is not a response of HTTP/1.
    #[error("the head is malformed")]
    Malformed(#[from] httparse::Error),
    /// Less than 100.
    #[error("the status is out of range")]
    BadStatus,
    /// Not a decimal number, or one that does not fit.
    #[error("invalid Content-Length")]
    BadContentLength,
    /// More than one, equal or not.
    #[error("repeated Content-Length")]
    DuplicateContentLength,
    /// More than `MAX_OPTIONS`.
    #[error("too many options in Connection")]
    TooManyOptions,
    /// Something else than `chunked`, or that twice.
    #[error("unsupported Transfer-Encoding")]
    BadTransferEncoding,
    /// HTTP/1.0 does not have chunks, so that it is unclear which server has made them.
    #[error("Transfer-Encoding in a response of HTTP/1.0")]
    ChunkedInHttp10,
    /// Two readers may disagree which of both holds.
    #[error("both Content-Length and Transfer-Encoding")]
    LengthAndChunked,
}
