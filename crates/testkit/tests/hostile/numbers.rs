//! Numbers of processes and workers that are not the application's own, or not at that time.

use std::os::fd::{AsFd, OwnedFd};

use corral_channel::WorkerEnd;
use corral_ipc::message::{Endpoint, Exit, FromPrototype, WorkerId};
use corral_sys::process;
use corral_sys::signal::Pid;
use corral_testkit::attacker::Prototype;
use corral_testkit::is_alive;

use crate::attack::{ask, begin, begin_with};

fn pidfd(pid: u32) -> OwnedFd {
    process::pidfd(Pid::from_raw(pid.cast_signed()).expect("a number")).expect("the process is there")
}

/// Answers the next wish for a worker with memory as it should be, and a process that may be anybody's.
fn forge(prototype: &Prototype, pid: u32, pidfd: Option<&OwnedFd>) -> WorkerId {
    let bell = prototype.ready();
    let worker = prototype.asked_to_fork();
    let (_end, memory) = WorkerEnd::create(&bell).expect("make a channel");
    let fds: Vec<_> = [Some(&memory), pidfd].into_iter().flatten().map(AsFd::as_fd).collect();
    prototype.forked(worker, pid, None, false, &fds);
    worker
}

#[test]
fn an_application_that_keeps_to_the_rules_is_served() {
    let mut attack = begin();
    attack.expect_served();
    attack.expect_unharmed();
}

#[test]
fn a_process_of_the_daemon_is_nobody_s_worker() {
    let mut attack = begin();
    let main = attack.server.pid();
    let [router, controller] = ["router", "controller"].map(|name| attack.server.named(name)[0]);
    for victim in [router, controller, main, 1, std::process::id()] {
        forge(&attack.prototype, victim, Some(&pidfd(victim)));
        attack.expect_given_up();
        assert!(is_alive(victim));
    }
    attack.expect_served();
}

#[test]
fn a_number_without_a_process_ends_nobody() {
    let mut attack = begin();
    let router = attack.server.named("router")[0];
    // Without a descriptor, main cannot know whose it was.
    forge(&attack.prototype, router, None);
    attack.prototype.end();
    attack.expect_unharmed();
    attack.prototype = attack.attacker.prototype();
    attack.expect_served();
}

#[test]
fn another_application_s_processes_are_not_taken() {
    let mut attack = begin_with(&["hostile", "victim"]);
    let _waits = ask(&attack.server, "victim");
    let victim = attack.attacker.prototype();
    let bell = victim.ready();
    let worker = victim.worker(&bell);
    for pid in [victim.process.pid, worker.child.pid] {
        forge(&attack.prototype, pid, Some(&pidfd(pid)));
        attack.expect_given_up();
        assert!(is_alive(pid));
    }
}

#[test]
fn an_orphan_is_main_s_child_and_no_worker() {
    let mut attack = begin();
    let orphan = attack.prototype.orphan();
    forge(&attack.prototype, orphan.pid, Some(&orphan.pidfd));
    attack.expect_given_up();
    assert!(is_alive(orphan.pid));
}

#[test]
fn number_and_descriptor_are_of_one_process() {
    let mut attack = begin();
    let (one, other) = (attack.prototype.fork(), attack.prototype.fork());
    forge(&attack.prototype, one.pid, Some(&other.pidfd));
    attack.expect_given_up();
    attack.expect_served();
}

#[test]
fn a_worker_goes_with_its_prototype() {
    let attack = begin();
    let orphan = attack.prototype.orphan();
    let child = attack.prototype.fork();
    forge(&attack.prototype, child.pid, Some(&child.pidfd));
    attack.server.expect_log(&format!("process {}", child.pid));
    attack.prototype.end();
    corral_testkit::eventually("the worker is gone", || (!is_alive(child.pid)).then_some(()));
    assert!(is_alive(orphan.pid));
    attack.expect_unharmed();
}

#[test]
fn a_worker_that_nobody_has_asked_for_is_not_taken() {
    let mut attack = begin();
    for worker in [0, 1, 7, u32::MAX] {
        let bell = attack.prototype.ready();
        let asked = attack.prototype.asked_to_fork();
        let child = attack.prototype.fork();
        let (_end, memory) = WorkerEnd::create(&bell).unwrap();
        let other = WorkerId(if asked.0 == worker { worker + 1 } else { worker });
        attack.prototype.forked(other, child.pid, None, false, &[memory.as_fd(), child.pidfd.as_fd()]);
        attack.expect_given_up();
    }
}

#[test]
fn nobody_is_reached_at_a_port_of_its_choice() {
    let mut attack = begin();
    for endpoint in [Endpoint::Port(attack.server.address().port()), Endpoint::Port(22)] {
        let _ = attack.prototype.ready();
        let worker = attack.prototype.asked_to_fork();
        let child = attack.prototype.fork();
        let started = FromPrototype::Started { worker, pid: child.pid, endpoint };
        attack.prototype.say(&started, &[child.pidfd.as_fd()]);
        attack.expect_given_up();
    }
    attack.expect_served();
}

#[test]
fn what_has_begun_was_asked_for_and_is_a_program_of_its_own() {
    let mut attack = begin();
    let _ = attack.prototype.ready();
    let worker = attack.prototype.asked_to_fork();
    let child = attack.prototype.fork();
    // The application is not one of programs.
    let begun = FromPrototype::Begun { worker, pid: child.pid };
    attack.prototype.say(&begun, &[child.pidfd.as_fd()]);
    attack.expect_given_up();
    attack.expect_served();
}

#[test]
fn an_answer_is_given_once() {
    let mut attack = begin();
    let child = attack.prototype.fork();
    let worker = forge(&attack.prototype, child.pid, Some(&child.pidfd));
    let (_, memory) = WorkerEnd::create(&corral_channel::WorkerBell::create(1).unwrap().0).unwrap();
    let again = attack.prototype.fork();
    attack.prototype.forked(worker, again.pid, None, false, &[memory.as_fd(), again.pidfd.as_fd()]);
    attack.expect_given_up();
    let child = attack.prototype.fork();
    let worker = forge(&attack.prototype, child.pid, Some(&child.pidfd));
    let reason = "it is here already".to_owned();
    attack.prototype.say(&FromPrototype::ForkFailed { worker, reason }, &[]);
    attack.expect_given_up();
}

#[test]
fn nothing_is_said_out_of_its_time() {
    let mut attack = begin();
    let worker = WorkerId(1);
    let reason = || "broken".to_owned();
    let _ = attack.prototype.ready();
    let _ = attack.prototype.ready();
    attack.expect_given_up();
    let _ = attack.prototype.ready();
    attack.prototype.say(&FromPrototype::Failed { reason: reason() }, &[]);
    attack.expect_given_up();
    attack.prototype.say(&FromPrototype::Failed { reason: reason() }, &[]);
    attack.prototype.try_say(&FromPrototype::Failed { reason: reason() }, &[]);
    attack.expect_given_up();
    attack.prototype.say(&FromPrototype::ForkFailed { worker, reason: reason() }, &[]);
    attack.expect_given_up();
    // What has ended need not have been known: a router that has died had it.
    attack.prototype.say(&FromPrototype::Exited { worker, exit: Exit::Code(0) }, &[]);
    attack.expect_served();
}
