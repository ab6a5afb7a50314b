//! Lends the running request to objects of Python, which may live on when it has ended.

use std::ptr::NonNull;
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};

use corral_worker::Exchange;
use pyo3::prelude::*;

/// A request while it runs, and nothing afterwards.
#[derive(Default)]
pub(crate) struct Lease(Mutex<Option<Lent>>);

struct Lent(NonNull<dyn Exchange>);

// SAFETY: an `Exchange` may be used by another thread (it is `Send`), and the lease's mutex lets one in at a time.
unsafe impl Send for Lent {}

/// Takes the request back from its lease when dropped.
pub(crate) struct Loan<'a>(&'a Lease);

impl Lease {
    /// Lends `exchange` until the loan is dropped.
    ///
    /// # Safety
    /// The loan must be dropped, not forgotten, before `exchange` is used or gone.
    pub(crate) unsafe fn lend<'a>(&'a self, exchange: &'a mut (dyn Exchange + '_)) -> Loan<'a> {
        let exchange: *mut (dyn Exchange + '_) = exchange;
        // SAFETY: both are pointers to the same trait object; that it is used during its life is the caller's promise.
        let exchange: *mut (dyn Exchange + 'static) = unsafe { std::mem::transmute(exchange) };
        *self.lock() = NonNull::new(exchange).map(Lent);
        Loan(self)
    }

    /// Does something with the request that does not wait; `None` when it has ended.
    pub(crate) fn now<R: Send>(
        &self,
        py: Python<'_>,
        act: impl FnOnce(&mut dyn Exchange) -> R + Send,
    ) -> Option<R> {
        match self.0.try_lock() {
            Ok(lent) => act_on(lent, act),
            Err(TryLockError::Poisoned(lent)) => act_on(lent.into_inner(), act),
            // A thread that waits for the client has it.
            Err(TryLockError::WouldBlock) => self.wait(py, act),
        }
    }

    /// Looks at the request, unless it has ended or a thread that waits for the client has it. `look` runs no code of
    /// Python, which could come back here.
    pub(crate) fn peek<R>(&self, look: impl FnOnce(&mut dyn Exchange) -> R) -> Option<R> {
        act_on(self.0.try_lock().ok()?, look)
    }

    /// Does something that may wait; other threads of Python go on meanwhile.
    pub(crate) fn wait<R: Send>(
        &self,
        py: Python<'_>,
        act: impl FnOnce(&mut dyn Exchange) -> R + Send,
    ) -> Option<R> {
        py.detach(|| act_on(self.lock(), act))
    }

    fn lock(&self) -> MutexGuard<'_, Option<Lent>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn act_on<R>(mut lent: MutexGuard<'_, Option<Lent>>, act: impl FnOnce(&mut dyn Exchange) -> R) -> Option<R> {
    let Lent(exchange) = lent.as_mut()?;
    // SAFETY: it is lent, so it is alive and its owner does not use it; the guard keeps other threads out.
    let exchange = unsafe { exchange.as_mut() };
    Some(act(exchange))
}

impl Drop for Loan<'_> {
    fn drop(&mut self) {
        *self.0.lock() = None;
    }
}
