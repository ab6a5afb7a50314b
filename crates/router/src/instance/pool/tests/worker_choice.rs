//! Workers that run several requests at once.

use super::*;

fn scene(n_workers: u32, n_at_once: u32, ahead: bool) -> Scene {
    let processes = Processes {
        max: NonZeroU32::new(n_workers).expect("tests ask for at least one"),
        spare: n_workers,
        idle_timeout: Duration::from_secs(1),
        growth: PoolGrowth::ByRequests,
    };
    let concurrency =
        WorkerConcurrency { n: NonZeroU32::new(n_at_once).expect("tests ask for at least one"), ahead };
    let limits = Limits { kill_after: Some(Duration::from_secs(1)), ..Limits::default() };
    Scene::of(n_workers, processes, &limits, concurrency)
}

#[track_caller]
fn check(n_workers: u32, n_at_once: u32, ahead: bool, script: &str, expect: &str) {
    let mut scene = scene(n_workers, n_at_once, ahead);
    scene.play(script);
    assert_eq!(scene.summary(), expect, "after {script}");
}

#[test]
fn the_worker_with_the_fewest_gets_the_next_one() {
    check(2, 2, false, "submit 1; submit 2; submit 3; submit 4; submit 5", "0: 2 3 | 1: 1 4");
    let all = "submit 1; submit 2; submit 3; submit 4; start 0 2; start 0 3; done 0 2; done 0 3";
    check(2, 2, false, &format!("{all}; submit 5; submit 6; submit 7"), "0: 2 3 5 6 | 1: 1 4");
}

#[test]
fn requests_end_in_any_order() {
    let script = "submit 1; submit 2; submit 3; start 0 1; start 0 2; start 0 3; done 0 2; submit 4; done 0 1; done \
        0 3";
    check(1, 3, false, script, "0: 1 2 3 4");
}

#[test]
fn with_all_workers_full_requests_wait_unless_they_may_be_held_ahead() {
    check(1, 2, false, "submit 1; submit 2; submit 3; start 0 1; done 0 1; submit 4", "0: 1 2 3");
    check(1, 2, true, "submit 1; submit 2; submit 3; submit 4", "0: 1 2 3");
}

#[test]
fn a_request_is_in_hand_when_nothing_runs_before_it() {
    let mut scene = scene(1, 2, true);
    scene.play("submit 1; submit 2; submit 3; submit 4");
    let in_hand = |scene: &Scene| [1, 2, 3, 4].map(|id| scene.pool.is_in_hand(Lane(0), RequestId(id)));
    assert_eq!(in_hand(&scene), [true, true, false, false]);
    scene.play("start 0 1; done 0 1");
    assert_eq!(in_hand(&scene), [false, true, true, false]);
}

#[test]
fn a_free_worker_takes_over_what_waits_ahead_of_another() {
    let all = "submit 1; submit 2; submit 3; submit 4; submit 5; start 1 1; start 0 2; start 0 3; start 1 4";
    check(2, 2, true, &format!("{all}; done 1 1"), "0: 2 3 5 | 1: 1 4 5");
    check(2, 2, true, &format!("{all}; done 0 3"), "0: 2 3 5 | 1: 1 4");
}

#[test]
fn a_dead_worker_costs_all_that_it_ran() {
    let script = "submit 1; submit 2; submit 3; start 0 1; start 0 3; die 0; add";
    check(1, 3, false, script, "0: 1 2 3 | 1: 2 | lost 3 | lost 1");
}

#[test]
fn there_may_be_many_more_than_there_are_slots() {
    let mut scene = scene(1, 1000, false);
    for n in 0..500 {
        scene.play(&format!("submit {n}; start 0 {n}"));
    }
    assert_eq!(scene.ports[0].0.borrow().submitted.len(), 500);
    scene.play("cancel 7; done 0 499; done 0 0; cancel 0; broken");
    assert_eq!(scene.log, ["Running(0)", "Unknown"]);
    scene.play("die 0");
    assert_eq!(scene.log.len(), 2 + 498, "nothing that was started runs twice");
}

#[test]
fn a_worker_that_starts_nothing_gets_no_more_than_there_are_slots() {
    let mut scene = scene(1, 1000, false);
    for n in 0..100 {
        scene.play(&format!("submit {n}"));
    }
    assert_eq!(scene.ports[0].0.borrow().submitted.len(), N_SLOTS);
    scene.play("start 0 0; done 0 0");
    assert_eq!(scene.ports[0].0.borrow().submitted.len(), N_SLOTS + 1);
}

#[test]
fn any_request_that_runs_for_too_long_is_the_end_of_its_worker() {
    let script =
        "submit 1; submit 2; start 0 1; start 0 2; watch; done 0 1; submit 3; start 0 3; +2s; watch; watch";
    check(1, 2, false, script, "0: 1 2 3 | Kill(Time(2s)) 100");
}

#[test]
fn workers_are_wanted_for_more_than_all_workers_can_hold() {
    let mut scene = scene(2, 3, false);
    scene.pool.retire();
    scene.play("die 0; submit 1; submit 2; submit 3");
    assert!(!scene.pool.want_worker());
    scene.play("submit 4");
    assert!(scene.pool.want_worker());
}
