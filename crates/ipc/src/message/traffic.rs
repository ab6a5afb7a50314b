//! Figures of what the router does with connections and requests, of all listeners together.

use serde::{Deserialize, Serialize};

use super::by_place;

/// Why the router itself answers a request with an error, in place of what the configuration leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// Too many requests wait for a process, or for a server.
    QueueFull,
    /// The request has waited for one for too long.
    QueueTimeout,
    /// The application has no process, and none can be started.
    NoWorker,
    /// No server is up, or the one that the request names may not be asked.
    NoServer,
    /// A limit for clients.
    Limit,
    /// The action is closed.
    Maintenance,
    /// No method of `authenticate` lets the request pass.
    Authentication,
    /// The head or the body is larger than it may be.
    TooLarge,
    /// The head or the body has not come in time.
    Timeout,
    /// The request, or its connection, breaks the rules of its protocol.
    Malformed,
    /// The client's address has too many connections.
    Connections,
    /// The body has room neither in memory nor on the disk.
    Storage,
}

/// The words for each [`Refusal`].
pub const REFUSALS: [&str; 12] = [
    "queue_full",
    "queue_timeout",
    "no_worker",
    "no_server",
    "limit",
    "maintenance",
    "authentication",
    "too_large",
    "timeout",
    "malformed",
    "connections",
    "storage",
];

impl Refusal {
    /// The reason behind the status of a request that could not be read.
    #[must_use]
    pub fn of_status(status: u16) -> Self {
        match status {
            408 => Self::Timeout,
            413 | 414 | 431 => Self::TooLarge,
            _ => Self::Malformed,
        }
    }
}

/// The protocols of connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConnectionProtocol {
    /// HTTP/1.0 and HTTP/1.1.
    Http1,
    /// HTTP/2.
    Http2,
    /// Connections that are passed on.
    Tcp,
    /// Sessions of datagrams that are passed on.
    Udp,
}

/// The words for each [`ConnectionProtocol`].
pub const CONNECTION_PROTOCOLS: [&str; 4] = ["HTTP/1", "HTTP/2", "TCP", "UDP"];

/// Versions of TLS, by the numbers that routers have for them.
pub const TLS_VERSIONS: [&str; 2] = ["TLSv1.2", "TLSv1.3"];

/// The beginnings of TLS sessions: the number of a resumed one is 1.
pub const TLS_SESSIONS: [&str; 2] = ["new", "resumed"];

/// Why a handshake of TLS has failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TlsFailure {
    /// The client asks for a name that has no certificate.
    NoCertificate,
    /// The client has no certificate, or one that is not accepted.
    ClientCertificate,
    /// The client has ended it with an alert, as one does that does not trust the certificate.
    Alert,
    /// The client has no version or cipher in common, or breaks the protocol.
    Protocol,
    /// The client speaks something else.
    Plain,
    /// The handshake was not done in time.
    Timeout,
    /// The client has closed the connection.
    Closed,
}

/// The words for each [`TlsFailure`].
pub const TLS_FAILURES: [&str; 7] =
    ["no_certificate", "client_certificate", "alert", "protocol", "plain", "timeout", "closed"];

/// Why a connection of HTTP/2 was ended for what the client has sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Http2Fault {
    /// More of something than a client may send.
    Flood,
    /// Frames that break the protocol.
    Protocol,
}

/// The words for each [`Http2Fault`].
pub const HTTP2_FAULTS: [&str; 2] = ["flood", "protocol"];

/// The figures of all listeners together.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TrafficFigures {
    /// Requests that were refused, by [`REFUSALS`].
    #[serde(deserialize_with = "by_place::array")]
    pub refused: [u64; REFUSALS.len()],
    /// Connections that have begun to speak each of [`CONNECTION_PROTOCOLS`].
    #[serde(deserialize_with = "by_place::array")]
    pub begun: [u64; CONNECTION_PROTOCOLS.len()],
    /// Connections that are open; one of HTTP that has said nothing yet counts for HTTP/1.
    #[serde(deserialize_with = "by_place::array")]
    pub open: [u64; CONNECTION_PROTOCOLS.len()],
    /// Handshakes of TLS.
    pub tls: TlsFigures,
    /// Connections of HTTP/2.
    pub http2: Http2Figures,
}

/// Handshakes of TLS with clients.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TlsFigures {
    /// By [`TLS_VERSIONS`] and [`TLS_SESSIONS`].
    #[serde(deserialize_with = "by_place::table")]
    pub handshakes: [[u64; TLS_SESSIONS.len()]; TLS_VERSIONS.len()],
    /// Handshakes that have failed, by [`TLS_FAILURES`].
    #[serde(deserialize_with = "by_place::array")]
    pub failed: [u64; TLS_FAILURES.len()],
}

