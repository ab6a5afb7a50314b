//! Scripts for the pool: one line each, with ports that only remember.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::num::NonZeroU32;
use std::rc::Rc;
use std::time::Duration;

use corral_channel::{Corrupt, N_SLOTS, RequestSlot, SendError};
use corral_config::plan::{Limits, PoolGrowth, WorkerConcurrency};

use super::growth::LOOK;
use super::serving::CancelOutcome;
use super::verdict::{Finding, KillReason, WorkerExcess, WorkerVerdict};
use super::*;
use crate::storage::buffers::Rest;

mod growth;
mod limits;
mod listing;
mod waits;
mod worker_choice;

const N_PROCESSORS: usize = 1;

/// A run time, in microseconds, that repays waking a worker.
const LONG: u32 = 10_000;

/// Content of a worker's channel.
#[derive(Debug, Default)]
struct FakeChannel {
    submitted: Vec<u32>,
    /// The last request in each slot.
    slots: HashMap<usize, u32>,
    started: HashSet<u32>,
    quit: bool,
    waiting: bool,
    full: bool,
    /// A worker has written over its positions.
    corrupt: bool,
}

impl FakeChannel {
    fn is_in(&self, slot: RequestSlot, request: &PoolRequest) -> bool {
        self.slots.get(&slot.index()) == Some(&request.id.0)
    }
}

#[derive(Debug, Clone, Default)]
struct FakePort(Rc<RefCell<FakeChannel>>);

impl PoolPort for FakePort {
    fn submit(&mut self, slot: RequestSlot, request: &PoolRequest) -> Result<(), SendError> {
        let mut memory = self.0.borrow_mut();
        if memory.full {
            return Err(SendError::Full);
        }
        if memory.corrupt {
            return Err(SendError::Corrupt(Corrupt::Kind { kind: 0 }));
        }
        memory.submitted.push(request.id.0);
        memory.slots.insert(slot.index(), request.id.0);
        Ok(())
    }

    fn take_back(&self, slot: RequestSlot, request: &PoolRequest) -> bool {
        let memory = self.0.borrow();
        memory.is_in(slot, request) && !memory.started.contains(&request.id.0)
    }

    fn is_started(&self, slot: RequestSlot, request: &PoolRequest) -> bool {
        let memory = self.0.borrow();
        memory.is_in(slot, request) && memory.started.contains(&request.id.0)
    }

    fn quit(&mut self) {
        self.0.borrow_mut().quit = true;
    }

    fn is_waiting(&self) -> bool {
        self.0.borrow().waiting
    }

    fn note(&self) -> Vec<u8> {
        b"a script".to_vec()
    }
}

/// A pool with its workers' memories, driven by words: `submit 1`, `start 0 1` (worker, request),
/// `done 0 1`, `weigh 0 5` (worker, bytes), `leave 0`, `die 0`, `cancel 1`, `full 0`, `corrupt 0`, `scribble 0`,
/// `+10ms`.
struct Scene {
    pool: Pool<FakePort>,
    ports: Vec<FakePort>,
    keys: Vec<WorkerKey>,
    now: Instant,
    log: Vec<String>,
}

impl Scene {
    fn new(n_workers: u32, max: u32, spare: u32) -> Self {
        Self::bounded(n_workers, max, spare, &Limits::default())
    }

    fn bounded(n_workers: u32, max: u32, spare: u32, limits: &Limits) -> Self {
        let processes = Processes {
            max: NonZeroU32::new(max).expect("tests ask for at least one"),
            spare,
            idle_timeout: Duration::from_secs(1),
            growth: PoolGrowth::ByRequests,
        };
        Self::with(n_workers, processes, limits)
    }

    fn with(n_workers: u32, processes: Processes, limits: &Limits) -> Self {
        Self::of(n_workers, processes, limits, WorkerConcurrency::ONE)
    }

    fn of(n_workers: u32, processes: Processes, limits: &Limits, concurrency: WorkerConcurrency) -> Self {
        let now = Instant::now();
        let bounds = PoolBounds::new(limits, &processes, concurrency);
        let pool = Pool::new(processes, bounds, N_PROCESSORS, now);
        let mut scene = Self { pool, ports: Vec::new(), keys: Vec::new(), now, log: Vec::new() };
        for worker in 0..n_workers {
            scene.add(worker);
        }
        scene
    }

    fn add(&mut self, worker: u32) {
        let port = FakePort::default();
        let key = self.pool.add_worker(WorkerId(worker), 100 + worker, port.clone(), self.now);
        self.ports.push(port);
        self.keys.push(key);
        self.pool.enable_worker(key);
    }

    fn play(&mut self, script: &str) {
        for step in script.split(';').map(str::trim).filter(|step| !step.is_empty()) {
            self.step(step);
        }
    }

