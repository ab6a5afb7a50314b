//! Numbers that are never used twice.

use corral_ipc::message::{AppId, WorkerId};

/// A router and those that are started in its place when it dies.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct RouterId(pub(crate) u32);

/// Numbers of instances and of workers.
#[derive(Debug, Default)]
pub(crate) struct Ids {
    app: u32,
    worker: u32,
}

impl Ids {
    pub(crate) fn next_app(&mut self) -> AppId {
        self.app += 1;
        AppId(self.app)
    }

    pub(crate) fn next_worker(&mut self) -> WorkerId {
        self.worker += 1;
        WorkerId(self.worker)
    }
}
