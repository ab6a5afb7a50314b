//! Children of the daemon have no terminal: applications of another user would be root by what they type into it.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use corral_testkit::{
    Address, Client, Signal, Site, descendants, end_stranger, eventually, executables, is_alive, signal, site,
};

use crate::terminal::Terminal;

/// Says what becomes of an attempt to open the terminal, and to type into it by each descriptor.
const TYPIST: &str = r##"
import errno, fcntl, termios
def attempts():
    def said(attempt):
        try:
            attempt()
            return "done"
        except OSError as error:
            return errno.errorcode[error.errno]
    yield said(lambda: open("/dev/tty", "r+b", buffering=0))
    for descriptor in range(64):
        kind = said(lambda: fcntl.ioctl(descriptor, termios.TIOCSTI, b"#"))
        if kind not in ("EBADF", "ENOTTY", "EINVAL"):
            yield "%d %s" % (descriptor, kind)
"##;

fn wsgi() -> String {
    format!(
        "{TYPIST}\ndef application(environ, start_response):\n    start_response('200 OK', [])\n    return \
         ['\\n'.join(attempts()).encode()]\n"
    )
}

fn script() -> String {
    format!(
        "#!/usr/bin/python3\n{TYPIST}\nimport sys\nprint('Content-Type: text/plain\\n')\n\
         sys.stdout.write('\\n'.join(attempts()))\n"
    )
}

/// The number of the terminal that controls a process; nothing where there is none.
fn controlling_terminal(pid: u32) -> Option<String> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, fields) = stat.rsplit_once(')')?;
    fields.split_whitespace().nth(4).filter(|number| *number != "0").map(str::to_owned)
}

/// Descriptors of a process that are terminals.
fn open_terminals(pid: u32) -> Vec<String> {
    let entries = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
    let targets = entries.filter_map(|entry| fs::read_link(entry.path()).ok());
    targets.map(|path| path.display().to_string()).filter(|path| path.starts_with("/dev/pts")).collect()
}

#[track_caller]
fn expect_no_terminal(pid: u32) {
    assert_eq!((controlling_terminal(pid), open_terminals(pid)), (None, vec![]), "process {pid}");
}

/// The command alone has the terminal, with its first `n_own` processes; Ctrl-C there still ends everything.
#[track_caller]
pub(crate) fn check_and_interrupt(mut terminal: Terminal, n_own: usize, at_least: usize) {
    let processes = terminal.processes();
    assert!(processes.len() >= n_own + at_least, "{processes:?}");
    let (own, others) = processes.split_at(n_own);
    assert!(own.iter().all(|pid| controlling_terminal(*pid).is_some()), "the command is at the terminal");
    others.iter().for_each(|pid| expect_no_terminal(*pid));
    terminal.interrupt();
    eventually("no process is left", || processes.iter().all(|pid| !is_alive(*pid)).then_some(()));
}

#[test]
fn a_folder_s_application_neither_opens_or_types_into_it() {
    let site = site().file("wsgi.py", wsgi());
    let mut terminal = Terminal::start(&site, &[]);
    terminal.client().get("/typed").expect(200).expect_body("ENXIO");
    // What is shown of requests comes through main, with colours.
    terminal.expect("/typed");
    assert!(terminal.shown().contains("\x1b[32m200"), "{:?}", terminal.shown());
    check_and_interrupt(terminal, 1, 4);
}

#[test]
fn no_kind_of_application_opens_or_types_into_it() {
    let (site, address) = (kinds(), Address::fresh());
    let path = site.path("site.json").display().to_string();
    site.write("site.json", configuration(&site, address));
    let mut terminal = Terminal::command(address, &["run", &path]);
    let mut client = terminal.client();
    for path in ["/python", "/cgi", "/http", "/namespaces"] {
        client.get(path).expect(200).expect_body("ENXIO");
    }
    drop(client);
    check_and_interrupt(terminal, 1, 8);
}

