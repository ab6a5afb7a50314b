//! Workers that break the rules of the channel: they get nothing more, and main is told to end them.

use std::fmt;

use super::Pool;
use super::port::PoolPort;
use super::verdict::BrokenWorker;
use super::worker::WorkerKey;

impl<P: PoolPort> Pool<P> {
    /// Takes the worker out; says so once, however much else it breaks. What it holds and has not started stays
    /// there until `replace_broken`, as the caller that finds the damage may be walking over it.
    pub(crate) fn give_up(&mut self, worker: WorkerKey, reason: &dyn fmt::Display) {
        if self.find(worker).is_some() {
            self.give_up_at(worker.index, reason);
        }
    }

    pub(super) fn give_up_at(&mut self, worker: usize, reason: &dyn fmt::Display) {
        let Some(entry) = self.workers.get_mut(worker).filter(|entry| !entry.broken) else { return };
        entry.broken = true;
        entry.leaving = true;
        entry.epoch = entry.epoch.wrapping_add(1);
        let reason = format!("process {} breaks the rules of the channel: {reason}", entry.pid);
        self.broken.push(BrokenWorker { worker: entry.id, reason });
        self.idle.retain(|&idle| idle != worker);
    }

    /// Gives what broken workers have not started to others; returns those that main was not told of.
    pub(crate) fn replace_broken(&mut self) -> Vec<BrokenWorker> {
        let broken = std::mem::take(&mut self.broken);
        for BrokenWorker { worker, .. } in &broken {
            if let Some(index) = self.index_of(*worker) {
                self.take_back_all(index);
            }
        }
        if !broken.is_empty() {
            self.dispatch();
        }
        broken
    }
}
