//! Invariants that fuzzing checks: of a client's first bytes, and of certificates that were ordered.

use std::sync::Arc;

use corral_ipc::message::{IssuedSecret, IssuedSecretKind};

use super::issued_secrets::IssuedSecrets;

/// A whole chain with its key.
const GOOD: &[u8] = include_bytes!("testdata/version1.pem");

const NAME: &str = "a.example";

/// A client that wants a challenge's certificate has begun a handshake, and gets none where there is none.
pub(crate) fn hello(data: &[u8]) {
    let secrets = secrets();
    assert!(!secrets.challenges.are_wanted(data));
    provide(&secrets, IssuedSecretKind::TlsAlpn, Some(GOOD));
    assert!(!secrets.challenges.are_wanted(data) || data.first() == Some(&0x16));
}

/// A certificate that can be used is there, one that cannot changes nothing, and one that is taken back is gone.
pub(crate) fn secret(data: &[u8]) {
    let secrets = secrets();
    let (certificates, challenges) = (&secrets.certificates, &secrets.challenges.certificates);
    provide(&secrets, IssuedSecretKind::Certificate, Some(data));
    provide(&secrets, IssuedSecretKind::TlsAlpn, Some(data));
    let before = certificates.get(NAME);
    assert_eq!(before.is_some(), challenges.get(NAME).is_some());
    provide(&secrets, IssuedSecretKind::Certificate, Some(GOOD));
    let good = certificates.get(NAME).expect("it can be used");
    provide(&secrets, IssuedSecretKind::Certificate, Some(data));
    let now = certificates.get(NAME).expect("one of the two");
    assert!(before.is_some() || Arc::ptr_eq(&now, &good));
    provide(&secrets, IssuedSecretKind::HttpToken, Some(data));
    assert_eq!(secrets.tokens.get(NAME).as_deref(), Some(data));
    for kind in [IssuedSecretKind::Certificate, IssuedSecretKind::TlsAlpn, IssuedSecretKind::HttpToken] {
        provide(&secrets, kind, None);
    }
    assert!(certificates.is_empty() && challenges.is_empty() && secrets.tokens.is_empty());
}

fn secrets() -> Arc<IssuedSecrets> {
    IssuedSecrets::new().expect("the usual versions of TLS are built in")
}

fn provide(secrets: &IssuedSecrets, kind: IssuedSecretKind, content: Option<&[u8]>) {
    let bytes = content.map(<[u8]>::to_vec);
    secrets.take(vec![IssuedSecret { kind, name: NAME.to_owned(), bytes }]);
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
        let secrets = secrets();
        provide(&secrets, IssuedSecretKind::TlsAlpn, Some(GOOD));
        let wanted = HELLOS.map(|hello| secrets.challenges.are_wanted(hello));
        assert_eq!(wanted, [true, true, true, false, false]);
        let [whole, ..] = HELLOS;
        for len in 0..whole.len() {
            assert!(!secrets.challenges.are_wanted(&whole[..len]), "the first {len} bytes");
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
            secret(&data);
            data.truncate(cut % data.len());
            secret(&data);
        }
    }
}
