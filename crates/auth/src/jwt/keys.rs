//! Keys of issuers: a secret, public keys in PEM, or a set of keys in JSON. Each knows which algorithms it is for.

use jsonwebtoken::jwk::{AlgorithmParameters, EllipticCurve, Jwk, PublicKeyUse};
use jsonwebtoken::{Algorithm, AlgorithmFamily, DecodingKey};
use serde_json::Value;

/// Keys of one issuer; at least one.
#[derive(Debug, Clone)]
pub struct Keys(Vec<TokenKey>);

/// One key.
#[derive(Debug, Clone)]
pub(super) struct TokenKey {
    /// `kid`.
    id: Option<String>,
    pub(super) decoding: DecodingKey,
    /// The only ones that it is used for.
    pub(super) algorithms: Vec<Algorithm>,
}

/// Where a set of keys has come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyOrigin {
    /// A file, which may hold secrets.
    File,
    /// A server that tells anybody: what it tells is never a secret.
    Server,
}

/// Why there are no keys.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KeyFault {
    /// RFC 7518 section 3.2.
    #[error("has a secret of {0} bytes; HS256 needs at least 32")]
    Short(usize),
    /// A private key has to be kept where tokens are made.
    #[error("has a private key; only the public one belongs here")]
    Private,
    /// RFC 7518 section 3.3.
    #[error("has an RSA key of fewer than 2048 bits")]
    Weak,
    /// Not PEM, or a kind of key that no algorithm is for.
    #[error("has no public key in PEM that is for RSA, P-256, P-384 or Ed25519")]
    Pem,
    /// Not a set of keys.
    #[error("is not a set of keys in JSON (RFC 7517)")]
    Set,
    /// A set of other keys, or of none.
    #[error("has no key that signatures can be verified by")]
    Empty,
}

impl KeyFault {
    /// How it would be right; empty where that cannot be known.
    #[must_use]
    pub fn advice(&self) -> &'static str {
        match self {
            Self::Short(_) => "Make one by: openssl rand -base64 48",
            Self::Private => "Write the public key by: openssl pkey -in PRIVATE -pubout",
            Self::Weak => "Make one by: openssl genpkey -algorithm RSA -pkeyopt rsa_keygen_bits:2048",
            Self::Pem => "Such a file begins with \"-----BEGIN PUBLIC KEY-----\".",
            Self::Set => "It is an object with an array \"keys\", as issuers have it at \"jwks_uri\".",
            Self::Empty => {
                "Keys of the types RSA, EC (P-256, P-384) and OKP (Ed25519) are used, unless \"use\" is \"enc\"."
            }
        }
    }
}

impl Keys {
    /// The secret of a file, without the end of its last line.
    ///
    /// # Errors
    ///
    /// When it is too short.
    pub fn of_secret(secret: &[u8]) -> Result<Self, KeyFault> {
        let secret = secret.strip_suffix(b"\n").unwrap_or(secret);
        let secret = secret.strip_suffix(b"\r").unwrap_or(secret);
        let algorithms = for_secret(secret.len());
        if algorithms.is_empty() {
            return Err(KeyFault::Short(secret.len()));
        }
        Ok(Self(vec![TokenKey { id: None, decoding: DecodingKey::from_secret(secret), algorithms }]))
    }

    /// The public keys of a file in PEM, or those of its certificates.
    ///
    /// # Errors
    ///
    /// When one of them is not a key that is known.
    pub fn of_pem(text: &[u8]) -> Result<Self, KeyFault> {
        let text = std::str::from_utf8(text).map_err(|_| KeyFault::Pem)?;
        if text.contains("PRIVATE KEY-----") {
            return Err(KeyFault::Private);
        }
        let blocks = text.split_inclusive("-----END").collect::<Vec<_>>();
        let n_blocks = blocks.len().saturating_sub(1);
        let keys = (0..n_blocks.min(MOST_KEYS)).map(|idx| pem_key(text, idx));
        let keys = keys.collect::<Result<Vec<_>, _>>()?;
        if keys.is_empty() { Err(KeyFault::Pem) } else { Ok(Self(keys)) }
    }

