//! Records of the DNS that prove a name (`dns-01`, RFC 8555 section 8.4).

use corral_config::tls::DnsChallenge;

/// A record of type TXT.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// Its name, as `_acme-challenge.example.org`, without the last dot.
    pub name: String,
    /// Its text.
    pub value: String,
}

/// Why a record is not there.
#[derive(Debug, thiserror::Error)]
pub enum DnsError {
    /// No program and no server has been asked.
    #[error("records of the DNS cannot be changed yet")]
    Unsupported,
}

/// Puts a record into the DNS, and waits until the zone's servers have it.
///
/// # Errors
/// When the record cannot be made, or the zone's servers do not have it in time.
#[expect(clippy::unused_async, reason = "asking a server takes time")]
pub async fn present(how: &DnsChallenge, record: &Record) -> Result<(), DnsError> {
    let _ = (how, record);
    Err(DnsError::Unsupported)
}

/// Takes a record back.
///
/// # Errors
/// When the record cannot be removed.
#[expect(clippy::unused_async, reason = "asking a server takes time")]
pub async fn remove(how: &DnsChallenge, record: &Record) -> Result<(), DnsError> {
    let _ = (how, record);
    Err(DnsError::Unsupported)
}
