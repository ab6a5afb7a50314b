//! Looks at the resources that workers use, for the status: at all of them where there are few. Of thousands, each
//! question is for the next ones, so that it takes milliseconds.

use std::cell::Cell;
use std::sync::Arc;

use crate::instance::InstanceLease;

/// Workers that are looked at for one question. Each takes less than ten microseconds.
const MOST_LOOKS: usize = 512;

/// The application that is looked at first the next time.
#[derive(Debug, Default)]
pub(super) struct UsageSurvey(Cell<usize>);

impl UsageSurvey {
    /// Looks at as many workers as one question may.
    pub(super) fn look(&self, applications: &[Arc<InstanceLease>]) {
        let measure = |at: usize, most| applications.get(at).map_or(0, |lease| lease.0.measure(most));
        self.go_round(applications.len(), measure);
    }

    /// Visits `n` places in turn, beginning where the last visit ended; `visit` is told what is left for it, and says
    /// how much it has used.
    fn go_round(&self, n: usize, mut visit: impl FnMut(usize, usize) -> usize) {
        let mut left = MOST_LOOKS;
        for place in (0..n).map(|step| (self.0.get() + step) % n) {
            let had_all = left == MOST_LOOKS;
            left = left.saturating_sub(visit(place, left));
            if left == 0 {
                // One that had it all has had its turn; another may have been cut short.
                self.0.set(if had_all { (place + 1) % n } else { place });
                return;
            }
        }
        self.0.set(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The places that so many questions visit, where each has `size` workers.
    fn visited(n: usize, size: usize, n_questions: usize) -> Vec<Vec<(usize, usize)>> {
        let survey = UsageSurvey::default();
        let question = |_| {
            let mut visits = Vec::new();
            survey.go_round(n, |place, most| {
                visits.push((place, size.min(most)));
                size.min(most)
            });
            visits
        };
        (0..n_questions).map(question).collect()
    }

    #[test]
    fn few_workers_are_all_looked_at() {
        assert_eq!(visited(2, 100, 2), [[(0, 100), (1, 100)], [(0, 100), (1, 100)]]);
        assert_eq!(visited(0, 100, 1), [[]]);
        assert_eq!(visited(3, 0, 1), [[(0, 0), (1, 0), (2, 0)]]);
    }

    #[test]
    fn of_many_each_has_its_turn() {
        let questions = visited(4, 300, 3);
        assert_eq!(questions[0], [(0, 300), (1, 212)]);
        assert_eq!(questions[1], [(1, 300), (2, 212)]);
        assert_eq!(questions[2], [(2, 300), (3, 212)]);
        assert_eq!(visited(2, 1000, 3), [[(0, 512)], [(1, 512)], [(0, 512)]]);
    }

    #[test]
    fn applications_that_are_gone_are_not_visited() {
        let survey = UsageSurvey::default();
        survey.go_round(10, |place, most| if place == 7 { most } else { 0 });
        let mut visits = Vec::new();
        survey.go_round(3, |place, _| {
            visits.push(place);
            0
        });
        assert_eq!(visits, [2, 0, 1]);
    }
}
