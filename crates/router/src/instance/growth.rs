//! Looks on time after the requests that wait for a worker, where `processes` is `"auto"`.

use std::sync::{Arc, Weak};
use std::time::Instant;

use corral_sys::usage;
use tokio::sync::Notify;

use super::app::AppInstance;
use super::pool::growth::LOOK;

/// Looks while requests of the application wait. Told that some do by `waiting`, which also has to be told when the
/// application is gone.
pub(super) async fn keep_looking(app: Weak<AppInstance>, waiting: Arc<Notify>) {
    loop {
        waiting.notified().await;
        loop {
            tokio::time::sleep(LOOK).await;
            let Some(app) = app.upgrade() else { return };
            if !app.look(Instant::now()) {
                break;
            }
        }
    }
}

impl AppInstance {
    /// Starts one more worker if that helps a request that waits; true while some do.
    fn look(&self, now: Instant) -> bool {
        let Some(mut candidates) = self.pool.lock().survey(now) else { return false };
        // Asks the system outside of the lock: event loops need that.
        candidates.retain(|&(_, pid)| usage::is_asleep(pid));
        let asleep: Vec<_> = candidates.into_iter().map(|(worker, _)| worker).collect();
        if self.pool.lock().grow(&asleep, now) {
            self.start_worker();
        }
        true
    }
}
