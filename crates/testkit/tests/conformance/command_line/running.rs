//! `corral stop`, `corral reload` and `corral logs` against a running daemon, and the words of other servers.

use std::fs::{self, File};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use corral_testkit::{
    Address, Client, Daemon, Run, Signal, daemon, eventually, executables, is_alive, python_app, signal, site,
};
use serde_json::json;

use super::{control, corral, two_answers};
use crate::tool::{Tool, text};

/// A daemon whose application takes this many seconds.
fn slow(seconds: f32) -> (corral_testkit::Site, Daemon) {
    let code = format!(
        "import time\n\ndef application(environ, start_response):\n    time.sleep({seconds})\n    \
         start_response('200 OK', [])\n    return [b'slow']\n"
    );
    let site = site().file("app.py", code);
    let server = daemon().python(python_app(&site)).start();
    (site, server)
}

/// Begins a request, and waits until it is in progress.
fn begin(server: &Daemon) -> std::thread::JoinHandle<Option<u16>> {
    let address = server.address();
    let client = std::thread::spawn(move || {
        let mut client = Client::try_connect(address.socket()).ok()?;
        client.try_send(&corral_testkit::Request::get("/")).ok().map(|response| response.status)
    });
    eventually("it is in progress", || {
        (server.control().get("/status/connections/active").json() == 1).then_some(())
    });
    client
}

#[test]
fn stop_finishes_requests_and_returns_when_the_daemon_has_ended() {
    let (_site, mut server) = slow(1.0);
    let pid = server.pid();
    let client = begin(&server);
    let said = corral(&server, &["stop"]).output();
    assert_eq!(said, format!("process {pid} has stopped\n"));
    assert_eq!(client.join().expect("it does not panic"), Some(200));
    assert!(server.wait_for_end().success());
    assert!(!server.control_socket().exists());
    corral(&server, &["stop"]).fails(&["no daemon runs there"]);
}

#[test]
fn stop_waits_no_longer_than_it_is_told() {
    for timeout in ["0", "0.5"] {
        let (_site, mut server) = slow(30.0);
        let client = begin(&server);
        let begun = Instant::now();
        let said = corral(&server, &["stop", "--timeout", timeout]).output();
        assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
        assert!(said.contains("were not waited for"), "{said}");
        assert_ne!(client.join().expect("it does not panic"), Some(200));
        server.wait_for_end();
    }
    for timeout in ["-1", "x", "1e9", "nan"] {
        Tool::new(&["stop", &format!("--timeout={timeout}")]).fails(&["--timeout"]);
    }
}

