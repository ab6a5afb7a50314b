//! Rules that end a run, as the autostop of Yandex.Tank: each holds for so many seconds, one after the other.

mod parse;

use std::time::Duration;

use crate::expect::Mask;
use crate::failure::Failure;
use crate::tally::Tally;

/// A rule, and for how long it held.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Rule {
    condition: Condition,
    /// Seconds.
    period: u64,
    held: u64,
    text: String,
}

/// A second that is bad.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Condition {
    /// The mean response time is above this.
    Time(Duration),
    /// A percentile of the response time, in thousandths of a per cent, is above this.
    Quantile { thousandths: u32, limit: Duration },
    /// So many answers have such a status.
    Http { mask: Mask, level: Level },
    /// So many requests failed by such an error of the network.
    Net { mask: Mask, level: Level },
    /// So many requests are on their way or wait.
    Instances(u64),
    /// Any second.
    Limit,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Level {
    Number(u64),
    /// In thousandths of a per cent, of the requests that ended in the second.
    Share(u32),
}

impl Rule {
    /// Looks at the next second; true once the rule has held for its whole period. A second in which no request ended
    /// tells nothing about answers, so that the rule neither holds nor begins anew.
    pub(crate) fn is_broken_by(&mut self, second: &Tally, n_open: u64) -> bool {
        let needs_answers = !matches!(self.condition, Condition::Instances(_) | Condition::Limit);
        if needs_answers && second.ended() == 0 {
            return false;
        }
        self.held = if self.condition.holds(second, n_open) { self.held + 1 } else { 0 };
        self.held >= self.period
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }
}

impl Condition {
    fn holds(&self, second: &Tally, n_open: u64) -> bool {
        match self {
            Self::Time(limit) => second.response.mean() > *limit,
            Self::Quantile { thousandths, limit } => {
                second.response.percentile(f64::from(*thousandths) / 1000.0) > *limit
            }
            Self::Http { mask, level } => {
                let statuses = second.statuses().iter().filter(|(status, _)| mask.matches(**status));
                level.is_reached(statuses.map(|(_, n)| n).sum(), second.ended())
            }
            Self::Net { mask, level } => {
                let kinds = Failure::ALL.iter().filter(|kind| is_of(**kind, mask));
                level.is_reached(kinds.map(|kind| second.failures(*kind)).sum(), second.ended())
            }
            Self::Instances(most) => n_open >= *most,
            Self::Limit => true,
        }
    }
}

/// A mask without digits, as `xx`, is for every error, as in Tank.
fn is_of(kind: Failure, mask: &Mask) -> bool {
    let code = kind.net_code();
    code != 0 && (mask.is_any() || mask.matches(code))
}

impl Level {
    fn is_reached(self, n: u64, of: u64) -> bool {
        match self {
            Self::Number(number) => n >= number,
            Self::Share(thousandths) => {
                of > 0 && u128::from(n) * 100_000 >= u128::from(thousandths) * u128::from(of)
            }
        }
    }
}

#[cfg(test)]
mod tests;