    fn step(&mut self, step: &str) {
        let words: Vec<&str> = step.split(' ').collect();
        let number = |position: usize| words[position].parse::<u32>().expect("a number");
        let lane = Lane(0);
        match words[0] {
            "submit" => {
                let request = PoolRequest {
                    lane,
                    id: RequestId(number(1)),
                    payload: Vec::new(),
                    inline: Rest::default(),
                    arrived: self.now,
                };
                if self.pool.submit(request, self.now).is_err() {
                    self.log.push(format!("refused {}", number(1)));
                }
            }
            "start" => {
                self.ports[number(1) as usize].0.borrow_mut().started.insert(number(2));
            }
            "done" => {
                let done =
                    self.pool.done(self.keys[number(1) as usize], lane, RequestId(number(2)), LONG, self.now);
                if done.is_err() {
                    self.log.push(format!("not held {}", number(2)));
                }
            }
            "done_fast" => {
                let id = RequestId(number(2));
                self.pool.done(self.keys[number(1) as usize], lane, id, 10, self.now).expect("it was held");
            }
            "rescue" => self.pool.rescue(self.now),
            "drain" => self.pool.drain(WorkerId(number(1)), self.now),
            "leave" => self.pool.leaving(self.keys[number(1) as usize], self.now),
            "die" => {
                let removed = self.pool.remove_worker(WorkerId(number(1)), self.now).expect("it was there");
                self.log.extend(removed.started.iter().map(|begun| format!("lost {}", begun.id.0)));
            }
            "cancel" => {
                self.log.push(match self.pool.cancel(lane, RequestId(number(1))) {
                    CancelOutcome::Running(worker) => format!("Running({})", worker.id.0),
                    cancelled => format!("{cancelled:?}"),
                });
            }
            "full" => self.ports[number(1) as usize].0.borrow_mut().full = true,
            "corrupt" => self.ports[number(1) as usize].0.borrow_mut().corrupt = true,
            "scribble" => self.ports[number(1) as usize].0.borrow_mut().slots.clear(),
            "broken" => {
                let broken = self.pool.replace_broken();
                self.log.extend(broken.iter().map(|it| format!("broken {}", it.worker.0)));
            }
            "enable" => self.pool.enable_worker(self.keys[number(1) as usize]),
            "give_up" => self.pool.give_up(self.keys[number(1) as usize], &"a violation"),
            "add" => self.add(self.ports.len() as u32),
            "watch" => {
                for Finding { verdict, pid, .. } in self.pool.watch(self.now) {
                    self.log.push(format!("{verdict:?} {pid}"));
                }
            }
            "weigh" => {
                let used = [(WorkerId(number(1)), u64::from(number(2)))];
                for Finding { verdict, pid, .. } in self.pool.weigh(&used, self.now) {
                    self.log.push(format!("{verdict:?} {pid}"));
                }
            }
            "waits" => self.ports[number(1) as usize].0.borrow_mut().waiting = true,
            "look" => self.look(&words[1..]),
            "retire" => self.pool.retire_idle(self.now),
            "+5ms" => self.now += Duration::from_millis(5),
            "+20ms" => self.now += Duration::from_millis(20),
            "+2s" => self.now += Duration::from_secs(2),
            other => panic!("no such step: {other}"),
        }
    }

    /// Two looks at the workers, of which these sleep as far as the system knows.
    fn look(&mut self, asleep: &[&str]) {
        let asleep: Vec<u32> = asleep.iter().map(|worker| worker.parse().expect("a number")).collect();
        for _ in 0..2 {
            self.now += LOOK;
            let Some(candidates) = self.pool.survey(self.now) else { return };
            let ids = candidates.into_iter().map(|(worker, _)| worker);
            let asleep: Vec<_> = ids.filter(|worker| asleep.contains(&worker.0)).collect();
            if self.pool.grow(&asleep, self.now) {
                self.log.push("grows".to_owned());
            }
        }
    }

    /// The requests that each worker was given, then the log: `0: 1 2 | 1: 3 | lost 1`.
    fn summary(&self) -> String {
        let mut parts: Vec<String> = Vec::new();
        for (worker, port) in self.ports.iter().enumerate() {
            let ids: Vec<String> = port.0.borrow().submitted.iter().map(u32::to_string).collect();
            parts.push(format!("{worker}: {}", ids.join(" ")).trim_end().to_owned());
        }
        parts.extend(self.log.iter().cloned());
        parts.join(" | ")
    }
}

#[track_caller]
fn check(n_workers: u32, script: &str, expect: &str) {
    let mut scene = Scene::new(n_workers, n_workers.max(1), n_workers);
    scene.play(script);
    assert_eq!(scene.summary(), expect, "after {script}");
}

