//! Counters of routers and of the main process before, through ends, upgrades and changes of the configuration.

use corral_ipc::message::{AppId, AppStatus, ListenerFigures, Refusal};

use super::*;

fn told(requests: u64) -> Status {
    let mut listener = ListenerFigures::new("*:80".to_owned());
    listener.sent = requests;
    Status { requests, accepted: requests, listeners: vec![listener], ..Status::default() }
}

/// Asks these routers; each answers with a number unless it has none.
fn ask(questions: &mut Questions, routers: &[(RouterId, Option<u64>)]) {
    questions.ask(Ticket(7), routers.iter().map(|(id, _)| *id).collect());
    for (place, (id, requests)) in routers.iter().enumerate() {
        if let Some(requests) = requests {
            questions.take(*id, place == 0, Ticket(7), told(*requests));
        }
    }
}

#[track_caller]
fn check(questions: &mut Questions, expect: Option<u64>) {
    let complete = questions.take_complete();
    let figures: Vec<_> = complete
        .iter()
        .map(|(_, status)| status.as_ref().map(|status| (status.requests, status.listeners[0].sent)))
        .collect();
    assert_eq!(figures, [expect.map(|n| (n, n))]);
}

#[test]
fn what_routers_have_counted_goes_on() {
    let mut questions = Questions::new(Instant::now());
    let [a, b, c] = [1, 2, 3].map(RouterId);
    ask(&mut questions, &[(a, Some(10))]);
    check(&mut questions, Some(10));
    // The next one takes over, and the first finishes with more than it has told.
    ask(&mut questions, &[(b, Some(1)), (a, Some(11))]);
    check(&mut questions, Some(12));
    questions.keep_totals(a, told(15));
    questions.forget_router(a);
    ask(&mut questions, &[(b, Some(2))]);
    check(&mut questions, Some(17));
    // One that is killed has told something.
    questions.forget_router(b);
    ask(&mut questions, &[(c, Some(0))]);
    check(&mut questions, Some(17));
}

#[test]
fn a_router_that_ends_meanwhile_counts_once() {
    let mut questions = Questions::new(Instant::now());
    let [a, b] = [1, 2].map(RouterId);
    ask(&mut questions, &[(b, Some(1)), (a, Some(10))]);
    check(&mut questions, Some(11));
    ask(&mut questions, &[(b, Some(2)), (a, None)]);
    questions.keep_totals(a, told(12));
    questions.forget_router(a);
    check(&mut questions, Some(14));
    ask(&mut questions, &[(b, Some(3)), (RouterId(9), None)]);
    questions.forget_router(b);
    questions.forget_router(RouterId(9));
    check(&mut questions, Some(15));
}

/// Applications, servers and what all listeners have in common go on as listeners do.
#[test]
fn counts_of_applications_and_refusals_go_on() {
    let told = |n: u64| {
        let app = AppStatus { name: "blog".to_owned(), requests: [n; 6], running: 3, ..AppStatus::default() };
        let mut status = Status { applications: vec![app], ..Status::default() };
        status.traffic.refused[Refusal::Limit as usize] = n;
        status.traffic.open[0] = n;
        status
    };
    let mut questions = Questions::new(Instant::now());
    for (router, n, expect) in [(1, 5, (5, 5, 5)), (2, 1, (6, 6, 1)), (3, 2, (8, 8, 2))] {
        let id = RouterId(router);
        questions.ask(Ticket(7), [id].into());
        questions.take(id, true, Ticket(7), told(n));
        let complete = questions.take_complete();
        let status = complete[0].1.as_ref().unwrap();
        let traffic = &status.traffic;
        let figures =
            (status.applications[0].requests[2], traffic.refused[Refusal::Limit as usize], traffic.open[0]);
        assert_eq!((figures, status.applications[0].running), (expect, 3));
        questions.forget_router(id);
    }
}

