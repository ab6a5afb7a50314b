//! Bytes that wait in a connection for its client, of all its streams together.

use std::cell::{Cell, RefCell};
use std::task::{Context, Waker};

/// Bytes from which on no stream adds more.
const MOST: usize = 128 * 1024;

/// Bytes of memory for replies that crate `h2` holds.
#[derive(Default)]
pub(super) struct UnsentBytes {
    n_bytes: Cell<usize>,
    waiting: RefCell<Vec<Waker>>,
}

impl UnsentBytes {
    pub(super) fn is_full(&self) -> bool {
        self.n_bytes.get() >= MOST
    }

    /// Wakes the task once there is room for several.
    pub(super) fn wait(&self, context: &Context<'_>) {
        self.waiting.borrow_mut().push(context.waker().clone());
    }

    pub(super) fn add(&self, n: usize) {
        self.n_bytes.set(self.n_bytes.get() + n);
    }

    pub(super) fn remove(&self, n: usize) {
        self.n_bytes.set(self.n_bytes.get() - n);
        if self.n_bytes.get() <= MOST / 2 {
            // All of them, because one that is woken need not want it any more.
            self.waiting.borrow_mut().drain(..).for_each(Waker::wake);
        }
    }
}
