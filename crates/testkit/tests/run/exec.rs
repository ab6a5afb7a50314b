//! `corral exec`: commands that run as an application does.

mod applications;
mod ends;
mod terminals;
mod users;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};

use corral_testkit::{Daemon, Run, RunOutcome, daemon, executables};
use serde_json::{Value, json};

/// A daemon with these applications.
#[track_caller]
fn server(applications: &Value) -> Daemon {
    daemon().config(json!({ "listeners": {}, "applications": applications })).start()
}

/// An application of which nothing runs, with further members.
fn idle(members: Value) -> Value {
    let mut app = json!({ "type": "process", "command": "true", "schedule": "@yearly" });
    let Value::Object(members) = members else { panic!("members are an object") };
    app.as_object_mut().expect("it is one").extend(members);
    app
}

/// A daemon with such an application, `app`.
#[track_caller]
fn idle_server(members: Value) -> Daemon {
    server(&json!({ "app": idle(members) }))
}

/// `corral exec` with these arguments.
fn exec(server: &Daemon, arguments: &[&str]) -> Command {
    let mut command = Command::new(&executables().corral);
    command.arg("exec").args(arguments).env("CORRAL_CONTROL", server.control_address());
    command
}

/// Runs a command of the shell as `app`.
#[track_caller]
fn shell(server: &Daemon, script: &str) -> RunOutcome {
    Run::spawn(&mut exec(server, &["app", "--", "sh", "-c", script])).ended()
}

/// Runs a command of the shell as `app`, and returns what it has printed.
#[track_caller]
fn printed(server: &Daemon, script: &str) -> String {
    shell(server, script).expect_success().stdout.trim_end().to_owned()
}

fn is_root() -> bool {
    let is_root = rustix::process::geteuid().is_root();
    if !is_root {
        eprintln!("skipped: only root may do this");
    }
    is_root
}

/// Has every user be able to ask the daemon, so that it decides itself.
fn open_to_all(server: &Daemon) {
    let open = fs::Permissions::from_mode(0o666);
    fs::set_permissions(server.control_socket(), open).expect("it is ours");
}

/// Everything that a process has from the one that has started it.
const REPORT: &str = r#"#!/bin/sh
report() {
    id; pwd; umask; cat /proc/$$/limits; grep -E '^(NoNewPrivs|Seccomp|CapEff|CapBnd|Groups)' /proc/$$/status
    tr '\0' '\n' </proc/$$/environ | sort
    for kind in ipc mnt net pid user uts; do readlink /proc/$$/ns/$kind; done
}
if [ -n "$1" ]; then
    report >"$1.part"; mv "$1.part" "$1"; exec sleep 1000
fi
report
"#;

#[test]
fn a_command_finds_itself_where_the_application_is() {
    let site = corral_testkit::site().file("report", REPORT).writable_folder("out");
    for (name, members) in [
        ("plain", json!({})),
        ("other", json!({ "user": "daemon", "group": "bin", "working_directory": "/usr" })),
        (
            "bare",
            json!({ "inherit_environment": false, "environment": { "PATH": "/bin:/usr/bin", "A": "b c" } }),
        ),
        ("walled", json!({ "user": "nobody" })),
        ("guarded", json!({ "isolation": { "new_privs": false, "seccomp": "default" } })),
    ] {
        if ["other", "walled"].contains(&name) && !is_root() {
            continue;
        }
        let out = site.path(&format!("out/{name}"));
        let out = out.to_str().expect("text");
        let mut app = json!({ "type": "process", "command": ["/bin/sh", site.path("report"), out] });
        app.as_object_mut().expect("it is one").extend(members.as_object().expect("it is one").clone());
        // The user of the daemon's own processes: it is kept from them.
        let user: &[&str] = if name == "walled" { &["--user", "nobody"] } else { &[] };
        let builder = user.iter().fold(daemon(), |builder, argument| builder.argument(argument));
        let server = builder
            .environment("SECRET_OF_THE_DAEMON", "x y")
            .config(json!({ "listeners": {}, "applications": { "app": app } }))
            .start();
        let report = corral_testkit::eventually("it reports", || fs::read_to_string(out).ok());
        // With another environment, mask, folder and limits than the daemon has.
        let script = site.path("report");
        let exec = exec(&server, &["app", "/bin/sh", script.to_str().expect("text")]);
        let words: Vec<_> = std::iter::once(exec.get_program()).chain(exec.get_args()).collect();
        let mut narrow = Command::new("sh");
        narrow.args(["-c", "umask 077; ulimit -S -n 200; cd /var; exec \"$@\"", "sh"]).args(words);
        narrow.env("CORRAL_CONTROL", server.control_address()).env("ONLY_HERE", "1").env("HOME", "/here");
        let ran = Run::spawn(&mut narrow).ended().expect_success();
        let differing = ran.stdout.lines().zip(report.lines()).filter(|(exec, app)| exec != app);
        assert_eq!(differing.collect::<Vec<_>>(), [], "{name}");
        assert_eq!(ran.stdout.lines().count(), report.lines().count(), "{name}");
    }
}

/// Bytes go through as they are, in both directions, also many of them.
#[test]
fn streams_that_are_no_terminal_are_handed_on_as_they_are() {
    let server = idle_server(json!({}));
    let bytes: Vec<u8> = (0..2_000_000_u32).map(|n| (n ^ (n >> 8)).to_le_bytes()[0]).collect();
    let mut child = exec(&server, &["app", "cat"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut stdin = child.stdin.take().expect("it is piped");
    let sent = bytes.clone();
    let sender = std::thread::spawn(move || std::io::Write::write_all(&mut stdin, &sent));
    let output = child.wait_with_output().expect("it ends");
    sender.join().expect("it does not panic").expect("it takes all");
    assert!(output.status.success() && output.stderr.is_empty(), "{:?}", output.stderr);
    assert!(output.stdout == bytes, "{} bytes came back", output.stdout.len());
    let ran = shell(&server, "echo out; echo err >&2");
    assert_eq!((ran.stdout.as_str(), ran.stderr.as_str()), ("out\n", "err\n"));
}

#[test]
fn a_command_has_the_three_streams_and_no_other_descriptor() {
    let server = idle_server(json!({}));
    let script = "for fd in /proc/self/fd/*; do [ -e $fd ] && echo ${fd##*/}; done; :";
    assert_eq!(printed(&server, script), "0\n1\n2");
}

#[test]
fn two_commands_run_at_once() {
    let site = corral_testkit::site().writable_folder("out");
    let server = idle_server(json!({}));
    let (one, other) = (site.path("out/one"), site.path("out/other"));
    let meet = |own: &std::path::Path, other: &std::path::Path| {
        let script = format!(
            "touch {}; until [ -e {} ]; do sleep 0.02; done; echo met",
            own.display(),
            other.display()
        );
        Run::spawn(&mut exec(&server, &["app", "--", "sh", "-c", &script]))
    };
    let runs = [meet(&one, &other), meet(&other, &one)];
    for run in runs {
        assert_eq!(run.ended().expect_success().stdout, "met\n");
    }
}
