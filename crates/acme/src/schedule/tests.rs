//! Names, authorities and a clock that the test turns.

use corral_config::tls::{AcmeIssuer, OnDemand};

use super::*;
use crate::record::CertificateRecord;

const CA: &str = "https://ca.example/directory";

fn issue_of(directory: &str, methods: &[ChallengeMethod]) -> Arc<OrderPolicy> {
    let issuer =
        AcmeIssuer { directory: directory.to_owned(), ca: None, email: None, profile: None, eab: None };
    Arc::new(OrderPolicy { issuer, ca: None, methods: methods.to_vec() })
}

fn policy() -> Arc<OrderPolicy> {
    issue_of(CA, &[ChallengeMethod::Http, ChallengeMethod::TlsAlpn])
}

fn wanted(names: &[&str], policy: &Arc<OrderPolicy>) -> WantedCertificates {
    let names = names.iter().map(|name| ((*name).to_owned(), Arc::clone(policy))).collect();
    WantedCertificates { names, on_demand: Vec::new() }
}

fn schedule(names: &[&str]) -> OrderSchedule {
    let mut schedule = OrderSchedule::new(Jitter::Fixed(0.0));
    schedule.wanted(&wanted(names, &policy()));
    schedule
}

/// Seconds of the test's own time.
fn at(seconds: u64) -> SystemTime {
    time::of_seconds(1_700_000_000 + seconds)
}

const DAY: u64 = 86_400;

fn held(from: u64, days: u64) -> IssuedCertificate {
    IssuedCertificate {
        not_before: at(from),
        not_after: at(from + days * DAY),
        issuer: "Test CA".to_owned(),
        id: Some(CertificateIdentifier { authority_key_identifier: "aki".into(), serial: "serial".into() }),
        directory: CA.to_owned(),
        on_demand: false,
    }
}

fn failure(blame: Blame) -> Failure {
    Failure { words: "it failed".to_owned(), blame, retry_at: None }
}

/// The name and way of the order that begins, if one does.
fn order(schedule: &mut OrderSchedule, now: SystemTime) -> Option<(String, &'static str)> {
    match schedule.step(now)? {
        ScheduleStep::Order { name, method, .. } => Some((name, method.name())),
        ScheduleStep::Ask { .. } => None,
    }
}

fn only(schedule: &OrderSchedule, now: SystemTime) -> NameStatus {
    let mut all = schedule.status(now);
    assert_eq!(all.len(), 1);
    all.remove(0)
}

#[test]
fn a_new_name_is_ordered_at_once_and_only_once() {
    let mut schedule = schedule(&["a.example"]);
    assert_eq!(only(&schedule, at(0)).state, NameState::Waiting);
    assert_eq!(order(&mut schedule, at(0)), Some(("a.example".to_owned(), "http-01")));
    assert_eq!(order(&mut schedule, at(0)), None);
    assert_eq!(only(&schedule, at(0)).state, NameState::Ordering);
    assert_eq!(schedule.wake(at(0)), None);
}

#[test]
fn a_certificate_is_renewed_with_a_third_of_its_life_left() {
    let mut schedule = schedule(&["a.example"]);
    order(&mut schedule, at(0)).unwrap();
    schedule.issued("a.example", CA, IssuedCertificate { id: None, ..held(0, 90) }, at(0));
    let status = only(&schedule, at(0));
    assert_eq!((status.state, status.renews_at), (NameState::Valid, Some(at(60 * DAY))));
    assert_eq!(schedule.wake(at(0)), Some(at(60 * DAY)));
    assert_eq!(order(&mut schedule, at(60 * DAY - 1)), None);
    assert!(order(&mut schedule, at(60 * DAY)).is_some());
}

#[test]
fn a_certificate_of_six_days_is_renewed_after_three() {
    let mut schedule = schedule(&["a.example"]);
    schedule.remember("a.example", held(0, 6), at(0));
    assert_eq!(schedule.renews_at("a.example"), Some(at(3 * DAY)));
}

#[test]
fn a_certificate_that_is_held_is_used_without_an_order() {
    let mut schedule = OrderSchedule::new(Jitter::Fixed(0.0));
    schedule.remember("a.example", held(0, 90), at(DAY));
    schedule.wanted(&wanted(&["a.example"], &policy()));
    assert_eq!(order(&mut schedule, at(DAY)), None, "the authority is asked about the renewal");
    assert_eq!(only(&schedule, at(DAY)).state, NameState::Valid);
}

