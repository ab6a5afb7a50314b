//! Secrets of clients: tokens that are shown, and how they are compared.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use subtle::ConstantTimeEq as _;

/// A secret as it is shown: text without blanks. Clones share it.
#[derive(Clone)]
pub(crate) struct Secret(Arc<str>);

impl Secret {
    pub(crate) fn new(text: String) -> Self {
        Self(text.into())
    }

    /// Whether this is what was shown. Takes equally long for all texts of one length, so that time does not tell how
    /// much is right.
    pub(crate) fn is(&self, shown: &[u8]) -> bool {
        shown.ct_eq(self.0.as_bytes()).into()
    }
}

/// A new secret of 256 bits, as text for URLs and cookies.
pub(crate) fn random() -> String {
    let mut bytes = [0; 32];
    aws_lc_rs::rand::fill(&mut bytes).expect("the system has randomness");
    URL_SAFE_NO_PAD.encode(bytes)
}

/// Without the secret.
impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn new_secrets_differ_and_fit_into_a_cookie() {
        let all: std::collections::BTreeSet<_> = (0..100).map(|_| random()).collect();
        assert_eq!(all.len(), 100);
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        assert!(all.iter().all(|text| text.len() == 43 && text.bytes().all(is_plain)));
    }

    #[test]
    fn only_the_whole_secret_is_right() {
        let secret = Secret::new("secret".to_owned());
        assert!(secret.is(b"secret"));
        for wrong in ["", "s", "secre", "secrets", "Secret", "secreT", "xxxxxx"] {
            assert!(!secret.is(wrong.as_bytes()), "{wrong}");
        }
        assert_eq!(format!("{secret:?}"), "Secret");
    }
}
