//! Users of processes: applications reach no process of the daemon, nor each other's. Everything here is beyond
//! the contract.

use std::os::unix::fs::{MetadataExt, PermissionsExt};

use corral_testkit::{Address, Builder, Client, Daemon, Process, Site, daemon, python_app, site};
use serde_json::{Value, json};

use super::{app_of, ask, eval, is_root};
use crate::tool::text;

/// Tries on a process what processes of one user may do to each other, and says what it could.
const ATTACK_PHP: &str = r#"<?php
$pid = (int) $_GET['pid'];
$c = FFI::cdef("long ptrace(long, long, void *, void *); long syscall(long, ...);");
$done = [];
foreach (['mem', 'environ', 'auxv', 'maps', 'pagemap'] as $file) {
    if (@fopen("/proc/$pid/$file", 'r')) $done[] = "read $file";
}
if (@fopen("/proc/$pid/mem", 'r+')) $done[] = 'write mem';
foreach (['fd', 'map_files', 'task/' . $pid . '/fd'] as $folder) {
    if (@scandir("/proc/$pid/$folder")) $done[] = "list $folder";
}
foreach (['exe', 'cwd', 'root', 'fd/3'] as $link) {
    if (@readlink("/proc/$pid/$link") !== false) $done[] = "follow $link";
}
if ($c->ptrace(0x4206, $pid, null, null) === 0) $done[] = 'ptrace';
$pidfd = $c->syscall(434, $pid, 0);
if ($pidfd >= 0 && $c->syscall(438, $pidfd, 3, 0) >= 0) $done[] = 'pidfd_getfd';
if (posix_kill($pid, 0)) $done[] = 'kill';
echo json_encode($done);
"#;

/// The same of a program that serves HTTP.
const ATTACK_PYTHON: &str = r#"
import ctypes, http.server, json, os, socket, urllib.parse

def attack(pid):
    c = ctypes.CDLL(None, use_errno=True)
    c.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
    def read(name): return lambda: open(f'/proc/{pid}/{name}', 'rb').close()
    def succeed(result): assert result >= 0
    attempts = {f'read {name}': read(name) for name in ('mem', 'environ', 'auxv', 'maps', 'pagemap')}
    attempts['write mem'] = lambda: open(f'/proc/{pid}/mem', 'rb+').close()
    for folder in ('fd', 'map_files', f'task/{pid}/fd'):
        attempts['list ' + folder] = lambda folder=folder: os.listdir(f'/proc/{pid}/{folder}')
    for link in ('exe', 'cwd', 'root', 'fd/3'):
        attempts['follow ' + link] = lambda link=link: os.readlink(f'/proc/{pid}/{link}')
    attempts['ptrace'] = lambda: succeed(c.ptrace(0x4206, pid, None, None))
    attempts['pidfd_getfd'] = lambda: succeed(c.syscall(438, os.pidfd_open(pid), 3, 0))
    attempts['kill'] = lambda: os.kill(pid, 0)
    done = []
    for name, attempt in attempts.items():
        try:
            attempt()
            done.append(name)
        except (OSError, AssertionError):
            pass
    return done

