//! Start, status, reload and stop.

use std::time::{Duration, Instant};

use corral_testkit::{Client, Load, Request, Run, Signal, eventually, signal};

use super::project::{CONFIGURATION, Project, code};

/// The rule by which Octane finds the version.
#[test]
fn the_version_is_found_in_the_build_info() {
    let project = Project::new();
    let info = Run::spawn(&mut project.command(&["build-info"])).ended().expect_success();
    let is_meant = |line: &&str| line.starts_with("dep") && line.contains("github.com/dunglas/frankenphp");
    let line = info.stdout.lines().find(is_meant).expect("it is there");
    let version = line.trim().rsplit('v').next().expect("it has a version");
    let numbers: Vec<u32> = version.split('.').map(|number| number.parse().expect("a number")).collect();
    assert!(numbers.len() == 3 && numbers >= vec![1, 3, 0], "{version}");
    for arguments in [&["version"][..], &["--version"]] {
        let outcome = Run::spawn(&mut project.command(arguments)).ended().expect_success();
        assert!(outcome.stdout.contains(version), "{outcome:?}");
    }
}

#[test]
fn the_project_is_served_until_it_is_interrupted() {
    let project = Project::new();
    let run = project.start();
    let (code, _, first, uri, folder) = project.told("/a/page?x=1");
    assert_eq!((code.as_str(), uri.as_str()), ("first", "/a/page?x=1"));
    assert_eq!(first, 1);
    assert_eq!(folder, project.site.path("public").display().to_string());
    let workers = run.processes().iter().filter(|process| process.name.ends_with("worker")).count();
    assert_eq!(workers, 2);
    let outcome = run.interrupt();
    assert!(outcome.status.success(), "{outcome:?}");
    Client::try_connect(project.address.socket()).expect_err("nobody listens any more");
}

#[test]
fn a_worker_ends_after_its_requests_and_another_one_goes_on() {
    let project = Project::new().with("MAX_REQUESTS", "3").with("CADDY_SERVER_WORKER_DIRECTIVE", "num 1");
    let _run = project.start();
    let numbers: Vec<_> = (0..7).map(|_| project.told("/").2).collect();
    assert_eq!(numbers, [1, 2, 3, 1, 2, 3, 1]);
}

#[test]
fn without_a_number_there_are_two_workers_for_each_processor() {
    let project = Project::new().with("CADDY_SERVER_WORKER_DIRECTIVE", "");
    let run = project.start();
    let expected = 2 * std::thread::available_parallelism().expect("it is known").get();
    let workers = || run.processes().iter().filter(|process| process.name.ends_with("worker")).count();
    eventually("they are there", || (workers() == expected).then_some(()));
}

#[test]
fn the_status_is_a_document() {
    let project = Project::new();
    let _run = project.start();
    let reply = project.call(&Request::get(CONFIGURATION)).expect(200);
    let document: serde_json::Value = serde_json::from_str(&reply.text()).expect("it is JSON");
    let worker = &document["workers"][0];
    assert_eq!(worker["num"], 2);
    assert!(worker["file_name"].as_str().expect("a path").ends_with("public/frankenphp-worker.php"));
}

#[test]
fn a_reload_starts_new_workers_and_loses_no_request() {
    let project = Project::new();
    let _run = project.start();
    let (_, pid, ..) = project.told("/");
    let load = Load::start(project.address.socket(), "/", 4);
    for word in ["second", "third"] {
        project.site.write("app/code.php", code(word));
        project.reload().expect(200);
        assert_eq!(project.told("/").0, word);
    }
    let tally = load.stop();
    assert!(tally.failures.is_empty() && tally.n_good > 0, "{tally:?}");
    assert_ne!(project.told("/").1, pid);
}

#[test]
fn workers_are_restarted_by_frankenphp_s_own_call() {
    let project = Project::new();
    let _run = project.start();
    project.site.write("app/code.php", code("second"));
    assert_eq!(project.told("/").0, "first");
    project.call(&Request::post("/frankenphp/workers/restart")).expect(200);
    assert_eq!(project.told("/").0, "second");
}

/// The configuration before goes on, and the reply says why.
#[test]
fn a_reload_of_broken_code_is_refused() {
    let project = Project::new();
    let _run = project.start();
    project.site.write("app/code.php", "<?php function {");
    let reply = project.reload().expect(500);
    assert!(reply.text().contains("syntax error"), "{reply}");
    assert_eq!(project.told("/").0, "first");
}

