//! Bundles as OpenSSL makes them, whole and broken.

use corral_config::json;

use super::{BundleError, PrivateKey, date};

const RSA_CERT: &str = include_str!("testdata/rsa.crt");
const RSA_KEY: &str = include_str!("testdata/rsa.key");
const RSA_KEY_PKCS1: &str = include_str!("testdata/rsa1.key");
const EC_CERT: &str = include_str!("testdata/ec.crt");
const EC_KEY: &str = include_str!("testdata/ec.key");
const EC_KEY_SEC1: &str = include_str!("testdata/ec1.key");
const ED_KEY: &str = include_str!("testdata/ed.key");
const PARAMETERS: &str = include_str!("testdata/params.pem");
const ENCRYPTED_PKCS1: &str = include_str!("testdata/enc1.key");
const ENCRYPTED_PKCS8: &str = include_str!("testdata/enc8.key");

fn inspect(text: &[u8]) -> Result<json::Value, BundleError> {
    super::inspect(text, PrivateKey::Required)
}

#[test]
fn authorities_need_no_key_when_they_are_told_apart() {
    let inspect = |text: &str| super::inspect(text.as_bytes(), PrivateKey::Optional);
    let info = inspect(RSA_CERT).unwrap();
    let members: Vec<_> = info.as_object().unwrap().keys().map(ToString::to_string).collect();
    assert_eq!(members, ["chain"]);
    assert!(inspect(&[RSA_CERT, RSA_KEY].concat()).unwrap().member("key").is_some());
    assert_eq!(inspect(RSA_KEY), Err(BundleError::NoCertificate));
    assert_eq!(inspect(&[RSA_CERT, RSA_KEY, EC_KEY].concat()), Err(BundleError::SeveralKeys));
}

#[test]
fn a_bundle_is_described_from_leaf_to_root() {
    let info = inspect([RSA_CERT, RSA_KEY, EC_CERT].concat().as_bytes()).unwrap();
    assert_eq!(info.member("key").and_then(json::Value::as_bytes).unwrap().to_str(), Some("RSA (2048 bits)"));
    let chain = info.member("chain").and_then(json::Value::as_array).unwrap();
    assert_eq!(chain.len(), 2);
    let names = r#"{"common_name":"example.com","country":"DE","state_or_province":"Bayern","locality":"Muenchen","organization":"Corral","department":"Tests"}"#;
    let with_alternatives =
        names.replace(r#""example.com","#, r#""example.com","alt_names":["example.com","*.example.com"],"#);
    let compact = |value: &json::Value| String::from_utf8(value.compact()).unwrap();
    assert_eq!(compact(chain[0].member("subject").unwrap()), with_alternatives);
    assert_eq!(compact(chain[0].member("issuer").unwrap()), names);
    assert_eq!(compact(chain[1].member("subject").unwrap()), r#"{"common_name":"ca"}"#);
    let members: Vec<_> = chain[0].as_object().unwrap().keys().map(ToString::to_string).collect();
    assert_eq!(members, ["subject", "issuer", "validity"]);
}

#[test]
fn dates_are_those_of_openssl() {
    let at = |secs| date(x509_parser::time::ASN1Time::from_timestamp(secs).unwrap());
    assert_eq!(at(1_663_530_379), "Sep 18 19:46:19 2022 GMT");
    assert_eq!(at(1_614_556_800), "Mar  1 00:00:00 2021 GMT");
}

#[test]
fn every_usual_form_of_key_is_accepted_in_any_place() {
    let key_of = |text: &str| {
        let info = inspect(text.as_bytes()).unwrap();
        info.member("key").and_then(json::Value::as_bytes).unwrap().to_string()
    };
    assert_eq!(key_of(&[RSA_KEY, RSA_CERT].concat()), "RSA (2048 bits)");
    assert_eq!(key_of(&[RSA_CERT, RSA_KEY_PKCS1].concat()), "RSA (2048 bits)");
    assert_eq!(key_of(&[EC_CERT, EC_KEY].concat()), "ECDH");
    assert_eq!(key_of(&[EC_CERT, "a comment\n", EC_KEY_SEC1].concat()), "ECDH");
}

#[test]
fn a_key_of_another_certificate_is_refused() {
    for parts in [[RSA_CERT, EC_KEY], [EC_CERT, RSA_KEY], [EC_CERT, ED_KEY], [RSA_CERT, EC_KEY_SEC1]] {
        let text = parts.concat();
        assert_eq!(inspect(text.as_bytes()), Err(BundleError::Mismatch));
        assert_eq!(super::inspect(text.as_bytes(), PrivateKey::Optional), Err(BundleError::Mismatch));
        assert!(super::inspect(text.as_bytes(), PrivateKey::Stored).is_ok(), "it is refused when it is used");
        assert!(super::check_key(text.as_bytes()).is_err());
    }
    let wrong_order = [EC_CERT, RSA_CERT, RSA_KEY].concat();
    assert_eq!(inspect(wrong_order.as_bytes()), Err(BundleError::Mismatch));
    for other in [RSA_CERT, EC_KEY, "", "hello"] {
        assert_eq!(super::check_key(other.as_bytes()), Ok(()), "that is not what is wrong here");
    }
}

#[test]
fn what_is_no_bundle_is_refused_with_the_reason() {
    let check = |parts: &[&str], expect: BundleError| {
        assert_eq!(inspect(parts.concat().as_bytes()).unwrap_err(), expect);
    };
    check(&[], BundleError::Empty);
    check(&["hello"], BundleError::Empty);
    check(&[RSA_CERT], BundleError::NoKey);
    check(&[RSA_KEY], BundleError::NoCertificate);
    check(&[RSA_CERT, RSA_KEY, EC_KEY], BundleError::SeveralKeys);
    check(&[EC_CERT, PARAMETERS, EC_KEY], BundleError::Foreign("EC PARAMETERS".to_owned()));
    check(&[RSA_CERT, ENCRYPTED_PKCS8], BundleError::Encrypted);
    let error = inspect([RSA_CERT, ENCRYPTED_PKCS1].concat().as_bytes()).unwrap_err();
    assert!(error.to_string().contains("encrypted"), "{error}");
    let broken = RSA_CERT.replacen("MII", "AII", 1);
    check(&[EC_CERT, &broken, RSA_KEY], BundleError::Certificate(2));
    let broken = RSA_KEY.replacen("MII", "AII", 1);
    check(&[RSA_CERT, &broken], BundleError::Key);
}
