//! Uploaded certificates by the host names that they are for.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use rustls::sign::CertifiedKey;

/// Certificates by host name.
///
/// A name may have several, of which a client gets the first that it can verify: one with a key of RSA, one of ECDSA.
pub(super) struct ServerNames<T = Arc<CertifiedKey>> {
    /// For clients that name no known host: the first that was added, and those that share a name with it.
    first: Vec<T>,
    /// The names of the first.
    first_names: Vec<String>,
    /// In lower case; `*.example.com` as it is.
    by_name: HashMap<String, Vec<T>>,
}

impl<T: Clone> ServerNames<T> {
    pub(super) fn new() -> Self {
        Self { first: Vec::new(), first_names: Vec::new(), by_name: HashMap::new() }
    }

    /// Adds a certificate for these names in lower case. What was added first wins where a client can verify both.
    pub(super) fn add(&mut self, certificate: T, names: Vec<String>) {
        if self.first.is_empty() {
            self.first_names.clone_from(&names);
            self.first.push(certificate.clone());
        } else if names.iter().any(|name| self.first_names.contains(name)) {
            self.first.push(certificate.clone());
        }
        for name in names {
            self.by_name.entry(name).or_default().push(certificate.clone());
        }
    }

    /// The certificate for a host: by its name, or by a wildcard in the place of its first label. The first that
    /// `suits` the client, or just the first.
    pub(super) fn find(&self, host: Option<&str>, suits: impl Fn(&T) -> bool) -> Option<T> {
        let host = host?.to_ascii_lowercase();
        let wildcard = || self.by_name.get(&wildcard(&host)?);
        choose(self.by_name.get(&host).or_else(wildcard)?, suits)
    }

    /// The certificate for all other clients.
    pub(super) fn first(&self, suits: impl Fn(&T) -> bool) -> Option<T> {
        choose(&self.first, suits)
    }
}

fn choose<T: Clone>(certificates: &[T], suits: impl Fn(&T) -> bool) -> Option<T> {
    let [only] = certificates else {
        return certificates.iter().find(|certificate| suits(certificate)).or(certificates.first()).cloned();
    };
    Some(only.clone())
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
        let any = |_: &usize| true;
        assert_eq!(names.find(host, any).or(names.first(any)), Some(expect), "{bundles:?} {host:?}");
    }

    #[test]
    fn a_client_gets_the_first_that_it_can_verify() {
        let mut names = ServerNames::new();
        for (idx, name) in ["a", "b", "a", "a"].into_iter().enumerate() {
            names.add(idx, vec![name.to_owned()]);
        }
        let chosen = |suits: &[usize]| {
            let suits = |idx: &usize| suits.contains(idx);
            [names.find(Some("a"), suits), names.find(Some("b"), suits), names.first(suits)]
                .map(Option::unwrap)
        };
        assert_eq!(chosen(&[0, 1, 2, 3]), [0, 1, 0]);
        assert_eq!(chosen(&[2, 3]), [2, 1, 2]);
        assert_eq!(chosen(&[1]), [0, 1, 0]);
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
