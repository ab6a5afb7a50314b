//! Section 1.2, the options of `unitd`, and how a daemon starts.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::net::UnixStream;
use std::process::Command;

use corral_testkit::{PATIENCE, Signal, eventually, executables, is_alive, signal, site, within};

use super::{control, two_answers};
use crate::tool::{Tool, text};

fn unitd(arguments: &[&str]) -> Tool {
    Tool::called("unitd", arguments)
}

/// Options of `unitd` that take a value.
const WITH_VALUE: &[&str] = &[
    "--control",
    "--control-mode",
    "--control-user",
    "--control-group",
    "--user",
    "--group",
    "--pid",
    "--log",
    "--modulesdir",
    "--statedir",
    "--tmpdir",
];

#[test]
fn help_is_on_standard_output() {
    for option in ["-h", "--help"] {
        let help = unitd(&[option]).output();
        for name in ["--version", "--no-daemon"].iter().chain(WITH_VALUE) {
            assert!(help.contains(name), "{name} is not in {help}");
        }
    }
}

#[test]
fn version_is_on_standard_error() {
    let ended = unitd(&["--version"]).run();
    assert!(ended.success && ended.stdout.is_empty(), "{ended:#?}");
    assert!(ended.stderr.starts_with("unit version: 1.35.0\n"), "{ended:#?}");
    assert!(ended.stderr.contains("configured as ./configure "), "{ended:#?}");
    assert!(ended.stderr.contains("--control=unix:/var/run/control.unit.sock"), "{ended:#?}");
}

#[test]
fn mistakes_end_the_start() {
    for name in WITH_VALUE.iter().chain(&["--modules", "--state", "--tmp"]) {
        unitd(&[name]).fails(&[&format!("option \"{name}\" requires ")]);
    }
    unitd(&["--nonsense"]).fails(&["unknown option \"--nonsense\", try \"unitd -h\""]);
    unitd(&["--log=/dev/null"]).fails(&["unknown option \"--log=/dev/null\""]);
    unitd(&["stray"]).fails(&["unknown option \"stray\""]);
    unitd(&["--control", "localhost", "--no-daemon"]).fails(&["localhost"]);
    unitd(&["--control-mode", "rw"]).fails(&["--control-mode"]);
}

/// A start command in which only the name was changed has options and no subcommand.
#[test]
fn options_alone_start_the_daemon() {
    let corral = |arguments: &[&str]| Tool::called("corral", arguments);
    corral(&["--no-daemon", "--nonsense"])
        .fails(&["unknown option \"--nonsense\", try \"corral daemon -h\""]);
    assert!(corral(&["--help"]).output().contains("Usage: corral <COMMAND>"));
}

#[test]
fn a_daemon_goes_to_the_background_and_makes_its_folders() {
    let site = site();
    let [control, pid, log, state] =
        ["run/a/control", "run/b/pid", "log", "state"].map(|name| site.path(name));
    let ended = unitd(&[
        "--control",
        &format!("unix:{}", control.display()),
        "--control-mode",
        "0660",
        "--pid",
        text(&pid),
        "--log",
        text(&log),
        "--state",
        text(&state),
        "--tmp",
        "/tmp",
    ])
    .run();
    assert!(ended.success, "{ended:#?}");
    assert!(ended.stderr.contains("option \"--state\" is deprecated; use \"--statedir\""), "{ended:#?}");
    assert!(ended.stderr.contains("option \"--tmp\" is deprecated; use \"--tmpdir\""), "{ended:#?}");
    let mode = |path: &std::path::Path| fs::metadata(path).expect("it is there").permissions().mode() & 0o777;
    let number = fs::read_to_string(&pid).expect("it is there");
    let pid_number: u32 = number.trim_end_matches('\n').parse().expect("a number and a line end");
    let modes = (mode(&control), mode(&log), mode(control.parent().expect("a folder")));
    let answer = Tool::called("unitc", &["/config"]).environment("UNIT_CTRL", text(&control)).run();
    signal(pid_number, Signal::TERM);
    eventually("it ends", || (!is_alive(pid_number)).then_some(()));
    assert_eq!(modes, (0o660, 0o600, 0o755));
    assert!(number.ends_with('\n') && answer.success, "{answer:#?}");
    assert!(!pid.exists() && !control.exists(), "nothing is left");
}

