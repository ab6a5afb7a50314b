//! Times count from when a request was due: a server that stops for a while is slow for all that were due meanwhile.

use std::time::Duration;

use crate::server::{Reply, Server};
use crate::tank::{plain, tank};

const STALL: Duration = Duration::from_millis(400);

/// Answers at once, but for one request.
fn stalling() -> Server {
    Server::start(|number, _| match number {
        20 => Reply::After(STALL, Box::new(Reply::Good("late"))),
        _ => Reply::Good("hello"),
    })
}

#[test]
fn a_stall_is_seen_by_all_that_were_due() {
    let server = stalling();
    let run = tank(&["-s", "const(100,1s)", "-c", "1", &server.url()]);
    run.is_good(100);
    // Forty requests were due in the stall, a quarter of them in its first fourth.
    assert!(run.response_ms("90") > 250.0, "{:#}", run.json);
    assert!(run.response_ms("75") > 100.0, "{:#}", run.json);
    assert!(run.number("/waited_for_connection") >= 30, "{:#}", run.json);
    // The server was slow for one request only.
    assert!(run.service_ms("90") < run.response_ms("90") / 2.0, "{:#}", run.json);
    assert!(run.float("/service_time/max") > 390_000.0, "{:#}", run.json);
}

#[test]
fn a_closed_loop_sees_one_slow_answer() {
    let server = stalling();
    let run = tank(&["-n", "100", "-c", "1", &server.url()]);
    run.is_good(100);
    assert!(run.response_ms("95") < 200.0 && run.response_ms("99.99") > 390.0, "{:#}", run.json);
}

#[test]
fn what_could_not_be_sent_in_time_is_said() {
    let server = stalling();
    let output = plain(&["-s", "const(100,1s)", "-c", "1", &server.url()]);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(text.contains("requests left late because no connection was free."), "{text}");
    for words in ["planned", "from due", "from sending", "99.9 %", "generator's CPU", "200: 100"] {
        assert!(text.contains(words), "{words:?} in {text}");
    }
}

#[test]
fn the_seconds_add_up() {
    let server = Server::start(|_, _| Reply::Good("hello"));
    let run = tank(&["-s", "const(40,2s)", &server.url()]);
    run.is_good(80);
    let seconds = run.json["each_second"].as_array().expect("it is a list");
    for name in ["planned", "sent", "answered"] {
        let sum: u64 = seconds.iter().filter_map(|second| second[name].as_u64()).sum();
        assert_eq!(sum, 80, "{name} of {seconds:?}");
    }
    assert_eq!(seconds[0]["planned"], 40);
}
