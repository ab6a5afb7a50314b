//! The resources that workers use. Looking at all of them takes too long where there are thousands, so the last figures
//! are kept, and a look is at those that were not looked at for longest.

use std::time::{Duration, Instant};

use corral_sys::usage::ProcessUsage;

use super::Pool;
use super::port::PoolPort;
use super::worker::WorkerKey;

/// When a worker was looked at last.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LastLook {
    at: Option<Instant>,
    pub(crate) worker: WorkerKey,
    pub(crate) pid: u32,
}

/// Up to so many of them: those that were not looked at for longest.
pub(crate) fn oldest(mut looks: Vec<LastLook>, most: usize) -> Vec<LastLook> {
    looks.sort_by_key(|look| look.at);
    looks.truncate(most);
    looks
}

/// The resources of all workers together, as they were when each was looked at.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct UsageSum {
    pub(crate) resident: u64,
    pub(crate) anonymous: u64,
    pub(crate) cpu: Duration,
}

impl<P: PoolPort> Pool<P> {
    /// The workers whose processes are known.
    pub(crate) fn looks(&self) -> Vec<LastLook> {
        let known = self.workers.iter().filter(|(_, worker)| worker.pid != 0);
        known
            .map(|(index, worker)| LastLook {
                at: worker.usage.map(|(at, _)| at),
                worker: WorkerKey { index, id: worker.id },
                pid: worker.pid,
            })
            .collect()
    }

    /// Keeps what was seen of these workers.
    pub(crate) fn note_usage(&mut self, seen: &[(WorkerKey, ProcessUsage)], now: Instant) {
        for (key, usage) in seen {
            if let Some(worker) = self.find(*key) {
                worker.usage = Some((now, *usage));
            }
        }
    }

    /// The sum over all workers that were looked at.
    pub(crate) fn usage(&self) -> UsageSum {
        let seen = self.workers.iter().filter_map(|(_, worker)| worker.usage);
        seen.fold(UsageSum::default(), |sum, (_, usage)| UsageSum {
            resident: sum.resident.saturating_add(usage.resident),
            anonymous: sum.anonymous.saturating_add(usage.anonymous),
            cpu: sum.cpu.saturating_add(usage.cpu),
        })
    }
}
