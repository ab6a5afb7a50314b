//! Memory of workers where each page counts in equal parts for the processes that share it (PSS). A look at one process
//! takes up to some milliseconds, so the last figures are kept, and a look is at those that were not looked at for
//! longest.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::{Duration, Instant};

use corral_ipc::message::{AppId, WorkerId};
use corral_sys::child_check::VerifiedChild;
use corral_sys::process_use::ProcessUse;
use corral_sys::usage;

use super::Children;
use super::look_budget::LARGEST;
use super::workers::number;

/// Where more processes run, none is looked at: each would be too seldom.
const MOST_PROCESSES: usize = 1024;

/// The time for the looks of one question. The last one may take longer, by what the largest process takes.
const LONGEST_LOOK: Duration = Duration::from_millis(2);

type Place = (AppId, WorkerId);

/// The figures of all workers, as they were when each was looked at.
#[derive(Debug, Default)]
pub(crate) struct ProportionalMemory {
    seen: BTreeMap<Place, Seen>,
    n_looks: u64,
}

#[derive(Debug, Clone, Copy)]
struct Seen {
    /// The number of the look.
    look: u64,
    /// Bytes; none where the system did not tell, or was not asked.
    bytes: Option<u64>,
}

impl ProportionalMemory {
    /// Looks at processes while there is time, at one at least; forgets those that have ended.
    fn look<P>(
        &mut self,
        processes: &[(Place, P)],
        mut has_time: impl FnMut() -> bool,
        measure: impl Fn(&P) -> Option<u64>,
    ) {
        if processes.len() > MOST_PROCESSES {
            return self.seen.clear();
        }
        let present: BTreeSet<_> = processes.iter().map(|(place, _)| *place).collect();
        self.seen.retain(|place, _| present.contains(place));
        let mut oldest: Vec<_> = processes.iter().collect();
        oldest.sort_by_key(|(place, _)| self.seen.get(place).map(|seen| seen.look));
        for (place, process) in oldest {
            self.n_looks += 1;
            self.seen.insert(*place, Seen { look: self.n_looks, bytes: measure(process) });
            if !has_time() {
                return;
            }
        }
    }

    /// The sum over workers; none before each of them was looked at.
    fn sum(&self, workers: impl Iterator<Item = Place>) -> Option<u64> {
        workers
            .map(|place| self.seen.get(&place)?.bytes)
            .try_fold(0_u64, |sum, bytes| sum.checked_add(bytes?))
    }
}

impl Children {
    /// The memory of the processes of each application by their shares, as far as it is known.
    pub(crate) fn proportional_memory(&mut self) -> HashMap<String, u64> {
        let Self { apps, proportional, looks, .. } = self;
        let processes: Vec<(Place, &VerifiedChild)> = apps
            .iter()
            .flat_map(|(id, app)| app.workers.processes().map(|(worker, process)| ((*id, worker), process)))
            .collect();
        let began = Instant::now();
        let time = looks.left(began).min(LONGEST_LOOK);
        if !time.is_zero() && !processes.is_empty() {
            proportional.look(&processes, || began.elapsed() < time, |process| measure(process));
            looks.note(began, Instant::now());
        }
        let mut by_name: HashMap<String, Option<u64>> = HashMap::new();
        for (id, app) in apps.iter() {
            let bytes = proportional.sum(app.workers.processes().map(|(worker, _)| (*id, worker)));
            let sum = by_name.entry(app.spec.name.clone()).or_insert(Some(0));
            *sum = sum.zip(bytes).map(|(sum, bytes)| sum.saturating_add(bytes));
        }
        by_name.into_iter().filter_map(|(name, sum)| Some((name, sum?))).collect()
    }
}

fn measure(process: &VerifiedChild) -> Option<u64> {
    let pid = number(process);
    let is_small = ProcessUse::of(pid)?.memory <= LARGEST;
    let bytes = if is_small { usage::proportional_memory(pid) } else { None };
    bytes.filter(|_| process.has_number())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(worker: u32) -> Place {
        (AppId(1), WorkerId(worker))
    }

    fn processes(workers: &[u32]) -> Vec<(Place, u64)> {
        workers.iter().map(|worker| (place(*worker), u64::from(*worker))).collect()
    }

    /// Looks at so many of them; each has as many bytes as its number says.
    fn look(memory: &mut ProportionalMemory, workers: &[u32], mut n_looks: usize) {
        let has_time = || {
            n_looks -= 1;
            n_looks > 0
        };
        memory.look(&processes(workers), has_time, |bytes| Some(*bytes));
    }

    fn sum(memory: &ProportionalMemory, workers: &[u32]) -> Option<u64> {
        memory.sum(workers.iter().map(|worker| place(*worker)))
    }

    #[test]
    fn each_is_looked_at_in_turn() {
        let mut memory = ProportionalMemory::default();
        look(&mut memory, &[1, 2, 3], 2);
        assert_eq!((sum(&memory, &[1, 2]), sum(&memory, &[1, 2, 3])), (Some(3), None));
        look(&mut memory, &[1, 2, 3], 1);
        assert_eq!(sum(&memory, &[1, 2, 3]), Some(6));
        // The oldest figure is that of the first one.
        memory.look(&processes(&[1, 2, 3]), || false, |_| Some(10));
        assert_eq!(sum(&memory, &[1, 2, 3]), Some(15));
        look(&mut memory, &[1, 2, 3, 4], 1);
        assert_eq!((sum(&memory, &[4]), sum(&memory, &[1])), (Some(4), Some(10)));
    }

    #[test]
    fn processes_that_have_ended_are_forgotten() {
        let mut memory = ProportionalMemory::default();
        look(&mut memory, &[1, 2], 2);
        look(&mut memory, &[2], 1);
        assert_eq!((memory.seen.len(), sum(&memory, &[1])), (1, None));
        let many: Vec<_> = (0..=1024).collect();
        look(&mut memory, &many, 2000);
        assert!(memory.seen.is_empty());
        look(&mut memory, &many[1..], 2000);
        assert_eq!(memory.seen.len(), MOST_PROCESSES);
    }

    #[test]
    fn a_process_that_hides_makes_the_sum_unknown() {
        let mut memory = ProportionalMemory::default();
        memory.look(&processes(&[1, 2]), || true, |bytes| (*bytes > 1).then_some(*bytes));
        assert_eq!((sum(&memory, &[1, 2]), sum(&memory, &[2]), sum(&memory, &[])), (None, Some(2), Some(0)));
        memory.look(&processes(&[1, 2]), || true, |_| Some(u64::MAX));
        assert_eq!(sum(&memory, &[1, 2]), None);
    }
}
