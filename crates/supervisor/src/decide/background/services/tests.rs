//! Processes that end again and again, and queues that grow and shrink.

use std::time::Duration;

use corral_config::plan::{CommandLine, QueueSpec, RuntimeSpec};

use super::*;
use crate::testing::command;

/// With so many processes, always.
fn services(number: u32, now: Instant) -> Services {
    let mut spec = command("a", None);
    spec.processes.max = number.try_into().unwrap();
    Services::of(&spec, now)
}

/// With a process for each job, three at most, and no calm.
fn by_queue(now: Instant) -> Services {
    let mut spec = command("a", None);
    let RuntimeSpec::Process(process) = &mut spec.runtime else { panic!("{spec:?}") };
    process.queue = Some(QueueSpec {
        command: CommandLine { executable: "length".into(), arguments: vec![] },
        per_process: 1.try_into().unwrap(),
        interval: Duration::from_secs(1),
        timeout: Duration::from_secs(1),
    });
    (spec.processes.max, spec.processes.spare) = (3.try_into().unwrap(), 0);
    spec.processes.idle_timeout = Duration::ZERO;
    Services::of(&spec, now)
}

fn start(services: &mut Services, worker: u32, now: Instant) {
    services.forking(WorkerId(worker), now);
    services.begun(WorkerId(worker), now);
}

#[test]
fn each_place_has_restarts_of_its_own() {
    let mut now = Instant::now();
    let mut services = services(2, now);
    assert_eq!(services.look(now), [CommandStep::Start, CommandStep::Start]);
    assert_eq!((services.look(now), services.deadline()), (vec![], None));
    start(&mut services, 1, now);
    start(&mut services, 2, now);
    for number in 3..10 {
        now += Duration::from_millis(1);
        services.ended(WorkerId(number - if number == 3 { 2 } else { 1 }), now);
        now = services.deadline().unwrap();
        assert_eq!(services.look(now), [CommandStep::Start]);
        start(&mut services, number, now);
    }
    now += Duration::from_millis(1);
    services.ended(WorkerId(9), now);
    assert!(services.deadline().unwrap() > now + Duration::from_secs(1), "it ends again and again");
    now += Duration::from_secs(20);
    services.look(now);
    start(&mut services, 10, now);
    services.ended(WorkerId(2), now);
    assert_eq!(services.deadline(), Some(now), "the other one has run for long");
}

#[test]
fn what_was_wanted_is_wanted_again() {
    let now = Instant::now();
    let mut services = services(1, now);
    assert_eq!(services.look(now), [CommandStep::Start]);
    services.lost(now);
    assert_eq!(services.look(now + Duration::from_secs(1)), [CommandStep::Start]);
    services.ended(WorkerId(7), now);
    assert_eq!(services.deadline(), None, "it is nobody's");
}

#[test]
fn a_queue_has_processes_started_and_told_to_end() {
    let now = Instant::now();
    let mut services = by_queue(now);
    assert_eq!((services.look(now), services.deadline()), (vec![], None), "its length is not known");
    services.measured(Ok(9), now);
    assert_eq!(services.deadline(), Some(now));
    assert_eq!(services.look(now), [CommandStep::Start; 3], "never more");
    (1..=3).for_each(|worker| start(&mut services, worker, now));
    services.measured(Ok(1), now);
    assert_eq!(services.look(now), [CommandStep::Retire(WorkerId(3)), CommandStep::Retire(WorkerId(2))]);
    services.measured(Ok(3), now);
    assert_eq!(services.look(now), [], "those that are about to end count");
    services.ended(WorkerId(2), now);
    assert_eq!(services.deadline(), Some(now));
    assert_eq!(services.look(now), [CommandStep::Start], "one has ended, without a pause");
    services.measured(Err("broken".into()), now);
    assert_eq!((services.look(now), services.queue().unwrap().wanted), (vec![], 3));
}

#[test]
fn a_start_that_is_not_needed_any_more_is_ended_when_it_has_begun() {
    let now = Instant::now();
    let mut services = by_queue(now);
    services.measured(Ok(1), now);
    assert_eq!(services.look(now), [CommandStep::Start]);
    services.forking(WorkerId(1), now);
    services.measured(Ok(0), now);
    assert_eq!((services.look(now), services.deadline()), (vec![], None), "nobody could tell it");
    services.begun(WorkerId(1), now);
    assert_eq!(services.look(now), [CommandStep::Retire(WorkerId(1))]);
}

#[test]
fn one_that_waits_for_its_restart_is_dropped_first() {
    let now = Instant::now();
    let mut services = by_queue(now);
    services.measured(Ok(2), now);
    services.look(now);
    (1..=2).for_each(|worker| start(&mut services, worker, now));
    services.ended(WorkerId(1), now);
    services.measured(Ok(1), now);
    assert_eq!((services.look(now), services.deadline()), (vec![], None));
}

#[test]
fn a_lost_prototype_takes_along_what_was_told_to_end() {
    let now = Instant::now();
    let mut services = by_queue(now);
    services.measured(Ok(2), now);
    services.look(now);
    (1..=2).for_each(|worker| start(&mut services, worker, now));
    services.measured(Ok(1), now);
    services.look(now);
    services.lost(now);
    assert_eq!(services.look(now + Duration::from_secs(1)), [CommandStep::Start]);
}
