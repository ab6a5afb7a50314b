//! Which certificate a client gets: by the host name that it asks for.

use std::cell::Cell;
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use rustls::server::{ClientHello, ResolvesServerCert};
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

    /// The certificate for a host: by its name, by a wildcard in the place of its first label, or the first.
    fn find(&self, host: Option<&str>) -> Option<T> {
        let named = host.and_then(|host| {
            let host = host.to_ascii_lowercase();
            let wildcard = || {
                let (_, domain) = host.split_once('.')?;
                self.by_name.get(&format!("*.{domain}"))
            };
            self.by_name.get(&host).or_else(wildcard)
        });
        named.or(self.first.as_ref()).cloned()
    }
}

impl ResolvesServerCert for ServerNames {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        WANTED.set(hello.server_name().map(Box::from));
        // With a single bundle the name makes no difference, as it has no other to choose.
        self.find(hello.server_name())
    }
}

thread_local! {
    /// What the last client has asked for: sessions without buffers of their own do not tell it otherwise.
    static WANTED: Cell<Option<Box<str>>> = const { Cell::new(None) };
}

/// The host name that the client has asked for whose message was processed just now, if it was one that names one.
pub(crate) fn take_wanted() -> Option<Box<str>> {
    WANTED.take()
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
        assert_eq!(names.find(host), Some(expect), "{bundles:?} {host:?}");
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
