//! Clients that are slow, send nothing more, or are gone.

use super::*;

#[test]
fn informational_responses_take_credit() {
    let (mut router, mut inbox) = channel();
    let id = router.submit("GET", b"", true);
    let value = [b'x'; 10_000];
    let worker = thread::spawn(move || {
        serve(&mut inbox, After::Another, |it| {
            (0..30).for_each(|_| it.inform(103, &[(b"Link", &value)]).unwrap());
            assert!(it.client_gone(), "the rest went nowhere");
        });
    });
    let n_affordable = CREDIT / (10_000 + 24);
    (0..n_affordable).for_each(|_| assert_eq!(router.wait(), "Informational 103"));
    router.port.cancel(id, LANE).unwrap();
    router.port.wake();
    assert_eq!(router.wait(), "End end done");
    worker.join().unwrap();
}

/// The client sends nothing more while it has got `frames`.
#[track_caller]
fn check_left(script: impl FnOnce(&mut RunningRequest<'_, Inbox>), frames: &[&str]) {
    let (mut router, mut inbox) = channel();
    let id = router.submit("GET", b"", true);
    serve(&mut inbox, After::Another, |it| {
        router.port.left(id, LANE).unwrap();
        script(it);
    });
    assert_eq!(router.frames(), frames);
}

#[test]
fn a_client_that_has_left_is_not_fed_nothing_for_ever() {
    // It may be waiting.
    check_left(|it| (0..9).for_each(|_| it.write(b"").unwrap()), &["Response 200 end done"]);
    let give_up = |it: &mut RunningRequest<'_, Inbox>| {
        it.response.begin_silence_earlier();
        assert_eq!(it.write(b""), Err(ClientGone));
        assert_eq!(it.write(b"more"), Err(ClientGone));
        assert!(it.client_gone());
    };
    let expected = ["Response 200", "Failed end done"];
    check_left(give_up, &expected);
    check_left(
        |it| {
            it.response.begin_silence_earlier();
            it.write(b"something").unwrap();
            it.write(b"").unwrap();
            give_up(it);
        },
        &["Response 200 9", "Failed end done"],
    );
    check_left(
        |it| {
            it.response.begin_silence_earlier();
            it.flush();
            assert!(it.client_gone());
        },
        &["Failed end done"],
    );
    check(
        "GET",
        |it| {
            it.response.begin_silence_earlier();
            it.write(b"").unwrap();
        },
        &["Response 200 end done"],
    );
}

#[test]
fn nothing_that_is_written_tells_that_the_client_is_gone() {
    for method in ["GET", "HEAD"] {
        let (mut router, mut inbox) = channel();
        let id = router.submit(method, b"", true);
        serve(&mut inbox, After::Another, |it| {
            it.write(b"").unwrap();
            router.port.cancel(id, LANE).unwrap();
            assert_eq!(it.write(b""), Err(ClientGone));
            let dropped = it.write(b"dropped");
            assert!(method == "GET" || dropped == Err(ClientGone));
        });
    }
}

#[test]
fn credit_is_waited_for() {
    let (mut router, mut inbox) = channel();
    let id = router.submit("GET", b"", true);
    let worker = thread::spawn(move || {
        serve(&mut inbox, After::Another, |it| it.write(&vec![b'x'; 2 * CREDIT]).unwrap());
    });
    let mut n_bytes = 0;
    loop {
        let frame = router.wait();
        n_bytes += frame.rsplit(' ').next().unwrap().parse::<usize>().unwrap_or(0);
        if frame.contains("done") {
            break;
        }
        if n_bytes == CREDIT {
            router.port.credit(id, LANE, CREDIT as u32).unwrap();
            router.port.wake();
        }
    }
    assert_eq!(n_bytes, 2 * CREDIT);
    worker.join().unwrap();
}

#[test]
fn a_cancelled_request_writes_to_nobody() {
    let (mut router, mut inbox) = channel();
    let id = router.submit("GET", b"", true);
    serve(&mut inbox, After::Another, |it| {
        it.write(b"abc").unwrap();
        assert!(!it.client_gone());
        router.port.cancel(id, LANE).unwrap();
        assert!(it.client_gone());
        assert_eq!(it.write(&[b'x'; 100_000]), Err(ClientGone));
        it.flush();
        it.finish();
    });
    assert_eq!(router.frames(), ["End end done"]);
}

#[test]
fn a_cancel_ends_the_wait_for_credit() {
    let (mut router, mut inbox) = channel();
    let id = router.submit("GET", b"", true);
    let worker = thread::spawn(move || {
        serve(&mut inbox, After::Another, |it| {
            assert_eq!(it.write(&vec![b'x'; 2 * CREDIT]), Err(ClientGone));
        });
    });
    assert!(router.wait().starts_with("Response"));
    router.port.cancel(id, LANE).unwrap();
    router.port.wake();
    while router.wait() != "End end done" {}
    worker.join().unwrap();
}
