//! Uploaded certificates by the host names that they are for.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use rustls::sign::CertifiedKey;

/// Certificates by host name.
pub(super) struct ServerNames<T = Arc<CertifiedKey>> {
    /// For clients that name no known host.
    first: Option<T>,
    /// In lower case; `*.example.com` as it is.
    by_name: HashMap<String, T>,
}

impl<T: Clone> ServerNames<T> {
    pub(super) fn new() -> Self {
        Self { first: None, by_name: HashMap::new() }
    }

    /// Adds a certificate for these names in lower case. What was added first wins.
    pub(super) fn add(&mut self, certificate: T, names: Vec<String>) {
        for name in names {
            self.by_name.entry(name).or_insert_with(|| certificate.clone());
        }
        self.first.get_or_insert(certificate);
    }

    /// The certificate for a host: by its name, or by a wildcard in the place of its first label.
    pub(super) fn find(&self, host: Option<&str>) -> Option<T> {
        let host = host?.to_ascii_lowercase();
        let wildcard = || self.by_name.get(&wildcard(&host)?);
        self.by_name.get(&host).or_else(wildcard).cloned()
    }

    /// The certificate for all other clients.
    pub(super) fn first(&self) -> Option<T> {
        self.first.clone()
    }
}

/// The name with `*` in the place of its first label; none if it has but one.
pub(super) fn wildcard(host: &str) -> Option<String> {
    let (_, domain) = host.split_once('.')?;
    Some(format!("*.{domain}"))
}

impl<T> fmt::Debug for ServerNames<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.by_name.keys()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bundles as comma-separated names; `expect` is the number of the one for `host`.
    #[track_caller]
    fn check(bundles: &[&str], host: Option<&str>, expect: usize) {
        let mut names = ServerNames::new();
        for (idx, bundle) in bundles.iter().enumerate() {
            names.add(idx, bundle.split(',').map(str::to_owned).collect());
        }
        assert_eq!(names.find(host).or(names.first()), Some(expect), "{bundles:?} {host:?}");
    }

    const BUNDLES: &[&str] =
        &["a.example.com,b.example.com", "*.example.com,example.com", "c.example.com,example.com"];

    #[test]
    fn exact_names_come_first() {
        check(BUNDLES, Some("a.example.com"), 0);
        check(BUNDLES, Some("b.example.com"), 0);
        check(BUNDLES, Some("c.example.com"), 2);
        check(BUNDLES, Some("C.Example.COM"), 2);
        check(BUNDLES, Some("example.com"), 1);
    }

    #[test]
    fn a_wildcard_stands_for_one_label() {
        check(BUNDLES, Some("other.example.com"), 1);
        check(BUNDLES, Some("x.other.example.com"), 0);
        check(&["x", "*.com"], Some("example.com"), 1);
        check(&["x", "*.com"], Some("com"), 0);
    }

    #[test]
    fn the_first_answers_everybody_else() {
        check(BUNDLES, None, 0);
        check(BUNDLES, Some("elsewhere.org"), 0);
        check(&["", "a"], Some("b"), 0);
    }
}