#[test]
fn the_most_recently_used_idle_worker_is_preferred() {
    check(2, "submit 1; start 1 1; done 1 1; submit 2", "0: | 1: 1 2");
}

#[test]
fn every_worker_gets_one_before_any_gets_two() {
    check(2, "submit 1; submit 2; submit 3; submit 4; submit 5", "0: 2 3 | 1: 1 4");
}

#[test]
fn a_worker_that_ends_one_gets_the_next_from_the_queue() {
    check(1, "submit 1; submit 2; submit 3; start 0 1; done 0 1", "0: 1 2 3");
}

#[test]
fn an_idle_worker_takes_over_what_waits_ahead_of_another() {
    check(2, "submit 1; submit 2; submit 3; start 1 1; start 0 2; done 1 1", "0: 2 3 | 1: 1 3");
}

#[test]
fn short_scripts_do_not_wake_a_worker_for_want_of_a_free_processor() {
    check(2, "submit 1; start 1 1; done_fast 1 1; submit 2; submit 3", "0: | 1: 1 2 3");
}

#[test]
fn a_script_that_was_expected_to_be_short_holds_nobody_up() {
    check(
        2,
        "submit 1; start 1 1; done_fast 1 1; submit 2; start 1 2; submit 3; rescue; +20ms; rescue",
        "0: 3 | 1: 1 2 3",
    );
}

#[test]
fn what_was_started_stays_where_it_is() {
    check(2, "submit 1; submit 2; submit 3; start 0 2; start 0 3; done 1 1", "0: 2 3 | 1: 1");
}

#[test]
fn a_request_behind_a_slow_script_moves_although_the_queue_is_never_empty() {
    check(
        2,
        "submit 1; submit 2; submit 3; submit 4; submit 5; submit 6; start 0 2; start 1 1; +20ms; done 1 1",
        "0: 2 3 | 1: 1 4 3",
    );
}

#[test]
fn a_dead_worker_costs_only_what_it_had_started() {
    check(2, "submit 1; submit 2; submit 3; start 0 2; die 0", "0: 2 3 | 1: 1 3 | lost 2");
}

#[test]
fn with_no_worker_left_requests_wait_for_the_next_one() {
    check(1, "submit 1; start 0 1; submit 2; die 0; add", "0: 1 2 | 1: 2 | lost 1");
}

#[test]
fn a_leaving_worker_gives_back_what_it_has_not_started() {
    check(2, "submit 1; submit 2; submit 3; start 0 2; leave 0; done 0 2; submit 4", "0: 2 3 | 1: 1 3");
}

#[test]
fn a_request_that_is_not_held_is_a_violation() {
    check(1, "submit 1; done 0 7", "0: 1 | not held 7");
}

/// A dead worker's frames may be heard of after its end, and then there are more of them.
#[test]
fn what_a_worker_said_before_it_was_gone_is_no_violation() {
    check(
        1,
        "submit 1; start 0 1; submit 2; start 0 2; die 0; done 0 1; done 0 2",
        "0: 1 2 | lost 2 | lost 1",
    );
}

#[test]
fn cancelling_forgets_what_was_not_started() {
    check(
        1,
        "submit 1; start 0 1; submit 2; submit 3; cancel 3; cancel 2; cancel 1; cancel 9",
        "0: 1 2 | Forgotten | Forgotten | Running(0) | Unknown",
    );
}

#[test]
fn a_full_ring_keeps_the_request_in_the_queue() {
    check(1, "full 0; submit 1; cancel 1", "0: | Forgotten");
}

#[test]
fn a_full_ring_gets_the_request_when_it_has_ended_something() {
    let mut scene = Scene::new(1, 1, 1);
    scene.play("submit 1; start 0 1; full 0; submit 2");
    scene.ports[0].0.borrow_mut().full = false;
    scene.play("done 0 1");
    assert_eq!(scene.summary(), "0: 1 2");
}

#[test]
fn idle_workers_above_spare_are_told_to_quit_oldest_first() {
    let mut scene = Scene::new(3, 4, 1);
    scene.play("submit 1; +2s; done 2 1; retire");
    let quit: Vec<bool> = scene.ports.iter().map(|port| port.0.borrow().quit).collect();
    assert_eq!(quit, [true, true, false]);
    assert_eq!(scene.pool.figures().running, 1);
}

/// Workers that come together are known before the first of them takes requests.
#[test]
fn workers_that_are_about_to_take_requests_count_as_spare() {
    let mut scene = Scene::new(0, 8, 2);
    let arriving = [0, 1]
        .map(|worker| scene.pool.add_worker(WorkerId(worker), 100 + worker, FakePort::default(), scene.now));
    for key in arriving {
        assert!(!scene.pool.want_worker(), "two are here");
        scene.pool.enable_worker(key);
    }
    assert!(!scene.pool.want_worker());
    scene.pool.remove_worker(WorkerId(0), scene.now);
    assert!(scene.pool.want_worker(), "one is gone");
}

