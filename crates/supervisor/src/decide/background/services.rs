//! Processes that run all the time: each is started again when it ends, at once at first, then ever later. Where a
//! queue decides how many there are, further ones are told to end.

use std::time::Instant;

use corral_config::plan::AppSpec;
use corral_ipc::message::{QueueStatus, WorkerId};

use super::CommandStep;
use super::demand::QueueDemand;
use crate::decide::backoff::Backoff;

/// As many processes as there are to be.
#[derive(Debug)]
pub(super) struct Services {
    slots: Vec<ServiceSlot>,
    /// Without it, the number of slots never changes.
    demand: Option<QueueDemand>,
    /// Slots at most, those among them whose processes were told to end.
    most: usize,
    /// When the number of slots is looked at.
    fit_at: Option<Instant>,
}

/// The place of one process, and of those that are started after it.
#[derive(Debug)]
struct ServiceSlot {
    state: ServiceState,
    backoff: Backoff,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ServiceState {
    /// The backoff says when it is started.
    Down,
    /// A start is wanted.
    Wanted,
    /// The start was asked for.
    Starting(WorkerId),
    Running(WorkerId),
    /// Told to end, as fewer processes are wanted.
    Leaving(WorkerId),
}

impl ServiceState {
    fn is_of(self, worker: WorkerId) -> bool {
        matches!(self, Self::Starting(other) | Self::Running(other) | Self::Leaving(other) if other == worker)
    }
}

impl ServiceSlot {
    fn new(now: Instant) -> Self {
        let mut backoff = Backoff::new(now);
        backoff.start_at(now);
        Self { state: ServiceState::Down, backoff }
    }

    fn fail(&mut self, now: Instant) {
        self.state = ServiceState::Down;
        self.backoff.failed(now);
    }
}

impl Services {
    pub(super) fn of(spec: &AppSpec, now: Instant) -> Self {
        let demand = QueueDemand::of(spec);
        let most = spec.processes.max.get();
        let number = demand.as_ref().map_or(most, QueueDemand::wanted);
        let slots = (0..number).map(|_| ServiceSlot::new(now)).collect();
        Self { slots, demand, most: usize::try_from(most).unwrap_or(usize::MAX), fit_at: None }
    }

    pub(super) fn deadline(&self) -> Option<Instant> {
        let down = self.slots.iter().filter(|slot| slot.state == ServiceState::Down);
        down.filter_map(|slot| slot.backoff.restart_at()).chain(self.fit_at).min()
    }

    pub(super) fn look(&mut self, now: Instant) -> Vec<CommandStep> {
        let mut steps = self.fit(now);
        for slot in self.slots.iter_mut().filter(|slot| slot.state == ServiceState::Down) {
            if slot.backoff.restart_at().is_some_and(|at| at <= now) {
                slot.state = ServiceState::Wanted;
                steps.push(CommandStep::Start);
            }
        }
        steps
    }

    /// Has as many slots as are wanted, and tells further processes to end, the latest first.
    fn fit(&mut self, now: Instant) -> Vec<CommandStep> {
        self.fit_at = None;
        let Some(wanted) = self.n_wanted() else { return Vec::new() };
        let n_staying = self.n_staying();
        let n_new = wanted.saturating_sub(n_staying).min(self.most.saturating_sub(self.slots.len()));
        self.slots.extend((0..n_new).map(|_| ServiceSlot::new(now)));
        let mut excess = n_staying.saturating_sub(wanted);
        while excess > 0
            && let Some(idx) = self.slots.iter().rposition(|slot| slot.state == ServiceState::Down)
        {
            self.slots.remove(idx);
            excess -= 1;
        }
        self.slots.iter_mut().rev().filter_map(ServiceSlot::leave).take(excess).collect()
    }

    /// Processes that are to be, if a queue says so.
    fn n_wanted(&self) -> Option<usize> {
        self.demand.as_ref().map(|demand| usize::try_from(demand.wanted()).unwrap_or(usize::MAX))
    }

    fn n_staying(&self) -> usize {
        self.slots.iter().filter(|slot| !matches!(slot.state, ServiceState::Leaving(_))).count()
    }

    pub(super) fn measured(&mut self, length: Result<u64, String>, now: Instant) {
        if let Some(demand) = &mut self.demand {
            demand.measured(length, now);
            self.fit_at = Some(now);
        }
    }

    pub(super) fn forking(&mut self, worker: WorkerId, now: Instant) {
        if let Some(slot) = self.slots.iter_mut().find(|slot| slot.state == ServiceState::Wanted) {
            slot.state = ServiceState::Starting(worker);
            slot.backoff.started(now);
        }
    }

    /// A process runs: from now on it can be told to end.
    pub(super) fn begun(&mut self, worker: WorkerId, now: Instant) {
        if let Some(slot) = self.slots.iter_mut().find(|slot| slot.state == ServiceState::Starting(worker)) {
            slot.state = ServiceState::Running(worker);
            if self.n_wanted().is_some_and(|wanted| wanted < self.n_staying()) {
                self.fit_at = Some(now);
            }
        }
    }

    pub(super) fn ended(&mut self, worker: WorkerId, now: Instant) {
        let Some(idx) = self.slots.iter().position(|slot| slot.state.is_of(worker)) else { return };
        if self.slots[idx].state == ServiceState::Leaving(worker) {
            self.slots.remove(idx);
            self.fit_at = Some(now);
        } else {
            self.slots[idx].fail(now);
        }
    }

    pub(super) fn lost(&mut self, now: Instant) {
        self.slots.retain(|slot| !matches!(slot.state, ServiceState::Leaving(_)));
        self.slots.iter_mut().filter(|slot| slot.state != ServiceState::Down).for_each(|slot| slot.fail(now));
        self.fit_at = self.demand.is_some().then_some(now);
    }

    pub(super) fn queue(&self) -> Option<QueueStatus> {
        self.demand.as_ref().map(QueueDemand::status)
    }
}

impl ServiceSlot {
    fn leave(&mut self) -> Option<CommandStep> {
        let ServiceState::Running(worker) = self.state else { return None };
        self.state = ServiceState::Leaving(worker);
        Some(CommandStep::Retire(worker))
    }
}

#[cfg(test)]
mod tests;
