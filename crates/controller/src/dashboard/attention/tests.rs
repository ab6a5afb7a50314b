//! Each kind of trouble, alone.

use std::time::Instant;

use corral_ipc::message::{
    Exit, FailedListener, QueueStatus, RunStatus, ScheduleStatus, ServerStatus, WaitingFigures,
};

use super::*;

fn app(name: &str) -> AppStatus {
    AppStatus { name: name.to_owned(), running: 2, idle: 1, ..AppStatus::default() }
}

fn with(apps: Vec<AppStatus>) -> Status {
    Status { applications: apps, ..Status::default() }
}

/// Everything that is found, a line each.
fn lines(
    status: &Status,
    certificates: &[NameStatus],
    bundles: &[UsedBundle],
    trends: &Trends,
) -> Vec<String> {
    let facts = Facts { status, certificates, bundles, trends, now: now() };
    let found = find(&facts);
    assert!(found.iter().all(|one| !one.next.is_empty() && !one.view.is_empty()), "{found:?}");
    found.iter().map(|one| format!("{:?} {}: {}", one.severity, one.subject, one.text)).collect()
}

fn now() -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(1_790_000_000)
}

#[track_caller]
fn check(status: &Status, expected: &[&str]) {
    assert_eq!(lines(status, &[], &[], &Trends::default()), expected);
}

#[test]
fn what_is_well_needs_no_attention() {
    check(&Status::default(), &[]);
    check(&with(vec![app("a")]), &[]);
}

#[test]
fn the_daemon_says_what_is_wrong_with_itself() {
    let daemon = DaemonStatus {
        config_error: Some("No space left".to_owned()),
        upgrade_error: Some("it does not start".to_owned()),
        ..DaemonStatus::default()
    };
    let failed = FailedListener { address: "*:80".to_owned(), reason: "in use".to_owned() };
    check(
        &Status { daemon, failed_listeners: vec![failed], ..Status::default() },
        &[
            "Error configuration: No space left",
            "Error upgrade: it does not start",
            "Error listener *:80: in use",
        ],
    );
}

#[test]
fn applications_that_fail_come_before_those_that_limp() {
    let failing =
        |name, running| AppStatus { running, last_error: Some("no module".to_owned()), ..app(name) };
    let shared = AppStatus { warning: Some("it has the daemon's user".to_owned()), ..app("c") };
    check(
        &with(vec![shared, failing("a", 1), failing("b", 0)]),
        &[
            "Error application b: no module",
            "Warning application c: it has the daemon's user",
            "Warning application a: no module",
        ],
    );
}

#[test]
fn crashes_are_told_and_loops_are_errors() {
    let (mut trends, begin) = (Trends::default(), Instant::now());
    let crashed = |crashes| {
        let last_crash = Some("process 7 exited on signal 11".to_owned());
        with(vec![AppStatus { crashes, last_crash, ..app("a") }])
    };
    let mut check = |crashes: u64, second: u64, expected: &[&str]| {
        trends.note(&crashed(crashes), begin + Duration::from_secs(second));
        assert_eq!(lines(&crashed(crashes), &[], &[], &trends), expected, "{second}");
    };
    let once = "Warning application a: a process has crashed: process 7 exited on signal 11";
    let many = "Error application a: its processes crash again and again: process 7 exited on signal 11";
    check(5, 0, &[]);
    check(6, 1, &[once]);
    check(8, 2, &[many]);
    check(8, 61, &[many]);
    check(8, 62, &[once]);
    check(8, 63, &[]);
    check(0, 64, &[]);
}

#[test]
fn requests_that_wait_long_are_told() {
    let (mut trends, begin) = (Trends::default(), Instant::now());
    let busy = |active_requests: u32| {
        let waiting =
            WaitingFigures { waiting: active_requests.saturating_sub(2), ..WaitingFigures::default() };
        with(vec![AppStatus { idle: 0, active_requests, waiting, ..app("a") }])
    };
    let mut waits = |active: u32, second: u64| {
        trends.note(&busy(active), begin + Duration::from_secs(second));
        lines(&busy(active), &[], &[], &trends).len()
    };
    assert_eq!([waits(9, 0), waits(3, 9), waits(9, 10), waits(2, 11), waits(9, 12)], [0, 0, 1, 0, 0]);
}