#[test]
fn the_next_to_leave_is_the_one_that_is_idle_for_longest() {
    let mut scene = Scene::new(3, 4, 1);
    let due = scene.now + Duration::from_secs(1);
    assert_eq!(scene.pool.next_retirement(), Some(due));
    scene.play("submit 1; submit 2; +20ms");
    assert_eq!(scene.pool.next_retirement(), None, "one is idle");
    scene.play("start 2 1; done 2 1");
    assert_eq!(scene.pool.next_retirement(), Some(due), "the first is still idle");
    scene.play("+2s; retire");
    assert_eq!(scene.pool.next_retirement(), None);
}

#[test]
fn workers_are_wanted_while_requests_wait_and_up_to_the_maximum() {
    let mut scene = Scene::new(0, 2, 0);
    assert!(!scene.pool.want_worker(), "nothing to do");
    scene.play("submit 1; submit 2; submit 3");
    assert!(scene.pool.want_worker());
    assert!(!scene.pool.want_worker(), "one at a time with spare 0");
    scene.play("add");
    assert!(scene.pool.want_worker());
    scene.play("add");
    assert!(!scene.pool.want_worker(), "the maximum runs");
}

#[test]
fn a_retired_pool_wants_workers_for_what_waits_and_no_others() {
    let mut scene = Scene::new(2, 2, 2);
    scene.play("submit 1; start 1 1; die 0");
    scene.pool.retire();
    assert!(!scene.pool.want_worker(), "nothing waits");
    scene.play("submit 2; die 1");
    assert!(scene.pool.want_worker(), "a request is left");
}

#[test]
fn when_no_worker_can_be_started_the_waiting_requests_come_back() {
    let mut scene = Scene::new(0, 1, 0);
    scene.play("submit 1; submit 2");
    assert!(scene.pool.want_worker());
    assert_eq!(scene.pool.worker_failed(scene.now).len(), 2);
    assert_eq!(scene.pool.n_active(), 0);
}

#[test]
fn after_a_worker_could_not_be_started_nothing_waits_and_none_is_asked_for_until_later() {
    let mut scene = Scene::new(0, 2, 2);
    assert!(scene.pool.want_worker());
    scene.pool.worker_failed(scene.now);
    assert!(!scene.pool.want_worker());
    scene.play("submit 1; +2s; submit 2");
    assert_eq!(scene.log, ["refused 1"]);
    assert!(scene.pool.want_worker());
    scene.play("add");
    assert!(scene.pool.want_worker(), "the next one may follow at once");
}

#[test]
fn a_running_request_keeps_its_slot_however_much_is_taken_over_from_behind_it() {
    let mut scene = Scene::new(2, 2, 2);
    scene.play("submit 1; start 1 1; submit 1000");
    let mut running = 1000;
    for n in 1..N_SLOTS as u32 * 2 {
        let (next, ahead) = (2 * n, 2 * n + 1);
        scene.play(&format!(
            "start 0 {running}; submit {next}; submit {ahead}; done 0 {running}; start 0 {next}; done 0 {next}"
        ));
        running = ahead;
    }
    assert!(scene.ports[1].0.borrow().submitted.len() > N_SLOTS, "they went by the worker that is busy");
    scene.log.clear();
    scene.play("cancel 1; broken; die 1");
    assert_eq!(scene.log, ["Running(1)", "lost 1"], "it had been started, and must not run twice");
}

#[test]
fn a_worker_with_damaged_positions_gets_nothing_and_is_reported_once() {
    check(2, "corrupt 1; submit 1; submit 2; broken; broken", "0: 1 2 | 1: | broken 1");
    check(
        1,
        "submit 1; start 0 1; corrupt 0; submit 2; broken; die 0; add",
        "0: 1 | 1: 2 | broken 0 | lost 1",
    );
}

#[test]
fn a_worker_with_damaged_slots_costs_what_it_held() {
    let script = "submit 1; submit 2; scribble 1; cancel 1; broken; submit 3; die 1";
    check(2, script, "0: 2 3 | 1: 1 | Running(1) | broken 1 | lost 1");
}

#[test]
fn what_comes_late_about_a_worker_that_is_gone_is_not_about_the_one_in_its_place() {
    check(1, "die 0; enable 0; leave 0; give_up 0; broken; add; submit 1", "0: | 1: 1");
    check(1, "die 0; add; enable 0; leave 0; give_up 0; broken; submit 1; submit 2", "0: | 1: 1 2");
    check(1, "die 0; add; submit 1; start 1 1; done 0 1; done 1 1", "0: | 1: 1");
}
