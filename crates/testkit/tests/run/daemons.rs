//! `corral daemon` as it is started at a terminal, and by a script.

use std::fs;
use std::process::Command;

use corral_testkit::{Address, Run, Site, eventually, executables, is_alive, site};

use crate::terminal::Terminal;

/// The arguments of a daemon that keeps everything in a folder.
fn arguments(site: &Site) -> Vec<String> {
    let path = |name: &str| site.path(name).display().to_string();
    let mut all = vec!["daemon".to_owned(), "--control".to_owned(), format!("unix:{}", path("control.sock"))];
    for (option, name) in [("--pid", "pid"), ("--log", "log"), ("--statedir", "state"), ("--tmpdir", "tmp")] {
        all.extend([option.to_owned(), path(name)]);
    }
    all
}

/// Stops the daemon of a folder, and says which process it was.
#[track_caller]
fn stop(site: &Site) -> u32 {
    let pid = fs::read_to_string(site.path("pid")).expect("it is written").trim().parse().expect("a number");
    let control = format!("unix:{}", site.path("control.sock").display());
    let said = Run::to_end(&["stop", "--control", &control]).expect_success().stdout;
    assert_eq!(said, format!("process {pid} has stopped\n"));
    assert!(!is_alive(pid));
    pid
}

#[test]
fn at_a_terminal_it_says_where_it_is() {
    let site = site().writable_folder("tmp");
    let mut terminal =
        Terminal::running(Address::fresh(), Command::new(&executables().corral).args(arguments(&site)));
    let path = |name: &str| site.path(name).display().to_string();
    terminal.expect(&format!(", control unix:{}, log {}", path("control.sock"), path("log")));
    let shown = terminal.shown();
    let pid = stop(&site);
    assert!(shown.contains(&format!("corral daemon: process {pid}, control")), "{shown}");
}

#[test]
fn a_script_is_told_nothing() {
    let site = site().writable_folder("tmp");
    let all = arguments(&site);
    let started = Run::to_end(&all.iter().map(String::as_str).collect::<Vec<_>>()).expect_success();
    assert_eq!((&*started.stdout, &*started.stderr), ("", ""));
    eventually("it serves", || site.path("control.sock").exists().then_some(()));
    stop(&site);
}
