//! Small scripts that must answer alike whether PHP starts them for each request or keeps them in memory, and what the
//! difference is where one is meant.

use corral_testkit::{Client, Daemon, Request, Response, Site, daemon, php_app, site};
use serde_json::json;

/// A script and what is asked of it, one request after the other.
pub(crate) struct Case {
    pub(crate) name: &'static str,
    /// Runs for each request; `$_SERVER` and its kin are those of the request.
    pub(crate) code: &'static str,
    pub(crate) asks: &'static [Ask],
    /// Why a worker answers something else, where it does.
    pub(crate) difference: Option<&'static str>,
}

/// A request and its response.
pub(crate) struct Ask {
    /// Method, target, and lines with fields; then an empty line and the body.
    request: &'static str,
    /// Status and body, and in further lines fields that there must be.
    classic: &'static str,
    worker: &'static str,
}

/// Both modes answer this.
pub(crate) const fn ask(request: &'static str, expect: &'static str) -> Ask {
    Ask { request, classic: expect, worker: expect }
}

/// The modes differ.
pub(crate) const fn differs(request: &'static str, classic: &'static str, worker: &'static str) -> Ask {
    Ask { request, classic, worker }
}

pub(crate) const fn same(name: &'static str, code: &'static str, asks: &'static [Ask]) -> Case {
    Case { name, code, asks, difference: None }
}

pub(crate) const fn but(
    name: &'static str,
    difference: &'static str,
    code: &'static str,
    asks: &'static [Ask],
) -> Case {
    Case { name, code, asks, difference: Some(difference) }
}

/// Runs the case's file, once for each request or in the loop of a worker.
const INDEX: &str = r"<?php
$handler = static function () { require __DIR__ . '/cases' . strtok($_SERVER['REQUEST_URI'], '?') . '.php'; };
if (isset($_SERVER['FRANKENPHP_WORKER'])) {
    while (corral_handle_request($handler)) {}
} else {
    $handler();
}
";

const CLASSIC: &str = "classic";
const WITH_JIT: &str = "worker with JIT";
const MODES: [&str; 3] = [CLASSIC, "worker", WITH_JIT];

/// Asks all cases in both modes, and says everything that is wrong.
#[track_caller]
pub(crate) fn check(cases: &[Case]) {
    check_in(site(), cases);
}

/// The same beside files that are there already.
#[track_caller]
pub(crate) fn check_in(site: Site, cases: &[Case]) {
    let site = cases.iter().fold(site.file("index.php", INDEX), |site, case| {
        site.file(&format!("cases/{}.php", case.name), format!("<?php {}", case.code))
    });
    let servers = MODES.map(|mode| (mode, start(&site, mode)));
    let mut wrong = Vec::new();
    for case in cases {
        let is_different = case.asks.iter().any(|ask| ask.classic != ask.worker);
        assert_eq!(is_different, case.difference.is_some(), "{}: a difference has a reason", case.name);
        for (mode, server) in &servers {
            wrong.extend(run(case, mode, server));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

fn start(site: &Site, mode: &str) -> Daemon {
    let app = php_app(site)
        .admin("opcache.file_update_protection", "0")
        .admin("session.save_path", "/tmp")
        .admin("upload_tmp_dir", "/tmp");
    let app = match mode {
        CLASSIC => app.script("index.php"),
        _ => app.with("worker", json!({ "script": "index.php", "guard": "off" })),
    };
    let app = match mode {
        WITH_JIT => app.admin("opcache.jit", "tracing").admin("opcache.jit_buffer_size", "16M"),
        _ => app,
    };
    daemon().application(app).start()
}

fn run(case: &Case, mode: &str, server: &Daemon) -> Vec<String> {
    let mut client = server.connect();
    let mut wrong = Vec::new();
    for (n, ask) in case.asks.iter().enumerate() {
        let expect = if mode == CLASSIC { ask.classic } else { ask.worker };
        let answer = send(&mut client, server, case.name, ask.request);
        if let Err(found) = compare(&answer, expect) {
            wrong.push(format!(
                "{} ({mode}), request {}: expected\n{expect}\nbut found\n{found}",
                case.name,
                n + 1
            ));
        }
    }
    wrong
}

/// One connection serves all requests of a case, unless the server ends it.
fn send(client: &mut Client, server: &Daemon, name: &str, request: &str) -> Result<Response, String> {
    let request = parse(name, request);
    client.try_send(&request).or_else(|_| {
        *client = server.connect();
        client.try_send(&request)
    })
}

fn parse(name: &str, text: &str) -> Request {
    let (head, body) = text.split_once("\n\n").unwrap_or((text, ""));
    let mut lines = head.lines();
    let (method, query) = lines.next().map_or(("GET", ""), |line| line.split_once(' ').unwrap_or((line, "")));
    let request = Request::new(method, &format!("/{name}{query}"));
    let request = lines
        .filter_map(|line| line.split_once(": "))
        .fold(request, |request, (name, value)| request.field(name, value));
    if text.contains("\n\n") { request.body(body) } else { request }
}

fn compare(answer: &Result<Response, String>, expect: &str) -> Result<(), String> {
    let answer = answer.as_ref().map_err(Clone::clone)?;
    let mut lines = expect.split("\n+ ");
    let found = format!("{} {}", answer.status, answer.text());
    if lines.next().is_none_or(|first| first.trim_end() != found.trim_end()) {
        return Err(found.chars().take(200).collect());
    }
    let lacking = lines
        .filter_map(|line| line.split_once(": "))
        .find(|(name, value)| !answer.all(name).any(|found| found == *value));
    lacking.map_or(Ok(()), |(name, _)| Err(format!("{name}: {:?}", answer.all(name).collect::<Vec<_>>())))
}
