//! Figures that main has about itself and about the processes that it has started.

use std::collections::HashMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::traffic::add;
use super::{AppStatus, DaemonStatus, Status, WorkerCounts, by_place};

/// A process of the daemon's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OwnProcess {
    /// The one that has started the others.
    Main,
    /// One or several.
    Router,
    /// The control API's.
    Controller,
    /// The reader of configuration files, if there are any.
    Reader,
    /// The images of applications, one or several.
    Image,
}

impl OwnProcess {
    /// All of them, in the order of figures.
    pub const ALL: [Self; 5] = [Self::Main, Self::Router, Self::Controller, Self::Reader, Self::Image];

    /// The name that people know it by.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Main => "main",
            Self::Router => "router",
            Self::Controller => "controller",
            Self::Reader => "reader",
            Self::Image => "image",
        }
    }
}

/// Figures of main.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct MainFigures {
    /// The number of the configuration in force; each that follows has a higher one.
    pub generation: u64,
    /// The newest change of the configuration, if there was any.
    pub last_change: Option<LastChange>,
    /// Starts of processes that took the place of one that had ended, by [`OwnProcess`].
    #[serde(deserialize_with = "by_place::array")]
    pub restarts: [u64; OwnProcess::ALL.len()],
    /// By [`OwnProcess`].
    #[serde(deserialize_with = "by_place::array")]
    pub processes: [ProcessFigures; OwnProcess::ALL.len()],
}

/// A change of the configuration.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct LastChange {
    /// When it was put in force or refused, since 1970.
    pub at: Duration,
    /// Whether it was put in force.
    pub has_succeeded: bool,
}

/// The use that the processes of one kind make of the machine.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ProcessFigures {
    /// Bytes in RAM; none where no process runs, or the system hides it.
    pub memory: Option<u64>,
    /// Time of processors, with that of processes that have ended.
    pub cpu: Duration,
}

impl MainFigures {
    /// Adds the counters of the main process before this one.
    pub fn count(&mut self, other: &Self) {
        self.generation = self.generation.saturating_add(other.generation);
        self.restarts.iter_mut().zip(other.restarts).for_each(|(sum, n)| *sum = sum.saturating_add(n));
        for (ours, theirs) in self.processes.iter_mut().zip(&other.processes) {
            ours.cpu = ours.cpu.saturating_add(theirs.cpu);
        }
    }
}

impl DaemonStatus {
    /// Adds the counters of the main process before this one.
    pub fn count(&mut self, other: &Self) {
        self.config_changes = self.config_changes.saturating_add(other.config_changes);
        let known = [self.counting_since, other.counting_since].into_iter().filter(|time| !time.is_zero());
        self.counting_since = known.min().unwrap_or_default();
        self.main.count(&other.main);
    }
}

impl Status {
    /// Adds all that another main process and its routers have counted, one before this.
    pub fn count_process(&mut self, other: &Self) {
        let others: HashMap<_, _> = other.applications.iter().map(|app| (&*app.name, app)).collect();
        for app in &mut self.applications {
            if let Some(other) = others.get(&*app.name) {
                app.count_before(other);
                app.count_workers_before(other);
            }
        }
        self.count(other);
        self.daemon.count(&other.daemon);
    }
}

impl AppStatus {
    /// Adds what the main process before this one has counted of the application.
    pub fn count_before(&mut self, other: &Self) {
        self.crashes = self.crashes.saturating_add(other.crashes);
        if self.last_crash.is_none() {
            self.last_crash.clone_from(&other.last_crash);
        }
        // An application that has none now has lost its schedule.
        if let (Some(ours), Some(theirs)) = (&mut self.schedule, &other.schedule) {
            ours.count(theirs);
        }
    }

    /// Keeps the counts of main that were told before where they are higher: those of an application leave with its
    /// last process.
    pub fn keep_counts(&mut self, before: &Self) {
        let WorkerCounts { started, ended } = &mut self.workers;
        let counts = ended.iter_mut().chain([started, &mut self.crashes]);
        let others = before.workers.ended.iter().chain([&before.workers.started, &before.crashes]);
        counts.zip(others).for_each(|(count, other)| *count = (*count).max(*other));
        self.cpu = self.cpu.max(before.cpu);
        if self.last_crash.is_none() {
            self.last_crash.clone_from(&before.last_crash);
        }
        if let Some(before) = &before.schedule {
            let ours = self.schedule.get_or_insert_default();
            ours.runs = ours.runs.max(before.runs);
            ours.failed = ours.failed.max(before.failed);
            ours.skipped = ours.skipped.max(before.skipped);
        }
    }

