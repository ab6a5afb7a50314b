//! `substitute`: texts of a body, and what takes their place.

use aho_corasick::{AhoCorasick, MatchKind};

use crate::template::Template;

/// Texts that are replaced; without any, what an outer action says ends.
#[derive(Debug, Clone)]
pub struct Substitution {
    /// Finds the texts by the order of the rules.
    pub finder: AhoCorasick,
    /// In the order of the document: the first that matches at a place counts.
    pub rules: Vec<SubstitutionRule>,
}

/// One text and what takes its place.
#[derive(Debug, Clone)]
pub struct SubstitutionRule {
    /// Not empty.
    pub from: Vec<u8>,
    /// The text in its place.
    pub to: Template,
}

impl Substitution {
    /// These rules; none if they are too much to be looked for.
    #[must_use]
    pub fn new(rules: Vec<SubstitutionRule>) -> Option<Self> {
        let texts = rules.iter().map(|rule| &rule.from);
        let finder = AhoCorasick::builder().match_kind(MatchKind::LeftmostFirst).build(texts).ok()?;
        Some(Self { finder, rules })
    }
}
