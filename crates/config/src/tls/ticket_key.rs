//! Keys of session tickets, as nginx and Unit take them.

use std::fmt;

use super::base64;

/// A key that encrypts and authenticates tickets.
#[derive(Clone, PartialEq, Eq)]
pub struct TicketKey {
    /// Stands in front of each ticket, so that the key is found again.
    pub name: [u8; 16],
    /// For HMAC-SHA256.
    pub hmac: Vec<u8>,
    /// For AES in CBC mode: 16 or 32 bytes.
    pub aes: Vec<u8>,
}

/// Why a text is not a ticket key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TicketKeyError {
    /// The text is not Base64.
    #[error("Invalid Base64 format for the ticket key \"{0}\".")]
    Encoding(String),
    /// The length fits neither of the two known layouts.
    #[error("Invalid length {len} of the ticket key \"{text}\".  Must be 48 or 80 bytes.")]
    Length {
        /// The length of the decoded key.
        len: usize,
        /// As it was written.
        text: String,
    },
}

impl TicketKey {
    /// Reads the Base64 text of 48 bytes (name, AES, HMAC) or 80 bytes (name, HMAC, AES).
    ///
    /// # Errors
    ///
    /// When it is something else.
    pub fn parse(text: &[u8]) -> Result<Self, TicketKeyError> {
        let shown = || String::from_utf8_lossy(text).into_owned();
        let bytes = base64::decode(text).ok_or_else(|| TicketKeyError::Encoding(shown()))?;
        let Some((name, rest)) = bytes.split_first_chunk() else {
            return Err(TicketKeyError::Length { len: bytes.len(), text: shown() });
        };
        let (hmac, aes) = match rest.len() {
            32 => (&rest[16..], &rest[..16]),
            64 => (&rest[..32], &rest[32..]),
            _ => return Err(TicketKeyError::Length { len: bytes.len(), text: shown() }),
        };
        Ok(Self { name: *name, hmac: hmac.to_vec(), aes: aes.to_vec() })
    }
}

impl fmt::Debug for TicketKey {
    /// Shows which key it is and nothing that is secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TicketKey({:02x?}, {} bytes of AES)", self.name, self.aes.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expect: Result<(usize, usize), &str>) {
        let key = TicketKey::parse(text.as_bytes());
        let sizes = key.map(|key| (key.aes.len(), key.hmac.len())).map_err(|error| error.to_string());
        assert_eq!(sizes, expect.map_err(str::to_owned));
    }

    #[test]
    fn two_layouts_are_known() {
        check(&"AAAA".repeat(16), Ok((16, 16)));
        check(&("AAAA".repeat(26) + "AAA="), Ok((32, 32)));
    }

    #[test]
    fn the_parts_are_where_openssl_has_them() {
        // 48 bytes 0, 1, 2, …
        let text = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8gISIjJCUmJygpKissLS4v";
        let key = TicketKey::parse(text.as_bytes()).unwrap();
        assert_eq!((key.name[0], key.aes[0], key.hmac[0]), (0, 16, 32));
    }

    #[test]
    fn anything_else_is_named() {
        check("!", Err("Invalid Base64 format for the ticket key \"!\"."));
        check("AAAA", Err("Invalid length 3 of the ticket key \"AAAA\".  Must be 48 or 80 bytes."));
        check("", Err("Invalid length 0 of the ticket key \"\".  Must be 48 or 80 bytes."));
        let long = "AAAA".repeat(17);
        check(
            &long,
            Err(&format!("Invalid length 51 of the ticket key \"{long}\".  Must be 48 or 80 bytes.")),
        );
    }

    #[test]
    fn secrets_are_not_shown() {
        let key = TicketKey::parse("AAAA".repeat(16).as_bytes()).unwrap();
        assert!(format!("{key:?}").ends_with("16 bytes of AES)"));
    }
}
