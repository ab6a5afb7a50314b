//! Commands at a terminal, which is never the one that root sits at.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use corral_testkit::{Address, Daemon, Signal, Site, eventually, executables, signal, site};
use serde_json::json;

use super::{idle_server, printed};
use crate::terminal::Terminal;

/// A shell at a terminal, in which `corral` can be run as `$CORRAL`.
fn terminal(server: &Daemon, script: &str) -> Terminal {
    let mut command = Command::new("sh");
    command.args(["-c", script]).env("CORRAL_CONTROL", server.control_address());
    command.env("CORRAL", &executables().corral).env("TERM", "vt220");
    Terminal::running(Address::fresh(), &command)
}

#[test]
fn a_command_has_a_terminal_of_its_own() {
    let server = idle_server(json!({}));
    let script = r#"echo "outer $(tty)"; $CORRAL exec app -- sh -c "echo inner \$(tty); echo kind \$TERM; echo to tty >/dev/tty; ps -o tty= -p \$\$; echo over""#;
    let mut terminal = terminal(&server, script);
    terminal.expect("over\r\n");
    let shown = terminal.shown();
    let after = |word: &str| {
        let line = shown.lines().find_map(|line| line.strip_prefix(word)).expect("it is shown");
        line.trim().to_owned()
    };
    let (outer, inner) = (after("outer "), after("inner "));
    assert!(inner.starts_with("/dev/pts/") && inner != outer, "{shown}");
    assert_eq!(after("kind "), "vt220");
    assert!(shown.contains("to tty\r\n") && !shown.contains("\r\r"), "{shown:?}");
}

/// Input that a program pushes into its terminal (TIOCSTI) is not typed into root's.
#[test]
fn a_command_types_nothing_into_the_terminal_of_root() {
    let site = site().file(
        "evil.py",
        "import fcntl, termios\n\
         for name in ['/dev/tty', '/dev/stdin', '/dev/stdout', '/dev/stderr']:\n\
         \x20   try:\n\
         \x20       with open(name) as terminal:\n\
         \x20           for key in b'evil\\n': fcntl.ioctl(terminal, termios.TIOCSTI, bytes([key]))\n\
         \x20   except OSError as error: print(name, error)\n\
         print('tried')\n",
    );
    let server = idle_server(json!({}));
    let evil = site.path("evil.py");
    for redirected in ["", "</dev/null", "2>/dev/null"] {
        let script = format!(
            "$CORRAL exec app /usr/bin/python3 {} {redirected}; echo over; read line; echo \"got <$line>\"",
            evil.display()
        );
        let mut terminal = terminal(&server, &script);
        terminal.expect("over\r\n");
        terminal.expect("tried");
        terminal.types("good\n");
        terminal.expect("got <good>");
    }
}

#[test]
fn keys_go_to_the_command_and_ctrl_c_ends_it() {
    let server = idle_server(json!({}));
    let script = r#"$CORRAL exec app -- sh -c "echo ready; read line; echo got \$line; exec sleep 1000"; echo "code $?""#;
    let mut terminal = terminal(&server, script);
    terminal.expect("ready");
    terminal.types("some words\n");
    terminal.expect("got some words");
    terminal.interrupt();
    terminal.expect("code 130");
    assert_eq!(printed(&server, "echo there"), "there");
}

#[test]
fn ctrl_c_ends_a_command_in_a_namespace_of_processes() {
    let namespaces = json!({ "pid": true, "credential": true });
    let server = idle_server(json!({ "isolation": { "namespaces": namespaces } }));
    let mut terminal =
        terminal(&server, r#"$CORRAL exec app -- sh -c "echo ready; exec sleep 1000"; echo "code $?""#);
    terminal.expect("ready");
    terminal.interrupt();
    terminal.expect("code 130");
}

/// The process of `corral exec` below a terminal.
fn exec_process(terminal: &Terminal) -> u32 {
    eventually("it runs", || {
        let is_exec = |pid: &u32| {
            let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            String::from_utf8_lossy(&line).contains("corral\0exec\0")
        };
        terminal.processes().into_iter().find(is_exec)
    })
}

#[test]
fn the_size_of_the_window_is_known_and_followed() {
    let server = idle_server(json!({}));
    let script = r#"stty rows 31 cols 97; $CORRAL exec app -- sh -c "trap 'stty size; exit' WINCH; stty size; echo ready; while :; do sleep 0.02; done""#;
    let mut terminal = terminal(&server, script);
    terminal.expect("31 97\r\nready");
    let window = fs::read_link(format!("/proc/{}/fd/0", exec_process(&terminal))).expect("it has one");
    let resized = Command::new("stty").arg("-F").arg(&window).args(["rows", "44", "cols", "120"]).status();
    assert!(resized.expect("stty is installed").success());
    terminal.expect("44 120");
}

/// The settings before and after a command, one file each.
fn settings(site: &Site) -> (PathBuf, PathBuf) {
    (site.path("out/before"), site.path("out/after"))
}

/// Also after a program that leaves its terminal in disorder, and after a `corral exec` that is told to end.
#[test]
fn the_terminal_is_left_as_it_was() {
    let server = idle_server(json!({}));
    for ending in ["stty raw -echo; kill -9 $$", "stty -echo; sleep 1000", "exit 3"] {
        let site = site().writable_folder("out");
        let (before, after) = settings(&site);
        let script = format!(
            "stty -g >{}; $CORRAL exec app -- sh -c \"echo ready; {}\"; stty -g >{}.part; mv {2}.part {2}; echo over",
            before.display(),
            ending.replace('$', "\\$"),
            after.display(),
        );
        let mut terminal = terminal(&server, &script);
        terminal.expect("ready");
        if ending.contains("sleep") {
            signal(exec_process(&terminal), Signal::TERM);
        }
        terminal.expect("over\r\n");
        let read = |path: PathBuf| fs::read_to_string(path).expect("it was written");
        assert_eq!(read(before), read(after), "{ending}");
    }
}

/// All that a command has printed is shown, up to its end.
#[test]
fn much_output_is_shown_to_its_end() {
    let server = idle_server(json!({}));
    let mut terminal = terminal(&server, r#"$CORRAL exec app -- seq 1 60000; echo "code $?""#);
    terminal.expect("code 0");
    let shown = terminal.shown();
    let numbers: Vec<_> = shown.lines().map(str::trim).take(60_000).collect();
    assert_eq!((numbers.len(), numbers[59_999]), (60_000, "60000"));
}

/// `corral exec … | less`: the keyboard is that program's, and the terminal too.
#[test]
fn before_a_pipe_the_keyboard_is_left_alone() {
    let server = idle_server(json!({}));
    let script = r#"$CORRAL exec app -- sh -c "cat; echo one; (echo two >/dev/tty) 2>/dev/null || echo none" | { read a; read b; read line </dev/tty; echo "got $a $b $line"; }"#;
    let mut terminal = terminal(&server, script);
    terminal.types("typed\n");
    terminal.expect("got one none typed");
}

/// A closed window ends the command.
#[test]
fn a_closed_window_ends_the_command() {
    let server = idle_server(json!({}));
    let mut terminal = terminal(&server, r#"$CORRAL exec app -- sh -c "echo ready; exec sleep 1000""#);
    terminal.expect("ready");
    let processes = terminal.processes();
    terminal.close();
    eventually("nothing is left", || {
        processes.iter().all(|pid| !corral_testkit::is_alive(*pid)).then_some(())
    });
}
