//! Users: those who may run a command as an application, and who it then is.

use std::os::unix::process::CommandExt;

use corral_testkit::{Run, daemon};
use serde_json::json;

use super::{exec, idle, is_root, open_to_all, printed, server};

const NOBODY: u32 = 65534;
const BIN: u32 = 2;

#[test]
fn a_user_runs_commands_as_itself_and_as_nobody_else() {
    if !is_root() {
        return;
    }
    let server = server(&json!({
        "app": idle(json!({ "user": "nobody", "environment": { "PASSWORD": "hidden" } })),
        "group": idle(json!({ "user": "nobody", "group": "bin" })),
    }));
    open_to_all(&server);
    let as_user = |uid: u32, application: &str| {
        let mut exec = exec(&server, &[application, "--", "sh", "-c", "id -u; echo $PASSWORD"]);
        Run::spawn(exec.uid(uid).gid(NOBODY)).ended()
    };
    assert_eq!(as_user(NOBODY, "app").expect_success().stdout, "65534\nhidden\n");
    let other = as_user(BIN, "app");
    assert!(!format!("{other:?}").contains("hidden"));
    other.expect_one_line(&["it runs as \"nobody\"", "only root and that user"]);
    as_user(NOBODY, "group").expect_one_line(&["has the group 2, which only root can change to"]);
    // The daemon keeps it to itself, whatever asks.
    let mut curl = std::process::Command::new("curl");
    curl.args(["-s", "--unix-socket"]).arg(server.control_socket());
    curl.arg("http://localhost/control/applications/app/exec").uid(BIN).gid(BIN);
    let answer = Run::spawn(&mut curl).ended().expect_success().stdout;
    assert!(answer.contains("No command can be run") && !answer.contains("context"), "{answer}");
}

#[test]
fn root_becomes_the_user_of_a_daemon_that_has_no_other() {
    if !is_root() {
        return;
    }
    let server = daemon()
        .unprivileged()
        .config(json!({ "listeners": {}, "applications": { "app": idle(json!({})) } }))
        .start();
    let daemon =
        std::fs::metadata(format!("/proc/{}/status", server.pid())).map(|_| server.pid()).expect("it runs");
    let status = std::fs::read_to_string(format!("/proc/{daemon}/status")).expect("it runs");
    let uid = status.lines().find_map(|line| line.strip_prefix("Uid:")).expect("the kernel says it");
    let uid = uid.split_whitespace().next().expect("a number");
    assert_ne!(uid, "0");
    assert_eq!(
        printed(&server, "id -u; grep CapEff /proc/self/status | cut -f2"),
        format!("{uid}\n0000000000000000")
    );
}
