//! Values by shares: the same text always gets the same one, in each event loop and after each restart.

use corral_syntax::fnv_1a;

use crate::template::Template;

/// Everything, in the unit of shares: hundredths of a percent.
pub(crate) const SPLIT_ALL: u32 = 10_000;

/// Values by shares.
#[derive(Debug, Clone, Default)]
pub(crate) struct SplitTable {
    /// The name of the map: two maps split the same texts in different ways.
    name: String,
    /// Where each share ends, and its value.
    shares: Vec<(u32, Template)>,
}

impl SplitTable {
    /// Shares in their order; together they are at most `SPLIT_ALL`.
    pub(crate) fn new(name: String, shares: impl IntoIterator<Item = (u32, Template)>) -> Self {
        let mut end = 0_u32;
        let shares = shares.into_iter().map(|(share, value)| {
            end = end.saturating_add(share);
            (end, value)
        });
        Self { name, shares: shares.collect() }
    }

    /// The value of the share that a text falls into.
    pub(super) fn find(&self, text: &[u8]) -> Option<&Template> {
        let place = hash(&[self.name.as_bytes(), text]) % u64::from(SPLIT_ALL);
        self.shares.iter().find(|(end, _)| place < u64::from(*end)).map(|(_, value)| value)
    }

    pub(super) fn values(&self) -> impl Iterator<Item = &Template> {
        self.shares.iter().map(|(_, value)| value)
    }
}

/// The hash of the texts, with a zero behind each, mixed.
fn hash(texts: &[&[u8]]) -> u64 {
    let fnv = fnv_1a(texts.iter().flat_map(|text| text.iter().chain(&[0])));
    let mixed = (fnv ^ (fnv >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93);
    mixed ^ (mixed >> 32)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(name: &str, shares: &[(u32, &str)]) -> SplitTable {
        let shares = shares.iter().map(|(share, value)| (*share, Template::parse(value.as_bytes()).unwrap()));
        SplitTable::new(name.to_owned(), shares)
    }

    /// How many of ten thousand texts get this value.
    fn count(table: &SplitTable, value: Option<&str>) -> usize {
        let texts = (0..10_000).map(|n| format!("10.0.{}.{}", n / 100, n % 100));
        let found = texts.filter(|text| {
            table.find(text.as_bytes()).map(|value| value.is_constant().unwrap()) == value.map(str::as_bytes)
        });
        found.count()
    }

    #[test]
    fn shares_are_as_large_as_they_say() {
        let table = table("a", &[(500, "canary"), (2000, "blue"), (1, "rare")]);
        assert!((400..600).contains(&count(&table, Some("canary"))));
        assert!((1800..2200).contains(&count(&table, Some("blue"))));
        assert!(count(&table, Some("rare")) < 10);
        assert!((7200..7800).contains(&count(&table, None)));
    }

    #[test]
    fn a_share_that_grows_keeps_what_it_had() {
        let (small, large) = (table("a", &[(500, "canary")]), table("a", &[(2000, "canary")]));
        let texts = (0..1000).map(|n| n.to_string());
        for text in texts.filter(|text| small.find(text.as_bytes()).is_some()) {
            assert!(large.find(text.as_bytes()).is_some(), "{text}");
        }
    }

    #[test]
    fn two_maps_split_in_different_ways() {
        let (one, other) = (table("a", &[(5000, "x")]), table("b", &[(5000, "x")]));
        let texts = (0..1000).map(|n| n.to_string());
        let n_both = texts
            .filter(|text| one.find(text.as_bytes()).is_some() && other.find(text.as_bytes()).is_some())
            .count();
        assert!((180..320).contains(&n_both), "{n_both}");
    }

    #[test]
    fn the_order_of_texts_stays() {
        let table = table("a", &[(5000, "x")]);
        let seen: String =
            (0..16).map(|n: u8| if table.find(&[b'0' + n]).is_some() { 'x' } else { '-' }).collect();
        assert_eq!(seen, "x--xx---xx-x---x");
    }
}
