//! Each kind of failure at each kind of target: which requests are tried again, and how often.

use std::io;
use std::time::Duration;

use h2::Reason;

use super::{FailedAttempt, RetryState, RetryTarget};
use crate::upstream::ServerFailure;

/// A failure of each kind that is told apart.
fn failures() -> [ServerFailure; 6] {
    [
        ServerFailure::Connect(io::ErrorKind::ConnectionRefused.into()),
        ServerFailure::Unresolved,
        ServerFailure::Refused(Reason::REFUSED_STREAM.into()),
        ServerFailure::Overloaded,
        ServerFailure::Closed,
        ServerFailure::ResponseTimedOut(Duration::from_secs(1)),
    ]
}

/// The verdicts on one failure that happens twice, on what was used before or is new: the requests that are tried again
/// each time, which are any, idempotent ones (`idem`), or none (`-`).
#[track_caller]
fn check(target: RetryTarget, was_used: bool, expect: [[&str; 6]; 2]) {
    for (kind, failure) in failures().iter().enumerate() {
        let attempt = FailedAttempt { was_used, ..FailedAttempt::new(failure) };
        for is_idempotent in [false, true] {
            let mut state = RetryState::new(target, is_idempotent);
            assert!(!state.permit(attempt, false), "{target:?}: a part of the body is gone: {failure}");
            for (turn, expect) in expect.iter().enumerate() {
                let expect = expect[kind] == "any" || expect[kind] == "idem" && is_idempotent;
                let facts = format!("{target:?}, idempotent {is_idempotent}, used {was_used}, turn {turn}");
                assert_eq!(state.permit(attempt, true), expect, "{facts}: {failure}");
            }
        }
    }
}

#[test]
fn another_server_gets_what_the_last_one_cannot_have_done() {
    let target = RetryTarget::server(3, 1, None);
    for was_used in [false, true] {
        //           connect resolve refused overload closed late
        let first = ["any", "any", "any", "any", "idem", "-"];
        check(target, was_used, [first, ["-"; 6]]);
    }
}

#[test]
fn a_kept_connection_of_http1_is_replaced_when_it_breaks() {
    //           connect resolve refused overload closed late
    let broken = ["-", "-", "-", "-", "idem", "-"];
    check(RetryTarget::Connection, true, [broken, broken]);
    check(RetryTarget::Connection, false, [["-"; 6]; 2]);
}

#[test]
fn a_stream_is_begun_again_when_it_was_refused_or_its_connection_breaks() {
    //        connect resolve refused overload closed late
    let used = ["-", "-", "any", "-", "idem", "-"];
    check(RetryTarget::Stream, true, [used, used]);
    let new = ["-", "-", "any", "-", "-", "-"];
    check(RetryTarget::Stream, false, [new, new]);
}

#[test]
fn another_process_gets_what_one_that_leaves_takes_along() {
    //        connect resolve refused overload closed late
    let used = ["any", "any", "any", "any", "idem", "-"];
    check(RetryTarget::Process, true, [used, used]);
    let new = ["any", "-", "-", "-", "idem", "-"];
    check(RetryTarget::Process, false, [new, ["-"; 6]]);
}

#[test]
fn another_program_gets_what_was_not_sent_and_once_what_was() {
    //         connect resolve refused overload closed late
    let first = ["any", "-", "-", "-", "idem", "-"];
    let again = ["any", "-", "-", "-", "-", "-"];
    for was_used in [false, true] {
        check(RetryTarget::Program, was_used, [first, again]);
    }
}

/// How often a failure is followed by another attempt, 20 times at most.
fn count(target: RetryTarget, attempt: FailedAttempt<'_>) -> usize {
    let mut state = RetryState::new(target, true);
    (0..20).take_while(|_| state.permit(attempt, true)).count()
}

#[test]
fn attempts_are_limited() {
    let [connect, _, refused, _, closed, _] = &failures();
    let [connect, refused, closed] = [connect, refused, closed].map(FailedAttempt::new);
    let used = |attempt| FailedAttempt { was_used: true, ..attempt };
    let servers = |n_servers, most| RetryTarget::server(n_servers, most, None);
    for (target, attempt, expect) in [
        (servers(0, 9), connect, 0),
        (servers(1, 9), connect, 0),
        (servers(4, 9), connect, 3),
        (servers(4, 2), closed, 2),
        (servers(4, 0), connect, 0),
        (RetryTarget::Connection, used(closed), 20),
        (RetryTarget::Stream, refused, 3),
        (RetryTarget::Stream, used(closed), 3),
        (RetryTarget::Process, connect, 1),
        (RetryTarget::Process, used(connect), 20),
        (RetryTarget::Program, connect, 4),
        (RetryTarget::Program, used(connect), 20),
        (RetryTarget::Program, closed, 1),
    ] {
        assert_eq!(count(target, attempt), expect, "{target:?}, {attempt:?}");
    }
}

#[test]
fn other_servers_are_asked_for_so_long() {
    let failure = ServerFailure::Closed;
    let after = |elapsed| FailedAttempt { elapsed, ..FailedAttempt::new(&failure) };
    let limit = Duration::from_secs(10);
    let target = RetryTarget::server(2, 9, Some(limit));
    assert_eq!(count(target, after(limit - Duration::from_millis(1))), 1);
    assert_eq!(count(target, after(limit)), 0);
}

#[test]
fn a_connection_that_was_kept_gives_a_new_one_another_chance() {
    let failure = ServerFailure::Closed;
    let mut state = RetryState::new(RetryTarget::Process, true);
    for (was_used, expect) in [(false, true), (true, true), (false, true), (false, false)] {
        let attempt = FailedAttempt { was_used, ..FailedAttempt::new(&failure) };
        assert_eq!(state.permit(attempt, true), expect, "used {was_used}");
    }
}

#[test]
fn a_request_that_a_server_may_have_died_of_is_not_tried_on_others() {
    for failure in &failures() {
        let attempt = FailedAttempt { is_suspect: true, ..FailedAttempt::new(failure) };
        assert_eq!(count(RetryTarget::Program, attempt), 0, "{failure}");
    }
}

#[test]
fn a_status_leads_to_other_servers_alone() {
    let failure = ServerFailure::Status(503);
    let used = FailedAttempt { was_used: true, ..FailedAttempt::new(&failure) };
    use RetryTarget::{Connection, Process, Program, Stream};
    for target in [Connection, Stream, Process, Program] {
        assert_eq!(count(target, used), 0, "{target:?}");
    }
    assert_eq!(count(RetryTarget::server(3, 9, None), used), 2);
}

#[test]
fn a_program_repeats_a_request_once() {
    let (closed, connect) = (ServerFailure::Closed, ServerFailure::Connect(io::ErrorKind::Other.into()));
    let mut state = RetryState::new(RetryTarget::Program, true);
    assert!(state.permit(FailedAttempt::new(&connect), true));
    assert!(state.may_repeat(), "no program has had it");
    assert!(state.permit(FailedAttempt::new(&closed), true));
    assert!(!state.may_repeat());
    assert!(state.permit(FailedAttempt::new(&connect), true), "the next one has not had it");
    assert!(!RetryState::new(RetryTarget::Program, false).may_repeat());
}
