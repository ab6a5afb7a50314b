//! Versions of HTTP.

/// A version of HTTP.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum HttpVersion {
    /// HTTP/1.0
    #[default]
    Http10,
    /// HTTP/1.1, and what a client calls HTTP/1.2 to 1.9.
    Http11,
    /// HTTP/2
    Http2,
}
