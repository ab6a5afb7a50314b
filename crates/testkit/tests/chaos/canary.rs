//! Each request carries a canary in everything that a request can have. Scripts throw, exit, run out of memory and
//! time, and are killed, while the application is restarted and goes to and fro between scripts that are started for
//! each request and scripts that stay in memory. No response has another request's canary, and no request is lost that
//! was not inside a killed worker.
//!
//! `CORRAL_CANARIES=1000000` is the long form.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use corral_testkit::{Client, Daemon, Request, Response, Signal, Site, daemon, signal, site};
use serde_json::{Value, json};

use super::site::WORKER;

const N_CLIENTS: usize = 32;
const N_WORKERS: usize = 6;

/// Things that a request may have the script do.
const ACTS: [&str; 8] = ["ok", "throw", "exit", "memory", "time", "die", "finish", "shutdown"];

const SCRIPT: &str = r"<?php
function answer()
{
    $canary = $_GET['canary'];
    session_id('corralcanary' . $_GET['client']);
    session_start();
    $told = [
        'get' => $_GET['canary'], 'post' => $_POST['canary'], 'cookie' => $_COOKIE['canary'],
        'field' => $_SERVER['HTTP_X_CANARY'], 'fields' => getallheaders()['X-Canary'], 'input' => file_get_contents('php://input'),
        'request' => $_REQUEST['canary'], 'session' => $_SESSION['canary'] ?? '', 'limit' => ini_get('memory_limit'),
        'agent' => ini_get('user_agent'), 'zone' => date_default_timezone_get(), 'headers' => count(headers_list()),
        'n' => count($_GET) . count($_POST) . count($_COOKIE) . count($_FILES),
    ];
    $_SESSION['canary'] = $canary;
    ini_set('memory_limit', '64M');
    ini_set('user_agent', $canary);
    date_default_timezone_set('Asia/Tokyo');
    header('X-Canary: ' . $canary);
    setcookie('told', $canary);
    echo json_encode($told);
    switch ($_GET['act']) {
        case 'throw': throw new Exception('on purpose');
        case 'exit': exit;
        case 'memory': str_repeat('x', 128 << 20);
        case 'time': set_time_limit(1); while (true) {}
        case 'die': posix_kill(getmypid(), SIGKILL);
        case 'finish': session_write_close(); fastcgi_finish_request(); break;
        case 'shutdown': register_shutdown_function(function () { header('X-Late: ' . $_GET['canary']); });
    }
}
if (isset($_SERVER['CORRAL_WORKER'])) {
    while (corral_handle_request('answer')) {}
} else {
    answer();
}
";

#[test]
fn no_request_sees_another_ones_canary() {
    let n_requests =
        std::env::var("CORRAL_CANARIES").map_or(8_000, |n| n.parse().expect("a number of requests"));
    let site = site().file("index.php", SCRIPT).writable_folder("sessions");
    let server = daemon().config(config(&site, false)).start();
    let flight = Arc::new(Flight { n_left: AtomicUsize::new(n_requests), ended: AtomicBool::new(false) });
    let clients: Vec<_> = (0..N_CLIENTS).map(|client| send_canaries(&server, client, &flight)).collect();
    let n_killed = disturb(&server, &site, &flight);
    let tallies: Vec<Tally> =
        clients.into_iter().map(|client| client.join().expect("a client ends")).collect();
    let wrong: Vec<_> = tallies.iter().flat_map(|tally| &tally.wrong).collect();
    assert!(wrong.is_empty(), "{} of {n_requests}: {:#?}", wrong.len(), &wrong[..wrong.len().min(5)]);
    let lost: Vec<_> = tallies.iter().flat_map(|tally| &tally.lost).collect();
    assert!(lost.len() <= n_killed, "{} lost, {n_killed} workers killed: {lost:#?}", lost.len());
}

struct Flight {
    n_left: AtomicUsize,
    ended: AtomicBool,
}

impl Flight {
    fn takes_off(&self) -> bool {
        let left = self.n_left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |n| n.checked_sub(1));
        self.ended.fetch_or(left.is_err(), Ordering::Relaxed);
        left.is_ok()
    }
}

fn config(site: &Site, in_memory: bool) -> Value {
    let admin = json!({ "session.save_path": site.path("sessions"), "session.lazy_write": "0",
        "opcache.file_update_protection": "0" });
    let mut app =
        json!({ "type": "php", "root": site.root(), "processes": N_WORKERS, "options": { "admin": admin } });
    match in_memory {
        true => app["worker"] = json!({ "script": "index.php", "guard": "restore", "max_requests": 500 }),
        false => app["script"] = json!("index.php"),
    }
    json!({ "applications": { "php": app } })
}

/// Changes, restarts and kills until all requests were sent; returns how many workers were killed.
fn disturb(server: &Daemon, site: &Site, flight: &Flight) -> usize {
    let mut n_killed = 0;
    for n in 0.. {
        if flight.ended.load(Ordering::Relaxed) {
            break;
        }
        match n % 4 {
            0 | 2 => {
                let config = server.with_listener(config(site, n % 8 < 6));
                server.control().put("/config", &config).expect_done();
            }
            1 => drop(server.control().get("/control/applications/php/restart").0.expect(200)),
            _ => {
                let workers = server.named(WORKER);
                if let Some(worker) = workers.get(n % workers.len().max(1)) {
                    signal(*worker, Signal::KILL);
                    n_killed += 1;
                }
            }
        }
        // The pace of the disturbances.
        thread::sleep(Duration::from_millis(150));
    }
    n_killed
}

