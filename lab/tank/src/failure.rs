//! Why a request failed. Each kind is counted by itself and has a code of the network's errors for raw data.

use std::io;

/// A request without the answer that was expected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Failure {
    /// The server does not listen.
    Refused,
    /// No connection, for another reason: no route, no local port.
    Unreachable,
    /// The handshake of TLS, or a record that cannot be read.
    Tls,
    /// The server reset the connection or the stream.
    Reset,
    /// The server closed the connection before the end of its answer.
    Closed,
    /// No whole answer in time.
    Timeout,
    /// No connection was free in time.
    NotSent,
    /// An answer that is not HTTP.
    Protocol,
    /// A status other than those expected.
    Status,
    /// A body of another length.
    BodySize,
    /// A body without the expected text.
    Body,
}

impl Failure {
    pub(crate) const ALL: [Self; 11] = [
        Self::Refused,
        Self::Unreachable,
        Self::Tls,
        Self::Reset,
        Self::Closed,
        Self::Timeout,
        Self::NotSent,
        Self::Protocol,
        Self::Status,
        Self::BodySize,
        Self::Body,
    ];

    /// The name in summaries.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Refused => "connect refused",
            Self::Unreachable => "connect failed",
            Self::Tls => "TLS",
            Self::Reset => "reset",
            Self::Closed => "closed early",
            Self::Timeout => "timeout",
            Self::NotSent => "not sent",
            Self::Protocol => "protocol",
            Self::Status => "status",
            Self::BodySize => "body size",
            Self::Body => "body",
        }
    }

    /// The name in JSON.
    pub(crate) fn key(self) -> String {
        self.name().to_lowercase().replace(' ', "_")
    }

    /// The error number of Linux that Tank would tell; 0 where the network did its part.
    pub(crate) fn net_code(self) -> u16 {
        match self {
            Self::NotSent => 11,
            Self::Closed => 32,
            Self::Tls | Self::Protocol => 71,
            Self::BodySize | Self::Body => 74,
            Self::Unreachable => 101,
            Self::Reset => 104,
            Self::Timeout => 110,
            Self::Refused => 111,
            Self::Status => 0,
        }
    }

    /// Whether the server gave a whole answer, if not the expected one.
    pub(crate) fn is_answer(self) -> bool {
        matches!(self, Self::Status | Self::BodySize | Self::Body)
    }

    /// An error of a connection that was established.
    pub(crate) fn of_io(error: &io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::UnexpectedEof => Self::Closed,
            io::ErrorKind::InvalidData => Self::Tls,
            io::ErrorKind::TimedOut => Self::Timeout,
            _ => Self::Reset,
        }
    }

    /// An error of a connection that could not be established.
    pub(crate) fn of_connect(error: &io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::ConnectionRefused => Self::Refused,
            io::ErrorKind::ConnectionReset => Self::Reset,
            io::ErrorKind::TimedOut => Self::Timeout,
            _ => Self::Unreachable,
        }
    }
}
