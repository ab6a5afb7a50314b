//! Certificate bundles: what may be uploaded, and what is told about it (contract 3.7).

mod private_key;

use corral_config::json::{Bytes, Object, Value};
use x509_parser::certificate::X509Certificate;
use x509_parser::extensions::{GeneralName, ParsedExtension};
use x509_parser::prelude::FromDer as _;
use x509_parser::revocation_list::CertificateRevocationList;
use x509_parser::time::ASN1Time;
use x509_parser::x509::{AttributeTypeAndValue, X509Name};

use crate::pem::{self, Block, PemError};
use crate::reply::object;

/// Why a text is not a bundle.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum BundleError {
    /// The text is broken.
    #[error(transparent)]
    Pem(#[from] PemError),
    /// No block at all.
    #[error("there is no PEM block in the body; send the certificates and the private key, concatenated")]
    Empty,
    /// Neither a certificate nor a private key.
    #[error("a \"{0}\" block is neither a certificate, a private key nor a list of revoked certificates")]
    Foreign(String),
    /// Keys must be usable without a password.
    #[error("the private key is encrypted; keys must not be protected by a password")]
    Encrypted,
    /// A bundle needs a private key.
    #[error("there is no private key; certificates of authorities alone are uploaded with \"?ca=true\"")]
    NoKey,
    /// A bundle has one private key only.
    #[error("there is more than one private key")]
    SeveralKeys,
    /// The key's block has another content.
    #[error("the private key is not valid")]
    Key,
    /// A bundle needs a certificate.
    #[error("there is no certificate")]
    NoCertificate,
    /// A list of revoked certificates has another content.
    #[error("list {0} of revoked certificates is not valid")]
    RevocationList(usize),
    /// The key could not prove the certificate that clients are shown.
    #[error(
        "the private key does not belong to the first certificate; the server's own comes before those that vouch \
        for it"
    )]
    Mismatch,
    /// A certificate's block has another content.
    #[error("certificate {0} of the chain is not valid")]
    Certificate(usize),
}

/// Whether a bundle is to be shown to clients, or only says which authorities to trust.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PrivateKey {
    Required,
    Optional,
    /// As it was stored: what does not fit is refused when it is used.
    Stored,
}

/// Says of a bundle that has a private key when that is the key of something else.
///
/// # Errors
/// When the key belongs to another certificate. Whatever else is wrong with a bundle is said when it is used.
pub fn check_key(text: &[u8]) -> Result<(), String> {
    match inspect(text, PrivateKey::Optional) {
        Err(error @ BundleError::Mismatch) => Err(error.to_string()),
        _ => Ok(()),
    }
}

/// The information object of a bundle.
pub(crate) fn inspect(text: &[u8], private_key: PrivateKey) -> Result<Value, BundleError> {
    let blocks = pem::blocks(text)?;
    if blocks.is_empty() {
        return Err(BundleError::Empty);
    }
    let (mut key, mut chain, mut lists) = (None, Vec::new(), Vec::new());
    let (mut leaf, mut secret) = (None, None);
    for Block { label, content } in &blocks {
        match *label {
            "CERTIFICATE" => {
                chain.push(certificate(content, chain.len() + 1)?);
                leaf.get_or_insert(content);
            }
            "X509 CRL" => lists.push(revocation_list(content, lists.len() + 1)?),
            "ENCRYPTED PRIVATE KEY" => return Err(BundleError::Encrypted),
            label if label.ends_with("PRIVATE KEY") => {
                let kind = private_key::kind(label, content).ok_or(BundleError::Key)?;
                if key.replace(kind).is_some() {
                    return Err(BundleError::SeveralKeys);
                }
                secret = Some((label, content));
            }
            label => return Err(BundleError::Foreign(label.to_owned())),
        }
    }
    if key.is_none() && private_key == PrivateKey::Required {
        return Err(BundleError::NoKey);
    }
    if chain.is_empty() && (key.is_some() || lists.is_empty()) {
        return Err(BundleError::NoCertificate);
    }
    if let (Some(leaf), Some((label, secret))) = (leaf, secret)
        && private_key != PrivateKey::Stored
        && !private_key::belongs(label, secret, leaf)
    {
        return Err(BundleError::Mismatch);
    }
    let key = key.map(|key| ("key", Value::from(key.as_str())));
    let chain = (!chain.is_empty()).then_some(("chain", Value::Array(chain)));
    let lists = (!lists.is_empty()).then_some(("revocation_lists", Value::Array(lists)));
    Ok(object(key.into_iter().chain(chain).chain(lists)))
}