#[test]
fn counters_of_the_main_process_before_go_on() {
    let mut questions = Questions::new(Instant::now());
    questions.inherit(told(100));
    ask(&mut questions, &[(RouterId(1), Some(10))]);
    check(&mut questions, Some(110));
    assert_eq!(questions.own_sums().requests, 10);
    // It has finished more meanwhile.
    questions.inherit(told(103));
    questions.forget_router(RouterId(1));
    ask(&mut questions, &[(RouterId(2), Some(1))]);
    check(&mut questions, Some(114));
    let sums = questions.own_sums();
    assert_eq!((sums.requests, sums.listeners[0].sent, sums.accepted), (11, 11, 11));
    assert_eq!(questions.inherited().requests, 103);
}

#[test]
fn inherited_applications_are_kept_and_bounded() {
    let app = |name: String, crashes| AppStatus { name, crashes, ..AppStatus::default() };
    let mut questions = Questions::new(Instant::now());
    let applications = vec![app("blog".to_owned(), 1), app("shop".to_owned(), 2)];
    questions.inherit(Status { applications, ..Status::default() });
    questions.inherit(Status { applications: vec![app("blog".to_owned(), 3)], ..Status::default() });
    let known: Vec<_> =
        questions.inherited().applications.iter().map(|app| (&*app.name, app.crashes)).collect();
    assert_eq!(known, [("blog", 3), ("shop", 2)]);
    for part in 0..3 {
        let applications = (0..MOST_PLACES).map(|n| app(format!("{part}-{n}"), 1)).collect();
        questions.inherit(Status { applications, ..Status::default() });
    }
    assert_eq!(questions.inherited().applications.len(), MOST_PLACES);
}

#[test]
fn questions_about_workers_are_bounded_by_themselves() {
    let mut questions = Questions::new(Instant::now());
    while !questions.workers.are_full() {
        questions.workers.ask(Ticket(7), &[(AppId(1), Some(RouterId(1)))]);
    }
    assert!(!questions.are_full());
    while !questions.are_full() {
        questions.ask(Ticket(7), [RouterId(1)].into());
    }
    questions.workers.clear();
    assert!(!questions.workers.are_full());
}

#[test]
fn a_listener_that_has_left_is_not_told_of() {
    let mut questions = Questions::new(Instant::now());
    ask(&mut questions, &[(RouterId(1), Some(10))]);
    check(&mut questions, Some(10));
    questions.forget_router(RouterId(1));
    questions.ask(Ticket(7), [RouterId(2)].into());
    questions.take(RouterId(2), true, Ticket(7), Status::default());
    let complete = questions.take_complete();
    let status = complete[0].1.as_ref().unwrap();
    assert_eq!((status.requests, status.listeners.len()), (10, 0));
}

/// A router tells of these applications, and how many requests each has had.
fn of_apps(apps: &[(&str, u64)]) -> Status {
    let app = |(name, n): &(&str, u64)| AppStatus {
        name: (*name).to_owned(),
        requests: [*n; 6],
        ..AppStatus::default()
    };
    Status { applications: apps.iter().map(app).collect(), ..Status::default() }
}

/// A configuration is in force in a router, which tells that it has these applications and requests of them.
fn enter(questions: &mut Questions, router: RouterId, others: &[RouterId], apps: &[(&str, u64)]) {
    questions.enter(router, others.to_vec(), vec!["job".to_owned()]);
    questions.take(router, true, ENTERED, of_apps(apps));
}

/// The requests of each application that there were, as this router and those before it have told.
#[track_caller]
fn check_apps(questions: &mut Questions, router: RouterId, told: &[(&str, u64)], expected: &[u64]) {
    questions.ask(Ticket(7), [router].into());
    questions.take(router, true, Ticket(7), of_apps(told));
    let complete = questions.take_complete();
    let apps = &complete[0].1.as_ref().unwrap().applications;
    assert_eq!(apps.iter().map(|app| app.requests[0]).collect::<Vec<_>>(), expected);
}

