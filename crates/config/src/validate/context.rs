//! What every check sees: where it is in the document, and where problems go.

use std::fmt::Write as _;

use crate::destination::Destinations;
use crate::{Known, Problem, Stage};

/// The state of one validation.
pub(super) struct Context<'a> {
    pub(super) known: &'a Known,
    pub(super) destinations: &'a Destinations,
    /// JSON pointer of the value that is being checked.
    pointer: String,
    problems: Vec<Problem>,
}

impl<'a> Context<'a> {
    pub(super) fn new(known: &'a Known, destinations: &'a Destinations) -> Self {
        Self { known, destinations, pointer: String::new(), problems: Vec::new() }
    }

    pub(super) fn into_problems(self) -> Vec<Problem> {
        self.problems
    }

    /// Runs `check` one level deeper, at the member `name`.
    pub(super) fn at<R>(&mut self, name: &[u8], check: impl FnOnce(&mut Self) -> R) -> R {
        let len = self.pointer.len();
        self.pointer.push('/');
        for character in String::from_utf8_lossy(name).chars() {
            match character {
                '~' => self.pointer.push_str("~0"),
                '/' => self.pointer.push_str("~1"),
                other => self.pointer.push(other),
            }
        }
        let result = check(self);
        self.pointer.truncate(len);
        result
    }

    /// Runs `check` one level deeper, at the element with this index.
    pub(super) fn at_index<R>(&mut self, idx: usize, check: impl FnOnce(&mut Self) -> R) -> R {
        let len = self.pointer.len();
        write!(self.pointer, "/{idx}").expect("writing to a String cannot fail");
        let result = check(self);
        self.pointer.truncate(len);
        result
    }

    /// Something is wrong with the value at hand.
    pub(super) fn problem(&mut self, detail: impl Into<String>) {
        self.push(detail.into(), None, Stage::Validation);
    }

    /// As `problem`, with the nearest of `candidates` as a suggestion when it is near enough.
    pub(super) fn problem_with_suggestion<'b>(
        &mut self,
        detail: impl Into<String>,
        written: &str,
        candidates: impl Iterator<Item = &'b str>,
    ) {
        let suggestion = nearest(written, candidates);
        self.push(detail.into(), suggestion, Stage::Validation);
    }

    /// Something is wrong that Unit only notices when it puts the configuration in force.
    pub(super) fn late_problem(&mut self, detail: impl Into<String>) {
        self.push(detail.into(), None, Stage::Application);
    }

    fn push(&mut self, detail: String, suggestion: Option<String>, stage: Stage) {
        self.problems.push(Problem { pointer: self.pointer.clone(), detail, suggestion, stage });
    }
}

/// The candidate that `written` probably means: at most a third of it differs.
fn nearest<'b>(written: &str, candidates: impl Iterator<Item = &'b str>) -> Option<String> {
    let limit = (written.chars().count() / 3).max(1);
    candidates
        .map(|candidate| (strsim::damerau_levenshtein(written, candidate), candidate))
        .filter(|(distance, _)| *distance <= limit)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate.to_owned())
}
