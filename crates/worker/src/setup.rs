//! The own side of a new worker.

use std::io;

use corral_channel::WorkerEnd;
use corral_sys::doorbell::Doorbell;
use corral_sys::signal::Pid;

use crate::starting::ReadyPipe;

/// Everything that a new worker has from its prototype.
pub(crate) struct WorkerSetup {
    pub(crate) end: WorkerEnd,
    /// The prototype. A worker whose parent is another process has outlived it.
    pub(crate) parent: Pid,
    /// Where to report that it is ready, if that is waited for.
    pub(crate) report: Option<ReadyPipe>,
    /// Wakes its event loop, if it may have one.
    pub(crate) doorbell: Option<Doorbell>,
}

impl WorkerSetup {
    /// Keeps all of it from what the application forks.
    ///
    /// # Errors
    /// When memory is lacking.
    pub(crate) fn withhold_from_children(&mut self) -> io::Result<()> {
        self.end.withhold_from_children(self.doorbell.as_ref())?;
        self.report = self.report.take().map(ReadyPipe::withheld_from_children).transpose()?;
        Ok(())
    }
}