/// Connections of HTTP/2 with clients.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Http2Figures {
    /// Streams that clients have opened.
    pub streams: u64,
    /// Streams that clients have reset before they had the reply.
    pub resets: u64,
    /// Connections that were ended, by [`HTTP2_FAULTS`].
    #[serde(deserialize_with = "by_place::array")]
    pub broken: [u64; HTTP2_FAULTS.len()],
}

impl TrafficFigures {
    /// Adds those of another router.
    pub(super) fn count(&mut self, other: &Self) {
        let Self { refused, begun, open, tls, http2 } = self;
        add(refused, &other.refused);
        add(begun, &other.begun);
        add(open, &other.open);
        add(tls.handshakes.as_flattened_mut(), other.tls.handshakes.as_flattened());
        add(&mut tls.failed, &other.tls.failed);
        add([&mut http2.streams, &mut http2.resets], &[other.http2.streams, other.http2.resets]);
        add(&mut http2.broken, &other.http2.broken);
    }

    /// The figures that go on counting when the router has ended.
    pub(super) fn ended(&self) -> Self {
        Self { open: Default::default(), ..self.clone() }
    }
}

/// Adds numbers in pairs.
pub(super) fn add<'s>(sums: impl IntoIterator<Item = &'s mut u64>, others: &[u64]) {
    sums.into_iter().zip(others).for_each(|(sum, n)| *sum = sum.saturating_add(*n));
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The word of a variant, whose number is its place.
    #[track_caller]
    fn check(words: &[&str], variants: &[(usize, &str)]) {
        assert_eq!(words.len(), variants.len());
        for (place, (number, name)) in variants.iter().enumerate() {
            let plain = words[place].replace(['_', '/'], "");
            assert!(*number == place && plain.eq_ignore_ascii_case(name), "{name} is {}", words[place]);
        }
    }

    macro_rules! variants {
        ($kind:ident: $($name:ident)*) => { [$(($kind::$name as usize, stringify!($name))),*] };
    }

    #[test]
    fn each_reason_has_its_word() {
        let refusals = variants!(Refusal: QueueFull QueueTimeout NoWorker NoServer Limit Maintenance Authentication
            TooLarge Timeout Malformed Connections Storage);
        check(&REFUSALS, &refusals);
        check(&CONNECTION_PROTOCOLS, &variants!(ConnectionProtocol: Http1 Http2 Tcp Udp));
        let failures =
            variants!(TlsFailure: NoCertificate ClientCertificate Alert Protocol Plain Timeout Closed);
        check(&TLS_FAILURES, &failures);
        check(&HTTP2_FAULTS, &variants!(Http2Fault: Flood Protocol));
    }

    #[test]
    fn requests_that_cannot_be_read_have_reasons() {
        for (status, reason) in [
            (400, Refusal::Malformed),
            (408, Refusal::Timeout),
            (413, Refusal::TooLarge),
            (414, Refusal::TooLarge),
            (431, Refusal::TooLarge),
            (501, Refusal::Malformed),
        ] {
            assert_eq!(Refusal::of_status(status), reason, "{status}");
        }
    }

    #[test]
    fn counts_are_added_and_what_is_open_ends_with_its_router() {
        let mut one = TrafficFigures {
            refused: [1; REFUSALS.len()],
            begun: [2, 0, 0, 1],
            open: [1, 2, 3, 4],
            tls: TlsFigures { handshakes: [[1, 2], [3, 4]], failed: [5; TLS_FAILURES.len()] },
            http2: Http2Figures { streams: 6, resets: 7, broken: [8, u64::MAX] },
        };
        let ended = one.ended();
        assert_eq!((ended.open, ended.refused, &ended.tls), ([0; 4], one.refused, &one.tls));
        one.count(&ended);
        assert_eq!((one.refused[0], one.begun, one.open), (2, [4, 0, 0, 2], [1, 2, 3, 4]));
        assert_eq!((one.tls.handshakes, one.tls.failed[6]), ([[2, 4], [6, 8]], 10));
        assert_eq!((one.http2.streams, one.http2.resets, one.http2.broken), (12, 14, [16, u64::MAX]));
        one.count(&TrafficFigures { open: [1; 4], ..TrafficFigures::default() });
        assert_eq!(one.open, [2, 3, 4, 5]);
    }
}
