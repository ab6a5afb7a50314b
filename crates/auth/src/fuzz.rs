//! Functions for fuzzing: each takes any bytes and panics when an invariant does not hold.

use crate::jwt::{Keys, Rules};
use crate::passwords::Passwords;
use crate::{credentials, jwt};

/// Values of `Authorization`: nothing that is read from one could break out of a line.
pub fn fuzz_credentials(data: &[u8]) {
    if let Some(found) = credentials::basic(data) {
        assert!(!found.user.contains(&b':'));
        assert!(!found.user.iter().chain(&found.password).any(u8::is_ascii_control));
        assert!(found.password.len() <= credentials::LONGEST_PASSWORD);
        assert!(credentials::bearer(data).is_none());
    }
    if let Some(token) = credentials::bearer(data) {
        assert!(token.iter().all(u8::is_ascii_graphic));
    }
}

/// Files of passwords: the text of a fault is one line, and has nothing of a hash.
pub fn fuzz_passwords(data: &[u8]) {
    if let Err(fault) = Passwords::parse(data) {
        assert!(fault.line > 0 && fault.line <= data.len() + 1);
        assert!(!fault.to_string().contains('\n'));
    }
}

/// Tokens, for keys that are known: none of them is good, as nothing was signed with these keys.
pub fn fuzz_token(data: &[u8]) {
    let keys = Keys::of_secret(&[0x5a; 64]).expect("it is long enough");
    assert!(jwt::verify(data, &keys, &Rules::default()).is_err());
}

/// Sets of keys (RFC 7517), from anybody.
pub fn fuzz_key_set(data: &[u8]) {
    if let Ok(keys) = Keys::of_set(data, jwt::KeyOrigin::Server) {
        assert!(jwt::verify(b"e30.e30.e30", &keys, &Rules::default()).is_err());
    }
}
