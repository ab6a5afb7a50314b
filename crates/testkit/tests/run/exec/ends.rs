//! The end of a command: its code, signals, and a client that goes away before.

use std::fs;
use std::path::Path;

use corral_testkit::{Run, Signal, eventually, is_alive, signal, site};
use serde_json::json;

use super::{exec, idle_server, printed, shell};

#[test]
fn the_exit_code_is_the_command_s() {
    let server = idle_server(json!({}));
    for (script, code) in
        [("exit 0", 0), ("exit 7", 7), ("exit 255", 255), ("kill -9 $$", 137), ("kill $$", 143)]
    {
        assert_eq!(shell(&server, script).status.code(), Some(code), "{script}");
    }
    let ran = Run::spawn(&mut exec(&server, &["app", "no-such-program"])).ended();
    assert_eq!(ran.status.code(), Some(127));
    ran.expect_one_line(&["\"no-such-program\" is in none of the folders of PATH"]);
    let ran = Run::spawn(&mut exec(&server, &["app", "/etc/passwd"])).ended();
    assert_eq!(ran.status.code(), Some(126));
    ran.expect_one_line(&["/etc/passwd", "Permission denied"]);
}

#[test]
fn arguments_arrive_as_they_are() {
    let server = idle_server(json!({}));
    let ran =
        Run::spawn(&mut exec(&server, &["app", "printf", "<%s>", "-n", "a b", "", "--", "--help"])).ended();
    assert_eq!(ran.expect_success().stdout, "<-n><a b><><--><--help>");
    let ran = Run::spawn(&mut exec(&server, &["-w", "/usr", "app", "--", "pwd", "-P"])).ended();
    assert_eq!(ran.expect_success().stdout, "/usr\n");
    let ran = Run::spawn(&mut exec(&server, &["-w", "/no/such/folder", "app", "pwd"])).ended();
    ran.expect_one_line(&["change to the working directory /no/such/folder"]);
}

#[track_caller]
fn number_in(path: &Path) -> u32 {
    eventually("it writes its number", || fs::read_to_string(path).ok()?.trim().parse().ok())
}

/// Ctrl-C, `kill`, and what a program makes of them. The daemon and the application go on.
#[test]
fn signals_are_the_command_s() {
    let site = site().writable_folder("out");
    let server = idle_server(json!({}));
    let out = site.path("out/pid");
    for (sent, name) in [(Signal::INT, "INT"), (Signal::TERM, "TERM"), (Signal::USR1, "USR1")] {
        let _ = fs::remove_file(&out);
        let script = format!(
            "trap 'echo {name}; exit 5' {name}; echo $$ >{0}; while :; do sleep 0.02; done",
            out.display()
        );
        let run = Run::spawn(&mut exec(&server, &["app", "--", "sh", "-c", &script]));
        number_in(&out);
        signal(run.pid(), sent);
        let ended = run.ended();
        assert_eq!((ended.status.code(), ended.stdout), (Some(5), format!("{name}\n")));
    }
    assert_eq!(printed(&server, "echo there"), "there");
}

#[test]
fn a_client_that_is_killed_takes_the_command_along() {
    let site = site().writable_folder("out");
    for namespaces in [json!({}), json!({ "pid": true, "credential": true })] {
        let server = idle_server(json!({ "isolation": { "namespaces": namespaces } }));
        let out = site.path("out/pid");
        let _ = fs::remove_file(&out);
        let script = format!("echo $$ >{}; while :; do sleep 0.02; done", out.display());
        let run = Run::spawn(&mut exec(&server, &["app", "--", "sh", "-c", &script]));
        number_in(&out);
        let processes = run.processes();
        assert!(processes.len() >= 2, "{processes:?}");
        signal(run.pid(), Signal::KILL);
        run.ended();
        eventually("nothing is left", || {
            processes.iter().all(|process| !is_alive(process.pid)).then_some(())
        });
    }
}
