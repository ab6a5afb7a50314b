//! Tokens that are good, and those that people try.

use std::time::{SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::{EncodingKey, Header, encode};
use proptest::prelude::*;
use serde_json::json;

use super::*;

const SECRET: &[u8] = b"0123456789abcdef0123456789abcdef";

/// By `openssl genpkey -algorithm ed25519` and `openssl pkey -pubout`.
const PUBLIC: &str = "-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEAGb9ECWmEzf6FQbrBZ9w7lshQhqowtrbLDFw4rXAxZuE=\n\
    -----END PUBLIC KEY-----\n";

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs()
}

fn token(claims: &Value) -> String {
    encode(&Header::new(Algorithm::HS256), claims, &EncodingKey::from_secret(SECRET)).unwrap()
}

#[track_caller]
fn check(claims: &Value, rules: &Rules, expect: Result<(), TokenRefusal>) {
    let keys = Keys::of_secret(SECRET).unwrap();
    let found = verify(token(claims).as_bytes(), &keys, rules);
    assert_eq!(found.err(), expect.err(), "{claims}");
}

#[test]
fn times_are_heeded() {
    let now = now();
    check(&json!({ "exp": now + 60 }), &Rules::default(), Ok(()));
    check(&json!({ "exp": now - 60 }), &Rules::default(), Err(TokenRefusal::Expired));
    check(&json!({ "exp": now - 60 }), &Rules { leeway: 120, ..Rules::default() }, Ok(()));
    check(&json!({ "exp": now + 60, "nbf": now + 30 }), &Rules::default(), Err(TokenRefusal::Early));
    check(&json!({ "sub": "a" }), &Rules::default(), Err(TokenRefusal::Lacking("exp".to_owned())));
    check(&json!({ "exp": "soon" }), &Rules::default(), Err(TokenRefusal::Lacking("exp".to_owned())));
}

#[test]
fn issuers_and_audiences_are_heeded() {
    let exp = now() + 60;
    let issuer = Rules { issuers: vec!["a".to_owned(), "b".to_owned()], ..Rules::default() };
    check(&json!({ "exp": exp, "iss": "b" }), &issuer, Ok(()));
    check(&json!({ "exp": exp, "iss": "c" }), &issuer, Err(TokenRefusal::Issuer));
    for several in [json!(["a"]), json!(["a", "c"]), json!({ "a": 1 }), json!(1)] {
        for rules in [&issuer, &Rules::default()] {
            let found = verify(
                token(&json!({ "exp": exp, "iss": several })).as_bytes(),
                &Keys::of_secret(SECRET).unwrap(),
                rules,
            );
            assert!(found.is_err(), "{several}");
        }
    }
    check(&json!({ "exp": exp }), &issuer, Err(TokenRefusal::Lacking("iss".to_owned())));
    let audience = Rules { audiences: vec!["shop".to_owned()], ..Rules::default() };
    check(&json!({ "exp": exp, "aud": ["x", "shop"] }), &audience, Ok(()));
    check(&json!({ "exp": exp, "aud": "x" }), &audience, Err(TokenRefusal::Audience));
    check(&json!({ "exp": exp }), &audience, Err(TokenRefusal::Lacking("aud".to_owned())));
    check(&json!({ "exp": exp, "aud": "x" }), &Rules::default(), Ok(()));
    let other = Rules { algorithms: vec![Algorithm::HS512], ..Rules::default() };
    check(&json!({ "exp": exp }), &other, Err(TokenRefusal::Algorithm));
}

/// A token with this head, and claims that are good, signed by a secret.
fn forged(head: &Value, secret: &[u8]) -> String {
    let claims = URL_SAFE_NO_PAD.encode(json!({ "exp": now() + 60 }).to_string());
    let message = format!("{}.{claims}", URL_SAFE_NO_PAD.encode(head.to_string()));
    let key = EncodingKey::from_secret(secret);
    let signature = jsonwebtoken::crypto::sign(message.as_bytes(), &key, Algorithm::HS256).unwrap();
    format!("{message}.{signature}")
}

