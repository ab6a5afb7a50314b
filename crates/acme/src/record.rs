//! Records outlive the process: one for each account, order and certificate, as JSON.

use std::time::SystemTime;

use corral_config::tls::AcmeIssuer;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::time;

/// The subject of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RecordKind {
    /// The key of an account, and its URL.
    Account,
    /// An order that was begun, or why the last one failed.
    Order,
    /// A certificate with its private key.
    Certificate,
}

impl RecordKind {
    const ALL: [Self; 3] = [Self::Account, Self::Order, Self::Certificate];

    fn prefix(self) -> &'static str {
        match self {
            Self::Account => "account-",
            Self::Order => "order-",
            Self::Certificate => "certificate-",
        }
    }

    /// The name of the record about `subject`.
    pub(crate) fn record(self, subject: &str) -> String {
        format!("{}{subject}", self.prefix())
    }

    /// As `record` named it.
    pub(crate) fn parse(name: &str) -> Option<(Self, &str)> {
        Self::ALL.into_iter().find_map(|kind| Some((kind, name.strip_prefix(kind.prefix())?)))
    }
}

/// Under which name an account is kept: a digest of all that makes it another account.
pub(crate) fn account_subject(issuer: &AcmeIssuer) -> String {
    let AcmeIssuer { directory, ca: _, email, profile: _, eab } = issuer;
    let kid = eab.as_ref().map(|eab| eab.kid.as_str());
    let mut digest = Sha256::new();
    for part in [Some(directory.as_str()), email.as_deref(), kid] {
        digest.update(part.unwrap_or_default());
        digest.update([0]);
    }
    digest.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

/// A certificate; its `Debug` would show the key, so that there is none.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct CertificateRecord {
    /// Where it comes from.
    pub(crate) directory: String,
    /// True if it was ordered because a client asked for it.
    pub(crate) on_demand: bool,
    /// The URL of its order.
    pub(crate) order: String,
    /// PEM, the server's own first.
    pub(crate) chain: String,
    /// PEM.
    pub(crate) key: String,
}

/// The state of a certificate that is not there yet.
#[derive(Default, Clone, Serialize, Deserialize)]
pub(crate) struct OrderRecord {
    /// The order, unless it has come to nothing.
    pub(crate) open: Option<OpenOrder>,
    /// Failures since the last success.
    pub(crate) trouble: Option<Trouble>,
}

/// An order that the authority knows.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct OpenOrder {
    /// The URL of the account that has made it.
    pub(crate) account: String,
    pub(crate) url: String,
    /// The certificate's private key, PEM.
    pub(crate) key: String,
}

/// Failures in a row.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Trouble {
    pub(crate) n_failures: u32,
    /// Seconds since 1970.
    pub(crate) last_try: u64,
    /// Seconds since 1970.
    pub(crate) next_try: u64,
    /// In words.
    pub(crate) error: String,
}

impl Trouble {
    pub(crate) fn new(n_failures: u32, last_try: SystemTime, next_try: SystemTime, error: String) -> Self {
        Self { n_failures, last_try: time::seconds(last_try), next_try: time::seconds(next_try), error }
    }
}

/// JSON for one of them.
pub(crate) fn write(record: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(record).expect("texts and numbers become JSON")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn issuer(email: Option<&str>, profile: Option<&str>) -> AcmeIssuer {
        let directory = "https://ca.example/directory".to_owned();
        let [email, profile] = [email, profile].map(|text| text.map(str::to_owned));
        AcmeIssuer { directory, ca: None, email, profile, eab: None }
    }

    #[test]
    fn names_of_records_are_read_as_they_are_written() {
        for kind in RecordKind::ALL {
            let name = kind.record("*.example.org");
            assert_eq!(RecordKind::parse(&name), Some((kind, "*.example.org")));
        }
        assert_eq!(RecordKind::parse("something"), None);
    }

    #[test]
    fn an_account_belongs_to_a_directory_and_an_address() {
        let subject = account_subject(&issuer(None, None));
        assert_eq!(subject.len(), 16);
        assert_eq!(subject, account_subject(&issuer(None, Some("shortlived"))));
        assert_ne!(subject, account_subject(&issuer(Some("a@example.org"), None)));
    }
}
