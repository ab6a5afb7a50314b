//! Checks of passwords that are under way. Requests with the same credentials wait for one of them: a page with sixty
//! images has its browser send the same password sixty times before the first one is known to be right.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::OnceCell;

use super::secret_cache::{Digest, HashKey};

/// The checks of one file.
pub(super) struct PasswordChecks {
    key: HashKey,
    running: Mutex<HashMap<Digest, Arc<OnceCell<bool>>>>,
}

/// One request's share in a check.
struct CheckShare<'c> {
    checks: &'c PasswordChecks,
    digest: Digest,
    outcome: Arc<OnceCell<bool>>,
}

impl PasswordChecks {
    pub(super) fn new() -> Self {
        Self { key: HashKey::generate(), running: Mutex::default() }
    }

    /// Whether these credentials are right: by the check that runs, or by this one. The others try themselves if it
    /// fails, or is given up. Cancel safe.
    pub(super) async fn run<E, C: Future<Output = Result<bool, E>>>(
        &self,
        credentials: [&[u8]; 2],
        check: impl FnOnce() -> C,
    ) -> Result<bool, E> {
        let share = self.join(self.key.digest(credentials));
        share.outcome.get_or_try_init(check).await.copied()
    }

    fn join(&self, digest: Digest) -> CheckShare<'_> {
        let outcome = Arc::clone(self.running.lock().entry(digest).or_default());
        CheckShare { checks: self, digest, outcome }
    }
}

impl Drop for CheckShare<'_> {
    fn drop(&mut self) {
        let mut running = self.checks.running.lock();
        // This one and the table's.
        if Arc::strong_count(&self.outcome) == 2 {
            running.remove(&self.digest);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    /// So many requests ask at the same time, and the check that is the n-th says this. The answers, and how many
    /// checks there were.
    async fn ask(
        n_requests: usize,
        says: impl Fn(u32) -> Result<bool, ()> + Copy,
    ) -> (Vec<Result<bool, ()>>, u32) {
        let checks = &PasswordChecks::new();
        let n_checks = &Cell::new(0);
        let check = || async {
            n_checks.set(n_checks.get() + 1);
            let said = says(n_checks.get());
            tokio::task::yield_now().await;
            said
        };
        let mut asking: Vec<_> = (0..n_requests).map(|_| Box::pin(checks.run([b"a", b"b"], check))).collect();
        // All of them have begun.
        for request in &mut asking {
            assert!(crate::io::now(request.as_mut()).await.is_none());
        }
        let mut answers = Vec::new();
        for request in asking {
            answers.push(request.await);
        }
        assert!(checks.running.lock().is_empty());
        (answers, n_checks.get())
    }

    #[tokio::test]
    async fn the_same_is_checked_once() {
        assert_eq!(ask(60, |_| Ok(true)).await, (vec![Ok(true); 60], 1));
        assert_eq!(ask(1, |_| Ok(false)).await, (vec![Ok(false)], 1));
    }

    #[tokio::test]
    async fn others_try_themselves_when_a_check_fails() {
        let says = |n| if n == 1 { Err(()) } else { Ok(false) };
        assert_eq!(ask(3, says).await, (vec![Err(()), Ok(false), Ok(false)], 2));
    }
}
