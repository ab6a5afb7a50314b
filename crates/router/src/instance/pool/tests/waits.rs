//! How many requests wait, and for how long each has waited when it ends.

use super::*;

const MS: Duration = Duration::from_millis(1);

/// The time that a request has waited which a worker ends now.
#[track_caller]
fn end(scene: &mut Scene, worker: usize, id: u32) -> Option<Duration> {
    let key = scene.keys[worker];
    scene.pool.done(key, Lane(0), RequestId(id), LONG, scene.now).expect("it was held").waited
}

/// One waits ahead at the worker, one in the queue.
#[test]
fn a_request_waits_until_nothing_runs_before_it() {
    let mut scene = Scene::new(1, 1, 1);
    scene.play("submit 1; start 0 1; submit 2; submit 3");
    assert_eq!(scene.pool.figures().waiting, 2);
    scene.play("+5ms");
    assert_eq!(end(&mut scene, 0, 1), Some(Duration::ZERO));
    scene.play("start 0 2; +20ms");
    assert_eq!((end(&mut scene, 0, 2), scene.pool.figures().waiting), (Some(5 * MS), 0));
    scene.play("start 0 3; +5ms");
    assert_eq!(end(&mut scene, 0, 3), Some(25 * MS));
}

/// The end of the request before it may be for another event loop, which hears of it later.
#[test]
fn a_request_that_ends_first_has_waited_for_the_one_before_it() {
    let mut scene = Scene::new(1, 1, 1);
    scene.play("submit 1; start 0 1; submit 2; +20ms; start 0 2");
    let ended = scene.pool.done(scene.keys[0], Lane(0), RequestId(2), 5_000, scene.now).expect("it was held");
    assert_eq!(ended.waited, Some(15 * MS));
    assert_eq!(end(&mut scene, 0, 1), Some(Duration::ZERO));
}

#[test]
fn a_request_that_another_worker_takes_over_has_waited_until_then() {
    let mut scene = Scene::new(2, 2, 2);
    scene.play("submit 1; submit 2; submit 3; start 1 1; start 0 2; +5ms");
    assert_eq!((end(&mut scene, 1, 1), scene.pool.figures().waiting), (Some(Duration::ZERO), 0));
    scene.play("start 1 3; +20ms");
    assert_eq!(end(&mut scene, 1, 3), Some(5 * MS));
    assert_eq!(end(&mut scene, 0, 2), Some(Duration::ZERO));
}

#[test]
fn workers_that_run_several_let_only_the_others_wait() {
    let processes = Processes {
        max: NonZeroU32::MIN,
        spare: 1,
        idle_timeout: Duration::from_secs(1),
        growth: PoolGrowth::ByRequests,
    };
    let concurrency = WorkerConcurrency { n: NonZeroU32::MIN.saturating_add(1), ahead: false };
    let mut scene = Scene::of(1, processes, &Limits::default(), concurrency);
    scene.play("submit 1; submit 2; submit 3");
    assert_eq!(scene.pool.figures().waiting, 1);
    scene.play("+5ms");
    assert_eq!(end(&mut scene, 0, 2), Some(Duration::ZERO));
    scene.play("+20ms");
    assert_eq!(end(&mut scene, 0, 1), Some(Duration::ZERO));
    assert_eq!(end(&mut scene, 0, 3), Some(5 * MS));
}

#[test]
fn a_request_goes_on_waiting_when_the_worker_before_it_dies() {
    let mut scene = Scene::new(1, 1, 1);
    scene.play("submit 1; start 0 1; submit 2; +5ms; die 0");
    assert_eq!(scene.pool.figures().waiting, 1);
    scene.play("+20ms; add; start 1 2; +5ms");
    assert_eq!(end(&mut scene, 1, 2), Some(25 * MS));
}

/// The end of a worker may be heard of before that of its last request.
#[test]
fn a_request_that_dies_with_its_worker_has_waited_for_it() {
    let mut scene = Scene::new(1, 1, 1);
    scene.play("submit 1; start 0 1; submit 2; +5ms; done 0 1; start 0 2; +20ms");
    let removed = scene.pool.remove_worker(WorkerId(0), scene.now).expect("it was there");
    let waited: Vec<_> = removed.started.iter().map(|begun| (begun.id, begun.waited)).collect();
    assert_eq!(waited, [(RequestId(2), 5 * MS)]);
    let ended = scene.pool.done(scene.keys[0], Lane(0), RequestId(2), LONG, scene.now).expect("it is over");
    assert_eq!((ended.waited, ended.pid), (None, None));
}
