//! Signed links: a path may be asked for until a time, which a secret vouches for.
//!
//! The signature is an HMAC-SHA256 in hexadecimal of the time in seconds since 1970, a blank, the client's address with
//! another blank if that is part of it, and the path. A time and an address have no blanks, so that no two links are
//! signed alike.

use hmac::{Hmac, Mac};
use sha2::Sha256;

/// The secrets of a file, at least one. All of them verify, so that a new one can be used before an old one goes.
#[derive(Clone)]
pub struct LinkSecrets(Vec<Vec<u8>>);

/// The part of a link that is signed.
#[derive(Debug, Clone, Copy)]
pub struct SignedLink<'l> {
    /// Seconds since 1970, as they are written in the link.
    pub expires: &'l [u8],
    /// The client's address, if the link is for that alone.
    pub address: Option<&'l [u8]>,
    /// Without escapes.
    pub path: &'l [u8],
}

/// Why a file has no secrets of links.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LinkFault {
    /// A secret that could be guessed.
    #[error("has a secret of {length} bytes in line {line}; it needs at least {LEAST_LEN}")]
    Short {
        /// Counted from 1.
        line: usize,
        /// The number of its bytes.
        length: usize,
    },
    /// Each is tried for each link.
    #[error("has more than {MOST_SECRETS} secrets")]
    Many,
    /// No line with one.
    #[error("has no secret")]
    Empty,
}

/// The length of what the hash makes (RFC 2104 section 3).
const LEAST_LEN: usize = 32;

const MOST_SECRETS: usize = 16;

impl LinkFault {
    /// How it would be right.
    #[must_use]
    pub fn advice(&self) -> &'static str {
        match self {
            Self::Short { .. } | Self::Empty => "Make one by: openssl rand -hex 32",
            Self::Many => "Remove those that no link is signed with any more.",
        }
    }
}

impl LinkSecrets {
    /// Reads a file with a secret in each line.
    ///
    /// # Errors
    ///
    /// When a secret is too short, or there is none.
    pub fn parse(content: &[u8]) -> Result<Self, LinkFault> {
        let mut secrets = Vec::new();
        for (line, secret) in (1..).zip(content.split(|&byte| byte == b'\n')) {
            let secret = secret.trim_ascii();
            if secret.is_empty() {
                continue;
            }
            if secret.len() < LEAST_LEN {
                return Err(LinkFault::Short { line, length: secret.len() });
            }
            secrets.push(secret.to_vec());
        }
        match secrets.len() {
            0 => Err(LinkFault::Empty),
            1..=MOST_SECRETS => Ok(Self(secrets)),
            _ => Err(LinkFault::Many),
        }
    }

    /// Whether one of the secrets has made this signature, in a time that does not tell how much of it is right.
    #[must_use]
    pub fn verify(&self, link: &SignedLink<'_>, signature: &[u8]) -> bool {
        let Some(signature) = from_hexadecimal(signature) else { return false };
        self.0
            .iter()
            .any(|secret| link.hash(secret).is_some_and(|hash| hash.verify_slice(&signature).is_ok()))
    }
}

impl SignedLink<'_> {
    fn hash(&self, secret: &[u8]) -> Option<Hmac<Sha256>> {
        let mut hash = Hmac::<Sha256>::new_from_slice(secret).ok()?;
        for part in [Some(self.expires), self.address].into_iter().flatten() {
            hash.update(part);
            hash.update(b" ");
        }
        hash.update(self.path);
        Some(hash)
    }
}

/// The bytes of a signature.
fn from_hexadecimal(text: &[u8]) -> Option<[u8; 32]> {
    let mut bytes = [0; 32];
    if text.len() != 2 * bytes.len() {
        return None;
    }
    for (byte, digits) in bytes.iter_mut().zip(text.chunks_exact(2)) {
        *byte = digits.iter().try_fold(0_u8, |sum, &digit| Some(sum << 4 | hexadecimal(digit)?))?;
    }
    Some(bytes)
}

fn hexadecimal(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).and_then(|digit| u8::try_from(digit).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &str = "0123456789abcdef0123456789abcdef";

    /// The signature of `1700000000 /a b.pdf`, by another implementation.
    const SIGNATURE: &str = "351d9395f5630036bac88788f24805e923628d0b89210d52512ae518deb16655";

    /// The signature of `1700000000 2001:db8::1 /a b.pdf`.
    const FOR_ADDRESS: &str = "aba0e4ea4f20331487e6111f89b74928c3e6318af45f3c6b0526462b2e70fba3";

    #[track_caller]
    fn check(link: (&str, Option<&str>, &str), signature: &str, expect: bool) {
        let secrets = LinkSecrets::parse(format!("{}\n\n {SECRET}\r\n", "x".repeat(40)).as_bytes()).unwrap();
        let (expires, address, path) = link;
        let signed = SignedLink {
            expires: expires.as_bytes(),
            address: address.map(str::as_bytes),
            path: path.as_bytes(),
        };
        assert_eq!(secrets.verify(&signed, signature.as_bytes()), expect, "{link:?} {signature}");
    }

    #[test]
    fn links_of_all_secrets_are_known() {
        check(("1700000000", None, "/a b.pdf"), SIGNATURE, true);
        check(("1700000000", None, "/a b.pdf"), &SIGNATURE.to_uppercase(), true);
        check(("1700000000", Some("2001:db8::1"), "/a b.pdf"), FOR_ADDRESS, true);
    }

    #[test]
    fn nothing_of_a_link_can_be_changed() {
        for link in [
            ("1700000001", None, "/a b.pdf"),
            ("01700000000", None, "/a b.pdf"),
            ("1700000000", None, "/a b.pdf/"),
            ("1700000000", None, "/b.pdf"),
            ("1700000000", Some("2001:db8::1"), "/a b.pdf"),
            ("1700000000 ", None, "/a b.pdf"),
            ("", None, ""),
        ] {
            check(link, SIGNATURE, false);
        }
        check(("1700000000", None, "2001:db8::1 /a b.pdf"), SIGNATURE, false);
        let wrong = format!("{}0", &SIGNATURE[..63]);
        let other = format!("{}1", &SIGNATURE[..63]);
        assert!(SIGNATURE != wrong || SIGNATURE != other);
        for signature in
            ["", "0", &SIGNATURE[..62], &format!("{SIGNATURE}00"), &"z".repeat(64), &"é".repeat(32)]
        {
            check(("1700000000", None, "/a b.pdf"), signature, false);
        }
        check(("1700000000", None, "/a b.pdf"), if SIGNATURE == wrong { &other } else { &wrong }, false);
    }

    #[track_caller]
    fn check_fault(content: &str, expect: LinkFault) {
        assert_eq!(LinkSecrets::parse(content.as_bytes()).err(), Some(expect), "{content:?}");
    }

    #[test]
    fn secrets_are_long_and_few() {
        check_fault("", LinkFault::Empty);
        check_fault("\n \r\n", LinkFault::Empty);
        check_fault(&format!("{SECRET}\nshort"), LinkFault::Short { line: 2, length: 5 });
        check_fault(&format!("{SECRET}\n").repeat(17), LinkFault::Many);
        assert!(LinkSecrets::parse(format!("{SECRET}\n").repeat(16).as_bytes()).is_ok());
    }
}
