//! Steps by the texts that one value of a request must equal, begin or end with.

use std::collections::HashMap;

use super::affixes::{Affixes, Direction};
use super::candidates::Candidates;
use crate::pattern::Anchor;

/// The index of one value.
#[derive(Debug)]
pub(super) struct FieldIndex {
    exact: HashMap<Box<[u8]>, Vec<u32>>,
    prefixes: Affixes,
    suffixes: Affixes,
}

impl Default for FieldIndex {
    fn default() -> Self {
        Self {
            exact: HashMap::new(),
            prefixes: Affixes::new(Direction::Forwards),
            suffixes: Affixes::new(Direction::Backwards),
        }
    }
}

impl FieldIndex {
    /// Files a step; numbers come in rising order.
    pub(super) fn file(&mut self, number: u32, anchors: &[Anchor<'_>]) {
        for anchor in anchors {
            match *anchor {
                Anchor::Exact(text) => push_once(self.exact.entry(text.into()).or_default(), number),
                Anchor::Prefix(text) => self.prefixes.file(text, number),
                Anchor::Suffix(text) => self.suffixes.file(text, number),
            }
        }
    }

    /// All steps are filed.
    pub(super) fn finish(&mut self) {
        self.prefixes.finish();
        self.suffixes.finish();
    }

    /// Adds the lists of all steps that this value can match.
    pub(super) fn find<'i>(&'i self, value: &[u8], candidates: &mut Candidates<'i>) {
        if !self.exact.is_empty() {
            candidates.extend(self.exact.get(value).map(Vec::as_slice));
        }
        self.prefixes.find(value, candidates);
        self.suffixes.find(value, candidates);
    }
}

/// How many steps ask for each text.
pub(super) struct Census<'s> {
    n_steps: HashMap<Anchor<'s>, usize>,
}

impl<'s> Census<'s> {
    pub(super) fn of(steps: impl Iterator<Item = Vec<Anchor<'s>>>) -> Self {
        let mut n_steps = HashMap::new();
        for anchor in steps.flatten() {
            *n_steps.entry(anchor).or_default() += 1;
        }
        Self { n_steps }
    }

    /// How many steps share the most popular of these texts; `None` without any.
    pub(super) fn crowd(&self, anchors: &[Anchor<'s>]) -> Option<usize> {
        anchors.iter().filter_map(|anchor| self.n_steps.get(anchor).copied()).max()
    }
}

/// A step may name a text twice.
pub(super) fn push_once(list: &mut Vec<u32>, number: u32) {
    if list.last() != Some(&number) {
        list.push(number);
    }
}
