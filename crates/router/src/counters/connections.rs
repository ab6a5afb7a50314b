//! Connections as they are counted: until their guards are dropped, which a panic of their task does as well.

use std::sync::Arc;

use super::LoopCounters;

/// A connection that was accepted; it counts as closed when this is dropped.
pub(crate) struct OpenConnection(Arc<LoopCounters>);

/// A connection with something to do; it counts until this is dropped.
pub(crate) struct ActiveConnection<'c>(&'c LoopCounters);

impl OpenConnection {
    /// A connection that has been counted as accepted.
    pub(crate) fn accepted(counters: &Arc<LoopCounters>) -> Self {
        Self(Arc::clone(counters))
    }
}

impl Drop for OpenConnection {
    fn drop(&mut self) {
        self.0.closed.add(1);
    }
}

impl<'c> ActiveConnection<'c> {
    /// A connection gets something to do.
    pub(crate) fn begin(counters: &'c LoopCounters) -> Self {
        counters.active.add(1);
        Self(counters)
    }
}

impl Drop for ActiveConnection<'_> {
    fn drop(&mut self) {
        self.0.active.subtract(1);
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{self, AssertUnwindSafe};

    use super::*;

    #[test]
    fn a_connection_whose_task_panics_is_closed() {
        let counters = Arc::<LoopCounters>::default();
        let open = || (counters.active.get(), counters.closed.get());
        let serve = || {
            let _open = OpenConnection::accepted(&counters);
            let _active = ActiveConnection::begin(&counters);
            assert_eq!(open(), (1, 0));
            panic::resume_unwind(Box::new(()));
        };
        panic::catch_unwind(AssertUnwindSafe(serve)).unwrap_err();
        assert_eq!(open(), (0, 1));
    }
}
