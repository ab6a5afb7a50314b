//! Why a client gets no certificate, and how it is told.

use rustls::{AlertDescription, ContentType, ProtocolVersion};

/// Why a client gets no certificate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NoCertificate {
    /// The certificate of the name that it asks for is ordered, and not here yet.
    NotYet,
    /// The name may get a certificate because a client asks for it.
    OnDemand,
    /// The listener has no certificate for the name, and orders none.
    Unknown,
    /// The client names no host, and there is more than one that it may want.
    Nameless,
    /// The client names no host, and the only one has no certificate yet.
    NothingYet,
    /// An authority wants to validate a name that nothing was ordered for, or says no name.
    NoChallenge,
}

/// The level of an alert after which nothing is said any more (RFC 8446 section 6).
const FATAL: u8 = 2;

impl NoCertificate {
    /// The record that tells the client. Nothing is encrypted before there is a certificate.
    pub(crate) fn record(self) -> [u8; 7] {
        let [high, low] = u16::from(ProtocolVersion::TLSv1_2).to_be_bytes();
        [u8::from(ContentType::Alert), high, low, 0, 2, FATAL, u8::from(self.alert())]
    }

    fn alert(self) -> AlertDescription {
        match self {
            // RFC 6066 section 3: the server understands the extension but does not recognize the name.
            Self::NotYet | Self::OnDemand | Self::Unknown | Self::NoChallenge => {
                AlertDescription::UnrecognisedName
            }
            // RFC 8446 section 9.2: the server requires an extension that the client has not sent.
            Self::Nameless => AlertDescription::MissingExtension,
            // Section 6.2: it has nothing to do with the peer, which may try again.
            Self::NothingYet => AlertDescription::InternalError,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_are_told_by_an_alert() {
        assert_eq!(NoCertificate::Unknown.record(), [21, 3, 3, 0, 2, 2, 112]);
        assert_eq!(NoCertificate::Nameless.record(), [21, 3, 3, 0, 2, 2, 109]);
        assert_eq!(NoCertificate::NothingYet.record(), [21, 3, 3, 0, 2, 2, 80]);
    }
}
