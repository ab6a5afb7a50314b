//! Which requests a worker takes, and when it leaves.

use rustix::process::getpid;

use super::*;

#[test]
fn the_last_response_says_so() {
    let (mut router, mut inbox) = channel();
    router.submit("GET", b"", true);
    router.submit("GET", b"", true);
    serve(&mut inbox, After::Nothing, |it| it.write(b"a").unwrap());
    serve(&mut inbox, After::Nothing, |it| it.finish());
    assert_eq!(router.frames(), ["Response 200 end done last 1", "Response 200 end", "Finished done last"]);
}

#[test]
fn what_is_for_the_request_ahead_waits_with_it() {
    let (mut router, mut inbox) = channel();
    let first = router.submit("GET", b"", true);
    let second = router.submit("POST", b"", false);
    serve(&mut inbox, After::Another, |it| {
        router.port.body(second, LANE, b"body", true).unwrap();
        router.port.cancel(first, LANE).unwrap();
        assert!(it.client_gone());
    });
    serve(&mut inbox, After::Another, |it| {
        let mut buffer = [0; 10];
        assert!(!it.client_gone());
        assert_eq!((it.read_body(&mut buffer).unwrap(), &buffer[..4]), (4, &b"body"[..]));
        assert_eq!(it.read_body(&mut buffer).unwrap(), 0);
    });
    assert_eq!(router.frames(), ["End end done", "Response 500 end done"]);
}

#[test]
fn requests_that_were_taken_back_are_passed_over() {
    let (mut router, mut inbox) = channel();
    let first = router.submit("GET", b"", true);
    let second = router.submit("GET", b"", true);
    assert!(router.take_back(first));
    assert_eq!(next(&mut inbox).head.request, second);
    assert!(!router.take_back(second));
}

#[test]
fn a_worker_leaves_when_told_and_everything_is_done() {
    let (mut router, mut inbox) = channel();
    router.submit("GET", b"", true);
    router.port.quit().unwrap();
    serve(&mut inbox, After::Another, |_| {});
    assert!(matches!(inbox.next(), NextRequest::Leave));
}

#[test]
fn an_orphan_leaves() {
    let (mut router, mut inbox) = channel_of_child_of(getpid());
    router.submit("GET", b"", true);
    serve(&mut inbox, After::Another, |_| {});
    assert!(matches!(inbox.next(), NextRequest::Leave));
}