#[test]
fn commands_tell_of_runs_and_queues() {
    let run = RunStatus {
        began: "now".to_owned(),
        duration: Duration::ZERO,
        exit: Some(Exit::Code(1)),
        timed_out: false,
        error: None,
        output: Vec::new(),
    };
    let scheduled = |run| {
        let schedule = Some(ScheduleStatus { last: Some(run), ..ScheduleStatus::default() });
        Status { background: vec![AppStatus { schedule, ..app("job") }], ..Status::default() }
    };
    check(
        &scheduled(run.clone()),
        &["Warning application job: its last run, at now, failed: it ended with an error"],
    );
    let late = RunStatus { timed_out: true, exit: None, ..run.clone() };
    check(&scheduled(late), &["Warning application job: its last run, at now, failed: it took too long"]);
    check(&scheduled(RunStatus { exit: Some(Exit::Code(0)), ..run }), &[]);
    let queue = |length, last_error: Option<&str>| {
        let queue = Some(QueueStatus { length, wanted: 1, last_error: last_error.map(str::to_owned) });
        Status { background: vec![AppStatus { queue, ..app("job") }], ..Status::default() }
    };
    check(&queue(None, Some("no server")), &["Warning application job: no server"]);
    let (mut trends, begin) = (Trends::default(), Instant::now());
    let mut grows = |length: u64, second: u64| {
        let status = queue(Some(length), None);
        trends.note(&status, begin + Duration::from_secs(second));
        !lines(&status, &[], &[], &trends).is_empty()
    };
    assert_eq!(
        [grows(5, 0), grows(6, 30), grows(7, 60), grows(9, 90), grows(7, 120)],
        [false, false, true, true, false]
    );
    assert_eq!([grows(0, 150), grows(50, 180), grows(60, 240)], [false, false, true]);
}

#[test]
fn servers_that_get_no_requests_are_told() {
    let server =
        |address: &str, state| ServerStatus { address: address.to_owned(), state, ..ServerStatus::default() };
    let group = |servers| UpstreamStatus { name: "pool".to_owned(), servers, waiting: None };
    let status = |servers| Status { upstreams: vec![group(servers)], ..Status::default() };
    check(
        &status(vec![
            server("a", ServerState::Up),
            server("b", ServerState::Avoided),
            server("c", ServerState::Down),
        ]),
        &[
            "Warning server b of upstream pool: it has failed to answer, and gets no requests for a while",
            "Warning server c of upstream pool: its checks fail, and it gets no requests",
        ],
    );
    check(
        &status(vec![server("a", ServerState::Down)]),
        &["Error upstream pool: all of its servers are down: its requests are answered with 502 or 503"],
    );
    check(&status(vec![]), &[]);
}

#[test]
fn certificates_are_told_before_they_expire() {
    let name = |state, days: Option<u64>, last_error: Option<&str>| NameStatus {
        name: "a.example".to_owned(),
        state,
        expires: days.map(|days| now() + Duration::from_secs(days * 86_400)),
        issuer: None,
        renews_at: None,
        next_try: None,
        last_error: last_error.map(str::to_owned),
        challenge: None,
    };
    let told = |one: NameStatus| lines(&Status::default(), &[one], &[], &Trends::default());
    assert!(told(name(NameState::Valid, Some(30), None)).is_empty());
    assert!(told(name(NameState::Ordering, None, None)).is_empty());
    assert_eq!(told(name(NameState::Valid, Some(30), Some("no"))), ["Warning certificate a.example: no"]);
    assert_eq!(told(name(NameState::Valid, Some(3), Some("no"))), ["Error certificate a.example: no"]);
    let soon = told(name(NameState::Valid, Some(3), None));
    assert_eq!(soon, ["Warning certificate a.example: it expires 2026-09-24T14:13:20Z"]);
    assert_eq!(told(name(NameState::Failed, None, Some("no"))), ["Error certificate a.example: no"]);
    assert!(
        told(name(NameState::Expired, Some(0), None))[0]
            .starts_with("Error certificate a.example: it has expired")
    );
    let bundle = |days: u64| UsedBundle {
        name: "own".to_owned(),
        expires: now() + Duration::from_secs(days * 86_400),
    };
    let told = |one: UsedBundle| lines(&Status::default(), &[], &[one], &Trends::default());
    assert!(told(bundle(8)).is_empty());
    assert!(told(bundle(6))[0].starts_with("Warning certificate own: it expires "));
    assert!(told(bundle(0))[0].starts_with("Error certificate own: it has expired"));
}

#[test]
fn there_is_an_end_and_errors_come_first() {
    let broken =
        |n: usize, running| AppStatus { last_error: Some("x".to_owned()), running, ..app(&format!("{n}")) };
    let mut apps: Vec<_> = (0..150).map(|n| broken(n, 1)).collect();
    apps.push(broken(150, 0));
    let found = lines(&with(apps), &[], &[], &Trends::default());
    assert_eq!((found.len(), found[0].as_str()), (MOST, "Error application 150: x"));
    let facts = Facts {
        status: &Status {
            daemon: DaemonStatus { upgrade_error: Some("x".to_owned()), ..DaemonStatus::default() },
            ..Status::default()
        },
        certificates: &[],
        bundles: &[],
        trends: &Trends::default(),
        now: now(),
    };
    let text = String::from_utf8(value(&find(&facts)).compact()).unwrap();
    assert!(
        text.starts_with(r#"[{"severity":"error","subject":"upgrade","text":"x","next":"The old"#),
        "{text}"
    );
}
