//! Counts how handshakes of TLS end.

use std::io;

use corral_ipc::message::TlsFailure;

use crate::counters::traffic::TlsCounters;
use crate::io::session::{ServerSession, SessionError};

/// A handshake that is counted at its end. One that is dropped before has taken too long.
pub(crate) struct HandshakeCount<'c> {
    counters: &'c TlsCounters,
    /// The client has sent something: a connection that was only opened is not a handshake.
    has_begun: bool,
}

impl<'c> HandshakeCount<'c> {
    /// A handshake that the client has not begun.
    pub(super) fn new(counters: &'c TlsCounters) -> Self {
        Self { counters, has_begun: false }
    }

    /// The client has sent so much.
    pub(super) fn note_input(&mut self, input: &[u8]) {
        self.has_begun |= !input.is_empty();
    }

    /// The handshake has failed.
    pub(super) fn fail(mut self, failure: TlsFailure) {
        if std::mem::take(&mut self.has_begun) {
            self.counters.fail(failure);
        }
    }

    /// The handshake has led to this session, or to an error.
    pub(super) fn end(mut self, outcome: Result<Option<&ServerSession>, &SessionError>) {
        match outcome {
            Ok(session) => {
                self.has_begun = false;
                let peer = session.map(ServerSession::peer);
                if let Some((peer, version)) = peer.as_ref().and_then(|peer| Some((peer, peer.version()?))) {
                    self.counters.succeed(version, peer.is_resumed());
                }
            }
            Err(error) => self.fail(failure_of(error)),
        }
    }
}

impl Drop for HandshakeCount<'_> {
    fn drop(&mut self) {
        if self.has_begun {
            self.counters.fail(TlsFailure::Timeout);
        }
    }
}

fn failure_of(error: &SessionError) -> TlsFailure {
    match error {
        SessionError::NoCertificate(_) => TlsFailure::NoCertificate,
        SessionError::Start(_) => TlsFailure::Protocol,
        SessionError::Failed(error) => failure_of_io(error),
    }
}

fn failure_of_io(error: &io::Error) -> TlsFailure {
    let cause = error.get_ref().and_then(|cause| cause.downcast_ref::<rustls::Error>());
    match cause {
        None => TlsFailure::Closed,
        Some(rustls::Error::AlertReceived(_)) => TlsFailure::Alert,
        Some(
            rustls::Error::NoCertificatesPresented
            | rustls::Error::InvalidCertificate(_)
            | rustls::Error::InvalidCertRevocationList(_),
        ) => TlsFailure::ClientCertificate,
        Some(_) => TlsFailure::Protocol,
    }
}

#[cfg(test)]
mod tests {
    use corral_ipc::message::{TLS_FAILURES, TrafficFigures};
    use rustls::{AlertDescription, CertificateError, PeerIncompatible};

    use super::*;
    use crate::counters::traffic::TrafficCounters;
    use crate::tls::NoCertificate;

    /// The words of the failures that are counted.
    fn counted(act: impl FnOnce(HandshakeCount<'_>)) -> Vec<&'static str> {
        let counters = TrafficCounters::default();
        act(HandshakeCount::new(&counters.tls));
        let mut figures = TrafficFigures::default();
        counters.add_to(&mut figures);
        let failed = TLS_FAILURES.iter().zip(figures.tls.failed);
        failed.flat_map(|(word, n)| std::iter::repeat_n(*word, usize::try_from(n).unwrap())).collect()
    }

    #[test]
    fn a_handshake_counts_once_and_one_that_is_given_up_was_late() {
        let begun = |mut handshake: HandshakeCount<'_>, input: &[u8], failure: Option<TlsFailure>| {
            handshake.note_input(input);
            if let Some(failure) = failure {
                handshake.fail(failure);
            }
        };
        assert_eq!(counted(|one| begun(one, b"\x16", Some(TlsFailure::Plain))), ["plain"]);
        assert_eq!(counted(|one| begun(one, b"\x16", None)), ["timeout"]);
        assert!(counted(|one| begun(one, b"", None)).is_empty());
        assert!(counted(|one| begun(one, b"", Some(TlsFailure::Closed))).is_empty());
    }

    #[test]
    fn errors_have_their_reasons() {
        let failed =
            |error: rustls::Error| SessionError::Failed(io::Error::new(io::ErrorKind::InvalidData, error));
        for (error, expect) in [
            (SessionError::NoCertificate(NoCertificate::Unknown), "no_certificate"),
            (failed(rustls::Error::NoCertificatesPresented), "client_certificate"),
            (failed(CertificateError::Expired.into()), "client_certificate"),
            (failed(rustls::Error::AlertReceived(AlertDescription::UnknownCA)), "alert"),
            (failed(PeerIncompatible::NoCipherSuitesInCommon.into()), "protocol"),
            (SessionError::Start(rustls::Error::General("x".to_owned())), "protocol"),
            (SessionError::Failed(io::ErrorKind::UnexpectedEof.into()), "closed"),
            (SessionError::Failed(io::ErrorKind::ConnectionReset.into()), "closed"),
        ] {
            let words = counted(|mut handshake| {
                handshake.note_input(b"\x16");
                handshake.end(Err(&error));
            });
            assert_eq!(words, [expect], "{error:?}");
        }
    }
}
