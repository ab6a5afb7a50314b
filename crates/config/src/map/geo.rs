//! Values by networks of addresses: the narrowest counts.
//!
//! Networks may lie within each other. They are cut into pieces once that do not, so that an address is found by halves
//! however many there are.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;
use std::ops::RangeInclusive;
use std::sync::Arc;

use super::network_file::{NetworkFile, NetworkLine};
use crate::pattern::address::{AddressPatternError, AddressRange};
use crate::template::Template;

/// Values by networks.
#[derive(Debug, Clone, Default)]
pub(crate) struct GeoTable {
    inner: Arc<AddressPieces>,
    files: Arc<NetworkFiles>,
}

/// Files, and what stands beside them.
#[derive(Debug, Default)]
struct NetworkFiles {
    files: Vec<NetworkFile>,
    own: Vec<(Network, Template)>,
}

#[derive(Debug, Default)]
struct AddressPieces {
    values: Vec<Template>,
    v4: Vec<AddressPiece>,
    v6: Vec<AddressPiece>,
}

/// The addresses from `first` to the next piece.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct AddressPiece {
    first: u128,
    /// The place of their value.
    value: Option<usize>,
}

/// A network as it is written: an address, `ADDRESS/PREFIX`, or `FIRST-LAST`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Network(AddressRange);

impl Network {
    /// Reads a network.
    ///
    /// # Errors
    ///
    /// When the text is not one.
    pub(crate) fn parse(text: &[u8]) -> Result<Self, AddressPatternError> {
        AddressRange::parse(text).map(Self)
    }
}

impl GeoTable {
    /// As `new`, with files whose networks are not known yet.
    pub(crate) fn with_files(own: Vec<(Network, Template)>, files: Vec<NetworkFile>) -> Self {
        if files.is_empty() {
            return Self::new(own);
        }
        Self { files: Arc::new(NetworkFiles { own: own.clone(), files }), ..Self::new(own) }
    }

    pub(super) fn files(&self) -> &[NetworkFile] {
        &self.files.files
    }

    /// Takes the networks of its files, in the order of these. Equal ones of the document count before them.
    pub(super) fn fill(&mut self, lines: Vec<Vec<NetworkLine>>) {
        let NetworkFiles { files, own } = &*self.files;
        let (mut values, mut entries) = (Vec::new(), Vec::new());
        // Thousands of networks may have the same value.
        let mut known: HashMap<Box<[u8]>, usize> = HashMap::new();
        for (file, lines) in files.iter().zip(lines) {
            let of_file = values.len();
            values.push(file.value.clone());
            for NetworkLine { network, value } in lines {
                let place = value.map_or(of_file, |text| {
                    *known.entry(text).or_insert_with_key(|text| {
                        values.push(Template::literal(text));
                        values.len() - 1
                    })
                });
                entries.push((network, place));
            }
        }
        for (network, value) in own {
            entries.push((network.clone(), values.len()));
            values.push(value.clone());
        }
        self.inner = Arc::new(AddressPieces::new(entries, values));
    }

    /// A table with these networks; of equal ones the last counts.
    pub(crate) fn new(entries: impl IntoIterator<Item = (Network, Template)>) -> Self {
        let (networks, values): (Vec<_>, Vec<_>) = entries.into_iter().unzip();
        let entries = networks.into_iter().zip(0..);
        Self { inner: Arc::new(AddressPieces::new(entries, values)), files: Arc::default() }
    }

    /// The value of the address that `text` is.
    pub(super) fn find(&self, text: &[u8]) -> Option<&Template> {
        let address: IpAddr = std::str::from_utf8(text).ok()?.parse().ok()?;
        let (pieces, address) = match address.to_canonical() {
            IpAddr::V4(address) => (&self.inner.v4, address.to_bits().into()),
            IpAddr::V6(address) => (&self.inner.v6, address.to_bits()),
        };
        let n_before = pieces.partition_point(|piece| piece.first <= address);
        let piece = pieces.get(n_before.checked_sub(1)?)?;
        self.inner.values.get(piece.value?)
    }

    pub(super) fn values(&self) -> impl Iterator<Item = &Template> {
        self.inner.values.iter().chain(self.files.files.iter().map(|file| &file.value))
    }
}

impl AddressPieces {
    /// Networks, each with the place of its value; of equal ones the last counts.
    fn new(entries: impl IntoIterator<Item = (Network, usize)>, values: Vec<Template>) -> Self {
        let (mut v4, mut v6) = (Vec::new(), Vec::new());
        for (n, (Network(network), value)) in entries.into_iter().enumerate() {
            match network {
                AddressRange::V4(range) => v4.push((range, (n, value))),
                AddressRange::V6(range) => v6.push((range, (n, value))),
            }
        }
        Self { values, v4: cut(v4), v6: cut(v6) }
    }
}