#[derive(Default)]
struct Tally {
    /// Responses that are not what they should be.
    wrong: Vec<String>,
    /// Requests that have no response, or 503, although nothing of the kind was asked for.
    lost: Vec<String>,
}

fn send_canaries(server: &Daemon, client: usize, flight: &Arc<Flight>) -> thread::JoinHandle<Tally> {
    let (address, flight) = (server.address().socket(), Arc::clone(flight));
    thread::spawn(move || {
        let mut tally = Tally::default();
        let mut connection = Client::connect(address);
        let mut lot = Lot(0x9e37_79b9 + client as u64);
        let mut n = 0;
        while flight.takes_off() {
            n += 1;
            let (canary, act) = (format!("canary-{client}-{n}-"), choose(&mut lot));
            let answer = connection.try_send(&request(client, &canary, act));
            match judge(answer.as_ref(), client, &canary, act) {
                Verdict::Right => {}
                Verdict::Lost(how) => tally.lost.push(how),
                Verdict::Wrong(how) => tally.wrong.push(how),
            }
            if answer.is_err() {
                connection = Client::connect(address);
            }
        }
        tally
    })
}

/// Most requests want nothing particular; the last acts are dear.
fn choose(lot: &mut Lot) -> &'static str {
    match lot.draw(1000) {
        0..20 => "throw",
        20..40 => "exit",
        40..50 => "memory",
        50 => "time",
        51..56 => "die",
        56..76 => "finish",
        76..96 => "shutdown",
        _ => ACTS[0],
    }
}

fn request(client: usize, canary: &str, act: &str) -> Request {
    Request::post(&format!("/?canary={canary}&client={client}&act={act}"))
        .field("Content-Type", "application/x-www-form-urlencoded")
        .field("Cookie", &format!("canary={canary}"))
        .field("X-Canary", canary)
        .body(format!("canary={canary}"))
}

enum Verdict {
    Right,
    Lost(String),
    Wrong(String),
}

fn judge(answer: Result<&Response, &String>, client: usize, canary: &str, act: &str) -> Verdict {
    let answer = match (answer, act) {
        (Err(_), "die") => return Verdict::Right,
        (Err(error), _) => return Verdict::Lost(format!("{canary} ({act}): {error}")),
        (Ok(answer), _) => answer,
    };
    match (answer.status, act) {
        (503, "die") => return Verdict::Right,
        (503, _) => return Verdict::Lost(format!("{canary} ({act}): 503")),
        (500, "throw" | "memory" | "time") | (200, "ok" | "exit" | "finish" | "shutdown") => {}
        (status, _) => return Verdict::Wrong(format!("{canary} ({act}): {status} {answer}")),
    }
    let problem = stranger(answer, client, canary).or_else(|| incomplete(answer, canary, act));
    problem.map_or(Verdict::Right, |problem| Verdict::Wrong(format!("{canary} ({act}): {problem} {answer}")))
}

/// A canary that is not the request's. In the session there is the one of the client's request before.
fn stranger(answer: &Response, client: usize, canary: &str) -> Option<String> {
    let text = format!("{answer} {}", answer.text());
    let own = format!("canary-{client}-");
    text.match_indices("canary-").map(|(at, _)| &text[at..]).find_map(|found| {
        let is_session =
            text.contains(&format!("\"session\":\"{}", found.split('"').next().unwrap_or_default()));
        let is_right = found.starts_with(canary) || (is_session && found.starts_with(&own));
        (!is_right).then(|| format!("a stranger, {}", found.chars().take(20).collect::<String>()))
    })
}

/// A lack in the response. Text that was buffered when memory was short is lost, as in PHP.
fn incomplete(answer: &Response, canary: &str, act: &str) -> Option<String> {
    let has_field = |name| answer.all(name).any(|value| value.contains(canary));
    if !has_field("X-Canary") || !has_field("Set-Cookie") {
        return Some("no field".into());
    }
    if act == "shutdown" && !has_field("X-Late") {
        return Some("no late field".into());
    }
    if matches!(act, "memory") {
        return None;
    }
    let told: Value = match serde_json::from_str(&answer.text()) {
        Ok(told) => told,
        Err(error) => return Some(format!("no JSON: {error}")),
    };
    let input = format!("canary={canary}");
    let wants = [
        ("get", canary),
        ("post", canary),
        ("cookie", canary),
        ("field", canary),
        ("fields", canary),
        ("request", canary),
        ("input", &input),
        ("limit", "128M"),
        ("agent", ""),
        ("zone", "UTC"),
        ("n", "3110"),
    ];
    wants
        .iter()
        .find(|(name, wanted)| told[name] != *wanted)
        .map(|(name, _)| format!("{name} is {}", told[name]))
}

/// Numbers that look random, the same ones in each run.
struct Lot(u64);

impl Lot {
    fn draw(&mut self, below: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % below
    }
}
