//! How many workers applications had, how often they crashed, how often they ran, and how long they had processors: by
//! name, so that the counts go on when an application is restarted. They leave with the name.

use std::collections::BTreeMap;
use std::time::Duration;

use corral_ipc::message::{EndCause, ScheduleStatus, WorkerCounts};

/// The records of all applications.
#[derive(Debug, Default)]
pub(crate) struct WorkerRecords(BTreeMap<String, WorkerRecord>);

/// The record of one application.
#[derive(Debug, Default)]
pub(crate) struct WorkerRecord {
    pub(crate) counts: WorkerCounts,
    /// The processes that have ended otherwise than they should: how many, and how the last one did.
    pub(crate) n_crashes: u64,
    pub(crate) last_crash: Option<String>,
    /// The time on processors of instances that have ended.
    pub(crate) cpu: Duration,
    /// The runs of instances that have ended, if one had a schedule; no more than counts.
    pub(crate) runs: Option<ScheduleStatus>,
}

impl WorkerRecords {
    /// A worker has begun.
    pub(crate) fn start(&mut self, name: &str) {
        let started = &mut self.record(name).counts.started;
        *started = started.saturating_add(1);
    }

    /// A worker has ended.
    pub(crate) fn end(&mut self, name: &str, cause: EndCause) {
        self.record(name).counts.end(cause);
    }

    /// A process has ended otherwise than it should.
    pub(crate) fn crash(&mut self, name: &str, how: String) {
        let record = self.record(name);
        record.n_crashes = record.n_crashes.saturating_add(1);
        record.last_crash = Some(how);
    }

    /// An instance has ended that has had processors for so long, with these runs if it has a schedule.
    pub(crate) fn end_instance(&mut self, name: &str, cpu: Duration, runs: Option<&ScheduleStatus>) {
        let record = self.record(name);
        record.cpu = record.cpu.saturating_add(cpu);
        runs.into_iter().for_each(|runs| record.runs.get_or_insert_default().count(runs));
    }

    /// The runs of instances that have ended, by application.
    pub(crate) fn runs(&self) -> impl Iterator<Item = (&str, &ScheduleStatus)> {
        self.0.iter().filter_map(|(name, record)| Some((&**name, record.runs.as_ref()?)))
    }

    /// The name has left.
    pub(crate) fn forget(&mut self, name: &str) {
        self.0.remove(name);
    }

    /// The record of an application.
    pub(crate) fn of(&self, name: &str) -> Option<&WorkerRecord> {
        self.0.get(name)
    }

    fn record(&mut self, name: &str) -> &mut WorkerRecord {
        if !self.0.contains_key(name) {
            self.0.insert(name.to_owned(), WorkerRecord::default());
        }
        self.0.get_mut(name).expect("it was just added if it was missing")
    }
}

/// The time that the processes of one instance have had processors. It never becomes less, although it is read at
/// different moments: that of workers that run, and that of the prototype, which has the time of those that have ended.
#[derive(Debug, Default)]
pub(crate) struct CpuTotal {
    /// The time of prototypes that have ended, with their workers.
    past: Duration,
    /// The time of the prototype, unless a worker of it has ended since that was read.
    prototype: Option<Duration>,
    /// The highest sum of this prototype and its workers.
    present: Duration,
}

impl CpuTotal {
    /// The workers that run have had processors for so long; the time of the prototype is read if it has changed.
    pub(crate) fn note(&mut self, workers: Duration, read_prototype: impl FnOnce() -> Option<Duration>) {
        self.prototype = self.prototype.or_else(read_prototype);
        let sum = self.prototype.unwrap_or_default().saturating_add(workers);
        self.present = self.present.max(sum);
    }

    /// A worker has begun or ended.
    pub(crate) fn worker_changed(&mut self) {
        self.prototype = None;
    }

    /// The prototype has ended.
    pub(crate) fn prototype_ended(&mut self) {
        self.past = self.total();
        (self.prototype, self.present) = (None, Duration::ZERO);
    }

    /// All of it.
    pub(crate) fn total(&self) -> Duration {
        self.past.saturating_add(self.present)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_go_on_until_the_name_leaves() {
        let mut records = WorkerRecords::default();
        records.start("a");
        records.start("a");
        records.end("a", EndCause::Signal);
        records.crash("a", "process 1 exited on signal 9".to_owned());
        records.start("b");
        let ten = Duration::from_secs(10);
        let runs = |runs| ScheduleStatus { runs, failed: 1, ..ScheduleStatus::default() };
        records.end_instance("a", ten, Some(&ScheduleStatus { waiting: 3, ..runs(5) }));
        records.end_instance("a", Duration::ZERO, Some(&runs(2)));
        records.end_instance("b", ten, None);
        let record = records.of("a").unwrap();
        assert_eq!((record.counts.started, record.counts.ended[1], record.cpu), (2, 1, ten));
        assert_eq!(
            (record.n_crashes, record.last_crash.as_deref()),
            (1, Some("process 1 exited on signal 9"))
        );
        assert_eq!(records.runs().collect::<Vec<_>>(), [("a", &ScheduleStatus { failed: 2, ..runs(7) })]);
        records.forget("a");
        assert!(records.of("a").is_none());
        assert_eq!(records.of("b").map(|record| (record.counts.started, record.cpu)), Some((1, ten)));
    }

    #[test]
    fn time_on_processors_never_becomes_less() {
        let second = Duration::from_secs;
        let mut cpu = CpuTotal::default();
        cpu.note(second(5), || Some(second(1)));
        assert_eq!(cpu.total(), second(6));
        cpu.note(second(6), || panic!("nothing has changed"));
        assert_eq!(cpu.total(), second(7));
        // A worker with 4 s has ended, which the prototype has now; or has not been told yet.
        cpu.worker_changed();
        cpu.note(second(2), || None);
        assert_eq!(cpu.total(), second(7));
        cpu.note(second(3), || Some(second(5)));
        assert_eq!(cpu.total(), second(8));
        cpu.prototype_ended();
        assert_eq!(cpu.total(), second(8));
        cpu.note(second(1), || Some(second(1)));
        assert_eq!(cpu.total(), second(10));
    }
}
