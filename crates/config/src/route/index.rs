//! Finds the steps of a route that a request can match without trying them all.
//!
//! A step whose host or URI must equal, begin or end with one of a few texts is filed under these texts;
//! the others are tried for every request. What is found is tried in full, so the index only has to be
//! complete, and the first match in the order of the route wins as if all steps had been tried.

mod affixes;
mod candidates;
mod field;

use self::candidates::Candidates;
use self::field::{Census, FieldIndex};
use super::{Facts, Match, RouteStep, Undecided};
use crate::pattern::Anchor;

/// The steps of one route, by what they ask of host and URI.
#[derive(Debug)]
pub(super) struct StepIndex {
    hosts: FieldIndex,
    uris: FieldIndex,
    /// Numbers of the steps that are filed nowhere, in rising order.
    others: Vec<u32>,
}

impl StepIndex {
    pub(super) fn new(steps: &[RouteStep]) -> Self {
        let hosts = Census::of(steps.iter().map(host_anchors));
        let uris = Census::of(steps.iter().map(uri_anchors));
        let mut index =
            Self { hosts: FieldIndex::default(), uris: FieldIndex::default(), others: Vec::new() };
        for (number, step) in (0..).zip(steps) {
            let (host, uri) = (host_anchors(step), uri_anchors(step));
            match (hosts.crowd(&host), uris.crowd(&uri)) {
                (None, None) => index.others.push(number),
                // What is asked by fewer steps leaves less to be tried.
                (Some(host_crowd), uri_crowd) if uri_crowd.is_none_or(|crowd| host_crowd <= crowd) => {
                    index.hosts.file(number, &host);
                }
                _ => index.uris.file(number, &uri),
            }
        }
        index.hosts.finish();
        index.uris.finish();
        index
    }

    /// The first of `steps`, which are those of `new`, whose conditions hold.
    ///
    /// # Errors
    ///
    /// When it cannot be known before that whether a step's conditions hold.
    pub(super) fn choose<'s, F: Facts>(
        &self,
        steps: &'s [RouteStep],
        facts: &mut F,
    ) -> Result<Option<&'s RouteStep>, Undecided> {
        let mut candidates = Candidates::new();
        self.hosts.find(facts.host(), &mut candidates);
        self.uris.find(facts.path(), &mut candidates);
        // These are last, because what matched before bounds them. Steps with an `if` or a `file` are always here, so
        // that none is worked out that comes behind the match.
        candidates.push(&self.others);
        let mut first = First::default();
        for list in candidates {
            first = first.earlier(list, steps, facts);
        }
        match first.undecided {
            Some(undecided) => Err(undecided),
            None => Ok(first.number.and_then(|number| steps.get(number as usize))),
        }
    }
}

/// The first step so far that ends the search: it matches, or it is unknown whether it does. As lists are tried one
/// after the other, a step that comes before it may still be found.
#[derive(Default)]
struct First {
    number: Option<u32>,
    undecided: Option<Undecided>,
}

impl First {
    /// The first of a list that comes before this one, or else this one.
    fn earlier<F: Facts>(self, list: &[u32], steps: &[RouteStep], facts: &mut F) -> Self {
        for &number in list.iter().take_while(|&&number| self.number.is_none_or(|bound| number < bound)) {
            let Some(step) = steps.get(number as usize) else { continue };
            match step.conditions.matches(facts) {
                Ok(false) => {}
                Ok(true) => return Self { number: Some(number), undecided: None },
                Err(undecided) => return Self { number: Some(number), undecided: Some(undecided) },
            }
        }
        self
    }
}

fn host_anchors(step: &RouteStep) -> Vec<Anchor<'_>> {
    let Match { host, .. } = &step.conditions;
    host.as_ref().filter(|_| !step.conditions.is_costly()).map(|host| host.anchors()).unwrap_or_default()
}

fn uri_anchors(step: &RouteStep) -> Vec<Anchor<'_>> {
    let Match { uri, .. } = &step.conditions;
    uri.as_ref().filter(|_| !step.conditions.is_costly()).map(|uri| uri.anchors()).unwrap_or_default()
}

#[cfg(test)]
mod tests;
