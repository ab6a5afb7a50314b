//! Runs of a command that has a schedule: when they begin, what becomes of a time that comes while one goes on, and how
//! the last one ended.
//!
//! A time that has passed while nothing could be started, as the machine was asleep or its clock was set forward, makes
//! one run, however many there were. A clock that is set back by less than three hours has fixed times wait for the
//! next one that has not come yet; all others go by the clock as it is then.

use std::collections::BTreeMap;
use std::hash::{BuildHasher, RandomState};
use std::time::{Duration, Instant};

use corral_config::plan::{Overlap, ScheduleSpec};
use corral_config::schedule::{self, Schedule, TimeZone, Timestamp};
use corral_ipc::message::{Exit, RunStatus, ScheduleStatus, WorkerId};

use super::{CommandStep, Now, RunOutcome};

#[derive(Debug)]
pub(super) struct Runs {
    schedule: Schedule,
    zone: TimeZone,
    jitter: Duration,
    overlap: Overlap,
    timeout: Option<Duration>,
    /// Random numbers of this process, for the jitter.
    random: RandomState,
    next: NextRun,
    /// The clock when it was looked at last.
    seen: Timestamp,
    /// When to look at the clock.
    look_at: Option<Instant>,
    /// Starts that are wanted and have no number yet.
    n_wanted: u32,
    running: BTreeMap<WorkerId, Run>,
    n_waiting: u32,
    n_skipped: u64,
    /// Whether it was said that the next run waits for others.
    is_delayed: bool,
    n_runs: u64,
    n_failed: u64,
    last: Option<RunStatus>,
}

/// The next time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NextRun {
    Wall(Timestamp),
    Instant(Instant),
    Never,
}

#[derive(Debug)]
struct Run {
    began: Instant,
    wall: Timestamp,
    /// When it is told to end.
    deadline: Option<Instant>,
    timed_out: bool,
}

/// Times that wait while the command runs.
const MOST_WAITING: u32 = 10;

/// Runs beside each other.
const MOST_AT_ONCE: usize = 32;

/// A run that waits for others looks so often whether it may begin.
const ROOM_INTERVAL: Duration = Duration::from_secs(1);

/// A clock may be set, and a machine may sleep, without anybody being told.
const LONGEST_SLEEP: Duration = Duration::from_secs(10);

/// A clock that is set back by this much was wrong.
const LARGEST_CORRECTION: Duration = Duration::from_hours(3);

/// No clock that is kept by others is set back by less.
const LEAST_CORRECTION: Duration = Duration::from_secs(1);

impl Runs {
    /// Nothing for a text that is not a schedule, as the document was read by another version.
    pub(super) fn new(spec: &ScheduleSpec, name: &str, now: Now) -> Option<Self> {
        let schedule = Schedule::parse(&spec.cron).ok()?;
        let zone = spec.time_zone.as_deref().and_then(schedule::zone).unwrap_or_else(TimeZone::system);
        tracing::debug!("\"{name}\" runs by the clock of {:?}", zone.iana_name());
        let mut runs = Self {
            schedule,
            zone,
            jitter: spec.jitter,
            overlap: spec.overlap,
            timeout: spec.timeout,
            random: RandomState::new(),
            next: NextRun::Never,
            seen: now.wall,
            look_at: None,
            n_wanted: 0,
            running: BTreeMap::new(),
            n_waiting: 0,
            n_skipped: 0,
            is_delayed: false,
            n_runs: 0,
            n_failed: 0,
            last: None,
        };
        runs.plan(now);
        Some(runs)
    }

    /// Sets the next time after now.
    fn plan(&mut self, now: Now) {
        self.next = match &self.schedule {
            Schedule::Every(interval) => NextRun::Instant(now.instant + *interval + self.delay(now)),
            Schedule::Cron(_) => {
                let next = self.schedule.next(now.wall, &self.zone);
                next.and_then(|next| next.checked_add(self.delay(now)).ok())
                    .map_or(NextRun::Never, NextRun::Wall)
            }
        };
        self.plan_look(now);
    }

    /// Any part of the jitter.
    fn delay(&self, now: Now) -> Duration {
        let millis = u64::try_from(self.jitter.as_millis()).unwrap_or(u64::MAX);
        let random = self.random.hash_one(now.wall.as_nanosecond());
        Duration::from_millis(millis.checked_add(1).map_or(0, |n| random % n))
    }

    fn plan_look(&mut self, now: Now) {
        self.look_at = match self.next {
            NextRun::Never => None,
            NextRun::Instant(at) => Some(at),
            NextRun::Wall(at) => {
                let left = Duration::try_from(at.duration_since(now.wall)).unwrap_or_default();
                Some(now.instant + left.min(LONGEST_SLEEP))
            }
        };
    }

    pub(super) fn is_busy(&self) -> bool {
        self.n_wanted > 0 || !self.running.is_empty()
    }

    /// True if any has waited.
    pub(super) fn forget_waiting(&mut self) -> bool {
        let is_delayed = std::mem::take(&mut self.is_delayed);
        std::mem::take(&mut self.n_waiting) > 0 || is_delayed
    }

    pub(super) fn deadline(&self, may_start: bool) -> Option<Instant> {
        let waiting = self.look_at.filter(|_| may_start);
        let overdue = self.running.values().filter_map(|run| run.deadline);
        waiting.into_iter().chain(overdue).min()
    }

