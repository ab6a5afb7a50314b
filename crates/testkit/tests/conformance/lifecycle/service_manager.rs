//! Notifications to systemd by a daemon that it has started: sd_notify(3).

use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::process::Command;

use corral_testkit::{PATIENCE, Signal, daemon, php_app, signal, site};

/// The socket that systemd would listen on.
struct Manager {
    socket: UnixDatagram,
    _folder: tempfile::TempDir,
    path: String,
}

impl Manager {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("notify");
        let socket = UnixDatagram::bind(&path).expect("bind the socket");
        socket.set_read_timeout(Some(PATIENCE)).expect("set a time-out");
        Self { socket, path: path.display().to_string(), _folder: folder }
    }

    #[track_caller]
    fn expect(&self, text: &str) {
        let mut buffer = [0; 256];
        loop {
            let n = self.socket.recv(&mut buffer).unwrap_or_else(|error| panic!("no {text:?}: {error}"));
            let said = String::from_utf8_lossy(&buffer[..n]).into_owned();
            match said.trim_end() {
                said if said == text => return,
                "WATCHDOG=1" => {}
                said => panic!("{said:?} in place of {text:?}"),
            }
        }
    }
}

#[test]
fn it_hears_of_the_start_the_end_and_signs_of_life() {
    let manager = Manager::new();
    let environment = |name| format!("<?php var_export(getenv('{name}'));");
    let site = site().file("a.php", environment("NOTIFY_SOCKET")).file("b.php", environment("WATCHDOG_USEC"));
    let server = daemon()
        .environment("NOTIFY_SOCKET", &manager.path)
        .environment("WATCHDOG_USEC", "100000")
        .application(php_app(&site))
        .start();
    manager.expect("READY=1");
    manager.expect("WATCHDOG=1");
    manager.expect("WATCHDOG=1");
    server.get("/a.php").expect(200).expect_text("false");
    server.get("/b.php").expect(200).expect_text("false");
    signal(server.pid(), Signal::TERM);
    manager.expect("STOPPING=1");
}

#[test]
fn it_hears_which_process_has_taken_over() {
    let manager = Manager::new();
    let mut server = daemon().environment("NOTIFY_SOCKET", &manager.path).start_unconfigured();
    manager.expect("READY=1");
    server.upgrade();
    let new = server.pid();
    let mut said = [(); 2].map(|()| {
        let mut buffer = [0; 256];
        let n = manager.socket.recv(&mut buffer).expect("it is told");
        String::from_utf8_lossy(&buffer[..n]).trim_end().to_owned()
    });
    said.sort();
    assert_eq!(said, [format!("MAINPID={new}"), "READY=1".to_owned()]);
}

#[test]
fn the_unit_file_starts_a_command_that_exists() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging/systemd/corral.service");
    let unit = std::fs::read_to_string(path).expect("read the unit file");
    let start = unit.lines().find_map(|line| line.strip_prefix("ExecStart=")).expect("it starts something");
    let arguments: Vec<_> = start.split(' ').skip(1).collect();
    assert_eq!(arguments, ["daemon", "--no-daemon", "$CORRAL_OPTIONS"], "as every test here starts it");
}

/// Options that `systemd-analyze security` asks for. Each that the unit leaves out has a comment with the reason.
const HARDENING: &[(&str, &str)] = &[
    ("LockPersonality", "yes"),
    ("MemoryDenyWriteExecute", ""),
    ("NoNewPrivileges", ""),
    ("PrivateDevices", "yes"),
    ("PrivateNetwork", ""),
    ("PrivateTmp", "yes"),
    ("ProtectClock", "yes"),
    ("ProtectControlGroups", ""),
    ("ProtectHome", ""),
    ("ProtectHostname", "yes"),
    ("ProtectKernelLogs", ""),
    ("ProtectKernelModules", "yes"),
    ("ProtectKernelTunables", ""),
    ("ProtectProc", ""),
    ("ProtectSystem", "full"),
    ("RestrictAddressFamilies", "AF_UNIX AF_INET AF_INET6 AF_NETLINK"),
    ("RestrictNamespaces", ""),
    ("RestrictRealtime", "yes"),
    ("RestrictSUIDSGID", ""),
    ("SystemCallArchitectures", "native"),
    ("User", ""),
];

#[test]
fn the_unit_file_is_hardened() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging/systemd/corral.service");
    let unit = std::fs::read_to_string(path).expect("read the unit file");
    let (_, reasons) = unit.split_once("# What is left out, and why:\n").expect("it gives reasons");
    for (option, expected) in HARDENING {
        let value = unit.lines().find_map(|line| line.strip_prefix(&format!("{option}=")));
        assert_eq!(value.unwrap_or_default(), *expected, "{option}");
        let is_explained = reasons.contains(&format!(" {option}="));
        assert_eq!(is_explained, expected.is_empty(), "{option}: a reason belongs to what is left out");
    }
    let denied = |option: &str| unit.lines().find_map(|line| line.strip_prefix(&format!("{option}=~")));
    for group in ["@module", "@raw-io", "@reboot", "@swap", "@clock"] {
        assert!(denied("SystemCallFilter").is_some_and(|list| list.contains(group)), "{group}");
    }
    for capability in ["CAP_SYS_MODULE", "CAP_SYS_RAWIO", "CAP_SYS_BOOT", "CAP_SYS_TIME", "CAP_MAC_ADMIN"] {
        assert!(
            denied("CapabilityBoundingSet").is_some_and(|list| list.contains(capability)),
            "{capability}"
        );
    }
}

#[test]
fn the_installed_unit_starts_the_installed_executable() {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let folder = tempfile::tempdir().expect("make a folder");
    let mut make = Command::new("make");
    make.args(["--silent", "install-service", "PREFIX=/opt/corral"]).current_dir(repository);
    let status = make.arg(format!("DESTDIR={}", folder.path().display())).status().expect("make runs");
    assert!(status.success(), "{status}");
    let read = |name: &str| std::fs::read_to_string(folder.path().join("opt/corral/lib").join(name));
    let unit = read("systemd/system/corral.service").expect("it is installed");
    assert!(
        unit.contains("\nExecStart=/opt/corral/bin/corral daemon --no-daemon $CORRAL_OPTIONS\n"),
        "{unit}"
    );
    for name in ["systemd/system/corral.socket", "sysusers.d/corral.conf"] {
        read(name).expect("it is installed");
    }
}
