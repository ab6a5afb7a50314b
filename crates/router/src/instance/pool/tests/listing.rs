//! Workers one by one: what is told of them, and the end of one.

use corral_ipc::message::{EndCause, WorkerState};
use corral_sys::usage::ProcessUsage;

use super::*;
use crate::instance::pool::listing::RunningFacts;
use crate::instance::pool::usage::{self, UsageSum};
use crate::instance::pool::worker::ScriptTrace;

/// The states of the workers, with the requests that they have ended and have.
fn states(scene: &Scene) -> Vec<(WorkerState, u64, usize)> {
    let facts = scene.pool.places().into_iter().filter_map(|place| scene.pool.facts(place));
    facts.map(|facts| (facts.state, facts.n_served, facts.n_held)).collect()
}

fn running(scene: &Scene) -> Option<RunningFacts> {
    scene.pool.facts(0).expect("it is there").running
}

/// The worker says where a request is.
fn trace(scene: &mut Scene, worker: usize, id: u32, text: &str) -> bool {
    let trace = ScriptTrace { text: text.as_bytes().into(), taken: scene.now };
    scene.pool.trace(scene.keys[worker], Lane(0), RequestId(id), trace)
}

/// The words that are told of, and when they were said.
fn traced(scene: &Scene) -> Option<(String, Instant)> {
    let trace = running(scene)?.trace?;
    Some((String::from_utf8_lossy(&trace.text).into_owned(), trace.taken))
}

#[test]
fn each_worker_has_its_state() {
    let mut scene = Scene::new(3, 3, 3);
    scene.play("submit 1; start 2 1; done 2 1; submit 2; start 2 2; submit 3; start 1 3; leave 1");
    let expected = [(WorkerState::Idle, 0, 0), (WorkerState::Leaving, 0, 1), (WorkerState::Busy, 1, 1)];
    assert_eq!(states(&scene), expected);
    let now = scene.now;
    scene.pool.add_worker(WorkerId(9), 109, FakePort::default(), now);
    assert_eq!(states(&scene)[3], (WorkerState::Starting, 0, 0));
    assert_eq!(scene.pool.figures().leaving, 1);
    assert_eq!(scene.pool.facts(17), None);
}

#[test]
fn a_request_is_told_of_once_it_runs() {
    let mut scene = Scene::new(1, 1, 1);
    scene.play("submit 1");
    assert_eq!(running(&scene), None, "it waits");
    scene.play("start 0 1; +20ms; submit 2");
    let (note, payload) = (b"a script".to_vec(), Vec::new());
    let begun = scene.now - Duration::from_millis(20);
    assert_eq!(running(&scene), Some(RunningFacts { payload, note, begun, trace: None }));
    // The next one has waited behind it, and has begun when it was over.
    scene.play("+20ms; done 0 1; start 0 2");
    let begun = scene.now;
    scene.play("+20ms");
    assert_eq!(running(&scene).map(|running| running.begun), Some(begun));
    scene.play("done 0 2");
    assert_eq!(running(&scene), None);
}

#[test]
fn the_last_trace_of_a_request_is_told_as_long_as_it_runs() {
    let mut scene = Scene::new(1, 1, 1);
    scene.play("submit 1; start 0 1; submit 2");
    assert_eq!(traced(&scene), None);
    assert!(trace(&mut scene, 0, 1, "first"));
    scene.play("+20ms");
    assert!(trace(&mut scene, 0, 1, "second"));
    let taken = scene.now;
    scene.play("+20ms");
    assert_eq!(traced(&scene), Some(("second".to_owned(), taken)));
    scene.play("done 0 1; start 0 2");
    assert_eq!(traced(&scene), None, "another request runs");
    assert!(trace(&mut scene, 0, 2, "third") && trace(&mut scene, 0, 2, ""));
    assert_eq!(traced(&scene), None, "the last one is empty");
}

#[test]
fn traces_of_requests_that_do_not_run_there_are_refused() {
    let mut scene = Scene::new(2, 2, 2);
    scene.play("submit 1; submit 2; submit 3; start 1 1");
    assert_eq!(scene.summary(), "0: 2 3 | 1: 1");
    for (worker, id) in [(0, 1), (0, 2), (0, 3), (1, 2), (1, 4)] {
        assert!(!trace(&mut scene, worker, id, "elsewhere"), "{worker} {id}");
    }
    assert!(trace(&mut scene, 1, 1, "here"));
    scene.play("die 1");
    assert!(!trace(&mut scene, 1, 1, "gone"));
}

#[test]
fn a_connection_has_no_request_any_more() {
    let mut scene = Scene::new(1, 1, 1);
    scene.play("submit 1; start 0 1");
    scene.pool.upgraded(scene.keys[0], Lane(0), RequestId(1)).expect("it runs");
    assert_eq!(running(&scene), None);
    assert_eq!(states(&scene), [(WorkerState::Busy, 0, 1)]);
}

#[test]
fn a_worker_that_is_drained_gets_nothing_more_and_others_go_on() {
    let mut scene = Scene::new(2, 2, 2);
    scene.play(
        "submit 1; start 1 1; submit 2; start 0 2; submit 3; drain 1; drain 1; drain 7; done 1 1; submit 4",
    );
    assert_eq!(scene.summary(), "0: 2 3 | 1: 1");
    assert!(scene.ports[1].0.borrow().quit && !scene.ports[0].0.borrow().quit);
    assert_eq!(scene.pool.take_dismissed(), [(WorkerId(1), EndCause::Drained)], "once");
    assert!(scene.pool.want_worker(), "another takes its place");
}

#[test]
fn workers_that_quit_have_a_cause() {
    let mut scene = Scene::new(2, 2, 0);
    scene.play("+2s; retire");
    assert_eq!(scene.pool.take_dismissed(), [(WorkerId(0), EndCause::Idle), (WorkerId(1), EndCause::Idle)]);
    assert_eq!(scene.pool.take_dismissed(), []);
}

#[test]
fn resources_are_looked_at_in_turn() {
    let mut scene = Scene::new(3, 3, 3);
    let pids = |scene: &Scene, most| {
        usage::oldest(scene.pool.looks(), most).iter().map(|look| look.pid).collect::<Vec<_>>()
    };
    assert_eq!(pids(&scene, 2), [100, 101]);
    let used = |n: u64| ProcessUsage {
        resident: n,
        anonymous: n,
        cpu: Duration::from_secs(n),
        ..ProcessUsage::default()
    };
    let seen = [(scene.keys[0], used(10)), (scene.keys[1], used(1))];
    scene.pool.note_usage(&seen, scene.now);
    assert_eq!(pids(&scene, 1), [102]);
    assert_eq!(scene.pool.usage(), UsageSum { resident: 11, anonymous: 11, cpu: Duration::from_secs(11) });
    scene.play("+20ms");
    scene.pool.note_usage(&[(scene.keys[2], used(5)), (scene.keys[0], used(11))], scene.now);
    assert_eq!(pids(&scene, 3), [101, 100, 102]);
    scene.play("die 0");
    assert_eq!(scene.pool.usage().resident, 6);
    // Its place is another worker's by now.
    scene.pool.note_usage(&[(scene.keys[0], used(100))], scene.now);
    assert_eq!(scene.pool.usage().resident, 6);
}
