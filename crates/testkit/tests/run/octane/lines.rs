//! The lines on standard error that Octane reads.

use corral_testkit::{Run, eventually};
use serde_json::Value;

use super::project::Project;

/// All lines so far; each is an object.
#[track_caller]
fn lines(run: &Run) -> Vec<Value> {
    let text = run.stderr();
    let (whole, _) = text.rsplit_once('\n').unwrap_or_default();
    whole.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("{line}"))).collect()
}

#[track_caller]
fn line(run: &Run, what: &str, is_meant: impl Fn(&Value) -> bool) -> Value {
    eventually(what, || lines(run).into_iter().find(&is_meant))
}

#[test]
fn requests_are_lines_with_the_members_that_octane_prints() {
    let project = Project::new();
    let run = project.start();
    project.get("/page?authorization=secret&x=1").expect(200);
    let found = line(&run, "the request", |line| line["msg"] == "handled request");
    assert_eq!((&found["level"], &found["status"]), (&"info".into(), &200.into()));
    assert!(found["duration"].as_f64().is_some_and(|seconds| seconds < 30.0), "{found}");
    assert!(found["ts"].is_f64() && found["size"].is_u64() && found["logger"].is_string(), "{found}");
    let request = &found["request"];
    assert_eq!(
        (&request["method"], &request["uri"]),
        (&"GET".into(), &"/page?authorization=REDACTED&x=1".into())
    );
    assert_eq!((&request["host"], &request["remote_ip"]), (&"localhost".into(), &"127.0.0.1".into()));
    project.get("/fails").expect(500);
    line(&run, "the failure", |line| line["status"] == 500 && line["level"] == "error");
    assert!(!run.stderr().contains("secret"), "{}", run.stderr());
}

/// As Octane has it outside of a desk: only what fails.
#[test]
fn the_level_leaves_requests_out() {
    let project = Project::new().with("CADDY_SERVER_LOG_LEVEL", "WARN");
    let run = project.start_silently();
    project.get("/page").expect(200);
    project.get("/fails").expect(500);
    let found = line(&run, "the failure", |line| line["msg"] == "handled request");
    assert_eq!(found["status"], 500);
    assert!(lines(&run).iter().all(|line| line["status"] != 200), "{}", run.stderr());
}

/// Octane understands objects that its worker has written.
#[test]
fn what_the_worker_writes_is_the_message() {
    let project = Project::new();
    let run = project.start();
    project.get("/logs").expect(200);
    let found = line(&run, "its line", |line| line["msg"].as_str().is_some_and(|text| text.starts_with('{')));
    assert_eq!(found["level"], "error");
    let text = found["msg"].as_str().expect("it is text");
    let inner: Value = serde_json::from_str(text).expect("it is an object");
    assert_eq!((&inner["type"], &inner["message"]), (&"throwable".into(), &r"a\b".into()));
}

#[test]
fn a_console_gets_text() {
    let project = Project::new().with("CADDY_SERVER_LOGGER", "console");
    let mut run = project.start();
    project.get("/page").expect(200);
    run.expect_output("\tINFO\thandled request\t{");
}

/// Why it does not start is a line as any other.
#[test]
fn a_worker_that_fails_at_start_ends_it_with_the_reason() {
    let project = Project::new();
    project.site.write("app/code.php", "<?php function {");
    let caddyfile = project.site.path("Caddyfile").display().to_string();
    let outcome = Run::spawn(&mut project.command(&["run", "--config", &caddyfile])).ended();
    assert!(!outcome.status.success(), "{outcome:?}");
    assert!(
        outcome.stderr.contains("\"level\":\"error\"") && outcome.stderr.contains("syntax error"),
        "{outcome:?}"
    );
}
