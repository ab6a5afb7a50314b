//! Both sides of a new worker: its own, and the one by which it is reached.

use std::io;
use std::os::fd::OwnedFd;

use corral_channel::WorkerEnd;
use corral_sys::doorbell::Doorbell;
use corral_sys::signal::Pid;

use crate::starting::Report;

/// Everything that a new worker has from its prototype.
pub(crate) struct Place {
    pub(crate) end: WorkerEnd,
    /// The prototype. A worker whose parent is another process has outlived it.
    pub(crate) parent: Pid,
    /// Where to report that it is ready, if that is waited for.
    pub(crate) report: Option<Report>,
    /// Wakes its event loop, if it may have one.
    pub(crate) doorbell: Option<Doorbell>,
}

impl Place {
    /// Keeps all of it from what the application forks.
    ///
    /// # Errors
    /// When memory is lacking.
    pub(crate) fn withhold_from_children(&mut self) -> io::Result<()> {
        self.end.withhold_from_children(self.doorbell.as_ref())?;
        self.report = self.report.take().map(Report::withheld_from_children).transpose()?;
        Ok(())
    }
}

/// The ways to reach a new worker.
#[derive(Debug)]
pub(crate) struct Access {
    /// The memory of its channel.
    pub(crate) memory: OwnedFd,
    /// Rings the bell of its event loop, if it may have one.
    pub(crate) bell: Option<OwnedFd>,
    /// Where its files come, if it may send any.
    pub(crate) files: Option<OwnedFd>,
}
