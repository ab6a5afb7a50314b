//! Which of the certificates that the daemon has ordered a listener's clients get.

use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;

use corral_config::tls::AcmeSettings;
use rustls::sign::CertifiedKey;

use super::issued_secrets::IssuedSecrets;
use super::names::wildcard;
use super::no_certificate::NoCertificate;

/// A listener's part of what was ordered.
pub(super) struct OrderedCertificates {
    secrets: Arc<IssuedSecrets>,
    /// In lower case; `*.example.com` as it is.
    names: HashSet<String>,
    /// The name for clients that name none, if there is just one.
    only: Option<String>,
    /// Clients may get certificates for other names.
    on_demand: bool,
}

impl OrderedCertificates {
    pub(super) fn new(settings: &AcmeSettings, secrets: Arc<IssuedSecrets>) -> Self {
        let on_demand = settings.on_demand.is_some();
        let only = match &settings.names[..] {
            [only] if !on_demand => Some(only.clone()),
            _ => None,
        };
        Self { secrets, names: settings.names.iter().cloned().collect(), only, on_demand }
    }

    /// The certificate for a host in lower case: by its name, or by a wildcard in the place of its first label.
    pub(super) fn find(&self, host: Option<&str>) -> Option<Arc<CertifiedKey>> {
        let certificates = &self.secrets.certificates;
        let Some(host) = host else { return certificates.get(self.only.as_deref()?) };
        let exact = if self.on_demand || self.names.contains(host) { certificates.get(host) } else { None };
        let wildcard = || {
            let wildcard = wildcard(host).filter(|wildcard| self.names.contains(wildcard))?;
            certificates.get(&wildcard)
        };
        exact.or_else(wildcard)
    }

    /// Why there is none.
    pub(super) fn reason(&self, host: Option<&str>) -> NoCertificate {
        match host {
            Some(host) if self.has(host) => NoCertificate::NotYet,
            Some(_) if self.on_demand => NoCertificate::OnDemand,
            Some(_) => NoCertificate::Unknown,
            None if self.only.is_some() => NoCertificate::NothingYet,
            None => NoCertificate::Nameless,
        }
    }

    fn has(&self, host: &str) -> bool {
        self.names.contains(host) || wildcard(host).is_some_and(|wildcard| self.names.contains(&wildcard))
    }
}

impl fmt::Debug for OrderedCertificates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(&self.names).finish()
    }
}
