//! Leases on an instance: as long as there is one, it is needed; others may wait for the end.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use corral_ipc::message::FromRouter;
use parking_lot::MutexGuard;

use super::app::AppInstance;
use super::pool::Pool;
use super::port::AnyPort;

/// A generation's claim on an application instance. When the last one is gone, so are all requests
/// that could still name the instance, and `main` may stop its processes once it is quiet.
pub(crate) struct InstanceLease(pub(crate) Arc<AppInstance>);

impl Drop for InstanceLease {
    fn drop(&mut self) {
        self.0.retired.store(true, Ordering::Relaxed);
        let mut pool = self.0.pool.lock();
        pool.retire();
        self.0.conclude_if_unused(pool);
    }
}

impl AppInstance {
    /// Has another instance wait until this one, which is in use, has finished.
    pub(crate) fn precede(&self, successor: &Arc<Self>) {
        successor.pool.lock().hold();
        *self.successor.lock() = Some(Arc::clone(successor));
    }

    /// The instance's processes have ended: whatever waits for it need not wait longer.
    pub(crate) fn make_way(&self) {
        let successor = self.successor.lock().take();
        if let Some(successor) = successor {
            successor.pool.lock().go_on(Instant::now());
            successor.tick(Instant::now());
        }
    }

    /// The last request of an instance that no generation refers to has ended, so that none can come any more.
    pub(super) fn conclude_if_unused(&self, pool: MutexGuard<'_, Pool<AnyPort>>) {
        let is_unused = self.retired.load(Ordering::Relaxed) && pool.n_active() == 0;
        drop(pool);
        if is_unused && !self.concluded.swap(true, Ordering::Relaxed) {
            self.main.send(&FromRouter::AppUnused { app: self.id });
            self.make_way();
        }
    }
}