/// The object of one list of revoked certificates, the `number`th.
fn revocation_list(der: &[u8], number: usize) -> Result<Value, BundleError> {
    let invalid = BundleError::RevocationList(number);
    let Ok((rest, list)) = CertificateRevocationList::from_der(der) else { return Err(invalid) };
    if !rest.is_empty() {
        return Err(invalid);
    }
    let since = ("since", Value::from(date(list.last_update()).as_str()));
    let until = list.next_update().map(|time| ("until", Value::from(date(time).as_str())));
    Ok(object([
        ("issuer", name(list.issuer(), None)),
        ("validity", object([since].into_iter().chain(until))),
        ("revoked", Value::from(list.iter_revoked_certificates().count() as u64)),
    ]))
}

/// The object of one certificate, the `number`th of its chain.
fn certificate(der: &[u8], number: usize) -> Result<Value, BundleError> {
    let invalid = BundleError::Certificate(number);
    let Ok((rest, certificate)) = X509Certificate::from_der(der) else { return Err(invalid) };
    if !rest.is_empty() {
        return Err(invalid);
    }
    let mut subject_names = None;
    let mut issuer_names = None;
    for extension in certificate.iter_extensions() {
        match extension.parsed_extension() {
            ParsedExtension::SubjectAlternativeName(names) => subject_names = Some(&names.general_names),
            ParsedExtension::IssuerAlternativeName(names) => issuer_names = Some(&names.general_names),
            _ => {}
        }
    }
    let validity = object([
        ("since", Value::from(date(certificate.validity().not_before).as_str())),
        ("until", Value::from(date(certificate.validity().not_after).as_str())),
    ]);
    Ok(object([
        ("subject", name(certificate.subject(), subject_names.map(Vec::as_slice))),
        ("issuer", name(certificate.issuer(), issuer_names.map(Vec::as_slice))),
        ("validity", validity),
    ]))
}

/// The members that are set, in Unit's order.
fn name(name: &X509Name<'_>, alternatives: Option<&[GeneralName<'_>]>) -> Value {
    let mut members = Object::new();
    let mut add = |member: &str, value: Option<Value>| {
        value.and_then(|value| members.insert(Bytes::from(member), value));
    };
    add("common_name", text(name.iter_common_name().next()));
    add("alt_names", alternatives.and_then(dns_names));
    add("country", text(name.iter_country().next()));
    add("state_or_province", text(name.iter_state_or_province().next()));
    add("locality", text(name.iter_locality().next()));
    add("organization", text(name.iter_organization().next()));
    add("department", text(name.iter_organizational_unit().next()));
    Value::Object(members)
}

fn text(attribute: Option<&AttributeTypeAndValue<'_>>) -> Option<Value> {
    let attribute = attribute?;
    let bytes = attribute.as_str().map_or(attribute.as_slice(), str::as_bytes);
    Some(cut(bytes))
}

fn dns_names(names: &[GeneralName<'_>]) -> Option<Value> {
    let dns = names.iter().filter_map(|name| match name {
        GeneralName::DNSName(name) => Some(cut(name.as_bytes())),
        _ => None,
    });
    let dns: Vec<_> = dns.collect();
    (!dns.is_empty()).then_some(Value::Array(dns))
}

fn cut(bytes: &[u8]) -> Value {
    Value::String(Bytes::from(bytes[..bytes.len().min(MAX_NAME)].to_vec()))
}

/// As OpenSSL prints it: `Sep 18 19:46:19 2022 GMT`.
fn date(time: ASN1Time) -> String {
    const MONTHS: [&str; 12] =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let time = time.to_datetime();
    let month = MONTHS[usize::from(u8::from(time.month())) - 1];
    let (day, hour, minute, second) = (time.day(), time.hour(), time.minute(), time.second());
    format!("{month} {day:2} {hour:02}:{minute:02}:{second:02} {} GMT", time.year())
}

/// Longest name that is shown, in bytes.
const MAX_NAME: usize = 255;

#[cfg(test)]
mod tests;
