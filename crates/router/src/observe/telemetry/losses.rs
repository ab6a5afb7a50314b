//! Losses on the way to a collector: counted, and said from time to time.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// How long a collector may take for what is sent at once; then that is lost.
pub(super) const TIMEOUT: Duration = Duration::from_secs(10);

/// Between two words about what was lost.
const QUIET: Duration = Duration::from_secs(60);

/// The losses of one kind.
pub(super) struct Losses {
    endpoint: String,
    /// In the plural.
    kind: &'static str,
    /// How many found no place in the queue, or could not be sent.
    n_lost: Arc<AtomicU64>,
    last_word: Option<Instant>,
}

impl Losses {
    pub(super) fn new(endpoint: String, kind: &'static str, n_lost: Arc<AtomicU64>) -> Self {
        Self { endpoint, kind, n_lost, last_word: None }
    }

    /// Counts so many, and says what was lost if that was not said of late.
    pub(super) fn note(&mut self, n: u64, reason: Option<&str>) {
        self.n_lost.fetch_add(n, Ordering::Relaxed);
        if self.last_word.is_some_and(|last| last.elapsed() < QUIET) {
            return;
        }
        let n_lost = self.n_lost.swap(0, Ordering::Relaxed);
        if n_lost > 0 {
            self.last_word = Some(Instant::now());
            let Self { endpoint, kind, .. } = self;
            let reason = reason.unwrap_or("the queue was full");
            tracing::warn!("telemetry to \"{endpoint}\": {n_lost} {kind} lost: {reason}");
        }
    }
}
