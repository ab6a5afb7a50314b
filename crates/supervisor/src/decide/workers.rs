//! The workers of one instance: those that run, those that were asked for, those that were told to end. `P` is a
//! process, which nothing here looks at.

use std::collections::{BTreeMap, BTreeSet};

use corral_config::plan::{AppSpec, RuntimeSpec};
use corral_ipc::message::{EndCause, WorkerId};

/// A worker that a prototype was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ForkOrder {
    /// The worker is waited for.
    Awaited,
    /// The worker is not waited for any more, for example because the router has died.
    Stale,
    /// The worker was not asked for, or the request was answered.
    Unasked,
}

/// How many workers there may be.
#[derive(Debug, Clone, Copy)]
struct Bounds {
    /// Workers that are always kept.
    n_spare: u32,
    n_most: u32,
    /// Workers that may be started at the same time.
    n_at_once: usize,
}

/// Programs of one application that are started at the same time.
const PROGRAMS_AT_ONCE: usize = 4;

/// The workers of an instance.
#[derive(Debug)]
pub(crate) struct Workers<P> {
    bounds: Bounds,
    /// The workers that run, with their processes as far as those could be found.
    running: BTreeMap<WorkerId, Option<P>>,
    /// The forks that were asked for and not answered yet.
    forking: BTreeSet<WorkerId>,
    /// Programs of those that run already.
    begun: BTreeMap<WorkerId, P>,
    /// The forks whose answers come too late for the router that has asked.
    stale: BTreeSet<WorkerId>,
    /// Programs that were told to end.
    retiring: BTreeSet<WorkerId>,
    /// Workers that are to be ended at once.
    killing: BTreeSet<WorkerId>,
    /// The reasons for ends that are about to come.
    causes: BTreeMap<WorkerId, EndCause>,
    /// Workers to fork after those.
    n_wanted: u32,
}

impl<P> Workers<P> {
    /// No workers yet. Programs that take long to start are started a few at a time, other workers one after the other.
    pub(crate) fn new(spec: &AppSpec) -> Self {
        let is_program = matches!(spec.runtime, RuntimeSpec::Http(_) | RuntimeSpec::Process(_));
        let n_at_once = if is_program { PROGRAMS_AT_ONCE } else { 1 };
        Self {
            bounds: Bounds { n_spare: spec.processes.spare, n_most: spec.processes.max.get(), n_at_once },
            running: BTreeMap::new(),
            forking: BTreeSet::new(),
            begun: BTreeMap::new(),
            stale: BTreeSet::new(),
            retiring: BTreeSet::new(),
            killing: BTreeSet::new(),
            causes: BTreeMap::new(),
            n_wanted: 0,
        }
    }

    /// The numbers of those that run.
    pub(crate) fn running(&self) -> impl Iterator<Item = WorkerId> {
        self.running.keys().copied()
    }

    /// The workers that run, with their processes, as far as they are known.
    pub(crate) fn processes(&self) -> impl Iterator<Item = (WorkerId, &P)> {
        self.running.iter().filter_map(|(worker, process)| Some((*worker, process.as_ref()?)))
    }

    /// Programs that are not ready for requests yet.
    pub(crate) fn starting(&self) -> impl Iterator<Item = (WorkerId, &P)> {
        self.begun.iter().map(|(worker, process)| (*worker, process))
    }

    /// Whether none runs.
    pub(crate) fn is_empty(&self) -> bool {
        self.running.is_empty()
    }

    /// The number of workers that run or are on their way.
    pub(crate) fn n_all(&self) -> usize {
        let n_wanted = usize::try_from(self.n_wanted).unwrap_or(usize::MAX);
        n_wanted.saturating_add(self.running.len() + self.forking.len())
    }

    /// Whether some were asked for that are still to be forked.
    pub(crate) fn are_wanted(&self) -> bool {
        self.n_wanted > 0
    }

    /// The number of workers that were asked for and have neither come nor failed.
    pub(crate) fn n_coming(&self) -> u32 {
        self.n_wanted + self.n_forking()
    }

    /// Whether a worker is on its way.
    pub(crate) fn is_forking(&self) -> bool {
        !self.forking.is_empty()
    }

    fn n_forking(&self) -> u32 {
        u32::try_from(self.forking.len()).unwrap_or(u32::MAX)
    }

    /// Asks for as many workers as are always kept.
    pub(crate) fn want_spare(&mut self) {
        let n_here = u32::try_from(self.running.len()).unwrap_or(u32::MAX);
        self.n_wanted = self.n_wanted.max(self.bounds.n_spare.saturating_sub(n_here));
    }

