//! JSON web tokens (RFC 7519) and the keys that they are verified by (RFC 7517). The algorithms that a token may have
//! come from the key, never from the token: there is no `none`, and a public key is never taken for a secret.

mod keys;
mod refusal;
#[cfg(test)]
mod tests;

use std::collections::HashSet;

use jsonwebtoken::Validation;
use serde_json::{Map, Value};

pub use self::keys::{KeyFault, KeyOrigin, Keys};
pub use self::refusal::TokenRefusal;
use crate::claims::Claims;

pub use jsonwebtoken::Algorithm;

/// The demands on a token beside its signature.
#[derive(Debug, Clone, Default)]
pub struct Rules {
    /// Seconds by which clocks may differ.
    pub leeway: u64,
    /// Accepted issuers (`iss`); anybody where there is none.
    pub issuers: Vec<String>,
    /// Accepted audiences (`aud`); one of them must be named. Anybody where there is none.
    pub audiences: Vec<String>,
    /// The algorithms that are accepted of those that fit the key; all of these where there is none.
    pub algorithms: Vec<Algorithm>,
}

/// Verifies a token: its signature, that it is valid now (`exp`, `nbf`), and what `rules` ask for. It must have an
/// `exp`.
///
/// # Errors
///
/// When it is not good, with words that the client may see.
pub fn verify(token: &[u8], keys: &Keys, rules: &Rules) -> Result<Claims, TokenRefusal> {
    if token.len() > LONGEST {
        return Err(TokenRefusal::Malformed);
    }
    let header = jsonwebtoken::decode_header(token).map_err(TokenRefusal::from)?;
    // RFC 7515 section 4.1.11: none of them is understood.
    if header.crit.is_some() {
        return Err(TokenRefusal::Algorithm);
    }
    let mut candidates = keys.for_id(header.kid.as_deref()).peekable();
    if candidates.peek().is_none() {
        return Err(TokenRefusal::UnknownKey);
    }
    let mut refusal = TokenRefusal::Algorithm;
    let fitting = candidates.filter(|key| key.algorithms.contains(&header.alg) && rules.accept(header.alg));
    for key in fitting.take(MOST_TRIED) {
        match jsonwebtoken::decode::<Map<String, Value>>(token, &key.decoding, &rules.validation(header.alg))
        {
            Ok(found) => return checked(found.claims),
            Err(error) => refusal = TokenRefusal::from(error),
        }
        // It is this key's token, whatever else is wrong.
        if refusal != TokenRefusal::Signature {
            break;
        }
    }
    Err(refusal)
}

/// The claims, unless the issuer is not one text: several could be anybody's (RFC 7519 section 4.1.1).
fn checked(claims: Map<String, Value>) -> Result<Claims, TokenRefusal> {
    if claims.get("iss").is_some_and(|issuer| !issuer.is_string()) {
        Err(TokenRefusal::Issuer)
    } else {
        Ok(Claims(claims))
    }
}

impl Rules {
    fn accept(&self, algorithm: Algorithm) -> bool {
        self.algorithms.is_empty() || self.algorithms.contains(&algorithm)
    }

    fn validation(&self, algorithm: Algorithm) -> Validation {
        let mut validation = Validation::new(algorithm);
        validation.leeway = self.leeway;
        validation.validate_nbf = true;
        let set =
            |names: &[String]| (!names.is_empty()).then(|| names.iter().cloned().collect::<HashSet<_>>());
        validation.iss = set(&self.issuers);
        validation.aud = set(&self.audiences);
        validation.validate_aud = validation.aud.is_some();
        let mut required = vec!["exp"];
        required.extend(validation.iss.as_ref().map(|_| "iss"));
        required.extend(validation.aud.as_ref().map(|_| "aud"));
        validation.set_required_spec_claims(&required);
        validation
    }
}

/// Longer tokens do not fit into a request's head anyway.
const LONGEST: usize = 64 * 1024;

/// Keys that one token is tried with: a token without `kid` costs no more than this.
const MOST_TRIED: usize = 8;
