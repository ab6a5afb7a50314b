//! The values by which clients name the servers that they stay with: a code of the server's address under a key, so
//! that a client can name a server only by a value that it was given.

use std::sync::OnceLock;

use aws_lc_rs::{hmac, rand};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use corral_config::upstream::Sticky;

/// Bytes of a code that are sent.
const LENGTH: usize = 16;

/// The values of a group's servers, in the order of those.
pub(crate) struct StickyValues(Box<[String]>);

impl StickyValues {
    pub(super) fn new<'s>(rules: &Sticky, servers: impl Iterator<Item = &'s str>) -> Self {
        let key = rules.secret.as_ref().map_or(own_key(), |secret| secret.as_bytes());
        let key = hmac::Key::new(hmac::HMAC_SHA256, key);
        Self(servers.map(|server| value(&key, server)).collect())
    }

    /// The server that a client names.
    pub(crate) fn server(&self, value: &[u8]) -> Option<usize> {
        self.0.iter().position(|known| known.as_bytes() == value)
    }

    /// The value that names a server.
    pub(crate) fn value(&self, server: usize) -> Option<&str> {
        self.0.get(server).map(String::as_str)
    }
}

fn value(key: &hmac::Key, server: &str) -> String {
    let code = hmac::sign(key, server.as_bytes());
    URL_SAFE_NO_PAD.encode(&code.as_ref()[..LENGTH])
}

/// The key of this process, where the configuration has none.
fn own_key() -> &'static [u8] {
    static KEY: OnceLock<[u8; 32]> = OnceLock::new();
    KEY.get_or_init(|| {
        let mut key = [0; 32];
        rand::fill(&mut key).expect("the system has randomness");
        key
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_depend_on_server_and_key_and_show_neither() {
        let key = |secret: &str| hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes());
        let known = value(&key("0123456789abcdef"), "http://10.0.0.1:80");
        assert_eq!(known.len(), 22);
        assert_eq!(known, value(&key("0123456789abcdef"), "http://10.0.0.1:80"), "on every machine");
        assert_ne!(known, value(&key("0123456789abcdef"), "http://10.0.0.2:80"));
        assert_ne!(known, value(&key("0123456789abcdeg"), "http://10.0.0.1:80"));
    }

    #[test]
    fn only_whole_values_name_a_server() {
        let values = StickyValues(Box::new(["abc".to_owned(), "def".to_owned()]));
        assert_eq!((values.server(b"def"), values.value(1)), (Some(1), Some("def")));
        for other in ["", "ab", "abcd", "ABC", "0"] {
            assert_eq!(values.server(other.as_bytes()), None, "{other}");
        }
    }
}