#[test]
fn what_is_added_again_begins_at_zero() {
    let mut questions = Questions::new(Instant::now());
    let [a, b] = [1, 2].map(RouterId);
    questions.inherit(of_apps(&[("blog", 100), ("shop", 100), ("job", 100)]));
    enter(&mut questions, a, &[], &[("blog", 0), ("shop", 0)]);
    check_apps(&mut questions, a, &[("blog", 5), ("shop", 5)], &[105, 105]);
    questions.forget_router(a);
    enter(&mut questions, b, &[], &[("blog", 0), ("shop", 0)]);
    check_apps(&mut questions, b, &[("blog", 1), ("shop", 1)], &[106, 106]);
    enter(&mut questions, b, &[], &[("blog", 1)]);
    enter(&mut questions, b, &[], &[("blog", 1), ("shop", 0)]);
    check_apps(&mut questions, b, &[("blog", 1), ("shop", 0)], &[106, 0]);
    // The process before has finished more of both meanwhile.
    questions.inherit(of_apps(&[("blog", 101), ("shop", 101), ("job", 101)]));
    check_apps(&mut questions, b, &[("blog", 1), ("shop", 1)], &[107, 1]);
    let jobs: Vec<_> = questions.inherited().applications.iter().map(|app| &*app.name).collect();
    assert_eq!(jobs, ["blog", "job"]);
}

/// The router that is started for one that has died has its number, and knows no names before it has a configuration.
#[test]
fn a_router_that_dies_before_its_first_answer_takes_no_counters_along() {
    let (mut questions, router) = (Questions::new(Instant::now()), RouterId(1));
    questions.inherit(of_apps(&[("blog", 100)]));
    questions.enter(router, Vec::new(), Vec::new());
    questions.forget_router(router);
    questions.ask(Ticket(6), [router].into());
    questions.take(router, true, Ticket(6), Status::default());
    drop(questions.take_complete());
    enter(&mut questions, router, &[], &[("blog", 0)]);
    check_apps(&mut questions, router, &[("blog", 1)], &[101]);
}

/// The router may have had none when it was asked, as after an upgrade.
#[test]
fn an_answer_from_before_a_configuration_does_not_tell_what_it_has() {
    let (mut questions, router) = (Questions::new(Instant::now()), RouterId(1));
    questions.inherit(of_apps(&[("blog", 100)]));
    questions.ask(Ticket(6), [router].into());
    questions.enter(router, Vec::new(), Vec::new());
    questions.take(router, true, Ticket(6), Status::default());
    drop(questions.take_complete());
    questions.take(router, true, ENTERED, of_apps(&[("blog", 0)]));
    check_apps(&mut questions, router, &[("blog", 1)], &[101]);
}

#[test]
fn a_router_with_an_older_configuration_does_not_bring_back_what_has_left() {
    let mut questions = Questions::new(Instant::now());
    let [a, b] = [1, 2].map(RouterId);
    enter(&mut questions, a, &[], &[("blog", 0), ("shop", 0)]);
    check_apps(&mut questions, a, &[("blog", 5), ("shop", 5)], &[5, 5]);
    enter(&mut questions, b, &[a], &[("blog", 0)]);
    enter(&mut questions, b, &[a], &[("blog", 0), ("shop", 0)]);
    questions.ask(Ticket(7), [a, b].into());
    questions.take(a, false, Ticket(7), of_apps(&[("blog", 6), ("shop", 6)]));
    questions.take(b, true, Ticket(7), of_apps(&[("blog", 1), ("shop", 1)]));
    let complete = questions.take_complete();
    let apps = &complete[0].1.as_ref().unwrap().applications;
    assert_eq!(apps.iter().map(|app| app.requests[0]).collect::<Vec<_>>(), [7, 1]);
    questions.keep_totals(a, of_apps(&[("blog", 7), ("shop", 7)]));
    questions.forget_router(a);
    check_apps(&mut questions, b, &[("blog", 1), ("shop", 2)], &[8, 2]);
}