/// Scripts wait for the socket and then signal the process that the file names.
#[test]
fn who_sees_the_control_socket_finds_the_process() {
    for mode in [&[][..], &["--no-daemon"]] {
        let site = site();
        let [control, pid, log, state] =
            ["run/control", "run/pid", "log", "state"].map(|name| site.path(name));
        let address = format!("unix:{}", control.display());
        let mut arguments = vec!["--control", &address, "--pid", text(&pid), "--log", text(&log)];
        arguments.extend(["--statedir", text(&state), "--tmpdir", "/tmp"]);
        arguments.extend(mode);
        std::thread::scope(|scope| {
            scope.spawn(|| unitd(&arguments).run());
            while !control.exists() {
                std::thread::yield_now();
            }
            let number = fs::read_to_string(&pid).expect("it is there before the socket");
            let number = number.trim_end_matches('\n').parse().expect("a number and a line end");
            eventually("it answers", || UnixStream::connect(&control).ok());
            signal(number, Signal::TERM);
            eventually("it ends", || (!is_alive(number)).then_some(()));
        });
    }
}

/// Neither its socket nor its pid file is touched.
#[test]
fn a_second_daemon_at_the_same_socket_changes_nothing() {
    let server = two_answers();
    let path = |name: &str| server.path(name).display().to_string();
    for mode in [&[][..], &["--no-daemon"]] {
        let (control, pid, state) = (control(&server), path("run/pid"), path("second"));
        let arguments = ["--control", &control, "--pid", &pid, "--statedir", &state, "--tmpdir", "/tmp"];
        let ended = unitd(&[&arguments[..], mode].concat()).run();
        assert!(!ended.success && ended.stderr.contains("another daemon serves it"), "{ended:#?}");
        assert_eq!(server.pid_in_file(), Some(server.pid()));
        server.control().get("/config").0.expect(200);
    }
}

#[test]
fn a_daemon_without_root_says_what_it_cannot_do() {
    use std::os::unix::process::CommandExt;
    if !rustix::process::geteuid().is_root() {
        return; // every other test is one of this
    }
    let site = site().writable_folder("run");
    let [control, pid, log, state] =
        ["run/control", "run/pid", "run/log", "run/state"].map(|name| site.path(name));
    let control = format!("unix:{}", control.display());
    let options = [
        ("--control", &*control),
        ("--pid", text(&pid)),
        ("--log", text(&log)),
        ("--statedir", text(&state)),
    ];
    let mut command = Command::new(&executables().corral);
    command.args(["daemon", "--no-daemon"]).args(options.iter().flat_map(|(name, value)| [*name, *value]));
    let mut child = command.uid(65_534).gid(65_534).spawn().expect("corral starts");
    let refused = within(PATIENCE, || {
        let app = r#"{"applications": {"a": {"type": "php", "root": "/", "user": "root"}}}"#;
        let ended = Tool::new(&["config", "set", "--control", &control]).input(app).run();
        ended.stderr.contains("Failed to apply").then_some(ended)
    });
    signal(child.id(), Signal::TERM);
    child.wait().expect("it is our child");
    let log = fs::read_to_string(&log).unwrap_or_default();
    let refused = refused.unwrap_or_else(|| panic!("the API does not answer\n{log}"));
    assert!(refused.stderr.contains("start the daemon as root"), "{refused:?}");
    let warning = log.lines().find(|line| line.contains("[warn]")).unwrap_or_default();
    assert!(warning.contains("not started as root"), "{log}");
}

#[test]
fn called_unitd_it_is_the_daemon() {
    let folder = site();
    let link = folder.path("unitd");
    symlink(&executables().corral, &link).expect("make the link");
    let output = Command::new(&link).arg("--version").output().expect("it runs");
    assert!(output.status.success());
    let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    assert!(said.to_lowercase().contains("version"), "{said}");
    let output = Command::new(&link).arg("--nonsense").output().expect("it runs");
    assert!(!output.status.success());
}
