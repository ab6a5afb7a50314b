//! Names of servers that have no address.

use std::collections::BTreeMap;
use std::io;
use std::net::ToSocketAddrs;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use corral_config::upstream::{Origin, UpstreamHost};

/// The names of a configuration, each with the places that have it.
#[derive(Default)]
pub(super) struct Hosts(BTreeMap<String, Vec<String>>);

/// How long all answers are waited for. One that comes later is not missed: nothing is said of its name.
const PATIENCE: Duration = Duration::from_secs(3);

/// Names that are looked up; a file with more of them is not written by hand.
const MOST: usize = 100;

impl Hosts {
    /// Notes the name in the address of a server, if there is one.
    pub(super) fn note(&mut self, place: &str, server: &str) {
        let origin = Origin::parse_server(server.as_bytes());
        if let Some(Origin { host: UpstreamHost::Named { name, .. }, .. }) = origin {
            self.0.entry(name).or_default().push(place.to_owned());
        }
    }

    /// Each place whose server has no address, with what is wrong.
    pub(super) fn missing(self) -> Vec<(String, String)> {
        let (sender, answers) = mpsc::channel();
        let names: Vec<_> = self.0.keys().take(MOST).cloned().collect();
        let mut n_asked = 0;
        for name in names {
            let sender = sender.clone();
            let ask = move || {
                let error = (name.as_str(), 0).to_socket_addrs().err();
                let _ = sender.send((name, error)); // It may be too late.
            };
            n_asked += usize::from(thread::Builder::new().spawn(ask).is_ok());
        }
        let end = Instant::now() + PATIENCE;
        let next = |_| answers.recv_timeout(end.saturating_duration_since(Instant::now())).ok();
        let answered = (0..n_asked).map_while(next);
        // In the order of names: answers come in any.
        let failed: BTreeMap<_, _> = answered.filter_map(|(name, error)| Some((name, error?))).collect();
        failed.iter().flat_map(|(name, error)| self.at_each_place(name, error)).collect()
    }

    fn at_each_place(&self, name: &str, error: &io::Error) -> Vec<(String, String)> {
        let places = self.0.get(name).into_iter().flatten();
        let text = error.to_string();
        let reason = text.trim_start_matches("failed to lookup address information: ");
        places
            .map(|place| (place.clone(), format!("The name \"{name}\" has no address: {reason}.")))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_alone_are_looked_up() {
        let mut hosts = Hosts::default();
        for server in ["http://127.0.0.1:80", "unix:/a", "[::1]:80", "http://localhost:80", "nonsense"] {
            hosts.note("/a", server);
        }
        assert_eq!(hosts.0.keys().collect::<Vec<_>>(), ["localhost"]);
        assert_eq!(hosts.missing(), []);
    }

    /// The domain is one that never exists (RFC 6761).
    #[test]
    fn every_place_of_a_missing_name_is_told() {
        let mut hosts = Hosts::default();
        hosts.note("/a", "http://no-such-host.invalid:80");
        hosts.note("/b", "No-Such-Host.invalid.:81");
        let missing = hosts.missing();
        let places: Vec<_> = missing.iter().map(|(place, _)| place.as_str()).collect();
        assert_eq!(places, ["/a", "/b"]);
        assert!(
            missing[0].1.starts_with("The name \"no-such-host.invalid\" has no address: "),
            "{missing:?}"
        );
    }
}
