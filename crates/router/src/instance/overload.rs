//! Counts requests that found too many others waiting: a line for each would make an overload worse.

use std::sync::atomic::{AtomicU32, Ordering};

/// Requests that were refused since this was last reported.
#[derive(Debug, Default)]
pub(crate) struct Overload {
    n_refused: AtomicU32,
}

impl Overload {
    pub(super) fn count(&self) {
        self.n_refused.fetch_add(1, Ordering::Relaxed);
    }

    /// Whether there is nothing to report.
    pub(super) fn is_empty(&self) -> bool {
        self.n_refused.load(Ordering::Relaxed) == 0
    }

    /// Logs how many there were; called once a second.
    pub(super) fn report(&self, app: &str) {
        let n_refused = self.n_refused.swap(0, Ordering::Relaxed);
        if n_refused > 0 {
            tracing::warn!(
                "\"{app}\": {n_refused} requests found no worker in time (limits.queue, limits.queue_timeout)"
            );
        }
    }
}