/// A socket that another process serves does not have that process ended.
#[test]
fn stop_ends_no_process_that_is_not_a_daemon() {
    let mut other = Command::new("sleep").arg("60").stdin(Stdio::null()).spawn().expect("sleep is installed");
    let reply = format!(r#"{{"daemon": {{"pid": {}}}}}"#, other.id());
    let liar = daemon().routes(json!([{ "action": { "return": 200 } }])).start();
    let folder = site().file("status", &reply);
    let routes = json!([{ "action": { "share": text(&folder.path("status")) } }]);
    liar.control().put("/config/routes", &routes).expect_done();
    for command in ["stop", "reload", "logs"] {
        Tool::new(&[command, "--control", &liar.address().to_string()]).fails(&["is not on this machine"]);
    }
    assert!(other.try_wait().expect("it is our child").is_none());
    other.kill().and_then(|()| other.wait()).expect("it is our child");
}

/// A daemon that has its configuration from a file with this status for all requests.
fn with_file(status: u16) -> (corral_testkit::Site, Address, Daemon) {
    let (site, address) = (site(), Address::fresh());
    write(&site, address, status);
    let server = daemon().argument("--config").argument(text(&site.path("site.json"))).start_unconfigured();
    (site, address, server)
}

fn write(site: &corral_testkit::Site, address: Address, status: u16) {
    let config = json!({ "listeners": { address.to_string(): { "pass": "routes" } },
        "routes": [{ "action": { "return": status } }] });
    site.write("site.json", config.to_string());
}

#[test]
fn reload_puts_changed_files_in_force_and_says_so() {
    let (site, address, server) = with_file(201);
    let get = || Client::connect(address.socket()).get("/");
    get().expect(201);
    write(&site, address, 202);
    let said = corral(&server, &["reload"]).output();
    assert!(said.contains("site.json is in force"), "{said}");
    get().expect(202);
    // The same again is in force as well.
    corral(&server, &["reload"]).output();
    site.write("site.json", "{\"listeners\": 1}");
    corral(&server, &["reload"]).fails(&["nothing has changed: ", "listeners"]);
    get().expect(202);
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("bind a port");
    let other = taken.local_addr().expect("it is bound");
    let config = json!({ "listeners": { other.to_string(): { "pass": "routes" } }, "routes": [] });
    site.write("site.json", config.to_string());
    corral(&server, &["reload"]).fails(&["nothing has changed: ", "in use"]);
    get().expect(202);
    write(&site, address, 203);
    corral(&server, &["reload"]).output();
    get().expect(203);
}

#[test]
fn reload_without_files_names_what_there_is() {
    let server = two_answers();
    corral(&server, &["reload"]).fails(&["does not come from files", "corral config apply FILE"]);
    server.get("/a").expect(201);
}

const SPEAKER: &str = "import sys\n\ndef application(environ, start_response):\n    print('said ' + \
    environ['PATH_INFO'], file=sys.stderr, flush=True)\n    start_response('200 OK', [])\n    return [b'x']\n";

#[test]
fn logs_shows_the_last_lines_and_those_of_one_application() {
    let site = site().file("app.py", SPEAKER);
    let server = daemon().python(python_app(&site)).start();
    server.get("/one").expect(200);
    server.expect_log("said /one");
    let all = corral(&server, &["logs"]).output();
    assert!(all.contains("said /one") && all.lines().count() > 3, "{all}");
    let name = server.control().get("/config/applications").json();
    let name = name.as_object().and_then(|all| all.keys().next()).expect("there is one").clone();
    let own = corral(&server, &["logs", "--app", &name]).output();
    assert!(own.contains("said /one") && !own.contains("router started"), "{own}");
    assert_eq!(corral(&server, &["logs", "-n", "2"]).output().lines().count(), 2);
    corral(&server, &["logs", "--app", "other"]).fails(&["there is no application \"other\"", &name]);
    corral(&server, &["logs", "--lines", "-3"]).fails(&["-3"]);
    assert_eq!(corral(&server, &["logs", "-n", "0"]).output(), "");
    // Rotation, while it is followed.
    let output = site.path("output");
    let mut follower = Command::new(&executables().corral)
        .args(["logs", "-f", "-n", "0", "--app", &name, "--control", &control(&server)])
        .stdin(Stdio::null())
        .stdout(File::create(&output).expect("make the file"))
        .spawn()
        .expect("corral starts");
    let shown = |words: &str| {
        eventually(words, || {
            server.get(&format!("/{words}"));
            fs::read_to_string(&output).ok().filter(|text| text.contains(&format!("said /{words}")))
        })
    };
    shown("two");
    fs::rename(server.path("log"), server.path("log.1")).expect("it is there");
    signal(server.pid(), Signal::USR1);
    let text = shown("three");
    assert!(!text.contains("said /one"), "{text}");
    signal(follower.id(), Signal::TERM);
    follower.wait().expect("it is our child");
}

#[test]
fn logs_of_an_application_with_a_file_are_read_there() {
    let site = site().file("app.py", SPEAKER).writable_folder("out");
    let file = site.path("out/errors");
    let app = python_app(&site).with("stderr", json!(text(&file)));
    let server = daemon().python(app).start();
    server.get("/one").expect(200);
    let name = server.control().get("/config/applications").json();
    let name = name.as_object().and_then(|all| all.keys().next()).expect("there is one").clone();
    eventually("it is written", || fs::read_to_string(&file).ok().filter(|text| text.contains("said /one")));
    let own = corral(&server, &["logs", "--app", &name]).output();
    assert!(own.contains("said /one"), "{own}");
}

#[test]
fn a_log_that_is_standard_error_is_named() {
    let server = daemon().argument("--log").argument("/dev/stderr").start_unconfigured();
    corral(&server, &["logs"]).fails(&["standard error", "journalctl -u corral"]);
}

#[test]
fn words_of_other_servers_are_answered() {
    for (word, remedy) in [
        ("-t", "corral check FILE"),
        ("-s", "corral stop, corral reload"),
        ("down", "corral stop"),
        ("up", "corral run FOLDER"),
        ("ps", "corral status"),
    ] {
        Tool::new(&[word]).fails(&[remedy]);
    }
    Tool::new(&["restart"]).fails(&["corral restart APPLICATION", "corral reload"]);
    Tool::new(&["start"]).fails(&["corral daemon", "corral run FOLDER"]);
    let version = Tool::new(&["version"]).output();
    assert_eq!(version, Tool::new(&["--version"]).output());
    let help = Tool::new(&["--help"]).output();
    let examples: Vec<_> = help.lines().skip(1).take(3).map(str::trim_start).collect();
    assert!(
        help.starts_with("Examples:\n") && examples.iter().all(|line| line.starts_with("corral ")),
        "{help}"
    );
    let site = site().file("site.json", r#"{"listeners": {}}"#);
    assert!(Tool::new(&["validate", text(&site.path("site.json"))]).output().contains("is valid"));
}

/// `corral run` is stopped in the same way.
#[test]
fn stop_ends_a_site_in_the_foreground() {
    let (site, address) = (site().file("index.html", "page"), Address::fresh().to_string());
    let mut run = Run::start(&["serve", &site.root(), "--bind", &address]);
    run.expect_output(&format!("http://{address}"));
    let stdout = run.stdout();
    let socket = stdout.lines().find_map(|line| line.strip_prefix("control socket: ")).expect("it is said");
    let pid = run.pid();
    Tool::new(&["stop", "--control", socket]).output();
    assert!(run.ended().status.success() && !is_alive(pid));
}
