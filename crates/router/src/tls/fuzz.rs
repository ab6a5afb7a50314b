//! Invariants that fuzzing checks: of a client's first bytes, and of certificates that were ordered.

use std::sync::Arc;

use corral_ipc::message::{Provision, ProvisionKind};

use super::provisions::Provisions;

/// A whole chain with its key.
const GOOD: &[u8] = include_bytes!("testdata/version1.pem");

const NAME: &str = "a.example";

/// A client that wants a challenge's certificate has begun a handshake, and nobody gets one where there is none.
pub(crate) fn hello(data: &[u8]) {
    let provisions = provisions();
    assert!(!provisions.challenges.are_wanted(data));
    provide(&provisions, ProvisionKind::TlsAlpn, Some(GOOD));
    assert!(!provisions.challenges.are_wanted(data) || data.first() == Some(&0x16));
}

/// A certificate that can be used is there, one that cannot changes nothing, and one that is taken back is gone.
pub(crate) fn provision(data: &[u8]) {
    let provisions = provisions();
    let (certificates, challenges) = (&provisions.certificates, &provisions.challenges.certificates);
    provide(&provisions, ProvisionKind::Certificate, Some(data));
    provide(&provisions, ProvisionKind::TlsAlpn, Some(data));
    let before = certificates.get(NAME);
    assert_eq!(before.is_some(), challenges.get(NAME).is_some());
    provide(&provisions, ProvisionKind::Certificate, Some(GOOD));
    let good = certificates.get(NAME).expect("it can be used");
    provide(&provisions, ProvisionKind::Certificate, Some(data));
    let now = certificates.get(NAME).expect("one of the two");
    assert!(before.is_some() || Arc::ptr_eq(&now, &good));
    provide(&provisions, ProvisionKind::HttpToken, Some(data));
    assert_eq!(provisions.tokens.get(NAME).as_deref(), Some(data));
    for kind in [ProvisionKind::Certificate, ProvisionKind::TlsAlpn, ProvisionKind::HttpToken] {
        provide(&provisions, kind, None);
    }
    assert!(certificates.is_empty() && challenges.is_empty() && provisions.tokens.is_empty());
}

fn provisions() -> Arc<Provisions> {
    Provisions::new().expect("the usual versions of TLS are built in")
}

fn provide(provisions: &Provisions, kind: ProvisionKind, content: Option<&[u8]>) {
    let bytes = content.map(<[u8]>::to_vec);
    provisions.take(vec![Provision { kind, name: NAME.to_owned(), bytes }]);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// First messages as OpenSSL sends them.
    const HELLOS: [&[u8]; 5] = [
        include_bytes!("../../../../fuzz/seeds/router_hello/challenge"),
        include_bytes!("../../../../fuzz/seeds/router_hello/challenge_tls12"),
        include_bytes!("../../../../fuzz/seeds/router_hello/two_records"),
        include_bytes!("../../../../fuzz/seeds/router_hello/browser"),
        include_bytes!("../../../../fuzz/seeds/router_hello/nameless"),
    ];

    #[test]
    fn authorities_are_known_by_their_first_message() {
        let provisions = provisions();
        provide(&provisions, ProvisionKind::TlsAlpn, Some(GOOD));
        let wanted = HELLOS.map(|hello| provisions.challenges.are_wanted(hello));
        assert_eq!(wanted, [true, true, true, false, false]);
        let [whole, ..] = HELLOS;
        for len in 0..whole.len() {
            assert!(!provisions.challenges.are_wanted(&whole[..len]), "the first {len} bytes");
        }
    }

    proptest! {
        #[test]
        fn changed_messages_are_no_harm(which in 0..HELLOS.len(), at: usize, byte: u8, cut: usize) {
            let mut data = HELLOS[which].to_vec();
            let at = at % data.len();
            data[at] = byte;
            hello(&data);
            data.truncate(cut % data.len());
            hello(&data);
        }

        #[test]
        fn changed_certificates_are_no_harm(at: usize, byte: u8, cut: usize) {
            let mut data = GOOD.to_vec();
            let at = at % data.len();
            data[at] = byte;
            provision(&data);
            data.truncate(cut % data.len());
            provision(&data);
        }
    }
}