/// A new main process is started by the old one, and starts all others anew.
#[test]
fn no_application_opens_or_types_into_it_after_an_upgrade() {
    let (site, address) = (kinds(), Address::fresh());
    site.write("site.json", configuration(&site, address));
    let path = |name: &str| site.path(name).display().to_string();
    let control = format!("unix:{}", path("control.sock"));
    let mut daemon = Command::new(&executables().corral);
    daemon.args(["daemon", "--no-daemon", "--control", &control]);
    for (option, name) in [("--config", "site.json"), ("--pid", "pid"), ("--statedir", "state")] {
        daemon.args([option, &path(name)]);
    }
    let terminal = Terminal::running(address, &daemon);
    let connect = || eventually("it accepts connections", || Client::try_connect(address.socket()).ok());
    connect().get("/python").expect(200).expect_body("ENXIO");
    let pid = || fs::read_to_string(site.path("pid")).ok()?.trim().parse::<u32>().ok();
    let old = pid().expect("it is written");
    assert!(controlling_terminal(old).is_some(), "main is at the terminal");
    signal(old, Signal::USR2);
    let new = eventually("another main process serves", || pid().filter(|pid| *pid != old));
    let _successor = Successor(new);
    // The old one closes the connections that it has while nothing is asked on them.
    for path in ["/python", "/cgi", "/http", "/namespaces"] {
        connect().get(path).expect(200).expect_body("ENXIO");
    }
    let processes = descendants(new);
    assert!(processes.len() >= 8, "{processes:?}");
    processes.iter().for_each(|process| expect_no_terminal(process.pid));
    signal(new, Signal::TERM);
    eventually("no process is left", || processes.iter().all(|process| !is_alive(process.pid)).then_some(()));
    drop(terminal);
}

/// A main process that no terminal ends, as another one has started it: ended where a test fails.
struct Successor(u32);

impl Drop for Successor {
    fn drop(&mut self) {
        end_stranger(self.0);
    }
}

/// Control sequences of an application are shown as text.
#[test]
fn what_an_application_says_does_not_control_it() {
    let site = site().file(
        "index.php",
        "<?php error_log(\"one\\x1b]0;title\\x07\\x9b2J\"); file_put_contents('php://stderr', \"two\\x1bc\\n\"); \
        echo 'x';",
    );
    let mut terminal = Terminal::start(&site, &[]);
    terminal.client().get("/").expect(200);
    terminal.expect("two\\u{1b}c");
    terminal.expect("one\\u{1b}]0;title\\u{7}");
    assert!(!terminal.shown().contains("\x1b]0;"), "{:?}", terminal.shown());
}

fn kinds() -> Site {
    let program = format!(
        "#!/usr/bin/python3\n{TYPIST}\nimport socket\nlistener = socket.socket(fileno=3)\nwhile True:\n    \
        connection, _ = listener.accept()\n    if connection.recv(65536):\n        body = \
        '\\n'.join(attempts())\n        head = 'HTTP/1.1 200 OK\\r\\nConnection: close\\r\\n\\r\\n'\n        \
        connection.sendall((head + body).encode())\n    connection.close()\n"
    );
    let site = site().file("wsgi.py", wsgi()).file("cgi.py", script()).file("http.py", program);
    for name in ["cgi.py", "http.py"] {
        let mode = fs::Permissions::from_mode(0o755);
        fs::set_permissions(site.path(name), mode).expect("it is ours");
    }
    site
}

fn configuration(site: &Site, address: Address) -> String {
    let path = |name: &str| site.path(name).display().to_string();
    let route = |name: &str| {
        serde_json::json!({ "match": { "uri": format!("/{name}") },
        "action": { "pass": format!("applications/{name}") } })
    };
    let root = rustix::process::geteuid().is_root();
    let isolation = if root {
        serde_json::json!({ "namespaces": { "pid": true, "mount": true } })
    } else {
        serde_json::json!({})
    };
    serde_json::json!({
        "listeners": { address.to_string(): { "pass": "routes" } },
        "routes": [route("python"), route("cgi"), route("http"), route("namespaces")],
        "applications": {
            "python": { "type": "python", "path": site.root(), "module": "wsgi" },
            "cgi": { "type": "cgi", "root": site.root(), "script": "cgi.py" },
            "http": { "type": "http", "executable": path("http.py") },
            "namespaces": { "type": "python", "path": site.root(), "module": "wsgi", "isolation": isolation },
        },
    })
    .to_string()
}
