//! When a program counts as ready, and what is said of one that never is.

use std::time::{Duration, Instant};

use corral_testkit::{daemon, site};
use serde_json::{Value, json};

use crate::{merge, program, with_app};

/// Puts an application in force in vain, and returns why.
#[track_caller]
fn refusal(app: &Value) -> String {
    let server = daemon().start_unconfigured();
    let reply = server.control().put("/config", &json!({ "applications": { "app": app } }));
    let detail = reply.expect_refused(500, "Failed to apply new configuration.");
    assert_eq!(server.control().get("/config/applications").json(), json!({}), "nothing of it is in force");
    detail
}

#[track_caller]
fn check(members: Value, expected: &[&str]) {
    let mut app = json!({ "type": "http" });
    merge(&mut app, members);
    let detail = refusal(&app);
    for expected in expected {
        assert!(detail.contains(expected), "{expected:?} is not in {detail:?}");
    }
}

#[track_caller]
fn check_script(script: &str, members: Value, expected: &[&str]) {
    let mut app = json!({ "executable": "/bin/sh", "arguments": ["-c", script] });
    merge(&mut app, members);
    check(app, expected);
}

/// Options: applications.{N}.executable
#[test]
fn an_executable_that_is_not_there_is_named() {
    check(
        json!({ "executable": "/no/such/program" }),
        &["application \"app\": ", "the executable \"/no/such/program\"", "No such file"],
    );
    check(json!({ "executable": "/etc/passwd" }), &["the executable \"/etc/passwd\"", "Permission denied"]);
    check(
        json!({ "executable": "no-such-program", "environment": { "PATH": "/bin:/sbin" } }),
        &["the executable \"no-such-program\" is in none of the folders of PATH: /bin:/sbin"],
    );
    check(
        json!({ "executable": "./program", "working_directory": "/usr" }),
        &["the executable \"./program\"", "No such file"],
    );
}

#[test]
fn the_last_words_of_a_program_that_exits_are_passed_on() {
    check_script(
        "echo 'one thing' >&2; echo 'and another'; exit 3",
        json!({}),
        &["exited with code 3 before it was ready; it said: one thing | and another"],
    );
    check_script("kill -9 $$", json!({}), &["exited on signal 9 before it was ready"]);
    let site = site().writable_folder("out");
    let stderr = site.path("out/errors");
    check_script(
        "echo reason >&2; exit 1",
        json!({ "stderr": stderr }),
        &["exited with code 1 before it was ready", &format!("what it said is in \"{}\"", stderr.display())],
    );
    assert_eq!(site.read("out/errors"), "reason\n");
}

/// Options: applications.{N}.ready.timeout
#[test]
fn a_program_that_is_never_ready_is_ended_with_what_it_lacks() {
    let lacks = |ready: Value, socket: &str, expected: &[&str]| {
        check_script(
            "sleep 1000 & echo started; wait",
            json!({ "ready": ready, "socket": socket }),
            expected,
        );
    };
    let late = "was not ready within 1 s (ready.timeout): ";
    lacks(
        json!({ "timeout": 1 }),
        "inherited",
        &[late, "it accepts nothing on descriptor 3", "it said: started"],
    );
    lacks(json!({ "timeout": 1 }), "unix", &[late, "nothing listens on /", ".http (No such file"]);
    lacks(
        json!({ "timeout": 1 }),
        "port",
        &[late, "nothing listens on port ", "of 127.0.0.1 (Connection refused"],
    );
    lacks(
        json!({ "timeout": 1, "notify": true }),
        "inherited",
        &[late, "it has not said READY=1 to $NOTIFY_SOCKET"],
    );
    lacks(json!({ "timeout": 1, "path": "/up" }), "inherited", &[late, "it does not answer /up"]);
}

/// Options: applications.{N}.ready, applications.{N}.ready.path, applications.{N}.ready.notify
#[test]
fn requests_wait_until_the_program_is_ready() {
    let site = program("late.py");
    let start = |how: &str, socket: &str, ready: Value| {
        let started = Instant::now();
        let app = json!({
            "type": "http", "executable": "/usr/bin/python3", "arguments": [site.path("late.py"), "1", how],
            "socket": socket, "ready": ready
        });
        let server = with_app(&app).start();
        assert!(started.elapsed() > Duration::from_secs(1), "{how}: it was ready too early");
        assert!(server.get("/").expect(200).text().starts_with("asked after "));
    };
    start("listen", "inherited", json!("connect"));
    start("listen", "unix", json!({}));
    start("answer", "inherited", json!({ "path": "/up" }));
    start("answer", "unix", json!({ "path": "/up" }));
    start("notify", "inherited", json!("notify"));
    start("notify", "unix", json!({ "notify": true }));
}

#[test]
fn a_program_that_answers_with_errors_is_not_ready() {
    let site = program("late.py");
    check(
        json!({
            "executable": "/usr/bin/python3", "arguments": [site.path("late.py"), "1000", "answer"],
            "ready": { "path": "/up", "timeout": 1 }
        }),
        &["was not ready within 1 s", "it answers /up with 503", "it said: ", "GET /up HTTP/1.1"],
    );
}

/// With nothing kept ready, the first request starts the program, and waits for it.
#[test]
fn the_first_request_starts_a_program_on_demand() {
    let site = program("late.py");
    let app = json!({
        "type": "http", "executable": "/usr/bin/python3", "arguments": [site.path("late.py"), "0.5", "listen"],
        "processes": { "max": 2, "spare": 0, "idle_timeout": 1 }
    });
    let server = with_app(&app).start();
    assert_eq!(server.named("python3").len(), 0);
    server.get("/").expect(200);
    server.expect_processes("python3", 1);
    server.expect_processes("python3", 0);
    assert!(!server.log().contains("[alert]"), "{}", server.log());
    server.get("/").expect(200);
}

/// A failure is tried again later, and requests get 503 until then.
#[test]
fn a_program_that_fails_on_demand_is_a_503_and_is_tried_again() {
    let site = program("late.py").writable_folder("out");
    let script = format!(
        "[ -e {0} ] || exit 4; exec /usr/bin/python3 {1} 0 listen",
        site.path("out/mended").display(),
        site.path("late.py").display()
    );
    let app = json!({
        "type": "http", "executable": "sh", "arguments": ["-c", script],
        "processes": { "max": 1, "spare": 0 }
    });
    let server = with_app(&app).start();
    server.get("/").expect(503);
    server.expect_log("exited with code 4 before it was ready");
    site.write("out/mended", "");
    corral_testkit::eventually("it is started again", || (server.get("/").status == 200).then_some(()));
}