/// The pieces of ranges, each with its number and the place of its value.
fn cut(ranges: Vec<(RangeInclusive<u128>, (usize, usize))>) -> Vec<AddressPiece> {
    // The ranges that begin at an address, and those that are over there.
    let mut events: BTreeMap<u128, (Vec<Begun>, Vec<Begun>)> = BTreeMap::new();
    for (range, value) in ranges {
        let begun = (range.end() - range.start(), Reverse(value));
        events.entry(*range.start()).or_default().0.push(begun);
        if let Some(behind) = range.end().checked_add(1) {
            events.entry(behind).or_default().1.push(begun);
        }
    }
    let mut open = std::collections::BTreeSet::new();
    let pieces = events.into_iter().map(|(first, (begin, end))| {
        end.iter().for_each(|begun| _ = open.remove(begun));
        open.extend(begin);
        AddressPiece { first, value: open.first().map(|(_, Reverse((_, value)))| *value) }
    });
    pieces.collect()
}

/// The width of a range, and its number and value: in this order the one that counts is the first.
type Begun = (u128, Reverse<(usize, usize)>);

#[cfg(test)]
mod tests {
    use super::*;

    fn table(networks: &[&str]) -> GeoTable {
        let entries = networks.iter().map(|text| {
            (Network::parse(text.as_bytes()).unwrap(), Template::parse(text.as_bytes()).unwrap())
        });
        GeoTable::new(entries)
    }

    #[track_caller]
    fn check(table: &GeoTable, address: &str, expect: Option<&str>) {
        let found = table.find(address.as_bytes()).map(|value| value.is_constant().unwrap());
        assert_eq!(found, expect.map(str::as_bytes), "{address}");
    }

    #[test]
    fn the_narrowest_network_counts() {
        let table = table(&["10.0.0.0/8", "10.1.0.0/16", "10.1.2.3", "0.0.0.0/0", "2001:db8::/32", "::/1"]);
        check(&table, "10.2.0.1", Some("10.0.0.0/8"));
        check(&table, "10.1.0.0", Some("10.1.0.0/16"));
        check(&table, "10.1.255.255", Some("10.1.0.0/16"));
        check(&table, "10.1.2.2", Some("10.1.0.0/16"));
        check(&table, "10.1.2.3", Some("10.1.2.3"));
        check(&table, "10.1.2.4", Some("10.1.0.0/16"));
        check(&table, "::ffff:10.1.2.3", Some("10.1.2.3"));
        check(&table, "11.0.0.0", Some("0.0.0.0/0"));
        check(&table, "255.255.255.255", Some("0.0.0.0/0"));
        check(&table, "2001:db8::1", Some("2001:db8::/32"));
        check(&table, "2001:db9::1", Some("::/1"));
        check(&table, "ffff::1", None);
    }

    #[test]
    fn what_is_no_address_has_no_value() {
        let table = table(&["0.0.0.0/0", "::/0", "192.0.2.1-192.0.2.9"]);
        for text in ["", "unix:", "10.0.0.1:80", "localhost", "10.0.0.256", "\u{fffd}", "010.0.0.1"] {
            check(&table, text, None);
        }
        check(&table, "192.0.2.9", Some("192.0.2.1-192.0.2.9"));
        check(&table, "192.0.2.10", Some("0.0.0.0/0"));
    }

    #[test]
    fn files_stand_behind_the_document() {
        let literal = |text: &str| Template::literal(text.as_bytes());
        let file = |name: &str, value: &str| NetworkFile {
            path: name.into(),
            pointer: String::new(),
            value: literal(value),
        };
        let own = vec![(Network::parse(b"10.0.0.1").unwrap(), literal("own"))];
        let mut table = GeoTable::with_files(own, vec![file("/a", "a"), file("/b", "b")]);
        check(&table, "10.0.0.1", Some("own"));
        check(&table, "10.0.0.2", None);
        for _ in 0..2 {
            let lines = |text: &str| NetworkLine::parse_all(text.as_bytes()).unwrap();
            table
                .fill(vec![lines("10.0.0.1\n10.0.0.0/8\n192.0.2.0/24 x"), lines("192.0.2.0/24\n10.0.0.3 x")]);
            check(&table, "10.0.0.1", Some("own"));
            check(&table, "10.0.0.2", Some("a"));
            check(&table, "10.0.0.3", Some("x"));
            check(&table, "192.0.2.1", Some("b"));
            assert_eq!(table.inner.values.len(), 4);
        }
    }

    #[test]
    fn of_equal_networks_the_last_counts() {
        let entry = |text: &str, value: &str| {
            (Network::parse(text.as_bytes()).unwrap(), Template::parse(value.as_bytes()).unwrap())
        };
        let table = GeoTable::new([entry("10.0.0.0/8", "a"), entry("10.9.9.9/8", "b")]);
        check(&table, "10.0.0.1", Some("b"));
    }
}