    pub(super) fn look(&mut self, may_start: bool, now: Now) -> Vec<CommandStep> {
        let mut steps = self.end_overdue(now.instant);
        if may_start {
            self.note_clock(now);
            if self.n_waiting > 0 && !self.is_busy() {
                self.n_waiting -= 1;
                steps.push(Some(self.want()));
            }
            if self.has_come(now) {
                steps.push(self.come());
                self.is_delayed = false;
                self.plan(now);
            }
            self.plan_look(now);
        }
        steps.into_iter().flatten().collect()
    }

    /// As `look`, where no run may begin. A time that has come is not forgotten.
    pub(super) fn wait(&mut self, may_start: bool, now: Now) -> Vec<CommandStep> {
        let mut steps = self.end_overdue(now.instant);
        if may_start {
            self.note_clock(now);
            let is_due = self.has_come(now);
            if is_due && !std::mem::replace(&mut self.is_delayed, true) {
                steps.push(Some(CommandStep::Delayed));
            }
            self.plan_look(now);
            if is_due || self.n_waiting > 0 {
                self.look_at = Some(now.instant + ROOM_INTERVAL);
            }
        }
        steps.into_iter().flatten().collect()
    }

    fn end_overdue(&mut self, now: Instant) -> Vec<Option<CommandStep>> {
        let overdue = self.running.iter_mut().filter(|(_, run)| run.deadline.is_some_and(|at| at <= now));
        let end = |(worker, run): (&WorkerId, &mut Run)| {
            (run.deadline, run.timed_out) = (None, true);
            Some(CommandStep::End(*worker))
        };
        overdue.map(end).collect()
    }

    /// Plans anew after the clock was set back.
    fn note_clock(&mut self, now: Now) {
        let seen = std::mem::replace(&mut self.seen, now.wall);
        let back = Duration::try_from(seen.duration_since(now.wall)).unwrap_or_default();
        let is_set = back >= LEAST_CORRECTION;
        if is_set
            && matches!(self.next, NextRun::Wall(_))
            && (!self.schedule.is_fixed() || back >= LARGEST_CORRECTION)
        {
            self.plan(now);
        }
    }

    fn has_come(&self, now: Now) -> bool {
        match self.next {
            NextRun::Wall(at) => at <= now.wall,
            NextRun::Instant(at) => at <= now.instant,
            NextRun::Never => false,
        }
    }

    fn come(&mut self) -> Option<CommandStep> {
        let n_busy = self.running.len() + self.n_wanted as usize;
        match self.overlap {
            _ if n_busy == 0 => Some(self.want()),
            Overlap::Allow if n_busy < MOST_AT_ONCE => Some(self.want()),
            Overlap::Queue if self.n_waiting < MOST_WAITING => {
                self.n_waiting += 1;
                None
            }
            Overlap::Skip | Overlap::Queue | Overlap::Allow => {
                self.n_skipped += 1;
                Some(CommandStep::Skipped)
            }
        }
    }

    fn want(&mut self) -> CommandStep {
        self.n_wanted += 1;
        CommandStep::Start
    }

    pub(super) fn run_now(&mut self) -> Result<CommandStep, &'static str> {
        match self.come() {
            Some(CommandStep::Start) => Ok(CommandStep::Start),
            None => Err("it runs, and will run again afterwards"),
            Some(_) => {
                self.n_skipped -= 1;
                Err("it runs")
            }
        }
    }

    pub(super) fn forking(&mut self, worker: WorkerId, now: Now) {
        self.n_wanted = self.n_wanted.saturating_sub(1);
        let deadline = self.timeout.map(|timeout| now.instant + timeout);
        self.running.insert(worker, Run { began: now.instant, wall: now.wall, deadline, timed_out: false });
    }

    pub(super) fn ended(&mut self, worker: WorkerId, end: RunOutcome, now: Now) -> Option<Duration> {
        let run = self.running.remove(&worker)?;
        let duration = now.instant.saturating_duration_since(run.began);
        self.note(&run, end, duration);
        if self.n_waiting > 0 {
            self.look_at = Some(now.instant);
        }
        Some(duration)
    }

    fn note(&mut self, run: &Run, end: RunOutcome, duration: Duration) {
        let RunOutcome { exit, error, output } = end;
        self.n_runs += 1;
        self.n_failed += u64::from(exit != Some(Exit::Code(0)) || run.timed_out);
        let began = schedule::written(run.wall, &self.zone);
        self.last = Some(RunStatus { began, duration, exit, timed_out: run.timed_out, error, output });
    }

    pub(super) fn lost(&mut self, reason: &str, now: Now) {
        let wanted = (0..self.n_wanted).map(|_| Run {
            began: now.instant,
            wall: now.wall,
            deadline: None,
            timed_out: false,
        });
        let lost: Vec<_> = std::mem::take(&mut self.running).into_values().chain(wanted).collect();
        self.n_wanted = 0;
        for run in lost {
            let duration = now.instant.saturating_duration_since(run.began);
            self.note(&run, RunOutcome::failed(reason), duration);
        }
    }

    pub(super) fn status(&self) -> ScheduleStatus {
        let next = match self.next {
            NextRun::Wall(at) => Some(at),
            NextRun::Instant(at) => {
                Timestamp::now().checked_add(at.saturating_duration_since(Instant::now())).ok()
            }
            NextRun::Never => None,
        };
        ScheduleStatus {
            next: next.map(|next| schedule::written(next, &self.zone)),
            last: self.last.clone(),
            waiting: self.n_waiting,
            ..self.counts()
        }
    }

    /// The same, without the words.
    pub(super) fn counts(&self) -> ScheduleStatus {
        ScheduleStatus {
            runs: self.n_runs,
            failed: self.n_failed,
            skipped: self.n_skipped,
            ..ScheduleStatus::default()
        }
    }
}

#[cfg(test)]
mod tests;