#[test]
fn a_certificate_of_another_authority_is_replaced_at_once() {
    let mut schedule = OrderSchedule::new(Jitter::Fixed(0.0));
    schedule.remember("a.example", held(0, 90), at(0));
    schedule
        .wanted(&wanted(&["a.example"], &issue_of("https://other.example/", &[ChallengeMethod::TlsAlpn])));
    match schedule.step(at(0)) {
        Some(ScheduleStep::Order { replaces, method, .. }) => {
            assert_eq!((replaces, method), (None, ChallengeMethod::TlsAlpn));
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_authority_says_when_to_renew() {
    let mut schedule = schedule(&["a.example"]);
    schedule.remember("a.example", held(0, 90), at(0));
    assert!(matches!(schedule.step(at(0)), Some(ScheduleStep::Ask { .. })));
    let ask_after = Duration::from_secs(6 * 3600);
    let window = |start, end| Some(Suggestion { start: at(start), end: at(end), ask_after });
    schedule.asked("a.example", CA, window(10 * DAY, 12 * DAY), at(0));
    assert_eq!(schedule.renews_at("a.example"), Some(at(10 * DAY)));
    assert_eq!(schedule.wake(at(0)), Some(at(6 * 3600)), "it is asked again");
    // It has to be revoked: the window is in the past.
    assert!(matches!(schedule.step(at(6 * 3600)), Some(ScheduleStep::Ask { .. })));
    schedule.asked("a.example", CA, window(0, 60), at(6 * 3600));
    match schedule.step(at(6 * 3600)) {
        Some(ScheduleStep::Order { replaces, .. }) => assert_eq!(replaces.unwrap().to_string(), "aki.serial"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_window_behind_the_end_is_not_believed() {
    let mut schedule = schedule(&["a.example"]);
    schedule.remember("a.example", held(0, 100), at(0));
    schedule.step(at(0));
    let ask_after = Duration::ZERO;
    let late = Suggestion { start: at(200 * DAY), end: at(201 * DAY), ask_after };
    schedule.asked("a.example", CA, Some(late), at(0));
    assert_eq!(schedule.renews_at("a.example"), Some(at(95 * DAY)));
}

#[test]
fn an_authority_that_says_nothing_about_renewals_is_asked_less_often() {
    let mut schedule = schedule(&["a.example"]);
    schedule.remember("a.example", held(0, 90), at(0));
    schedule.step(at(0));
    schedule.asked("a.example", CA, None, at(0));
    assert_eq!(schedule.wake(at(0)), Some(at(450)));
    assert_eq!(schedule.renews_at("a.example"), Some(at(60 * DAY)));
}

#[test]
fn pauses_grow_and_ways_take_turns() {
    let mut schedule = schedule(&["a.example"]);
    let mut now = 0;
    for (pause, method) in [(45, "http-01"), (90, "tls-alpn-01"), (180, "http-01")] {
        assert_eq!(order(&mut schedule, at(now)).unwrap().1, method);
        let (trouble, next_try) = schedule.failed("a.example", CA, &failure(Blame::Name), at(now));
        assert_eq!(next_try, at(now + pause));
        assert_eq!(trouble.unwrap().error, "it failed");
        assert_eq!(order(&mut schedule, at(now + pause - 1)), None);
        now += pause;
    }
    let status = only(&schedule, at(now - 1));
    assert_eq!((status.state, status.next_try), (NameState::Failed, Some(at(now))));
    assert_eq!(status.last_error.as_deref(), Some("it failed"));
}

#[test]
fn one_names_failure_does_not_keep_others_waiting() {
    let mut schedule = schedule(&["a.example", "b.example"]);
    order(&mut schedule, at(0)).unwrap();
    schedule.failed("a.example", CA, &failure(Blame::Name), at(0));
    assert_eq!(order(&mut schedule, at(0)).unwrap().0, "b.example");
}

#[test]
fn nobody_asks_an_authority_that_is_away_until_one_finds_it_back() {
    let names = ["a.example", "b.example", "c.example"];
    let mut schedule = schedule(&names);
    for _ in names {
        order(&mut schedule, at(0)).unwrap();
    }
    for name in names {
        let (trouble, until) = schedule.failed(name, CA, &failure(Blame::Authority), at(1));
        assert_eq!(
            (trouble, time::seconds(until)),
            (None, time::seconds(at(4))),
            "one failure, though of three"
        );
    }
    assert_eq!(order(&mut schedule, at(3)), None);
    assert_eq!(schedule.status(at(3))[2].last_error.as_deref(), Some("it failed"));
    assert!(order(&mut schedule, at(5)).is_some());
    assert_eq!(order(&mut schedule, at(5)), None, "the first one finds out");
    schedule.issued("a.example", CA, held(0, 90), at(5));
    assert!(order(&mut schedule, at(5)).is_some());
    assert!(order(&mut schedule, at(5)).is_some());
    assert_eq!(schedule.status(at(5))[1].last_error, None);
}

#[test]
fn an_authority_that_is_away_for_ten_minutes_is_found_back_within_ten_more() {
    let mut schedule = schedule(&["a.example"]);
    let mut now = at(0);
    while now < at(600) {
        order(&mut schedule, now).unwrap();
        let (_, until) = schedule.failed("a.example", CA, &failure(Blame::Authority), now);
        assert_eq!(schedule.wake(now), Some(until));
        now = until;
    }
    assert!(now < at(1200));
}

#[test]
fn a_rate_limit_holds_its_name_for_as_long_as_it_says_and_others_for_minutes() {
    let mut schedule = schedule(&["a.example", "b.example"]);
    order(&mut schedule, at(0)).unwrap();
    let limit = Failure { retry_at: Some(at(3 * DAY)), ..failure(Blame::RateLimit) };
    let (_, until) = schedule.failed("a.example", CA, &limit, at(0));
    assert_eq!(until, at(3 * DAY));
    assert_eq!(order(&mut schedule, at(599)), None);
    assert_eq!(order(&mut schedule, at(600)).unwrap().0, "b.example");
}

#[test]
fn retry_after_of_an_authority_is_heeded() {
    let mut schedule = schedule(&["a.example"]);
    order(&mut schedule, at(0)).unwrap();
    let busy = Failure { retry_at: Some(at(120)), ..failure(Blame::Authority) };
    assert_eq!(schedule.failed("a.example", CA, &busy, at(0)).1, at(120));
}

#[test]
fn a_thousand_names_are_ordered_a_few_at_a_time() {
    let names: Vec<_> = (0..1000).map(|idx| format!("n{idx}.example")).collect();
    let mut schedule = schedule(&names.iter().map(String::as_str).collect::<Vec<_>>());
    let mut n_issued = 0;
    while n_issued < 1000 {
        let mut begun = Vec::new();
        while let Some((name, _)) = order(&mut schedule, at(n_issued)) {
            begun.push(name);
        }
        assert!((1..=MOST_AT_ONCE).contains(&begun.len()));
        for name in begun {
            schedule.issued(&name, CA, IssuedCertificate { id: None, ..held(0, 90) }, at(n_issued));
            n_issued += 1;
        }
    }
    assert!(schedule.status(at(2000)).iter().all(|status| status.state == NameState::Valid));
}

/// Orders whose certificates all are due at once, within so many seconds.
fn n_due_at_once(held: &IssuedCertificate, seconds: u64) -> usize {
    let mut schedule = schedule(&["a.example"]);
    let (mut now, mut n_orders) = (at(400 * DAY), 0);
    let end = now + Duration::from_secs(seconds);
    while now < end {
        if order(&mut schedule, now).is_some() {
            n_orders += 1;
            assert!(schedule.issued("a.example", CA, held.clone(), now).is_some());
        }
        now = schedule.wake(now).unwrap_or(end);
    }
    n_orders
}

/// The clock is far ahead, or the authority's far behind.
#[test]
fn a_certificate_that_is_due_at_once_is_not_ordered_again_and_again() {
    let old = IssuedCertificate { id: None, ..held(0, 90) };
    assert_eq!(n_due_at_once(&old, 45), 1);
    assert!((5..8).contains(&n_due_at_once(&old, 3600)), "{}", n_due_at_once(&old, 3600));
    assert!(n_due_at_once(&old, 30 * DAY) < 60);
}

#[test]
fn a_certificate_that_is_due_at_once_says_so() {
    let mut schedule = schedule(&["a.example"]);
    let now = at(80 * DAY);
    order(&mut schedule, now).unwrap();
    let next_try = schedule.issued("a.example", CA, IssuedCertificate { id: None, ..held(0, 90) }, now);
    assert_eq!(next_try, Some(now + Duration::from_secs(45)));
    let status = only(&schedule, now);
    assert_eq!((status.state, status.next_try), (NameState::Valid, next_try));
    assert!(status.last_error.unwrap().contains("clock"));
    // The clock is put right.
    order(&mut schedule, now + Duration::from_secs(45)).unwrap();
    assert_eq!(
        schedule.issued("a.example", CA, IssuedCertificate { id: None, ..held(80 * DAY, 90) }, now),
        None
    );
    assert_eq!(only(&schedule, now).last_error, None);
}

/// Pauses that began far ahead do not hold a name when the clock is set back.
#[test]
fn a_clock_that_is_set_back_ends_pauses() {
    for blame in [Blame::Name, Blame::Authority, Blame::RateLimit] {
        let mut schedule = schedule(&["a.example"]);
        order(&mut schedule, at(400 * DAY)).unwrap();
        schedule.failed("a.example", CA, &failure(blame), at(400 * DAY));
        assert_eq!(order(&mut schedule, at(400 * DAY)), None);
        assert!(order(&mut schedule, at(0)).is_some(), "{blame:?}");
    }
}

#[test]
fn orders_of_one_name_have_pauses_whatever_the_reason() {
    let mut schedule = schedule(&["a.example"]);
    let mut n_orders = 0;
    for second in 0..3600 {
        // Certificates that live for seconds, and settings that change all the time.
        let methods = [[ChallengeMethod::Http], [ChallengeMethod::TlsAlpn]];
        let policy = issue_of(CA, &methods[usize::from(second % 2 == 0)]);
        schedule.wanted(&wanted(&["a.example"], &policy));
        if order(&mut schedule, at(second)).is_some() {
            n_orders += 1;
            let short = IssuedCertificate { id: None, not_after: at(second + 4), ..held(second, 0) };
            schedule.issued("a.example", CA, short, at(second));
        }
    }
    assert!((20..50).contains(&n_orders), "{n_orders}");
}

#[test]
fn names_without_a_certificate_come_before_renewals() {
    let mut schedule = schedule(&["a.example", "b.example"]);
    schedule.remember("a.example", IssuedCertificate { id: None, ..held(0, 90) }, at(0));
    assert_eq!(order(&mut schedule, at(70 * DAY)).unwrap().0, "b.example");
    assert_eq!(order(&mut schedule, at(70 * DAY)).unwrap().0, "a.example");
}

#[test]
fn a_wildcard_without_dns_is_not_ordered_and_says_why() {
    let mut schedule = OrderSchedule::new(Jitter::Fixed(0.0));
    schedule.wanted(&wanted(&["*.a.example"], &issue_of(CA, &[])));
    assert_eq!(schedule.step(at(0)), None);
    let status = only(&schedule, at(0));
    assert_eq!(status.state, NameState::Failed);
    assert_eq!(status.last_error.as_deref(), Some(NEEDS_DNS));
}

#[test]
fn names_that_are_gone_are_remembered_and_not_renewed() {
    let mut schedule = schedule(&["a.example"]);
    schedule.remember("a.example", IssuedCertificate { id: None, ..held(0, 90) }, at(0));
    schedule.wanted(&wanted(&[], &policy()));
    assert_eq!(schedule.step(at(80 * DAY)), None);
    assert!(schedule.status(at(0)).is_empty());
    schedule.wanted(&wanted(&["a.example"], &policy()));
    assert_eq!(only(&schedule, at(0)).state, NameState::Valid);
    schedule.wanted(&wanted(&[], &policy()));
    assert!(schedule.forget_old(at(119 * DAY)).is_empty());
    assert_eq!(schedule.forget_old(at(121 * DAY)), ["a.example"]);
}

#[test]
fn other_settings_are_another_try() {
    let mut schedule = schedule(&["a.example"]);
    order(&mut schedule, at(0)).unwrap();
    schedule.failed("a.example", CA, &failure(Blame::Name), at(0));
    schedule.wanted(&wanted(&["a.example"], &policy()));
    assert_eq!(order(&mut schedule, at(1)), None);
    schedule.wanted(&wanted(&["a.example"], &issue_of(CA, &[ChallengeMethod::TlsAlpn])));
    assert!(order(&mut schedule, at(1)).is_some());
}

#[test]
fn a_start_shortens_pauses() {
    let mut schedule = schedule(&["a.example"]);
    let trouble = Trouble::new(9, at(0), at(DAY), "it failed".to_owned());
    schedule.remember_trouble("a.example", trouble);
    assert_eq!(schedule.wake(at(1)), Some(at(900)));
}

#[test]
fn a_certificate_that_a_client_asked_for_is_renewed_while_there_is_a_rule() {
    let rule = OnDemand {
        allow: corral_config::tls::AllowRule::Names(vec!["*.example".to_owned()]),
        per_address: 1,
        per_domain: 1,
    };
    let mut schedule = OrderSchedule::new(Jitter::Fixed(0.0));
    schedule.remember("a.example", IssuedCertificate { id: None, on_demand: true, ..held(0, 90) }, at(0));
    schedule.wanted(&wanted(&[], &policy()));
    assert_eq!(schedule.wake(at(0)), None);
    schedule.wanted(&WantedCertificates { names: BTreeMap::new(), on_demand: vec![(rule, policy())] });
    match schedule.step(at(60 * DAY)) {
        Some(ScheduleStep::Order { on_demand, .. }) => assert!(on_demand),
        other => panic!("{other:?}"),
    }
    schedule.forbidden("a.example", CA);
    assert_eq!(schedule.step(at(60 * DAY)), None);
}

#[test]
fn a_record_of_a_test_certificate_can_be_held() {
    let record: CertificateRecord = crate::sample::record("a.example");
    let mut schedule = schedule(&["a.example"]);
    let held = IssuedCertificate::read("a.example", &record).unwrap();
    let now = held.not_before;
    schedule.remember("a.example", held, now);
    assert_eq!(only(&schedule, now).state, NameState::Valid);
}

#[test]
fn a_person_has_a_name_ordered_at_once() {
    let mut schedule = schedule(&["a.example"]);
    // One that the authority is not asked about.
    let held = |from| IssuedCertificate { id: None, ..held(from, 90) };
    assert_eq!(schedule.renew("b.example"), Err(RenewError::Unknown));
    order(&mut schedule, at(0)).unwrap();
    assert_eq!(schedule.renew("a.example"), Err(RenewError::UnderWay));
    schedule.issued("a.example", CA, held(0), at(1));
    assert_eq!(order(&mut schedule, at(2 * DAY)), None, "it is not due");
    assert_eq!(schedule.renew("a.example"), Ok(()));
    assert_eq!(schedule.renew("a.example"), Err(RenewError::UnderWay), "once");
    assert!(order(&mut schedule, at(2 * DAY)).is_some());
    schedule.issued("a.example", CA, held(2 * DAY), at(2 * DAY + 1));
    assert_eq!(order(&mut schedule, at(3 * DAY)), None, "and once only");
}

#[test]
fn a_pause_after_a_failure_does_not_keep_a_person_waiting() {
    for blame in [Blame::Name, Blame::Authority, Blame::RateLimit] {
        let mut schedule = schedule(&["a.example"]);
        order(&mut schedule, at(0)).unwrap();
        schedule.failed("a.example", CA, &failure(blame), at(1));
        // Longer than the pace of orders, shorter than the pause after several failures.
        let (mut now, mut n_failures) = (at(1), 1);
        while n_failures < 5 {
            now = schedule.wake(now).expect("it is tried again");
            order(&mut schedule, now).unwrap();
            schedule.failed("a.example", CA, &failure(blame), now);
            n_failures += 1;
        }
        let next = schedule.wake(now).expect("it is tried again");
        schedule.renew("a.example").unwrap();
        let asked = schedule.wake(now).unwrap_or(now);
        assert!(asked < next, "{blame:?}");
        assert!(order(&mut schedule, asked).is_some(), "{blame:?}");
    }
}

#[test]
fn what_is_not_wanted_any_more_is_not_ordered() {
    let mut schedule = schedule(&["a.example"]);
    order(&mut schedule, at(0)).unwrap();
    schedule.issued("a.example", CA, held(0, 90), at(1));
    schedule.wanted(&WantedCertificates::default());
    assert_eq!(schedule.renew("a.example"), Err(RenewError::Unknown));
    let wildcard = issue_of(CA, &[]);
    schedule.wanted(&wanted(&["*.example"], &wildcard));
    assert_eq!(schedule.renew("*.example"), Err(RenewError::NeedsDns));
}
