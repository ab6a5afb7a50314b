//! How the router wakes a worker: by the word that it sleeps on, or by the bell of its event loop.

use std::sync::Arc;

use corral_sys::doorbell::BellPush;

use crate::mapped::layout::WorkerHeader;
use crate::mapped::region::SharedView;
use crate::sleep::Bed;

/// The ways to one worker.
#[derive(Debug, Clone)]
pub(crate) struct Waker {
    header: SharedView<WorkerHeader>,
    bell: Option<Arc<BellPush>>,
}

/// A worker that sleeps and has to be woken.
#[derive(Debug)]
#[must_use]
pub struct Sleeper(Asleep);

#[derive(Debug)]
enum Asleep {
    OnWord(SharedView<WorkerHeader>),
    /// One that has no bell is hostile: it never gave one.
    AtBell(Option<Arc<BellPush>>),
}

impl Waker {
    pub(crate) fn new(header: SharedView<WorkerHeader>, bell: Option<BellPush>) -> Self {
        Self { header, bell: bell.map(Arc::new) }
    }

    /// Makes the caller the one to wake the worker, if that sleeps. No system call.
    pub(crate) fn claim(&self) -> Option<Sleeper> {
        Some(Sleeper(match self.header.sleeping.0.claim_bed()? {
            Bed::Word => Asleep::OnWord(self.header.clone()),
            Bed::Bell => Asleep::AtBell(self.bell.clone()),
        }))
    }

    /// Wakes the worker if it sleeps; true if that took a system call.
    pub(crate) fn wake(&self) -> bool {
        let sleeper = self.claim();
        let asleep = sleeper.is_some();
        if let Some(sleeper) = sleeper {
            sleeper.wake();
        }
        asleep
    }
}

impl Sleeper {
    /// One system call.
    pub fn wake(self) {
        match self.0 {
            Asleep::OnWord(header) => header.sleeping.0.end_sleep(),
            Asleep::AtBell(bell) => {
                // Fails when the worker is gone.
                let _ = bell.map(|bell| bell.ring());
            }
        }
    }
}
