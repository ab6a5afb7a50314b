//! How many lines of one application are logged: one that prints without end fills no disk.

use std::time::Instant;

/// Lines that are logged at once, after a time without any.
const BURST: u32 = 20_000;

/// Lines for each second.
pub(super) const PER_SECOND: u32 = 1_000;

/// The lines that may be logged now, and those that were left out.
#[derive(Debug)]
pub(super) struct Rate {
    left: u32,
    since: Instant,
    /// Lines that were not logged since the last one that was.
    n_left_out: u64,
}

impl Rate {
    pub(super) fn new(now: Instant) -> Self {
        Self { left: BURST, since: now, n_left_out: 0 }
    }

    /// Whether a line that comes now is logged.
    pub(super) fn admits(&mut self, now: Instant) -> bool {
        let millis = now.saturating_duration_since(self.since).as_millis();
        let earned = u32::try_from(millis).unwrap_or(u32::MAX).saturating_mul(PER_SECOND / 1000);
        if earned > 0 {
            self.since = now;
            self.left = self.left.saturating_add(earned).min(BURST);
        }
        let is_admitted = self.left > 0;
        self.left = self.left.saturating_sub(1);
        self.n_left_out += u64::from(!is_admitted);
        is_admitted
    }

    /// Lines that were left out, which are to be mentioned once.
    pub(super) fn take_left_out(&mut self) -> Option<u64> {
        Some(std::mem::take(&mut self.n_left_out)).filter(|number| *number > 0)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_burst_is_logged_and_then_so_many_a_second() {
        let begin = Instant::now();
        let mut rate = Rate::new(begin);
        let admitted = |rate: &mut Rate, now| (0..2 * BURST).filter(|_| rate.admits(now)).count();
        assert_eq!(admitted(&mut rate, begin), BURST as usize);
        assert_eq!((rate.take_left_out(), rate.take_left_out()), (Some(u64::from(BURST)), None));
        assert_eq!(admitted(&mut rate, begin + Duration::from_secs(1)), PER_SECOND as usize);
        assert_eq!(admitted(&mut rate, begin + Duration::from_secs(3600)), BURST as usize);
    }
}
