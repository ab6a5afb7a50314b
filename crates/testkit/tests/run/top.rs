//! `corral top` at a terminal: what is shown, what keys do, and the terminal afterwards.

mod window;

use std::process::Command;

use corral_testkit::{
    Address, Daemon, Request, Run, Signal, Site, daemon, eventually, executables, is_alive, python_app,
    signal, site,
};
use serde_json::{Value, json};

use self::window::Window;
use crate::terminal::Terminal;

/// An application that answers with the number of its process.
fn number() -> Site {
    site().file(
        "app.py",
        "import os\ndef application(environ, start_response):\n    start_response('200 OK', [])\n    return \
         [str(os.getpid()).encode()]\n",
    )
}

/// An application of which nothing runs.
fn idle() -> Value {
    json!({ "type": "process", "command": "true", "schedule": "@yearly" })
}

/// A daemon with these applications, of which nothing runs.
fn idle_server(names: &[&str]) -> Daemon {
    let applications = names.iter().map(|name| ((*name).to_owned(), idle()));
    let applications = Value::Object(applications.collect());
    daemon().config(json!({ "listeners": {}, "applications": applications })).start()
}

/// The number before these words in a line.
fn number_before(lines: &[String], words: &str) -> Option<f64> {
    let before = lines.iter().find_map(|line| line.split_once(words))?.0;
    before.rsplit(' ').next()?.parse().ok()
}

#[test]
fn the_application_and_its_requests_are_shown() {
    let site = number();
    let server = daemon().python(python_app(&site)).start();
    let mut window = Window::open(&server);
    window.expect(&format!("process {}, up ", server.pid()));
    window.expect_order(&["python"]);
    eventually("the requests are counted", || {
        server.get("/").expect(200);
        number_before(&window.lines(), " requests/s").filter(|rate| *rate > 0.0)
    });
    let lines = window.lines();
    assert!(lines.iter().all(|line| line.chars().count() <= 80), "{lines:#?}");
    assert!(lines[24..].iter().all(String::is_empty), "{lines:#?}");
    window.types("\r");
    window.expect("application \"python\"");
    window.expect("processes: 0 busy, 1 idle, 0 starting; requests: 0 active");
    eventually("the requests are counted", || {
        server.get("/").expect(200);
        number_before(&window.lines(), " requests/s, 0 failed/s, ").filter(|rate| *rate > 0.0)
    });
    window.expect(" requests, 0 failed, ");
    window.expect("requests/s in the last minute: ");
    window.types("\x7f");
    window.expect_order(&["python"]);
}

#[test]
fn applications_are_sorted() {
    let site = number();
    let app = python_app(&site).value();
    let routes = json!([
        { "match": { "uri": "/alpha" }, "action": { "pass": "applications/alpha" } },
        { "action": { "pass": "applications/zulu" } }
    ]);
    let config = json!({ "routes": routes, "applications": { "alpha": app, "zulu": app } });
    let server = daemon().config(config).start();
    let mut window = Window::open(&server);
    window.expect("sorted by requests, highest first");
    window.expect_order(&["alpha", "zulu"]);
    eventually("the busy one is the first", || {
        server.get("/").expect(200);
        let is_first = |line: &String| line.starts_with("> zulu");
        window.lines().iter().any(is_first).then_some(())
    });
    window.types("sssss");
    window.expect("sorted by name, a to z");
    window.expect_order(&["alpha", "zulu"]);
    window.types("r");
    window.expect("sorted by name, z to a");
    window.expect_order(&["zulu", "alpha"]);
}

#[test]
fn applications_are_filtered() {
    let server = idle_server(&["blog", "shop", "workshop"]);
    let mut window = Window::open(&server);
    window.expect_order(&["blog", "shop", "workshop"]);
    window.types("/SH");
    window.expect("filter: SH_");
    window.expect_order(&["shop", "workshop"]);
    window.types("x");
    window.expect("no application has \"SHx\" in its name");
    window.types("\x7f\r");
    window.expect("; filter \"SH\"");
    window.expect_order(&["shop", "workshop"]);
    // The mark moves within what is shown.
    window.types("\x1b[B\r");
    window.expect("application \"workshop\"");
    window.types("\x7f");
    window.expect_order(&["shop", "workshop"]);
    window.types("\x1b");
    window.expect_order(&["blog", "shop", "workshop"]);
}

#[test]
fn an_application_is_restarted_after_a_question() {
    let site = number();
    let server = daemon().python(python_app(&site)).start();
    let before = server.get("/").text();
    let mut window = Window::open(&server);
    window.expect_order(&["python"]);
    window.types("R");
    window.expect("Restart \"python\"? [y/N]");
    window.types("\r");
    window.expect_gone("Restart \"python\"?");
    window.types("Rn");
    window.expect("sorted by");
    assert_eq!(server.get("/").text(), before);
    assert!(!window.written().contains("restarted"), "{:#?}", window.lines());
    window.types("R");
    window.expect("Restart \"python\"? [y/N]");
    window.types("y");
    window.expect("python: restarted");
    eventually("another process answers", || (server.get("/").text() != before).then_some(()));
}

