//! Which kind of key a private key is: just enough of DER (X.690) to tell. Whose key it is, the library says that uses
//! it.

use rustls::crypto::aws_lc_rs::default_provider;
use rustls_pki_types::{PrivateKeyDer, PrivatePkcs1KeyDer, PrivatePkcs8KeyDer, PrivateSec1KeyDer};
use x509_parser::certificate::X509Certificate;
use x509_parser::prelude::FromDer as _;

/// Whether a key is that of a certificate. What cannot be used at all is refused when it is to be.
pub(super) fn belongs(label: &str, key: &[u8], certificate: &[u8]) -> bool {
    let key = key.to_vec();
    let key: PrivateKeyDer<'_> = match label {
        "PRIVATE KEY" => PrivatePkcs8KeyDer::from(key).into(),
        "RSA PRIVATE KEY" => PrivatePkcs1KeyDer::from(key).into(),
        "EC PRIVATE KEY" => PrivateSec1KeyDer::from(key).into(),
        _ => return true,
    };
    let key = default_provider().key_provider.load_private_key(key).ok();
    let (Some(public), Ok((_, certificate))) =
        (key.as_ref().and_then(|key| key.public_key()), X509Certificate::from_der(certificate))
    else {
        return true;
    };
    *public == *certificate.public_key().raw
}

/// `RSA (2048 bits)`, `ECDH`, `DH`, or `unknown` for a key of another kind. `None` for a text that is not a key.
pub(crate) fn kind(label: &str, der: &[u8]) -> Option<String> {
    match label {
        "PRIVATE KEY" => pkcs8(der),
        "RSA PRIVATE KEY" => rsa(der),
        // SEC 1: version 1, then the key itself.
        "EC PRIVATE KEY" => {
            let (version, rest) = integer(sequence(der)?)?;
            take(OCTET_STRING, rest)?;
            (version == [1]).then(|| "ECDH".to_owned())
        }
        _ => sequence(der).map(|_| "unknown".to_owned()),
    }
}

/// RFC 5958: version, algorithm, the key in the algorithm's own form.
fn pkcs8(der: &[u8]) -> Option<String> {
    let (_, rest) = integer(sequence(der)?)?;
    let (algorithm, rest) = take(SEQUENCE, rest)?;
    let (oid, _) = take(OBJECT_IDENTIFIER, algorithm)?;
    let (key, _) = take(OCTET_STRING, rest)?;
    match oid {
        RSA => rsa(key),
        EC => Some("ECDH".to_owned()),
        DH | X9_DH => Some("DH".to_owned()),
        _ => Some("unknown".to_owned()),
    }
}

/// RFC 8017: version, modulus, …
fn rsa(der: &[u8]) -> Option<String> {
    let (_, rest) = integer(sequence(der)?)?;
    let (modulus, _) = integer(rest)?;
    let start = modulus.iter().position(|&byte| byte != 0)?;
    let n_bits = (modulus.len() - start) * 8 - modulus[start].leading_zeros() as usize;
    Some(format!("RSA ({n_bits} bits)"))
}

/// The content of a sequence that is all there is.
fn sequence(der: &[u8]) -> Option<&[u8]> {
    let (content, rest) = take(SEQUENCE, der)?;
    rest.is_empty().then_some(content)
}

fn integer(der: &[u8]) -> Option<(&[u8], &[u8])> {
    take(INTEGER, der).filter(|(content, _)| !content.is_empty())
}

/// The content of the first value, which must have this tag, and what follows it.
fn take(tag: u8, der: &[u8]) -> Option<(&[u8], &[u8])> {
    let (&found, rest) = der.split_first()?;
    let (&first, rest) = rest.split_first()?;
    let (len, rest) = if first < 0x80 {
        (usize::from(first), rest)
    } else {
        let n_bytes = usize::from(first & 0x7f);
        let (bytes, rest) = rest.split_at_checked(n_bytes).filter(|_| (1..=4).contains(&n_bytes))?;
        (bytes.iter().fold(0, |len, &byte| len << 8 | usize::from(byte)), rest)
    };
    rest.split_at_checked(len).filter(|_| found == tag)
}

const INTEGER: u8 = 0x02;
const OCTET_STRING: u8 = 0x04;
const OBJECT_IDENTIFIER: u8 = 0x06;
const SEQUENCE: u8 = 0x30;

/// 1.2.840.113549.1.1.1.
const RSA: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01];
/// 1.2.840.10045.2.1.
const EC: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01];
/// 1.2.840.113549.1.3.1.
const DH: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x03, 0x01];
/// 1.2.840.10046.2.1.
const X9_DH: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3e, 0x02, 0x01];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_told_apart() {
        let rsa = [0x30, 7, 2, 1, 0, 2, 2, 0x03, 0xff];
        assert_eq!(kind("RSA PRIVATE KEY", &rsa).as_deref(), Some("RSA (10 bits)"));
        let mut pkcs8 = vec![0x30, 16, 2, 1, 0, 0x30, 6, 6, 4, 0x2a, 0x03, 0x04, 0x05, 4, 3, 1, 2, 3];
        assert_eq!(kind("PRIVATE KEY", &pkcs8).as_deref(), Some("unknown"));
        pkcs8.push(0);
        assert_eq!(kind("PRIVATE KEY", &pkcs8), None, "something follows");
        let ec = [0x30, 6, 2, 1, 1, 4, 1, 9];
        assert_eq!(kind("EC PRIVATE KEY", &ec).as_deref(), Some("ECDH"));
        assert_eq!(kind("DSA PRIVATE KEY", &ec).as_deref(), Some("unknown"));
    }

    #[test]
    fn broken_keys_are_none() {
        for der in
            [&[][..], &[0x30], &[0x30, 0x80], &[0x30, 0x85, 0, 0, 0, 0, 1], &[0x30, 5, 2, 1], &[0x02, 1, 0]]
        {
            for label in ["PRIVATE KEY", "RSA PRIVATE KEY", "EC PRIVATE KEY", "DSA PRIVATE KEY"] {
                assert_eq!(kind(label, der), None, "{der:?}");
            }
        }
    }
}