    /// Adds the workers that the main process before this one has counted, and the time that they had.
    pub fn count_workers_before(&mut self, other: &Self) {
        let WorkerCounts { started, ended } = &mut self.workers;
        add(
            ended.iter_mut().chain([started]),
            &[&other.workers.ended[..], &[other.workers.started]].concat(),
        );
        self.cpu = self.cpu.saturating_add(other.cpu);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::ScheduleStatus;

    #[test]
    fn all_that_a_process_has_counted_is_added() {
        let app = |name: &str, n: u32| {
            let workers = WorkerCounts { started: n.into(), ..WorkerCounts::default() };
            let requests = [u64::from(n); 6];
            AppStatus { name: name.to_owned(), crashes: n.into(), workers, requests, ..AppStatus::default() }
        };
        let process = |n: u32, applications| Status {
            requests: n.into(),
            applications,
            daemon: DaemonStatus { config_changes: n.into(), ..DaemonStatus::default() },
            ..Status::default()
        };
        let mut sums = process(1, vec![app("blog", 10)]);
        sums.count_process(&process(2, vec![app("shop", 7), app("blog", 20)]));
        sums.count_process(&process(4, vec![app("shop", 1)]));
        assert_eq!((sums.requests, sums.daemon.config_changes), (7, 7));
        let counted = sums
            .applications
            .iter()
            .map(|app| (&*app.name, app.crashes, app.workers.started, app.requests[0]));
        assert_eq!(counted.collect::<Vec<_>>(), [("blog", 30, 30, 30), ("shop", 8, 8, 8)]);
    }

    #[test]
    fn counters_go_on_behind_those_of_the_process_before() {
        let process = |memory, seconds| ProcessFigures { memory, cpu: Duration::from_secs(seconds) };
        let mut figures = MainFigures {
            generation: 2,
            last_change: None,
            restarts: [0, 1, 2, 3, 0],
            processes: [process(Some(7), 1); 5],
        };
        let before = MainFigures {
            generation: 10,
            last_change: Some(LastChange::default()),
            restarts: [0, 5, 0, u64::MAX, 0],
            processes: [process(None, 4); 5],
        };
        figures.count(&before);
        assert_eq!((figures.generation, figures.last_change), (12, None));
        assert_eq!(figures.restarts, [0, 6, 2, u64::MAX, 0]);
        assert_eq!(figures.processes, [process(Some(7), 5); 5]);
    }

    #[test]
    fn counting_began_with_the_first_process_that_is_known() {
        let daemon = |seconds| DaemonStatus {
            counting_since: Duration::from_secs(seconds),
            ..DaemonStatus::default()
        };
        for (ours, theirs, expected) in [(20, 10, 10), (10, 20, 10), (20, 0, 20), (0, 0, 0)] {
            let mut status = daemon(ours);
            status.count(&daemon(theirs));
            assert_eq!(status.counting_since, Duration::from_secs(expected), "{ours} {theirs}");
        }
    }

    #[test]
    fn counts_that_have_left_with_the_last_process_are_kept() {
        let schedule =
            |runs, failed| Some(ScheduleStatus { runs, failed, skipped: 2, ..ScheduleStatus::default() });
        let before = AppStatus {
            crashes: 3,
            last_crash: Some("process 7 exited on signal 11".to_owned()),
            schedule: schedule(5, 1),
            ..AppStatus::default()
        };
        let mut told = AppStatus::default();
        told.keep_counts(&before);
        assert_eq!(format!("{told:?}"), format!("{before:?}"));
        told.schedule = schedule(6, 0);
        told.keep_counts(&before);
        assert_eq!(told.schedule, schedule(6, 1));
    }

    #[test]
    fn applications_go_on_counting_what_main_counts() {
        let schedule = |runs| ScheduleStatus { runs, failed: 1, skipped: 2, ..ScheduleStatus::default() };
        let app = |crashes, schedule| AppStatus { crashes, schedule, ..AppStatus::default() };
        let mut figures = app(3, Some(schedule(4)));
        figures.count_before(&app(5, Some(schedule(6))));
        assert_eq!(
            (figures.crashes, figures.schedule),
            (8, Some(ScheduleStatus { runs: 10, failed: 2, skipped: 4, ..schedule(0) }))
        );
        let mut without = app(1, None);
        let last_crash = Some("process 7 exited on signal 11".to_owned());
        without.count_before(&AppStatus { last_crash: last_crash.clone(), ..app(1, Some(schedule(6))) });
        assert_eq!((without.crashes, without.schedule, without.last_crash), (2, None, last_crash));
    }
}