#[test]
fn a_change_that_is_no_reload_changes_nothing() {
    let project = Project::new();
    let _run = project.start();
    let (_, pid, ..) = project.told("/");
    let document = project.call(&Request::get(CONFIGURATION)).expect(200).body;
    let patch = |body: &[u8]| {
        let length = body.len().to_string();
        project.call(&Request::new("PATCH", CONFIGURATION).field("Content-Length", &length).body(body))
    };
    patch(&document).expect(200);
    patch(b"{\"workers\": []}").expect(400);
    patch(b"nonsense").expect(400);
    let pids = [project.told("/").1, project.told("/").1];
    assert!(pids.contains(&pid) || project.told("/").2 > 1, "{pids:?}");
}

#[test]
fn a_stop_finishes_what_was_begun() {
    let project = Project::new();
    let code = "<?php function code() { error_log('was asked'); usleep(300000); return 'slow'; }";
    project.site.write("app/code.php", code);
    let mut run = project.start();
    let mut client = project.connect();
    let slow = std::thread::spawn(move || client.get("/").status);
    run.expect_output("was asked");
    project.call(&Request::post("/stop").field("Content-Type", "application/json").body("[]")).expect(200);
    let outcome = run.ended();
    assert!(outcome.status.success(), "{outcome:?}");
    assert_eq!(slow.join().expect("it was answered"), 200);
}

#[test]
fn a_second_signal_does_not_wait() {
    let project = Project::new();
    project.site.write("app/code.php", "<?php function code() { sleep(30); return 'slow'; }");
    let run = project.start();
    let mut client = project.connect();
    let slow = std::thread::spawn(move || client.try_send(&Request::get("/")).is_ok());
    signal(run.pid(), Signal::TERM);
    eventually("it listens no more", || Client::try_connect(project.address.socket()).err());
    signal(run.pid(), Signal::TERM);
    run.ended();
    drop(slow.join());
}

/// The daemon does not outlive the process that Octane knows.
#[test]
fn nothing_is_left_when_it_is_killed() {
    let project = Project::new();
    let run = project.start();
    let processes = run.processes();
    signal(run.pid(), Signal::KILL);
    run.ended();
    eventually("no process is left", || {
        processes.iter().all(|process| !corral_testkit::is_alive(process.pid)).then_some(())
    });
}

#[test]
fn other_calls_and_web_pages_get_nothing() {
    let project = Project::new();
    let run = project.start();
    for (method, path) in
        [("GET", "/"), ("GET", "/config/"), ("POST", "/load"), ("DELETE", CONFIGURATION), ("GET", "/stop")]
    {
        project.call(&Request::new(method, path)).expect(404);
    }
    for (name, value) in
        [("Host", "evil.example"), ("Origin", "http://evil.example"), ("Sec-Fetch-Site", "cross-site")]
    {
        project.call(&Request::post("/stop").field(name, value)).expect(403);
        project.call(&Request::get(CONFIGURATION).field(name, value)).expect(403);
    }
    assert!(run.interrupt().status.success());
}

/// Connections at a time, and the time that one may take for its head and its body.
#[test]
fn calls_that_never_come_hold_nothing_for_ever() {
    let project = Project::new();
    let run = project.start();
    project.call(&Request::get(CONFIGURATION)).expect(200);
    let connect = || Client::try_connect_http1(project.admin.socket()).expect("connect");
    let large = Request::post("/stop").body(vec![b'x'; (1 << 20) + 1]);
    connect().send(&large).expect(400);
    let mut late = connect();
    late.write("POST /stop HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\n");
    let _silent: Vec<_> = (0..31).map(|_| connect()).collect();
    let begun = Instant::now();
    connect().get(CONFIGURATION).expect(200);
    assert!(begun.elapsed() > Duration::from_secs(3), "there was a place: {:?}", begun.elapsed());
    late.read_response().expect(408);
    project.get("/").expect(200);
    assert!(run.interrupt().status.success());
}

#[test]
fn changed_code_is_served_where_octane_watches() {
    let project = Project::new();
    let watch = format!("\t\twatch {0}/app\n\t\twatch {0}/config/**/*.php", project.site.root());
    let project = project.with("CADDY_SERVER_WATCH_DIRECTIVES", watch);
    let _run = project.start();
    assert_eq!(project.told("/").0, "first");
    for word in ["second", "third"] {
        project.site.write("app/code.php", code(word));
        assert_eq!(project.told("/").0, word);
    }
}