    /// Asks for one more worker; refused when as many as there may be at all are asked for already.
    pub(crate) fn want_one_more(&mut self) -> Result<(), String> {
        if self.n_wanted >= self.bounds.n_most {
            return Err(format!("{} workers were asked for and are still to be started", self.n_wanted));
        }
        self.n_wanted += 1;
        Ok(())
    }

    /// The next worker to fork, if it is time for one: not before there are fewer than twice the maximum, which leaves
    /// room for those that are about to leave.
    pub(crate) fn next_fork(&mut self, new_id: impl FnOnce() -> WorkerId) -> Option<WorkerId> {
        let n_here = self.running.len() + self.forking.len();
        let is_full = n_here as u64 >= 2 * u64::from(self.bounds.n_most);
        if self.forking.len() >= self.bounds.n_at_once || self.n_wanted == 0 || is_full {
            return None;
        }
        self.n_wanted -= 1;
        let worker = new_id();
        self.forking.insert(worker);
        Some(worker)
    }

    /// Whether a fork was asked for that has not been answered.
    pub(crate) fn fork_of(&self, worker: WorkerId) -> ForkOrder {
        match worker {
            _ if self.forking.contains(&worker) => ForkOrder::Awaited,
            _ if self.stale.contains(&worker) => ForkOrder::Stale,
            _ => ForkOrder::Unasked,
        }
    }

    /// A program of a fork that is awaited runs.
    pub(crate) fn has_begun(&mut self, worker: WorkerId, process: P) {
        self.begun.insert(worker, process);
    }

    /// Takes the programs that are not ready and have lost their prototype: they will never become workers.
    pub(crate) fn take_begun(&mut self) -> impl Iterator<Item = P> {
        std::mem::take(&mut self.begun).into_values()
    }

    /// A worker that was waited for has come.
    pub(crate) fn forked(&mut self, worker: WorkerId, process: Option<P>) {
        self.settle_fork(worker);
        self.running.insert(worker, process);
    }

    /// The fork was answered one way or the other. False for one that is not waited for any more.
    pub(crate) fn settle_fork(&mut self, worker: WorkerId) -> bool {
        self.stale.remove(&worker);
        self.begun.remove(&worker);
        self.forking.remove(&worker)
    }

    /// A worker is to be ended at once. False for one that is, or has ended.
    pub(crate) fn kill(&mut self, worker: WorkerId) -> bool {
        self.running.contains_key(&worker) && self.killing.insert(worker)
    }

    /// A program is told to end. False for one that has ended meanwhile.
    pub(crate) fn retire(&mut self, worker: WorkerId) -> bool {
        self.running.contains_key(&worker) && self.retiring.insert(worker)
    }

    /// A worker that runs is about to end, for this reason.
    pub(crate) fn note_cause(&mut self, worker: WorkerId, cause: EndCause) {
        if self.running.contains_key(&worker) {
            let known = self.causes.entry(worker).or_insert(cause);
            // Its router may say that it drains it, as it was told to as well.
            if *known != EndCause::Ended {
                *known = cause;
            }
        }
    }

    /// Takes the reason for the end of a worker, if there is one.
    pub(crate) fn take_cause(&mut self, worker: WorkerId) -> Option<EndCause> {
        self.causes.remove(&worker)
    }

    /// A worker has ended. Returns its process, and whether it was told to; nothing for one that is not known.
    pub(crate) fn ended(&mut self, worker: WorkerId) -> Option<(Option<P>, bool)> {
        let process = self.running.remove(&worker)?;
        self.killing.remove(&worker);
        Some((process, self.retiring.remove(&worker)))
    }

    /// The workers that are coming will not be forked; returns how many were waited for.
    pub(crate) fn give_up(&mut self) -> u32 {
        let n_given_up = self.n_coming();
        self.n_wanted = 0;
        self.stale.append(&mut self.forking);
        n_given_up
    }

    /// The prototype is gone: what was being forked has to be forked by the next one. Returns the workers that ran.
    pub(crate) fn lose_prototype(&mut self) -> BTreeMap<WorkerId, Option<P>> {
        self.n_wanted += self.n_forking();
        for numbers in [&mut self.forking, &mut self.stale, &mut self.retiring, &mut self.killing] {
            numbers.clear();
        }
        self.causes.clear();
        std::mem::take(&mut self.running)
    }

