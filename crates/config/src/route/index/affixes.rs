//! Texts that values may begin or end with: all of them that a value has are found by one binary search.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use super::candidates::Candidates;
use super::field::push_once;

/// Prefixes, or suffixes, with the steps that ask for them.
#[derive(Debug)]
pub(super) struct Affixes {
    direction: Direction,
    /// While steps are being filed; texts are read in the direction.
    filed: BTreeMap<Box<[u8]>, Vec<u32>>,
    /// Sorted by text.
    entries: Vec<AffixEntry>,
}

/// The end of a value from which texts are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Direction {
    Forwards,
    Backwards,
}

#[derive(Debug)]
struct AffixEntry {
    text: Box<[u8]>,
    steps: Vec<u32>,
    /// The longest other text that this one begins with.
    parent: Option<usize>,
}

impl Affixes {
    pub(super) fn new(direction: Direction) -> Self {
        Self { direction, filed: BTreeMap::new(), entries: Vec::new() }
    }

    pub(super) fn file(&mut self, text: &[u8], number: u32) {
        let text: Box<[u8]> = match self.direction {
            Direction::Forwards => text.into(),
            Direction::Backwards => text.iter().rev().copied().collect(),
        };
        push_once(self.filed.entry(text).or_default(), number);
    }

    /// Links each text to the longest that it begins with: the sort order has it before the text, with
    /// nothing between them but others that begin with it too.
    pub(super) fn finish(&mut self) {
        for (text, steps) in std::mem::take(&mut self.filed) {
            let mut parent = self.entries.len().checked_sub(1);
            while let Some(idx) = parent {
                let entry: &AffixEntry = &self.entries[idx];
                if text.starts_with(&entry.text) {
                    break;
                }
                parent = entry.parent;
            }
            self.entries.push(AffixEntry { text, steps, parent });
        }
    }

    /// Adds the steps of all texts that `value` begins with. They begin with each other, so the others
    /// can be reached from the last text that is not behind the value in the order.
    pub(super) fn find<'i>(&'i self, value: &[u8], candidates: &mut Candidates<'i>) {
        let behind =
            self.entries.partition_point(|entry| self.compare(&entry.text, value) != Ordering::Greater);
        let mut next = behind.checked_sub(1);
        while let Some(entry) = next.and_then(|idx| self.entries.get(idx)) {
            if self.begins(value, &entry.text) {
                candidates.push(&entry.steps);
            }
            next = entry.parent;
        }
    }

    fn compare(&self, text: &[u8], value: &[u8]) -> Ordering {
        match self.direction {
            Direction::Forwards => text.cmp(value),
            Direction::Backwards => text.iter().cmp(value.iter().rev()),
        }
    }

    fn begins(&self, value: &[u8], text: &[u8]) -> bool {
        match self.direction {
            Direction::Forwards => value.starts_with(text),
            Direction::Backwards => {
                value.len() >= text.len() && text.iter().eq(value.iter().rev().take(text.len()))
            }
        }
    }
}
