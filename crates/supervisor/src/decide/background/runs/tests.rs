//! Clocks that are set, machines that sleep, and commands that take longer than their schedule has them.

use super::*;

/// The runs, and both clocks.
struct Bench {
    runs: Runs,
    now: Now,
    n_started: u32,
}

impl Bench {
    fn new(cron: &str, begin: &str, overlap: Overlap) -> Self {
        Self::with(
            begin,
            &ScheduleSpec {
                cron: cron.to_owned(),
                time_zone: Some("Europe/Berlin".to_owned()),
                jitter: Duration::ZERO,
                overlap,
                timeout: None,
            },
        )
    }

    fn with(begin: &str, spec: &ScheduleSpec) -> Self {
        let now = Now { instant: Instant::now(), wall: begin.parse().unwrap() };
        Self { runs: Runs::new(spec, "a", now).unwrap(), now, n_started: 0 }
    }

    /// Time goes on for the process by `seconds`, and for the wall by `wall` more.
    fn pass(&mut self, seconds: u64, wall: i64) -> Vec<CommandStep> {
        self.now.instant += Duration::from_secs(seconds);
        let on_wall = i64::try_from(seconds).unwrap() + wall;
        self.now.wall = Timestamp::from_second(self.now.wall.as_second() + on_wall).unwrap();
        let steps = self.runs.look(true, self.now);
        for _ in steps.iter().filter(|step| **step == CommandStep::Start) {
            self.n_started += 1;
            self.runs.forking(WorkerId(self.n_started), self.now);
        }
        steps
    }

    fn end(&mut self, worker: u32) {
        let end = RunOutcome { exit: Some(Exit::Code(0)), error: None, output: vec![] };
        self.runs.ended(WorkerId(worker), end, self.now);
    }

    /// The seconds until something is due.
    fn sleep(&self) -> u64 {
        self.runs.deadline(true).unwrap().saturating_duration_since(self.now.instant).as_secs()
    }

    fn next(&self) -> String {
        self.runs.status().next.unwrap()
    }
}

#[test]
fn a_run_begins_at_its_time() {
    let mut bench = Bench::new("*/5 * * * *", "2026-01-05T10:04:57Z", Overlap::Skip);
    assert_eq!((bench.sleep(), bench.next()), (3, "2026-01-05T11:05:00+01:00".to_owned()));
    assert_eq!(bench.pass(2, 0), []);
    assert_eq!(bench.pass(1, 0), [CommandStep::Start]);
    assert_eq!((bench.sleep(), bench.next()), (10, "2026-01-05T11:10:00+01:00".to_owned()));
    bench.end(1);
    let last = bench.runs.status().last.unwrap();
    assert_eq!((last.began.as_str(), last.timed_out), ("2026-01-05T11:05:00+01:00", false));
}

#[test]
fn a_run_waits_for_room_and_is_not_lost() {
    let mut bench = Bench::new("*/5 * * * *", "2026-01-05T10:04:59Z", Overlap::Skip);
    assert_eq!(bench.runs.wait(true, bench.now), [], "its time has not come");
    assert_eq!(bench.sleep(), 1);
    bench.now.instant += Duration::from_secs(1);
    bench.now.wall = "2026-01-05T10:05:00Z".parse().unwrap();
    assert_eq!(bench.runs.wait(true, bench.now), [CommandStep::Delayed]);
    assert_eq!((bench.runs.wait(true, bench.now), bench.sleep()), (vec![], 1), "it is said once");
    assert_eq!(bench.pass(600, 0), [CommandStep::Start], "times that have passed make one run");
    assert_eq!(bench.next(), "2026-01-05T11:20:00+01:00");
    bench.end(1);
    assert_eq!((bench.runs.status().runs, bench.runs.status().failed), (1, 0));
    assert!(!bench.runs.forget_waiting());
}

#[test]
fn a_machine_that_has_slept_catches_up_with_one_run() {
    let mut bench = Bench::new("0 3 * * *", "2026-01-05T00:30:00Z", Overlap::Queue);
    // Two nights, during which only the clock on the wall goes on.
    assert_eq!(bench.pass(10, 2 * 86_400 + 3600 * 3), [CommandStep::Start]);
    bench.end(1);
    assert_eq!(bench.pass(10, 0), []);
    assert_eq!(bench.next(), "2026-01-08T03:00:00+01:00");
}

#[test]
fn a_clock_that_is_set_back_runs_no_fixed_time_twice() {
    let mut bench = Bench::new("0 3 * * *", "2026-01-05T01:59:59Z", Overlap::Skip);
    assert_eq!(bench.pass(1, 0), [CommandStep::Start]);
    bench.end(1);
    assert_eq!(bench.pass(60, -120), [], "02:59 again");
    assert_eq!(bench.pass(120, 0), [], "03:01 again");
    assert_eq!(bench.next(), "2026-01-06T03:00:00+01:00");
    // By a day: it was wrong before.
    assert_eq!(bench.pass(1, -86_400), []);
    assert_eq!(bench.next(), "2026-01-05T03:00:00+01:00");
}

