//! Bounds on how many requests there are, and on how long each runs.

use std::num::NonZeroU64;

use corral_config::plan::MemoryBounds;

use super::*;

#[track_caller]
fn check(n_workers: u32, limits: &Limits, script: &str, expect: &str) {
    let mut scene = Scene::bounded(n_workers, n_workers.max(1), n_workers, limits);
    scene.play(script);
    assert_eq!(scene.summary(), expect, "after {script}");
}

fn queue(queue: u32) -> Limits {
    Limits { queue: Some(queue), ..Limits::default() }
}

fn concurrency(concurrency: u32) -> Limits {
    Limits { concurrency: NonZeroU32::new(concurrency), ..Limits::default() }
}

fn times(slow: u64, kill_after: u64) -> Limits {
    let seconds = |seconds| Some(Duration::from_secs(seconds));
    Limits { slow: seconds(slow), kill_after: seconds(kill_after), ..Limits::default() }
}

#[test]
fn too_many_that_wait_are_refused() {
    check(1, &queue(1), "submit 1; submit 2; submit 3; done 0 1; submit 4", "0: 1 2 4 | refused 3");
    check(2, &queue(0), "submit 1; submit 2; submit 3", "0: 2 | 1: 1 | refused 3");
}

#[test]
fn a_first_worker_that_starts_may_be_waited_for() {
    check(0, &queue(0), "submit 1; submit 2; add", "0: 1 | refused 2");
}

#[test]
fn no_more_are_in_progress_than_is_said() {
    check(2, &concurrency(1), "submit 1; submit 2; start 1 1; done 1 1", "0: | 1: 1 2");
    check(2, &concurrency(1), "submit 1; submit 2; start 1 1; leave 1; done 1 1", "0: 2 | 1: 1");
    check(2, &concurrency(1), "submit 1; submit 2; cancel 1", "0: | 1: 1 2 | Forgotten");
    check(2, &concurrency(1), "submit 1; submit 2; start 1 1; die 1", "0: 2 | 1: 1 | lost 1");
}

#[test]
fn no_worker_is_wanted_for_what_may_not_run() {
    let mut scene = Scene::bounded(1, 3, 0, &concurrency(1));
    scene.play("submit 1; submit 2; submit 3");
    assert!(!scene.pool.want_worker());
}

#[test]
fn what_is_slow_is_said_once_and_too_slow_is_the_end() {
    let script = "submit 1; start 0 1; watch; watch; +2s; watch; +2s; watch; +2s; watch; +2s; watch";
    check(1, &times(1, 5), script, "0: 1 | IsSlow(2s) 100 | Kill(Time(6s)) 100");
}

#[test]
fn time_counts_from_when_a_request_runs() {
    check(1, &times(1, 1), "submit 1; watch; +2s; watch; start 0 1; watch", "0: 1");
}

#[test]
fn what_waits_behind_a_worker_that_is_killed_goes_to_others() {
    check(
        2,
        &times(9, 1),
        "submit 1; submit 2; submit 3; start 0 2; watch; +2s; watch; start 1 1; done 1 1; die 0",
        "0: 2 3 | 1: 1 3 | Kill(Time(2s)) 100 | lost 2",
    );
}

#[test]
fn the_one_that_was_too_slow_is_known_when_its_worker_is_gone() {
    let mut scene = Scene::bounded(1, 1, 1, &times(9, 1));
    scene.play("submit 1; start 0 1; watch; +2s; watch");
    let removed = scene.pool.remove_worker(WorkerId(0), scene.now).expect("it was there");
    let excess = WorkerExcess::Time(Duration::from_secs(2));
    assert_eq!(removed.kill_reason, Some(KillReason { request: Some((Lane(0), RequestId(1))), excess }));
}

#[test]
fn a_slow_request_that_nobody_has_seen_is_reported_at_its_end() {
    let mut scene = Scene::bounded(1, 1, 1, &times(1, 9));
    scene.play("submit 1; start 0 1");
    let ended =
        scene.pool.done(scene.keys[0], Lane(0), RequestId(1), 1_500_000, scene.now).expect("it was held");
    let slow = ended.slow.expect("it was slow");
    assert_eq!(
        (slow.verdict, slow.note),
        (WorkerVerdict::WasSlow(Duration::from_micros(1_500_000)), b"a script".to_vec())
    );
}

#[test]
fn a_slow_request_is_not_reported_twice() {
    let mut scene = Scene::bounded(1, 1, 1, &times(1, 9));
    scene.play("submit 1; start 0 1; watch; +2s; watch");
    let ended =
        scene.pool.done(scene.keys[0], Lane(0), RequestId(1), 3_000_000, scene.now).expect("it was held");
    assert!(ended.slow.is_none());
    assert_eq!(scene.summary(), "0: 1 | IsSlow(2s) 100");
}

#[test]
fn a_worker_that_ends_requests_itself_has_time_to() {
    let mut scene = Scene::bounded(1, 1, 1, &times(1, 2));
    scene.pool.bounds.leave_time();
    scene.play("submit 1; start 0 1; watch; +2s; watch");
    assert_eq!(scene.summary(), "0: 1 | IsSlow(2s) 100");
    scene.play("+2s; watch");
    assert_eq!(scene.summary(), "0: 1 | IsSlow(2s) 100 | Kill(Time(4s)) 100");
}

fn memory(soft: u64, hard: u64) -> Limits {
    let memory = MemoryBounds { soft: NonZeroU64::new(soft), hard: NonZeroU64::new(hard) };
    Limits { memory, ..Limits::default() }
}

#[test]
fn a_worker_above_the_soft_bound_ends_its_request_and_gets_no_other() {
    check(
        2,
        &memory(10, 0),
        "submit 1; start 1 1; submit 2; weigh 1 10; weigh 1 11; weigh 1 12; submit 3; submit 4; done 1 1; die 1",
        "0: 2 3 | 1: 1 | Replace(11) 101",
    );
    let mut scene = Scene::bounded(1, 1, 1, &memory(10, 0));
    scene.play("submit 1; start 0 1; done 0 1; weigh 0 11");
    assert!(scene.ports[0].0.borrow().quit, "it is told to leave");
    assert!(scene.pool.want_worker(), "and replaced");
}

#[test]
fn a_worker_above_the_hard_bound_is_killed_with_its_request() {
    let script = "submit 1; submit 2; submit 3; start 0 2; weigh 0 20; weigh 0 21; weigh 0 22; start 1 1; done 1 1; \
        die 0";
    check(2, &memory(30, 20), script, "0: 2 3 | 1: 1 3 | Kill(Memory(21)) 100 | lost 2");
}

#[test]
fn a_worker_that_is_about_to_leave_may_still_grow_too_much() {
    let script = "submit 1; start 0 1; weigh 0 11; weigh 0 21";
    check(1, &memory(10, 20), script, "0: 1 | Replace(11) 100 | Kill(Memory(21)) 100");
}

#[test]
fn an_idle_worker_that_is_killed_for_its_memory_takes_no_request_with_it() {
    let mut scene = Scene::bounded(1, 1, 1, &memory(0, 20));
    scene.play("submit 1; start 0 1; done 0 1; weigh 0 21; submit 2; die 0; add");
    assert_eq!(scene.summary(), "0: 1 | 1: 2 | Kill(Memory(21)) 100");
}

#[test]
fn only_workers_that_were_used_are_looked_at() {
    let mut scene = Scene::bounded(2, 2, 2, &memory(1, 1));
    assert_eq!(scene.pool.growing(), []);
    scene.play("submit 1");
    assert_eq!(scene.pool.growing(), [(WorkerId(1), 101)]);
}
