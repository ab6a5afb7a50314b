//! Memory for the bodies of requests and responses that wait: what all of them together may take, in
//! the whole server (`settings.limits.buffered_bytes`). What is refused goes to files.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use corral_config::settings::ServerLimits;

/// The memory of all event loops.
#[derive(Debug)]
pub(crate) struct MemoryBudget {
    held: AtomicU64,
    most: AtomicU64,
}

thread_local! {
    /// The budget of the server, once the event loop has joined it.
    static BUDGET: RefCell<Arc<MemoryBudget>> = RefCell::default();
}

/// From now on, what this thread holds counts there.
pub(crate) fn join(budget: Arc<MemoryBudget>) {
    BUDGET.set(budget);
}

impl Default for MemoryBudget {
    fn default() -> Self {
        Self { held: AtomicU64::new(0), most: AtomicU64::new(ServerLimits::default().buffered_bytes) }
    }
}

impl MemoryBudget {
    /// Memory that is held already stays so.
    pub(crate) fn set_most(&self, bytes: u64) {
        self.most.store(bytes, Ordering::Relaxed);
    }

    /// Bytes that are held, and that may be.
    pub(crate) fn figures(&self) -> (u64, u64) {
        (self.held.load(Ordering::Relaxed), self.most.load(Ordering::Relaxed))
    }

    fn take(&self, bytes: u64) -> bool {
        let held = self.held.fetch_add(bytes, Ordering::Relaxed).saturating_add(bytes);
        let fits = held <= self.most.load(Ordering::Relaxed);
        if !fits {
            self.give(bytes);
        }
        fits
    }

    fn give(&self, bytes: u64) {
        self.held.fetch_sub(bytes, Ordering::Relaxed);
    }
}

/// Bytes that are held until they are dropped.
#[derive(Debug, Default)]
pub(crate) struct HeldMemory(u64);

impl HeldMemory {
    pub(crate) fn bytes(&self) -> u64 {
        self.0
    }

    /// Holds more, if there is so much.
    pub(crate) fn grow(&mut self, bytes: u64) -> bool {
        let grown = bytes == 0 || BUDGET.with_borrow(|budget| budget.take(bytes));
        if grown {
            self.0 += bytes;
        }
        grown
    }

    pub(crate) fn shrink(&mut self, bytes: u64) {
        self.0 -= bytes;
        // At the end of a thread the count is of no use any more.
        let _ = BUDGET.try_with(|budget| budget.borrow().give(bytes));
    }
}

impl Drop for HeldMemory {
    fn drop(&mut self) {
        if self.0 > 0 {
            self.shrink(self.0);
        }
    }
}

#[cfg(test)]
pub(crate) fn held() -> u64 {
    BUDGET.with_borrow(|budget| budget.held.load(Ordering::Relaxed))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_held_is_bounded_and_given_back() {
        let budget = Arc::<MemoryBudget>::default();
        budget.set_most(100);
        join(Arc::clone(&budget));
        let (mut one, mut other) = (HeldMemory::default(), HeldMemory::default());
        assert!(one.grow(60) && !other.grow(41) && other.grow(40) && other.grow(0));
        one.shrink(10);
        assert!(other.grow(10) && !other.grow(1));
        assert_eq!((one.bytes(), other.bytes(), budget.figures()), (50, 50, (100, 100)));
        drop(one);
        assert_eq!(held(), 50);
        budget.set_most(10);
        assert!(!other.grow(1));
        drop(other);
        assert_eq!(held(), 0);
    }
}
