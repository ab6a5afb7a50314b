//! `Authorization`: user and password (RFC 7617), or a token (RFC 6750).

use base64::Engine;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

/// A user and a password as a client has sent them.
#[derive(Clone, PartialEq, Eq)]
pub struct UserPass {
    /// Without a colon and control characters; may be empty.
    pub user: Vec<u8>,
    /// Without control characters; may be empty. At most [`LONGEST_PASSWORD`] bytes.
    pub password: Vec<u8>,
}

impl std::fmt::Debug for UserPass {
    /// Without the password.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("UserPass")
            .field("user", &self.user.escape_ascii().to_string())
            .finish_non_exhaustive()
    }
}

/// The longest password in bytes. The time of SHA-crypt grows with the square of the length.
pub const LONGEST_PASSWORD: usize = 255;

/// Some clients leave the padding out (RFC 4648 section 3.2).
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// Reads `Basic` credentials; none if the value has another scheme or is malformed (RFC 7617 section 2).
#[must_use]
pub fn basic(value: &[u8]) -> Option<UserPass> {
    let text = BASE64.decode(after_scheme(value, b"basic")?).ok()?;
    let colon = text.iter().position(|&byte| byte == b':')?;
    let (user, password) = (&text[..colon], &text[colon + 1..]);
    let is_sound = !text.iter().any(u8::is_ascii_control) && password.len() <= LONGEST_PASSWORD;
    is_sound.then(|| UserPass { user: user.to_vec(), password: password.to_vec() })
}

/// Reads a `Bearer` token; none if the value has another scheme or is malformed (RFC 6750 section 2.1).
#[must_use]
pub fn bearer(value: &[u8]) -> Option<&[u8]> {
    let token = after_scheme(value, b"bearer")?;
    is_token(token).then_some(token)
}

/// Whether these bytes may be a token: `b64token` of RFC 6750.
#[must_use]
pub fn is_token(text: &[u8]) -> bool {
    !text.is_empty() && text.iter().all(|byte| byte.is_ascii_alphanumeric() || b"-._~+/=".contains(byte))
}

/// The text behind the scheme's name, which may be in any case, and the blanks after it.
fn after_scheme<'v>(value: &'v [u8], scheme: &[u8]) -> Option<&'v [u8]> {
    let (name, rest) = value.split_at_checked(scheme.len())?;
    let has_blank = name.eq_ignore_ascii_case(scheme) && rest.first() == Some(&b' ');
    has_blank.then(|| rest.trim_ascii())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(value: &str, expect: Option<(&str, &str)>) {
        let found = basic(value.as_bytes());
        let found = found.as_ref().map(|found| {
            (std::str::from_utf8(&found.user).unwrap(), std::str::from_utf8(&found.password).unwrap())
        });
        assert_eq!(found, expect, "{value}");
    }

    #[test]
    fn user_and_password_are_read() {
        check("Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==", Some(("Aladdin", "open sesame")));
        check("bASIC   QWxhZGRpbjpvcGVuIHNlc2FtZQ ", Some(("Aladdin", "open sesame")));
        check("Basic dGVzdDoxMjPCow==", Some(("test", "123£")));
        check("Basic YTpiOmM=", Some(("a", "b:c")));
        check("Basic Og==", Some(("", "")));
    }

    #[test]
    fn what_is_malformed_is_nobody() {
        for value in
            ["", "Basic", "Basic ", "Basic x", "Bearer YTpi", "Basic\tYTpi", "BasicYTpi", "Basic YTpi YTpi"]
        {
            check(value, None);
        }
        // No colon, a line end, NUL.
        for value in ["Basic YWI=", "Basic YTpiCg==", "Basic YTpiAGM="] {
            check(value, None);
        }
        let long = |len: usize| format!("Basic {}", BASE64.encode(format!("a:{}", "x".repeat(len))));
        assert!(basic(long(LONGEST_PASSWORD).as_bytes()).is_some());
        assert!(basic(long(LONGEST_PASSWORD + 1).as_bytes()).is_none());
    }

    #[test]
    fn tokens_are_read() {
        assert_eq!(bearer(b"Bearer a.b-c_d~e+f/g=="), Some(&b"a.b-c_d~e+f/g=="[..]));
        assert_eq!(bearer(b"bearer  x"), Some(&b"x"[..]));
        for value in ["Bearer", "Bearer ", "Bearer a b", "Bearer \"a\"", "Basic x", "Bearer\u{e9}"] {
            assert_eq!(bearer(value.as_bytes()), None, "{value}");
        }
    }

    #[test]
    fn a_password_is_never_printed() {
        let shown = format!("{:?}", basic(b"Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ=="));
        assert!(shown.contains("Aladdin") && !shown.contains("sesame"), "{shown}");
    }

    proptest! {
        #[test]
        fn what_was_written_is_read(user in "[^:\\x00-\\x1f\\x7f]{0,20}", password in "[^\\x00-\\x1f\\x7f]{0,60}") {
            let value = format!("Basic {}", BASE64.encode(format!("{user}:{password}")));
            let found = basic(value.as_bytes()).unwrap();
            prop_assert_eq!((found.user, found.password), (user.into_bytes(), password.into_bytes()));
        }

        #[test]
        fn no_value_panics(value in any::<Vec<u8>>()) {
            crate::fuzz::fuzz_credentials(&value);
        }
    }
}
