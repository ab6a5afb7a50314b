//! The groups of a step's regular expression, for the templates of its action. They are worked out only for steps whose
//! templates name any.

use super::conditions::{Facts, Match};
use crate::pattern::GivenUp;
use crate::template::{Captured, Groups};

/// The groups that templates of a step name.
#[derive(Debug, Clone)]
pub struct Captures {
    /// The groups of the patterns.
    pub groups: Groups,
    /// The condition whose patterns they are.
    pub source: CaptureSource,
}

/// A condition whose regular expressions may have groups.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CaptureSource {
    /// `uri`.
    Uri,
    /// `host`, where `uri` has no regular expression.
    Host,
}

impl Captures {
    /// The values for a request that meets the conditions.
    ///
    /// # Errors
    ///
    /// When a search takes too long.
    pub fn of<F: Facts>(&self, conditions: &Match, facts: &F) -> Result<Captured, GivenUp> {
        let (set, value) = match self.source {
            CaptureSource::Uri => (&conditions.uri, facts.path()),
            CaptureSource::Host => (&conditions.host, facts.host()),
        };
        let found = set.as_ref().map_or(Ok(None), |set| set.capture(value))?;
        Ok(match found {
            Some((expression, texts)) => self.groups.captured(expression.group_names(), &texts),
            None => self.groups.captured(&[], &[]),
        })
    }
}