class Handler(http.server.BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass  # it wants to name a client that has no address

    def do_GET(self):
        query = urllib.parse.parse_qs(urllib.parse.urlsplit(self.path).query)
        body = json.dumps(attack(int(query['pid'][0]))).encode()
        self.send_response(200)
        self.send_header('Content-Length', str(len(body)))
        self.end_headers()
        self.wfile.write(body)

listener = socket.socket(fileno=3)
server = http.server.HTTPServer(('', 0), Handler, bind_and_activate=False)
server.socket = listener
server.serve_forever()
"#;

/// The short name of a process, and what was done to it.
type Deeds = Vec<(String, Vec<String>)>;

/// A daemon whose configuration comes from files, so that it has a process of every kind, with two applications that
/// attack and one of another user.
struct Scene {
    server: Daemon,
    php: Address,
    python: Address,
    _site: Site,
}

impl Scene {
    fn start(builder: Builder, other: Value) -> Self {
        let site = site().file("php/index.php", ATTACK_PHP).file("attack.py", ATTACK_PYTHON);
        let [php, python] = [Address::fresh(), Address::fresh()];
        let script = json!({ "type": "php", "root": site.path("php"), "script": "index.php",
                             "options": { "admin": { "ffi.enable": "1" } } });
        let program = json!({ "type": "http", "executable": "/usr/bin/python3",
                              "arguments": ["-u", site.path("attack.py")] });
        let mut config = json!({
            "listeners": {
                php.to_string(): { "pass": "applications/php" },
                python.to_string(): { "pass": "applications/python" }
            },
            "applications": { "php": script, "python": program, "other": script }
        });
        let members = other.as_object().expect("it is an object").clone();
        config["applications"]["other"].as_object_mut().expect("it is an object").extend(members);
        site.write("config.json", config.to_string());
        let path = site.path("config.json");
        let server = builder.argument("--config").argument(text(&path)).start_unconfigured();
        server.expect_processes("reader", 1);
        for name in ["php", "python", "other"] {
            server.expect_processes(&format!("\"{name}\" prototype"), 1);
        }
        for name in ["php", "other"] {
            server.expect_processes(&format!("\"{name}\" worker"), 1);
        }
        Self { server, php, python, _site: site }
    }

    /// The attacks that succeed on main and on all processes that `is_target` chooses.
    fn attack(&self, attacker: Address, is_target: impl Fn(&Process) -> bool) -> Deeds {
        let main = (self.server.pid(), "main".to_owned());
        let others = self.server.processes();
        let others = others.iter().filter(|process| is_target(process));
        let targets: Vec<_> =
            [main].into_iter().chain(others.map(|one| (one.pid, one.name.clone()))).collect();
        let deeds = targets.into_iter().map(|(pid, name)| {
            let reply = Client::connect(attacker.socket()).get(&format!("/?pid={pid}")).expect(200);
            (name, serde_json::from_str(&reply.text()).expect("a list"))
        });
        deeds.collect()
    }
}

/// True of the daemon's processes, and of those of the other application.
fn is_foreign(process: &Process) -> bool {
    !process.name.starts_with("\"php\"")
        && !process.name.starts_with("\"python\"")
        && process.name != "python3"
}

#[track_caller]
fn expect_nothing(deeds: &Deeds) {
    for name in ["main", "router", "controller", "reader", "\"other\" prototy", "\"other\" worker"] {
        assert!(deeds.iter().any(|(process, _)| process == name), "{name} is not in {deeds:?}");
    }
    assert!(deeds.iter().all(|(_, done)| done.is_empty()), "{deeds:?}");
}

#[test]
fn with_the_defaults_applications_reach_no_process_of_the_daemon_or_of_other_users() {
    if !is_root() {
        return;
    }
    let scene = Scene::start(daemon(), json!({ "user": "4001" }));
    for attacker in [scene.php, scene.python] {
        expect_nothing(&scene.attack(attacker, is_foreign));
        // Their own prototypes belong to their user, and keep the link to main to themselves all the same.
        let own = scene.attack(attacker, |process| {
            process.name.ends_with("prototype") || process.name.ends_with("prototy")
        });
        assert!(own.iter().all(|(_, done)| done.is_empty() || *done == ["kill"]), "{own:?}");
    }
    assert!(!scene.server.log().contains("it runs as the user of"), "{}", scene.server.log());
}

/// `--user` is for both, as Unit has it.
#[test]
fn with_one_user_for_all_applications_reach_no_other_process_either() {
    if !is_root() {
        return;
    }
    let scene = Scene::start(daemon().argument("--user").argument("nobody"), json!({}));
    for attacker in [scene.php, scene.python] {
        expect_nothing(&scene.attack(attacker, is_foreign));
    }
    let warning = "it runs as the user of the daemon's own processes; give it another \"user\"";
    scene.server.expect_log(&format!("application \"php\": {warning}"));
    let status = scene.server.control().get("/status").json();
    assert_eq!(status["applications"]["php"]["warning"], warning, "{status}");
}

#[test]
fn a_daemon_without_privileges_keeps_its_applications_from_its_processes() {
    let scene = Scene::start(daemon().unprivileged(), json!({}));
    for attacker in [scene.php, scene.python] {
        expect_nothing(&scene.attack(attacker, is_foreign));
    }
    let log = scene.server.log();
    assert_eq!(log.matches("these run as the user of the daemon itself").count(), 1, "{log}");
    assert!(log.contains("itself: \"php\", \"python\", \"other\""), "{log}");
    assert!(scene.server.control().get("/status").json()["applications"]["php"]["warning"].is_null());
}

#[test]
fn the_daemon_and_applications_have_different_users() {
    if !is_root() {
        return;
    }
    let server = daemon().application(app_of(&eval(), json!({}))).start();
    let uid_of = |name: &str| {
        let processes = server.processes();
        processes
            .iter()
            .find(|process| process.name == name)
            .unwrap_or_else(|| panic!("{name}: {processes:?}"))
            .uid
    };
    let own = uid_of("router");
    assert_eq!(uid_of("controller"), own);
    assert_eq!(uid_of("\"php\" worker"), 65534);
    assert!(own != 0 && own != 65534, "{own}");
    assert!(server.control().get("/status").json()["applications"]["php"]["warning"].is_null());
}

#[test]
fn an_application_that_names_the_daemon_s_user_is_warned_of_in_every_status() {
    if !is_root() {
        return;
    }
    let site = eval();
    let own = app_of(&site, json!({})).with("user", json!("4001"));
    let server = daemon().argument("--user").argument("4001").application(own).start();
    let warning = || server.control().get("/status").json()["applications"]["php"]["warning"].clone();
    assert!(warning().as_str().is_some_and(|text| text.contains("\"user\"")), "{}", warning());
    let privileges =
        "preg_match('/NoNewPrivs:\\s(.)/', file_get_contents('/proc/self/status'), $m) ? $m[1] : ''";
    assert_eq!(ask(&server, privileges), "1", "the price of the wall");
    // An application whose programs may gain privileges has no wall.
    server.control().put("/config/applications/php/isolation", &json!({ "new_privs": true })).expect_done();
    assert_eq!(ask(&server, privileges), "0");
    assert!(warning().as_str().is_some_and(|text| text.contains("can end them")), "{}", warning());
    server.control().put("/config/applications/php/user", &json!("4002")).expect_done();
    assert!(warning().is_null());
}

/// Applications read about themselves, although other processes cannot.
#[test]
fn workers_still_see_themselves() {
    let site = eval();
    let server = daemon().application(app_of(&site, json!({}))).start();
    for expression in [
        "str_contains(file_get_contents('/proc/self/status'), \"\\nPid:\\t\" . getmypid() . \"\\n\")",
        "str_contains(file_get_contents('/proc/self/maps'), 'corral-php')",
        "basename(readlink('/proc/self/exe')) == 'corral-php'",
        "count(scandir('/proc/self/fd')) > 5",
        "shell_exec('wc -c </proc/self/environ') > 0",
    ] {
        assert_eq!(ask(&server, expression), json!(true), "{expression}");
    }
}

/// The body of a request lies in a file of the router's.
#[test]
fn a_folder_for_temporary_files_that_the_router_cannot_use_is_refused_at_once() {
    if !is_root() {
        return;
    }
    let site = site().file("closed/file", "");
    let closed = site.path("closed");
    std::fs::set_permissions(&closed, std::fs::Permissions::from_mode(0o700)).expect("it is ours");
    let refused = corral_testkit::Run::to_end(&[
        "daemon",
        "--no-daemon",
        "--control",
        &format!("unix:{}", site.path("control.sock").display()),
        "--statedir",
        text(&site.path("state")),
        "--pid",
        text(&site.path("pid")),
        "--tmpdir",
        text(&closed),
    ]);
    refused.expect_one_line(&["the router, which runs as the user", "--tmpdir", "Permission denied"]);
}

#[test]
fn the_router_gets_a_folder_of_its_own_in_one_of_root_s() {
    if !is_root() {
        return;
    }
    let site = site().file("temp/file", "");
    let server = daemon().argument("--tmpdir").argument(text(&site.path("temp"))).start_unconfigured();
    let made = std::fs::read_dir(site.path("temp")).expect("it is ours").flatten();
    let made: Vec<_> = made.filter(|entry| entry.path().is_dir()).collect();
    let [made] = &made[..] else { panic!("{made:?}") };
    let router = server.processes().into_iter().find(|process| process.name == "router").expect("it runs");
    assert_eq!(made.metadata().expect("it is ours").uid(), router.uid);
    let name = made.file_name();
    assert_eq!(name.to_str(), Some(&*format!("corral-{}", router.uid)));
}

/// Options: applications.{N}.inherit_environment, applications.{N}.environment
#[test]
fn applications_inherit_what_is_not_the_daemon_s_own() {
    let site = site().file(
        "app.py",
        "import json, os\n\ndef application(environ, start_response):\n    start_response('200 OK', [])\n    \
         return [json.dumps(dict(os.environ)).encode()]\n",
    );
    let address = Address::fresh();
    let app = |more: Value| {
        let mut app = python_app(&site).with("user", json!("4001")).value();
        app.as_object_mut().expect("it is an object").extend(more.as_object().expect("so is this").clone());
        app
    };
    let applications = json!({
        "open": app(json!({ "environment": { "GIVEN": "${env:SECRET}" } })),
        "closed": app(json!({ "inherit_environment": false }))
    });
    let config = json!({
        "listeners": { address.to_string(): { "pass": "applications$uri" } },
        "applications": applications
    });
    site.write("config.json", config.to_string());
    let mut builder = daemon().argument("--config").argument(text(&site.path("config.json")));
    for (name, value) in [
        ("SECRET", "word"),
        ("PLAIN", "shown"),
        ("CREDENTIALS_DIRECTORY", "/run/credentials/corral.service"),
        ("CORRAL_CONTROL_TOKEN_FILE", "/etc/token"),
        ("HOME", "/of/the/daemon"),
        ("USER", "daemon"),
        ("TZ", "UTC"),
    ] {
        builder = builder.environment(name, value);
    }
    if !is_root() {
        return;
    }
    let server = builder.start_unconfigured();
    let environment = |name: &str| {
        let reply = Client::connect(address.socket()).get(name).expect(200);
        serde_json::from_str::<Value>(&reply.text()).expect("an object")
    };
    let open = environment("/open");
    for (name, expected) in [
        ("PLAIN", json!("shown")),
        ("GIVEN", json!("word")),
        ("TZ", json!("UTC")),
        ("HOME", json!("/")),
        ("SECRET", Value::Null),
        ("USER", Value::Null),
        ("CREDENTIALS_DIRECTORY", Value::Null),
        ("CORRAL_CONTROL_TOKEN_FILE", Value::Null),
    ] {
        assert_eq!(open[name], expected, "{name} in {open}");
    }
    let closed = environment("/closed");
    assert_eq!(
        (&closed["PLAIN"], &closed["TZ"], &closed["HOME"]),
        (&Value::Null, &json!("UTC"), &json!("/"))
    );
    assert!(closed["PATH"].is_string(), "{closed}");
    drop(server);
}
