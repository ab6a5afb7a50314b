//! The figures of `/status`, which many may want at a time: callers that come while a question is under way share the
//! next one.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use corral_ipc::message::Status;
use tokio::sync::Mutex;

use crate::main_link::MainLink;

/// Questions for figures, one at a time.
#[derive(Default)]
pub(crate) struct Figures {
    /// Questions that were begun.
    n_begun: AtomicU64,
    n_waiting: AtomicUsize,
    /// Held while a question is under way; the number of the last one, and its answer while others wait for one.
    last: Mutex<(u64, Option<Arc<Status>>)>,
}

impl Figures {
    /// Figures of a moment that is not before this call; none when main does not answer.
    pub(crate) async fn get(&self, main: &MainLink) -> Option<Arc<Status>> {
        let n_before = self.n_begun.load(Ordering::Relaxed);
        let waiting = Waiting::new(&self.n_waiting);
        let mut last = self.last.lock().await;
        drop(waiting);
        if last.0 <= n_before {
            last.0 = self.n_begun.fetch_add(1, Ordering::Relaxed) + 1;
            last.1 = main.status().await.ok().flatten().map(Arc::new);
        }
        let figures = last.1.clone();
        if self.n_waiting.load(Ordering::Relaxed) == 0 {
            last.1 = None;
        }
        figures
    }
}

/// Counts a caller that waits, also if that is given up.
struct Waiting<'w>(&'w AtomicUsize);

impl<'w> Waiting<'w> {
    fn new(n_waiting: &'w AtomicUsize) -> Self {
        n_waiting.fetch_add(1, Ordering::Relaxed);
        Self(n_waiting)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
