//! Users that may run a command as an application, and the user that it then has.

use std::os::unix::process::CommandExt;

use corral_testkit::{Run, daemon, eventually, site};
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
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.pid())).expect("it runs");
    let uid = status.lines().find_map(|line| line.strip_prefix("Uid:")).expect("the kernel says it");
    let uid = uid.split_whitespace().next().expect("a number");
    assert_ne!(uid, "0");
    assert_eq!(
        printed(&server, "id -u; grep CapEff /proc/self/status | cut -f2"),
        format!("{uid}\n0000000000000000")
    );
}

/// Answers every request with what a daemon of root has answered.
const IMPOSTOR: &str = r#"
import socket, sys
listener = socket.socket(socket.AF_UNIX)
listener.bind(sys.argv[2])
listener.listen()
body = open(sys.argv[1], "rb").read()
while True:
    connection, _ = listener.accept()
    connection.recv(65536)
    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
    connection.close()
"#;

/// A socket whose owner says that a command is to run as root, with programs of its own.
#[test]
fn another_user_s_word_makes_nothing_run_as_root() {
    if !is_root() {
        return;
    }
    let server = server(&json!({ "app": idle(json!({ "user": "root" })) }));
    let reply = server.control().get("/control/applications/app/exec").json();
    let site = site().file("reply", reply.to_string()).file("impostor.py", IMPOSTOR).writable_folder("run");
    let socket = site.path("run/socket");
    let mut impostor = std::process::Command::new("/usr/bin/python3");
    impostor.arg(site.path("impostor.py")).arg(site.path("reply")).arg(&socket).uid(NOBODY).gid(NOBODY);
    let _impostor = Run::spawn(&mut impostor);
    eventually("it listens", || socket.exists().then_some(()));
    let control = format!("unix:{}", socket.display());
    let ran = Run::spawn(&mut exec(&server, &["--control", &control, "app", "id"])).ended();
    ran.expect_one_line(&["neither root's nor yours"]);
    assert_eq!(printed(&server, "id -u"), "0");
}