    /// Forgets all workers, because the router that had them is gone.
    pub(crate) fn lose_router(&mut self) -> Vec<WorkerId> {
        self.stale.append(&mut self.forking);
        self.retiring.clear();
        self.killing.clear();
        self.causes.clear();
        self.n_wanted = 0;
        std::mem::take(&mut self.running).into_keys().collect()
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{program, spec};

    use super::*;

    /// The workers of an application with two spare workers and at most two.
    fn workers() -> Workers<()> {
        let mut workers = Workers::new(&spec("a=/a"));
        workers.want_spare();
        workers
    }

    fn fork(workers: &mut Workers<()>, number: u32) -> Option<WorkerId> {
        workers.next_fork(|| WorkerId(number))
    }

    #[test]
    fn workers_are_forked_one_after_the_other() {
        let mut workers = workers();
        assert_eq!(fork(&mut workers, 1), Some(WorkerId(1)));
        assert_eq!(fork(&mut workers, 2), None, "the first is not there yet");
        workers.forked(WorkerId(1), None);
        assert_eq!(workers.n_coming(), 1);
        assert_eq!(fork(&mut workers, 2), Some(WorkerId(2)));
        assert!(workers.settle_fork(WorkerId(2)), "it failed");
        assert_eq!(workers.n_coming(), 0);
        assert_eq!(fork(&mut workers, 3), None);
    }

    #[test]
    fn programs_start_side_by_side_and_are_told_to_end() {
        let mut workers = Workers::new(&program("a"));
        workers.want_spare();
        assert_eq!((fork(&mut workers, 1), fork(&mut workers, 2)), (Some(WorkerId(1)), Some(WorkerId(2))));
        workers.forked(WorkerId(2), None);
        assert_eq!(workers.n_coming(), 1);
        workers.forked(WorkerId(1), None);
        assert_eq!(workers.n_coming(), 0);
        assert!(workers.kill(WorkerId(1)) && !workers.kill(WorkerId(1)) && !workers.kill(WorkerId(7)));
        assert!(workers.retire(WorkerId(1)) && !workers.retire(WorkerId(1)) && !workers.retire(WorkerId(7)));
        assert_eq!(workers.ended(WorkerId(1)), Some((None, true)));
        assert_eq!(workers.ended(WorkerId(2)), Some((None, false)));
        assert_eq!(workers.ended(WorkerId(2)), None);
    }

    #[test]
    fn only_what_runs_has_a_reason_to_end() {
        let mut workers = Workers::<()>::new(&program("a"));
        workers.want_spare();
        fork(&mut workers, 1);
        workers.has_begun(WorkerId(1), ());
        workers.note_cause(WorkerId(1), EndCause::Idle);
        assert_eq!((workers.starting().count(), workers.processes().count()), (1, 0));
        assert_eq!(workers.take_cause(WorkerId(1)), None);
        workers.forked(WorkerId(1), Some(()));
        assert_eq!((workers.starting().count(), workers.processes().count()), (0, 1));
        workers.note_cause(WorkerId(1), EndCause::Idle);
        workers.note_cause(WorkerId(1), EndCause::Drained);
        assert_eq!(workers.take_cause(WorkerId(1)), Some(EndCause::Drained), "the last one counts");
        assert_eq!(workers.take_cause(WorkerId(1)), None);
        workers.note_cause(WorkerId(1), EndCause::Idle);
        workers.lose_router();
        assert_eq!(workers.take_cause(WorkerId(1)), None);
    }

    #[test]
    fn a_greedy_router_waits_at_twice_the_maximum() {
        let mut workers = workers();
        assert!(workers.want_one_more().is_err(), "as many as there may be are asked for already");
        for number in 1..=4 {
            assert_eq!(fork(&mut workers, number), Some(WorkerId(number)));
            workers.forked(WorkerId(number), None);
            workers.want_one_more().expect("fewer than the maximum are asked for");
        }
        assert_eq!(fork(&mut workers, 5), None, "four are there");
        workers.ended(WorkerId(1));
        assert_eq!(fork(&mut workers, 5), Some(WorkerId(5)));
    }

    #[test]
    fn forks_for_a_dead_router_are_stale() {
        let mut workers = workers();
        fork(&mut workers, 1);
        workers.forked(WorkerId(1), None);
        fork(&mut workers, 2);
        assert_eq!(workers.lose_router(), [WorkerId(1)]);
        assert_eq!(
            [1, 2, 3].map(|number| workers.fork_of(WorkerId(number))),
            [ForkOrder::Unasked, ForkOrder::Stale, ForkOrder::Unasked]
        );
        assert!(!workers.settle_fork(WorkerId(2)));
        assert_eq!(workers.fork_of(WorkerId(2)), ForkOrder::Unasked, "it was answered");
        workers.want_spare();
        assert_eq!(fork(&mut workers, 3), Some(WorkerId(3)));
    }

    #[test]
    fn a_dead_prototype_owes_what_it_was_forking() {
        let mut workers = workers();
        fork(&mut workers, 1);
        assert!(workers.lose_prototype().is_empty());
        assert_eq!(workers.give_up(), 2);
    }
}
