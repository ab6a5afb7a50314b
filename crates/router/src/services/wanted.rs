//! How often main is told of names that clients want certificates for. A client can ask for any number of names.

use std::collections::{HashMap, HashSet};
use std::net::IpAddr;

use crate::clock::Millis;
use crate::services::admission::ClientNetwork;

/// How long a name, or an address, is remembered; up to twice as long.
const TERM: u64 = 5000;

/// Most names in a term.
const MOST: usize = 200;

/// Most names in a term for one client, or for 64 bits of an address of version 6, which is what one has.
const MOST_PER_CLIENT: u32 = 20;

/// The names of this term and of the one before. What they take is bounded by how many are told.
#[derive(Debug, Default)]
pub(super) struct WantedNames {
    ends: u64,
    names: HashSet<Box<str>>,
    before: HashSet<Box<str>>,
    by_client: HashMap<Option<ClientNetwork>, u32>,
}

impl WantedNames {
    /// Whether main is to be told.
    pub(super) fn admit(&mut self, name: &str, client: Option<IpAddr>, now: Millis) -> bool {
        self.turn(now);
        if self.names.len() >= MOST || self.names.contains(name) || self.before.contains(name) {
            return false;
        }
        let n_told = self.by_client.entry(client.map(ClientNetwork::of)).or_default();
        if *n_told >= MOST_PER_CLIENT {
            return false;
        }
        *n_told += 1;
        self.names.insert(name.into());
        true
    }

    /// Begins a new term when it is time.
    fn turn(&mut self, Millis(now): Millis) {
        if now < self.ends {
            return;
        }
        self.before = if now < self.ends + TERM { std::mem::take(&mut self.names) } else { HashSet::new() };
        self.names.clear();
        self.by_client.clear();
        self.ends = now + TERM;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ip(text: &str) -> Option<IpAddr> {
        Some(text.parse().unwrap())
    }

    #[test]
    fn a_name_is_told_once_in_a_while() {
        let mut wanted = WantedNames::default();
        let mut told = |now| wanted.admit("a.example", ip("192.0.2.1"), Millis(now));
        assert!(told(1000) && !told(1001) && !told(1000 + TERM));
        assert!(told(1000 + 2 * TERM) && !told(1001 + 2 * TERM));
        assert!(told(1000 + 9 * TERM));
    }

    #[test]
    fn one_client_cannot_take_all() {
        let mut wanted = WantedNames::default();
        let mut told = |from: &str, client: &str| {
            (0..1000).filter(|n| wanted.admit(&format!("{n}.{from}"), ip(client), Millis(1000))).count()
        };
        assert_eq!(told("a", "2001:db8::1"), MOST_PER_CLIENT as usize);
        assert_eq!(told("b", "2001:db8::2"), 0);
        assert_eq!(told("c", "2001:db8:0:1::2"), MOST_PER_CLIENT as usize);
        assert_eq!(told("d", "192.0.2.1"), MOST_PER_CLIENT as usize);
        assert_eq!(told("e", "::ffff:192.0.2.1"), 0);
    }

    #[test]
    fn a_flood_is_bounded() {
        let mut wanted = WantedNames::default();
        let client = |n: u32| Some(IpAddr::from(n.to_be_bytes()));
        let told = (0..100_000).filter(|n| wanted.admit(&n.to_string(), client(*n), Millis(1000))).count();
        assert_eq!(told, MOST);
        assert!(wanted.names.len() + wanted.by_client.len() <= 2 * MOST);
    }
}
