//! Whether a connection is active: from its first request until all replies were sent, so that no process ends with one
//! that has not left.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::task::{Context, Waker};

use crate::services::LoopServices;

/// The requests of a connection that run, and whether it counts as active.
pub(super) struct Activity {
    services: Rc<LoopServices>,
    n_running: Cell<usize>,
    is_counted: Cell<bool>,
    /// The task of the connection, until the connection is over.
    waker: RefCell<Option<Waker>>,
}

impl Activity {
    pub(super) fn new(services: &Rc<LoopServices>) -> Self {
        Self {
            services: Rc::clone(services),
            n_running: Cell::new(0),
            is_counted: Cell::new(false),
            waker: RefCell::default(),
        }
    }

    /// Whether a request runs.
    pub(super) fn is_busy(&self) -> bool {
        self.n_running.get() > 0
    }

    /// A request has come.
    pub(super) fn begin_one(&self) {
        self.services.counters.requests.add(1);
        self.n_running.set(self.n_running.get() + 1);
        if !self.is_counted.replace(true) {
            self.services.counters.active.add(1);
        }
    }

    /// A request has been answered, or given up: the connection hears of the last one.
    pub(super) fn end_one(&self) {
        self.n_running.set(self.n_running.get() - 1);
        if self.is_busy() {
            return;
        }
        match self.waker.take() {
            Some(waker) => waker.wake(),
            None => self.rest_if_done(),
        }
    }

    /// The connection waits until something happens, or the last request that runs has ended.
    pub(super) fn note_poll(&self, context: &Context<'_>) {
        match &mut *self.waker.borrow_mut() {
            Some(waker) => waker.clone_from(context.waker()),
            none => *none = Some(context.waker().clone()),
        }
    }

    /// All replies were sent: the connection does not count any more unless a request runs.
    pub(super) fn rest_if_done(&self) {
        if !self.is_busy() && self.is_counted.replace(false) {
            self.services.counters.active.subtract(1);
        }
    }

    /// The connection is over; requests may still run.
    pub(super) fn end(&self) {
        drop(self.waker.take());
        self.rest_if_done();
    }
}

impl Drop for Activity {
    /// A connection whose task has panicked was not told of the end.
    fn drop(&mut self) {
        if self.is_counted.get() {
            self.services.counters.active.subtract(1);
        }
    }
}