    /// A set of keys (JWKS). Keys that are for something else, or not known, are passed over.
    ///
    /// # Errors
    ///
    /// When it is not a set, or none of it can be used.
    pub fn of_set(text: &[u8], origin: KeyOrigin) -> Result<Self, KeyFault> {
        let set: Value = serde_json::from_slice(text).map_err(|_| KeyFault::Set)?;
        let keys = set.get("keys").and_then(Value::as_array).ok_or(KeyFault::Set)?;
        let keys: Vec<_> = keys.iter().take(MOST_KEYS).filter_map(|key| of_set(key, origin)).collect();
        if keys.is_empty() { Err(KeyFault::Empty) } else { Ok(Self(keys)) }
    }

    /// The keys that a token may be signed by which names this one: those of the name and those without any.
    pub(super) fn for_id(&self, id: Option<&str>) -> impl Iterator<Item = &TokenKey> {
        self.0.iter().filter(move |key| match (id, &key.id) {
            (Some(wanted), Some(id)) => wanted == id,
            _ => true,
        })
    }
}

/// The algorithms that a secret of so many bytes is long enough for.
fn for_secret(len: usize) -> Vec<Algorithm> {
    let all = [(32, Algorithm::HS256), (48, Algorithm::HS384), (64, Algorithm::HS512)];
    all.into_iter().filter(|(least, _)| len >= *least).map(|(_, algorithm)| algorithm).collect()
}

/// The block of this number.
fn pem_key(text: &str, idx: usize) -> Result<TokenKey, KeyFault> {
    let (start, _) = text.match_indices("-----BEGIN").nth(idx).ok_or(KeyFault::Pem)?;
    let block = &text.as_bytes()[start..];
    let families = [DecodingKey::from_rsa_pem, DecodingKey::from_ec_pem, DecodingKey::from_ed_pem];
    let decoding = families.iter().find_map(|read| read(block).ok()).ok_or(KeyFault::Pem)?;
    let len = decoding.try_get_as_bytes().map_err(|_| KeyFault::Pem)?.len();
    let algorithms = match decoding.family() {
        // A modulus, and what it is written in.
        AlgorithmFamily::Rsa if len < LEAST_MODULUS => return Err(KeyFault::Weak),
        AlgorithmFamily::Rsa => RSA.to_vec(),
        AlgorithmFamily::Ec => vec![of_point(len).ok_or(KeyFault::Pem)?],
        AlgorithmFamily::Ed => vec![Algorithm::EdDSA],
        AlgorithmFamily::Hmac => return Err(KeyFault::Pem),
    };
    Ok(TokenKey { id: None, decoding, algorithms })
}

/// The algorithm of a curve whose points have so many bytes.
fn of_point(len: usize) -> Option<Algorithm> {
    match len {
        65 => Some(Algorithm::ES256),
        97 => Some(Algorithm::ES384),
        _ => None,
    }
}

fn of_set(value: &Value, origin: KeyOrigin) -> Option<TokenKey> {
    let key: Jwk = serde_json::from_value(value.clone()).ok()?;
    if matches!(&key.common.public_key_use, Some(other) if *other != PublicKeyUse::Signature) {
        return None;
    }
    let decoding = DecodingKey::from_jwk(&key).ok()?;
    let mut algorithms = match &key.algorithm {
        AlgorithmParameters::RSA(_) => RSA.to_vec(),
        AlgorithmParameters::EllipticCurve(curve) => match curve.curve {
            EllipticCurve::P256 => vec![Algorithm::ES256],
            EllipticCurve::P384 => vec![Algorithm::ES384],
            _ => return None,
        },
        AlgorithmParameters::OctetKeyPair(curve) if curve.curve == EllipticCurve::Ed25519 => {
            vec![Algorithm::EdDSA]
        }
        AlgorithmParameters::OctetKey(_) if origin == KeyOrigin::File => {
            for_secret(decoding.try_get_as_bytes().ok()?.len())
        }
        _ => return None,
    };
    if let Some(only) = value.get("alg").and_then(Value::as_str) {
        algorithms.retain(|algorithm| only.parse() == Ok(*algorithm));
    }
    (!algorithms.is_empty()).then_some(TokenKey { id: key.common.key_id, decoding, algorithms })
}

/// The algorithms of an RSA key.
const RSA: [Algorithm; 6] = [
    Algorithm::RS256,
    Algorithm::RS384,
    Algorithm::RS512,
    Algorithm::PS256,
    Algorithm::PS384,
    Algorithm::PS512,
];

/// Bytes of 2048 bits.
const LEAST_MODULUS: usize = 256;

/// Keys of one set that are looked at.
const MOST_KEYS: usize = 100;