#[test]
fn a_clock_that_is_set_back_does_not_stop_what_goes_by_it() {
    let mut bench = Bench::new("*/5 * * * *", "2026-01-05T10:01:00Z", Overlap::Skip);
    assert_eq!(bench.pass(1, -3600), []);
    assert_eq!(bench.next(), "2026-01-05T10:05:00+01:00");
    // A clock that is kept by others goes back a little.
    let mut daily = Bench::new("0 3 * * *", "2026-01-05T01:59:59Z", Overlap::Skip);
    assert_eq!(daily.pass(1, -1), []);
    assert_eq!(daily.pass(1, 0), [CommandStep::Start]);
}

#[test]
fn so_long_after_each_other_knows_no_clock() {
    let mut bench = Bench::new("@every 30s", "2026-01-05T10:01:00Z", Overlap::Skip);
    assert_eq!(bench.pass(29, -86_400), []);
    assert_eq!(bench.pass(1, 86_400), [CommandStep::Start]);
    bench.end(1);
    assert_eq!(bench.sleep(), 30);
}

#[test]
fn a_time_that_comes_while_the_command_runs_is_left_out_or_waits_or_runs_beside() {
    let every = |overlap| Bench::new("@every 30s", "2026-01-05T10:01:00Z", overlap);
    let mut skip = every(Overlap::Skip);
    assert_eq!([skip.pass(30, 0), skip.pass(30, 0)], [[CommandStep::Start], [CommandStep::Skipped]]);
    assert_eq!((skip.runs.status().skipped, skip.runs.run_now()), (1, Err("it runs")));
    let mut queue = every(Overlap::Queue);
    assert_eq!(queue.pass(30, 0), [CommandStep::Start]);
    for _ in 0..10 {
        assert_eq!(queue.pass(30, 0), []);
    }
    assert_eq!(queue.pass(30, 0), [CommandStep::Skipped], "ten wait");
    queue.end(1);
    assert_eq!((queue.sleep(), queue.pass(0, 0)), (0, vec![CommandStep::Start]));
    assert_eq!(queue.runs.status().waiting, 9);
    let mut allow = every(Overlap::Allow);
    for _ in 0..32 {
        assert_eq!(allow.pass(30, 0), [CommandStep::Start]);
    }
    assert_eq!(allow.pass(30, 0), [CommandStep::Skipped]);
    allow.end(5);
    assert_eq!(allow.pass(30, 0), [CommandStep::Start]);
}

#[test]
fn a_run_that_takes_too_long_is_told_to_end_once() {
    let spec = ScheduleSpec {
        cron: "@every 1h".to_owned(),
        time_zone: None,
        jitter: Duration::ZERO,
        overlap: Overlap::Skip,
        timeout: Some(Duration::from_secs(5)),
    };
    let mut bench = Bench::with("2026-01-05T10:01:00Z", &spec);
    assert_eq!(bench.pass(3600, 0), [CommandStep::Start]);
    assert_eq!(bench.sleep(), 5);
    assert_eq!(bench.pass(5, 0), [CommandStep::End(WorkerId(1))]);
    assert_eq!(bench.pass(5, 0), []);
    bench.end(1);
    assert!(bench.runs.status().last.unwrap().timed_out);
}

#[test]
fn jitter_is_never_early() {
    let spec = |jitter| ScheduleSpec {
        cron: "0 * * * *".to_owned(),
        time_zone: Some("UTC".to_owned()),
        jitter: Duration::from_secs(jitter),
        overlap: Overlap::Skip,
        timeout: None,
    };
    for _ in 0..50 {
        let bench = Bench::with("2026-01-05T10:30:00Z", &spec(60));
        let NextRun::Wall(next) = bench.runs.next else { panic!("{bench:?}", bench = bench.runs) };
        let delay = next.as_second() - "2026-01-05T11:00:00Z".parse::<Timestamp>().unwrap().as_second();
        assert!((0..=60).contains(&delay), "{delay}");
    }
}

#[test]
fn what_is_lost_is_told() {
    let mut bench = Bench::new("@every 30s", "2026-01-05T10:01:00Z", Overlap::Skip);
    bench.pass(30, 0);
    bench.runs.lost("the prototype is gone", bench.now);
    assert_eq!(bench.runs.status().last.unwrap().error.as_deref(), Some("the prototype is gone"));
    assert!(!bench.runs.is_busy());
}