/// Numbers of processes in a list of workers, from top to bottom.
fn listed_processes(lines: &[String]) -> Vec<u32> {
    let rows = lines.iter().skip_while(|line| !line.contains("PROCESS")).skip(1);
    rows.map_while(|line| line.get(2..)?.split_whitespace().next()?.parse().ok()).collect()
}

#[test]
fn workers_are_shown_and_one_is_drained_after_a_question() {
    let site = number();
    let server = daemon().python(python_app(&site).with("processes", json!(2))).start();
    let mut processes = server.expect_processes("\"python\" worker", 2);
    processes.sort_unstable();
    let mut window = Window::open(&server);
    window.expect_order(&["python"]);
    window.types("\r");
    window.expect_lines("both processes", |lines| {
        let mut listed = listed_processes(lines);
        listed.sort_unstable();
        listed == processes
    });
    window.expect(" idle ");
    window.expect("MiB");
    // From the lowest number on.
    window.types("sssssr");
    window.expect("processes sorted by number, lowest first");
    window.expect_lines("the order", |lines| listed_processes(lines) == processes);
    let lines = window.lines();
    assert!(lines.iter().all(|line| line.chars().count() <= 80), "{lines:#?}");
    window.types("jd");
    window.expect(&format!("Let process {} of \"python\" end after its requests? [y/N]", processes[1]));
    window.types("n");
    window.expect_gone("end after its requests?");
    assert!(is_alive(processes[1]));
    window.types("dy");
    eventually("it ends", || (!is_alive(processes[1])).then_some(()));
    window.expect_lines("another one", |lines| {
        let listed = listed_processes(lines);
        listed.len() == 2 && listed.contains(&processes[0]) && !listed.contains(&processes[1])
    });
    assert!(is_alive(processes[0]));
    server.get("/").expect(200);
    window.types("\x7f");
    window.expect_order(&["python"]);
}

#[test]
fn a_worker_that_hangs_is_seen_and_ended() {
    let site = site().file(
        "app.py",
        "import time\ndef application(environ, start_response):\n    if environ['PATH_INFO'] != '/':\n        \
         time.sleep(1000)\n    start_response('200 OK', [])\n    return [b'x']\n",
    );
    let server = daemon().python(python_app(&site)).start();
    let mut client = server.connect();
    client.write(Request::get("/users/77?secret").encode());
    let mut window = Window::open(&server);
    window.expect_order(&["python"]);
    window.types("\r");
    window.expect(" GET /users/:n");
    window.expect(" busy ");
    window.types("x");
    window.expect(" at once, with its requests? [y/N]");
    window.types("y");
    client.read_response().expect(503);
    window.expect_gone("GET /users/:n");
    window.expect(" idle ");
    assert!(!window.written().contains("secret"));
    server.get("/").expect(200);
}

#[test]
fn a_restart_that_fails_is_told() {
    let site = number();
    let server = daemon().python(python_app(&site)).start();
    let mut window = Window::open(&server);
    window.expect_order(&["python"]);
    site.write("app.py", "def application(\n");
    window.types("Ry");
    window.expect("python: Failed to restart app");
}

#[test]
fn troubles_and_upstreams_are_in_words() {
    let servers = json!({ "127.0.0.1:1": {}, "127.0.0.1:2": { "down": true } });
    let server = daemon()
        .config(json!({
            "routes": [{ "action": { "pass": "upstreams/backend" } }],
            "upstreams": { "backend": { "servers": servers } }
        }))
        .start();
    let window = Window::open(&server);
    window.expect("needs attention");
    window.expect("server 127.0.0.1:2 of upstream \"backend\" is down");
    window.expect("\"backend\": 1 of 2 servers up, 0 requests active");
    window.expect("there are no applications");
}

#[test]
fn names_do_not_control_the_terminal() {
    let server = idle_server(&["a\u{1b}[2J", "b\u{9b}2J", "c\u{202e}d"]);
    let window = Window::open(&server);
    window.expect_order(&["a\\u{1b}[2J", "b\\u{9b}2J", "c\\u{202e}d"]);
    assert!(!window.written().contains(['\u{9b}', '\u{202e}']), "{:?}", window.written());
}

#[test]
fn keys_quit_and_the_terminal_is_as_before() {
    let server = idle_server(&["shop"]);
    for keys in ["q", "\x1b", "\x03", "\rq", "/x\x03"] {
        let mut window = Window::open(&server);
        window.expect_order(&["shop"]);
        window.types(keys);
        window.expect_end(0);
    }
}

