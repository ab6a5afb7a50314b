//! The parts of a response that are sent, and the number of frames that they take.

use super::*;

#[test]
fn short_responses_are_one_frame() {
    check("GET", |it| it.write(b"hello").unwrap(), &["Response 200 end done 5"]);
    check("GET", |it| it.respond(404, &[]), &["Response 404 end done"]);
    check(
        "GET",
        |it| {
            it.respond(404, &[(b"A", b"b")]);
            it.respond(200, &[]);
            it.write(b"").unwrap();
            it.write(b"ab").unwrap();
        },
        &["Response 404 end done 2"],
    );
}

#[test]
fn informational_responses_come_before_the_response_and_never_after() {
    check(
        "GET",
        |it| {
            it.inform(103, &[(b"Link", b"</a>")]).unwrap();
            it.inform(102, &[]).unwrap();
            it.respond(204, &[]);
            it.inform(103, &[(b"Link", b"</late>")]).unwrap();
        },
        &["Informational 103", "Informational 102", "Response 204 end done"],
    );
    check(
        "GET",
        |it| {
            assert_eq!(it.inform(200, &[]), Err(Malformed::Status { status: 200 }));
            assert_eq!(it.inform(103, &[(b"Link", b"a\r\nb")]), Err(Malformed::FieldValue { index: 0 }));
            it.inform(103, &[(b"Link", &[b'x'; 70_000])]).unwrap();
        },
        &["Response 500 end done"],
    );
}

#[test]
fn what_is_aborted_is_failed_after_what_was_written() {
    check("GET", |it| it.abort(), &["Failed end done"]);
    check(
        "GET",
        |it| {
            it.write(b"hello").unwrap();
            it.abort();
            assert!(it.write(b"more").is_err());
            it.finish();
        },
        &["Response 200 5", "Failed end done"],
    );
    check(
        "GET",
        |it| {
            it.finish();
            it.abort();
        },
        &["Response 200 end", "Finished done"],
    );
}

#[test]
fn little_is_collected_and_much_is_not() {
    check(
        "GET",
        |it| {
            assert!(it.collects(COLLECTED) && !it.collects(COLLECTED + 1));
            it.respond(200, &[]);
            assert!(it.collects(100) && !it.collects(COLLECTED));
        },
        &["Response 200 end done"],
    );
}

#[test]
fn silence_is_an_error() {
    check("GET", |_| {}, &["Response 500 end done"]);
}

#[test]
fn output_is_collected() {
    check(
        "GET",
        |it| (0..20).for_each(|_| it.write(&[b'x'; 4096]).unwrap()),
        &["Response 200 32768", "Data 36864", "Data end done 12288"],
    );
    check("GET", |it| it.write(&[b'x'; 70_000]).unwrap(), &["Response 200 65508", "Data end done 4492"]);
}

#[test]
fn a_flush_sends_what_there_is() {
    check("GET", |it| it.flush(), &["Response 500 end done"]);
    check(
        "GET",
        |it| {
            it.respond(200, &[]);
            it.flush();
            it.flush();
            it.write(b"abc").unwrap();
            it.flush();
        },
        &["Response 200", "Data 3", "End end done"],
    );
}

#[test]
fn some_responses_have_no_body() {
    check("HEAD", |it| it.write(&[b'x'; 100_000]).unwrap(), &["Response 200 end done"]);
    for status in [204, 304] {
        let script = |it: &mut RunningRequest<'_, Inbox>| {
            it.respond(status, &[]);
            it.write(b"dropped").unwrap();
        };
        check("GET", script, &[&format!("Response {status} end done")]);
    }
}

#[test]
fn a_response_that_ends_early() {
    let script = |it: &mut RunningRequest<'_, Inbox>| {
        it.write(b"early").unwrap();
        it.finish();
        it.finish();
        it.write(&[b'x'; 100_000]).unwrap();
        it.flush();
    };
    check("GET", script, &["Response 200 end 5", "Finished done"]);
    check("GET", |it| it.finish(), &["Response 200 end", "Finished done"]);
}

#[test]
fn traces_go_beside_the_response() {
    let long = [b'x'; MAX_TRACE + 1];
    let script = |it: &mut RunningRequest<'_, Inbox>| {
        it.trace(b"inner()");
        it.write(b"hello").unwrap();
        it.trace(&long);
        it.finish();
        it.trace(b"later");
    };
    let cut = format!("Trace {MAX_TRACE}");
    check("GET", script, &["Trace 7", &cut, "Response 200 end 5", "Trace 5", "Finished done"]);
}

#[test]
fn traces_take_no_credit() {
    let (mut router, mut inbox) = channel();
    router.submit("GET", b"", true);
    serve(&mut inbox, After::Another, |it| {
        for _ in 0..2 * CREDIT / MAX_TRACE {
            it.trace(&[b'x'; MAX_TRACE]);
            assert_eq!(router.frames().len(), 1);
        }
        it.write(b"hello").unwrap();
    });
    assert_eq!(router.frames(), ["Response 200 end done 5"]);
}

/// The router does not look for a while, and the script must not wait for it.
#[test]
fn traces_without_room_are_dropped() {
    let (mut router, mut inbox) = channel();
    router.submit("GET", b"", true);
    serve(&mut inbox, After::Another, |it| {
        (0..1000).for_each(|_| it.trace(&[b'x'; MAX_TRACE]));
        assert!((1..1000).contains(&router.frames().len()));
    });
    assert_eq!(router.frames(), ["Response 500 end done"]);
}

#[test]
fn a_head_that_does_not_fit_is_an_error() {
    let long = [b'x'; 70_000];
    check("GET", |it| it.respond(200, &[(b"A", &long)]), &["Response 500 end done"]);
}
