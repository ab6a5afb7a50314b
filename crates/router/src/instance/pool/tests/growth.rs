//! `"processes": "auto"`: one more worker when requests wait and it helps, one fewer when it is idle for long.

use super::*;

/// One processor, and from one worker to three.
fn automatic(n_workers: u32) -> Scene {
    let processes = Processes {
        max: NonZeroU32::new(3).expect("three"),
        spare: 1,
        idle_timeout: Duration::from_secs(1),
        growth: PoolGrowth::ByWaiting,
    };
    Scene::with(n_workers, processes, &Limits::default())
}

#[track_caller]
fn check(n_workers: u32, script: &str, expect: &[&str]) {
    let mut scene = automatic(n_workers);
    scene.play(script);
    assert_eq!(scene.log, expect, "after {script}");
}

#[test]
fn the_first_workers_do_not_wait_for_requests() {
    let mut scene = automatic(0);
    assert!(scene.pool.want_worker());
    scene.play("add; submit 1; submit 2; submit 3");
    assert!(!scene.pool.want_worker(), "requests alone are no reason");
}

#[test]
fn one_more_is_started_when_a_request_waits_behind_a_worker_that_sleeps() {
    check(1, "submit 1; start 0 1; submit 2; look 0; look 0", &["grows"]);
    check(1, "submit 1; start 0 1; submit 2; submit 3; look 0", &["grows"]);
}

#[test]
fn one_look_is_not_enough() {
    check(1, "submit 1; start 0 1; submit 2; look; look 0", &["grows"]);
    check(1, "submit 1; start 0 1; submit 2; look", &[]);
}

#[test]
fn a_further_one_follows_when_the_last_is_there() {
    check(
        1,
        "submit 1; start 0 1; submit 2; submit 3; look 0; look 0; add; start 1 2; look 0 1",
        &["grows", "grows"],
    );
}

#[test]
fn no_more_than_the_maximum_are_started() {
    check(3, "submit 1; submit 2; submit 3; submit 4; start 0 3; start 1 2; start 2 1; look 0 1 2", &[]);
}

#[test]
fn a_worker_that_computes_is_not_helped_by_another_before_it_takes_long() {
    check(1, "submit 1; start 0 1; submit 2; look; look; look", &[]);
    check(1, "submit 1; start 0 1; submit 2; look; +2s; look", &["grows"]);
}

#[test]
fn a_worker_that_waits_for_the_router_does_not_sleep_in_a_script() {
    check(1, "submit 1; start 0 1; waits 0; submit 2; look 0", &[]);
}

#[test]
fn nothing_is_started_where_nothing_waits() {
    check(1, "submit 1; start 0 1; look 0", &[]);
    check(2, "submit 1; start 1 1; submit 2; look 0 1; done 1 1; look 0", &[]);
    check(1, "submit 1; start 0 1; submit 2; cancel 2; look 0", &["Forgotten"]);
}

#[test]
fn a_short_wait_is_no_reason() {
    let mut scene = automatic(1);
    scene.play("submit 1; start 0 1; submit 2");
    assert_eq!(scene.pool.survey(scene.now), Some(vec![]), "too early, but to be looked at again");
    scene.play("+5ms");
    assert_eq!(scene.pool.survey(scene.now), Some(vec![(WorkerId(0), 100)]));
}

#[test]
fn what_may_not_run_does_not_ask_for_workers() {
    let processes = automatic(0).pool.processes;
    let limits = Limits { concurrency: NonZeroU32::new(1), ..Limits::default() };
    let mut scene = Scene::with(1, processes, &limits);
    scene.play("submit 1; start 0 1; submit 2; look 0; look 0");
    assert_eq!(scene.log, Vec::<String>::new());
}

#[test]
fn after_a_failure_there_is_a_pause() {
    let mut scene = automatic(1);
    scene.play("submit 1; start 0 1; submit 2; look 0");
    scene.pool.worker_failed(scene.now);
    scene.play("look 0; look 0; +2s; look 0");
    assert_eq!(scene.log, ["grows", "grows"]);
}

#[test]
fn idle_workers_leave_one_after_the_other_down_to_those_that_are_kept() {
    let mut scene = automatic(3);
    let figures = |scene: &Scene| scene.pool.figures().running;
    scene.play("retire");
    assert_eq!(figures(&scene), 3, "none was idle for long");
    scene.play("+2s; retire");
    assert_eq!(figures(&scene), 2);
    scene.play("retire; retire; retire");
    assert_eq!(figures(&scene), 1);
}

#[test]
fn a_retired_pool_serves_what_waits_with_one_worker() {
    let mut scene = automatic(1);
    scene.pool.retire();
    scene.play("submit 1; die 0");
    assert!(scene.pool.want_worker());
    scene.play("add; done 1 1");
    assert!(!scene.pool.want_worker());
}