#[test]
fn signals_end_it_and_the_terminal_is_as_before() {
    let server = idle_server(&["shop"]);
    for (sent, code) in [(Signal::TERM, 143), (Signal::HUP, 129), (Signal::INT, 130)] {
        let window = Window::open(&server);
        window.expect_order(&["shop"]);
        signal(window.process(), sent);
        window.expect_end(code);
    }
}

#[test]
fn a_closed_window_ends_it() {
    let server = idle_server(&["shop"]);
    let window = Window::open(&server);
    window.expect_order(&["shop"]);
    let processes = window.close();
    eventually("nothing is left", || processes.iter().all(|pid| !is_alive(*pid)).then_some(()));
}

/// Whether a colour was chosen; the usual ones are none.
fn has_colours(written: &str) -> bool {
    let sequences = written.split("\x1b[").skip(1).filter_map(|rest| {
        let end = rest.find(|character: char| character.is_ascii_alphabetic())?;
        rest[end..].starts_with('m').then(|| &rest[..end])
    });
    let mut numbers =
        sequences.flat_map(|sequence| sequence.split(';')).filter_map(|number| number.parse().ok());
    numbers.any(|number: u8| matches!(number, 30..=38 | 40..=48 | 90..=107))
}

#[test]
fn colours_are_left_out_where_they_are_not_wanted() {
    let server = idle_server(&["shop"]);
    let show = |variables: &str| {
        let mut window = Window::open_with(&server, variables);
        window.expect_order(&["shop"]);
        for (keys, text) in [
            ("R", "Restart \"shop\"?"),
            ("n\r", "application \"shop\""),
            ("s", "processes sorted by CPU"),
            ("?", "keys"),
        ] {
            window.types(keys);
            window.expect(text);
        }
        window.types("xq");
        window.expect_end(0);
        has_colours(&window.written())
    };
    assert!(show("TERM=xterm-256color"));
    assert!(!show("TERM=xterm-256color NO_COLOR=1"));
    assert!(!show("TERM=vt220"));
    assert!(!show("TERM=dumb"));
}

#[test]
fn a_daemon_that_stops_and_comes_back_is_followed() {
    let mut server = idle_server(&["shop"]);
    let mut window = Window::open(&server);
    window.expect(&format!("process {}, ", server.pid()));
    server.stop();
    window.expect("the daemon is away and asked again: ");
    window.expect_order(&["shop"]);
    server.restart();
    window.expect(&format!("process {}, ", server.pid()));
    window.expect_gone("the daemon is away");
    window.expect_order(&["shop"]);
    window.types("q");
    window.expect_end(0);
}

#[test]
fn a_window_that_is_too_small_is_told_and_sizes_are_followed() {
    let server = idle_server(&["shop"]);
    let mut window = Window::open(&server);
    window.expect_order(&["shop"]);
    window.resize(5, 40);
    window.expect("the terminal is too small");
    window.expect_gone("APPLICATION");
    window.resize(24, 80);
    window.expect_order(&["shop"]);
    window.resize(40, 150);
    window.expect_lines("keys in the last line", |lines| lines[39].starts_with("q quit"));
    window.types("q");
    window.expect_end(0);
}

#[test]
fn without_a_terminal_it_is_refused() {
    let words = ["a terminal is needed", "`corral status --json`", "`corral status --watch`"];
    Run::to_end(&["top"]).expect_one_line(&words);
    let corral = &executables().corral;
    for redirected in ["</dev/null", "| cat"] {
        let mut shell = Command::new("sh");
        shell.args(["-c", &format!("$CORRAL top {redirected}")]).env("CORRAL", corral);
        let mut terminal = Terminal::running(Address::fresh(), &shell);
        words.iter().for_each(|part| terminal.expect(part));
    }
}

#[test]
fn a_daemon_that_is_not_there_is_told_at_once() {
    let corral = executables().corral.display();
    let mut shell = Command::new("sh");
    shell.args(["-c", &format!("{corral} top --control /nonexistent/control; echo \"code $?.\"")]);
    let mut terminal = Terminal::running(Address::fresh(), &shell);
    terminal.expect("/nonexistent/control");
    terminal.expect("code 1.");
    assert!(!terminal.shown().contains("\x1b["), "{:?}", terminal.shown());
}

#[test]
fn the_interval_has_bounds() {
    for interval in ["0", "0.05", "3601", "x", "-1", "inf", "nan"] {
        let outcome = Run::to_end(&["top", &format!("--interval={interval}")]);
        assert_eq!(outcome.status.code(), Some(2), "{outcome:?}");
        assert!(outcome.stderr.contains("seconds"), "{outcome:?}");
    }
}
