//! Birth and death of workers and prototypes.

use corral_ipc::message::Exit;
use corral_sys::signal::Ended;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use crate::host::{App, app, wait_for};
use crate::messages::{get, post};

fn hello() -> App {
    app(&[("index.php", "<?php echo 'hello';"), ("pid.php", "<?php echo getmypid();")])
}

#[test]
fn a_worker_is_a_process_with_a_title() {
    let mut host = hello().start();
    let mut worker = host.worker();
    assert_eq!(worker.ask(&host, &get("/pid.php")).text(), worker.pid.to_string());
    let name = std::fs::read_to_string(format!("/proc/{}/comm", worker.pid)).unwrap();
    assert_eq!(name, "\"test\" worker\n");
    let root = host.app().root();
    assert_eq!(worker.port.note(), root.join("pid.php").into_os_string().into_encoded_bytes());
}

#[test]
fn standard_error_goes_where_it_is_told() {
    let folder = tempfile::TempDir::new().unwrap();
    let log = folder.path().join("app.log");
    std::fs::write(&log, "before\n").unwrap();
    let mut host = app(&[("index.php", "<?php error_log('said');")]).stderr(&log).start();
    host.worker().ask(&host, &get("/"));
    assert_eq!(std::fs::read_to_string(&log).unwrap(), "before\nphp message: said\n");
    assert_eq!(host.log(), "");

    let reason = hello().stderr(&folder.path().join("no/such.log")).fail();
    assert!(reason.starts_with("open the application's output: \""), "{reason}");
}

#[test]
fn a_worker_told_to_quit_finishes_what_was_sent_before() {
    let mut host = hello().start();
    let mut worker = host.worker();
    let sent = worker.submit(&get("/"));
    worker.quit();
    assert_eq!(worker.answer(&host, sent, &get("/")).text(), "hello");
    assert_eq!(host.exit_of(&worker), Exit::Code(0));
}

#[test]
fn a_worker_leaves_after_its_share() {
    let mut host = hello().requests(3).start();
    let mut worker = host.worker();
    assert!(!worker.ask(&host, &get("/")).is_last());
    assert!(!worker.ask(&host, &get("/")).is_last());
    let third = worker.ask(&host, &get("/"));
    assert!(third.is_last());
    assert_eq!(third.text(), "hello");
    assert_eq!(host.exit_of(&worker), Exit::Code(0));
    assert_eq!(host.worker().ask(&host, &get("/")).text(), "hello");
}

#[test]
fn a_request_that_was_taken_back_is_not_run() {
    let mut host = app(&[
        (
            "index.php",
            "<?php touch('at'); while (!file_exists('go')) { clearstatcache(); usleep(1000); } echo 'first';",
        ),
        ("second.php", "<?php touch('second'); echo 'second';"),
        ("third.php", "<?php echo file_exists('second') ? 'run' : 'not run';"),
    ])
    .start();
    let mut worker = host.worker();
    let root = host.app().root();
    let first = worker.submit(&get("/"));
    wait_for(&root.join("at"));
    let second = worker.submit(&get("/second.php"));
    assert!(worker.take_back(second));
    assert!(!worker.take_back(first));
    let third = worker.submit(&get("/third.php"));
    std::fs::write(root.join("go"), "").unwrap();
    assert_eq!(worker.answer(&host, first, &get("/")).text(), "first");
    assert_eq!(worker.answer(&host, third, &get("/")).text(), "not run");
}

#[test]
fn a_request_ahead_waits_for_its_turn_with_its_body() {
    let mut host = app(&[
        (
            "index.php",
            "<?php touch('at'); while (!file_exists('go')) { clearstatcache(); usleep(1000); } echo \
            str_repeat('x', 400000);",
        ),
        ("second.php", "<?php echo md5(file_get_contents('php://input'));"),
    ])
    .start();
    let mut worker = host.worker();
    let root = host.app().root();
    let first = worker.submit(&get("/"));
    wait_for(&root.join("at"));
    let put = post("/second.php", "text/plain", vec![b'y'; 60_000]).method("PUT");
    let second = worker.submit(&put);
    std::fs::write(root.join("go"), "").unwrap();
    assert_eq!(worker.answer(&host, first, &get("/")).body.len(), 400_000);
    let expected = "1dd9cf632a9b2454fb36229e2d0c861e";
    assert_eq!(worker.answer(&host, second, &put).text(), expected);
}

#[test]
fn a_crash_costs_one_worker() {
    let fault = "<?php FFI::cdef('unsigned strlen(void *);')->strlen(FFI::cast('void *', 8));";
    let app = app(&[("index.php", fault), ("ok.php", "<?php echo 'ok';")]);
    let mut host = app.admin("ffi.enable", "true").start();
    let mut worker = host.worker();
    worker.submit(&get("/"));
    assert_eq!(host.exit_of(&worker), Exit::Signal(11));
    let root = host.app().root();
    assert_eq!(worker.port.note(), root.join("index.php").into_os_string().into_encoded_bytes());
    assert_eq!(host.worker().ask(&host, &get("/ok.php")).text(), "ok");
}

#[test]
fn a_worker_can_be_killed() {
    let mut host =
        app(&[("index.php", "<?php touch('at'); while (true) ;")]).admin("max_execution_time", "0").start();
    let mut worker = host.worker();
    worker.submit(&get("/"));
    wait_for(&host.app().root().join("at"));
    host.kill(&worker);
    assert_eq!(host.exit_of(&worker), Exit::Signal(15));
}

#[test]
fn a_stopped_prototype_takes_its_workers_along() {
    let mut host = hello().start();
    let pid = host.worker().pid;
    assert_eq!(host.stop(), Ended::Code(0));
    assert!(!std::path::Path::new(&format!("/proc/{pid}")).exists());
}

#[test]
fn without_main_nothing_is_left() {
    let mut host = hello().start();
    let mut worker = host.worker();
    assert_eq!(worker.ask(&host, &get("/")).text(), "hello");
    let pid = worker.pid;
    assert_eq!(host.vanish(), Ended::Code(0));
    assert!(!std::path::Path::new(&format!("/proc/{pid}")).exists());
}

#[test]
fn a_worker_without_its_prototype_leaves() {
    let mut host = hello().start();
    let worker = host.worker();
    let pid = Pid::from_raw(worker.pid.cast_signed()).unwrap();
    let process = pidfd_open(pid, PidfdFlags::empty()).unwrap();
    host.kill_prototype();
    // With its parent gone it was handed to this test's parent, so only a pidfd tells of its end.
    let deadline = Timespec { tv_sec: 30, tv_nsec: 0 };
    let n_ended = poll(&mut [PollFd::new(&process, PollFlags::IN)], Some(&deadline)).unwrap();
    assert_eq!(n_ended, 1, "the worker lingers");
}
