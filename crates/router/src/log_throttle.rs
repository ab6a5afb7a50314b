//! One line in a second about each fault that comes again and again: when a server is down under load that is each
//! request, in a flood each connection.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::clock::Millis;

/// How long nothing more is said.
const PAUSE: u64 = 1000;

/// Lets one line through in a second, and counts the others. Shared by all event loops.
#[derive(Debug, Default)]
pub(crate) struct LogThrottle {
    next: AtomicU64,
    n_suppressed: AtomicU64,
}

/// The end of a line, which says how many there would have been before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SuppressedLines(u64);

impl LogThrottle {
    /// Whether one more is to be written now.
    pub(crate) fn admit(&self, now: Millis) -> Option<SuppressedLines> {
        let Millis(now) = now;
        let next = self.next.load(Ordering::Relaxed);
        let is_due = now >= next;
        // Of several threads one wins.
        let exchanged = |next| {
            self.next.compare_exchange(next, now + PAUSE, Ordering::Relaxed, Ordering::Relaxed).is_ok()
        };
        if is_due && exchanged(next) {
            return Some(SuppressedLines(self.n_suppressed.swap(0, Ordering::Relaxed)));
        }
        self.n_suppressed.fetch_add(1, Ordering::Relaxed);
        None
    }
}

impl fmt::Display for SuppressedLines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            0 => Ok(()),
            n => write!(f, " (and {n} more before)"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_said_in_a_second() {
        let throttle = LogThrottle::default();
        let said = |now| throttle.admit(Millis(now)).map(|suppressed| suppressed.to_string());
        assert_eq!(said(1000).as_deref(), Some(""));
        assert_eq!((said(1000), said(1999)), (None, None));
        assert_eq!(said(2000).as_deref(), Some(" (and 2 more before)"));
        assert_eq!(said(2500), None);
        assert_eq!(said(9000).as_deref(), Some(" (and 1 more before)"));
        assert_eq!(said(10_000).as_deref(), Some(""));
    }
}
