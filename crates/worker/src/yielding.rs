//! Whether it is worth while to let other processes run once before sleeping. Where a worker is one of few, the next
//! request is there then; where it is one of many that are asked in turn, its turn does not come again so soon, and
//! each attempt would cost two changes of context for nothing.

/// The benefit of the last attempts.
#[derive(Debug, Default)]
pub(crate) struct Yielding {
    /// In a row, without work afterwards.
    n_in_vain: u32,
}

impl Yielding {
    /// Whether to try now: always, unless that has been in vain; then every now and then.
    pub(crate) fn is_worth_it(&mut self) -> bool {
        if self.n_in_vain < GIVE_UP_AFTER {
            return true;
        }
        self.n_in_vain += 1;
        self.n_in_vain >= GIVE_UP_AFTER + RETRY_AFTER
    }

    /// Notes an attempt, and whether there was work afterwards.
    pub(crate) fn note(&mut self, has_work: bool) {
        self.n_in_vain = if has_work { 0 } else { (self.n_in_vain + 1).min(GIVE_UP_AFTER) };
    }
}

const GIVE_UP_AFTER: u32 = 4;
const RETRY_AFTER: u32 = 32;

#[cfg(test)]
mod tests {
    use super::*;

    /// How many of the next hundred times are worth it, if work is found as `finds` says.
    fn n_tried(yielding: &mut Yielding, finds: bool) -> usize {
        let mut attempt = || {
            let tries = yielding.is_worth_it();
            if tries {
                yielding.note(finds);
            }
            tries
        };
        (0..100).filter(|_| attempt()).count()
    }

    #[test]
    fn what_is_in_vain_is_tried_seldom_until_it_is_not() {
        let mut yielding = Yielding::default();
        assert_eq!(n_tried(&mut yielding, true), 100);
        assert_eq!(n_tried(&mut yielding, false), 4 + 3);
        assert!(n_tried(&mut yielding, true) > 60);
        assert_eq!(n_tried(&mut yielding, true), 100);
    }
}