#[test]
fn a_token_has_no_say_in_how_it_is_verified() {
    let secret = Keys::of_secret(SECRET).unwrap();
    let public = Keys::of_pem(PUBLIC.as_bytes()).unwrap();
    let refused = |token: &str, keys: &Keys| verify(token.as_bytes(), keys, &Rules::default()).unwrap_err();
    assert!(
        verify(forged(&json!({ "alg": "HS256" }), SECRET).as_bytes(), &secret, &Rules::default()).is_ok()
    );
    // The public key as a secret.
    assert_eq!(
        refused(&forged(&json!({ "alg": "HS256" }), PUBLIC.as_bytes()), &public),
        TokenRefusal::Algorithm
    );
    let none = forged(&json!({ "alg": "none" }), SECRET);
    let unsigned = none.rsplit_once('.').unwrap().0.to_owned() + ".";
    for token in [&none, &unsigned] {
        refused(token, &secret);
        refused(token, &public);
    }
    assert_eq!(
        refused(&forged(&json!({ "alg": "HS256" }), b"another secret, which is long enough"), &secret),
        TokenRefusal::Signature
    );
    assert_eq!(
        refused(&forged(&json!({ "alg": "HS256", "crit": ["b64"] }), SECRET), &secret),
        TokenRefusal::Algorithm
    );
    for token in ["", ".", "..", "a.b.c", "a.b.c.d", "e30.e30.e30"] {
        refused(token, &secret);
    }
}

#[test]
fn keys_are_found_by_their_names() {
    let key = |id: Option<&str>, secret: &[u8]| json!({ "kty": "oct", "kid": id, "k": URL_SAFE_NO_PAD.encode(secret) });
    let other = b"another secret, which is long enough";
    let set =
        json!({ "keys": [key(Some("a"), SECRET), key(Some("b"), other), { "kty": "odd" }, 1] }).to_string();
    let keys = Keys::of_set(set.as_bytes(), KeyOrigin::File).unwrap();
    let check = |head: Value, secret: &[u8], expect: Result<(), TokenRefusal>| {
        let found = verify(forged(&head, secret).as_bytes(), &keys, &Rules::default());
        assert_eq!(found.map(|_| ()), expect, "{head}");
    };
    check(json!({ "alg": "HS256", "kid": "a" }), SECRET, Ok(()));
    check(json!({ "alg": "HS256", "kid": "b" }), SECRET, Err(TokenRefusal::Signature));
    check(json!({ "alg": "HS256", "kid": "b" }), other, Ok(()));
    check(json!({ "alg": "HS256" }), other, Ok(()));
    check(json!({ "alg": "HS256", "kid": "c" }), SECRET, Err(TokenRefusal::UnknownKey));
    // A key that can be read by everyone is not a secret.
    assert_eq!(Keys::of_set(set.as_bytes(), KeyOrigin::Server).unwrap_err(), KeyFault::Empty);
}

#[test]
fn files_that_are_wrong_are_told_apart() {
    assert_eq!(Keys::of_secret(b"short\n").unwrap_err(), KeyFault::Short(5));
    assert_eq!(Keys::of_pem(b"").unwrap_err(), KeyFault::Pem);
    assert_eq!(Keys::of_pem(PUBLIC.replace("MCow", "MCox").as_bytes()).unwrap_err(), KeyFault::Pem);
    let private = "-----BEGIN PRIVATE KEY-----\nMC4C\n-----END PRIVATE KEY-----\n";
    assert_eq!(Keys::of_pem(private.as_bytes()).unwrap_err(), KeyFault::Private);
    assert!(Keys::of_pem([PUBLIC, PUBLIC].concat().as_bytes()).is_ok());
    for text in ["", "{}", "[]", r#"{"keys": 1}"#] {
        assert_eq!(Keys::of_set(text.as_bytes(), KeyOrigin::File).unwrap_err(), KeyFault::Set, "{text}");
    }
    assert_eq!(Keys::of_set(br#"{"keys": []}"#, KeyOrigin::File).unwrap_err(), KeyFault::Empty);
}

proptest! {
    #[test]
    fn nothing_from_outside_panics(text in "[a-zA-Z0-9._{}\":,-]{0,80}", bytes in any::<Vec<u8>>()) {
        for data in [text.as_bytes(), &bytes] {
            crate::fuzz::fuzz_token(data);
            crate::fuzz::fuzz_key_set(data);
        }
    }

    #[test]
    fn a_token_that_was_changed_is_refused(at in 0..100_usize, by in 1..255_u8) {
        let mut token = token(&json!({ "exp": now() + 60, "sub": "alice" })).into_bytes();
        let at = at % token.len();
        token[at] = token[at].wrapping_add(by);
        let keys = Keys::of_secret(SECRET).unwrap();
        if let Ok(found) = verify(&token, &keys, &Rules::default()) {
            // Bits of the last character that mean nothing.
            prop_assert_eq!(found.values("sub"), [b"alice".to_vec()]);
        }
    }
}
