//! Commands of the control thread to an event loop.

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use corral_channel::{Bell, LaneReceiver, RequestId};
use corral_config::Config;
use corral_config::address::ListenAddress;
use corral_ipc::message::{AppId, Exit};

use crate::generation::Generation;
use crate::instance::{AppFailure, AppInstance, DeadWorker, WorkerKey};
use crate::services::countdown::Countdown;

/// A command of the control thread.
pub(crate) enum LoopCommand {
    /// An application whose workers may answer from now on.
    AddApp {
        app: Arc<AppInstance>,
        bell: Arc<Bell>,
    },
    RemoveApp {
        app: AppId,
    },
    AddWorker {
        worker: Arc<NewWorker>,
        receiver: LaneReceiver,
    },
    RemoveWorker {
        app: AppId,
        dead: Arc<DeadWorker>,
        exit: Exit,
    },
    Fail {
        app: AppId,
        id: RequestId,
        failure: AppFailure,
    },
    /// A new generation and the sockets of its listeners.
    Swap {
        generation: Arc<Generation>,
        /// The loop's copy of its configuration.
        config: Arc<Config>,
        sockets: Vec<(ListenAddress, Vec<Arc<OwnedFd>>)>,
        done: Countdown,
    },
    /// Finish what is being done at this moment: what clients have seen of it is counted and logged then.
    Settle {
        done: Countdown,
    },
    /// Stop accepting, finish what is in progress. Connections may wait for a request for as long as is said.
    Finish {
        keep_idle: Duration,
        /// Until nothing is accepted any more.
        closed: Countdown,
        done: Countdown,
    },
}

/// A worker that takes requests as soon as every loop listens to it.
pub(crate) struct NewWorker {
    pub(crate) app: Arc<AppInstance>,
    pub(crate) key: WorkerKey,
    /// Loops that do not listen yet.
    n_missing: AtomicUsize,
}

impl NewWorker {
    pub(crate) fn new(app: Arc<AppInstance>, key: WorkerKey, n_loops: usize) -> Self {
        Self { app, key, n_missing: AtomicUsize::new(n_loops) }
    }

    /// One more loop listens; with the last one it takes requests.
    pub(super) fn is_heard(&self) {
        if self.n_missing.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.app.enable_worker(self.key);
        }
    }
}
