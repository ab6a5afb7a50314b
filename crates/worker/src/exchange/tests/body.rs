//! Bodies of requests.

use std::io::ErrorKind;

use super::*;

#[test]
fn short_bodies_come_with_the_head() {
    let (mut router, mut inbox) = channel();
    router.submit("POST", b"12345", true);
    serve(&mut inbox, After::Another, |it| {
        let mut buffer = [0; 3];
        assert_eq!(it.read_body(&mut []).unwrap(), 0);
        assert_eq!((it.read_body(&mut buffer).unwrap(), &buffer), (3, b"123"));
        assert_eq!((it.read_body(&mut buffer).unwrap(), &buffer[..2]), (2, &b"45"[..]));
        assert_eq!(it.read_body(&mut buffer).unwrap(), 0);
        assert_eq!(it.read_body(&mut buffer).unwrap(), 0);
    });
    assert_eq!(router.frames(), ["Response 500 end done"]);
}

#[test]
fn what_is_at_hand_needs_no_buffer() {
    let (mut router, mut inbox) = channel();
    router.submit("POST", b"12345", false);
    serve(&mut inbox, After::Another, |it| {
        assert_eq!(it.body_at_hand(), (&b"12345"[..], false));
        it.skip_body(2);
        let mut buffer = [0; 2];
        assert_eq!((it.read_body(&mut buffer).unwrap(), &buffer), (2, b"34"));
        assert_eq!(it.body_at_hand(), (&b"5"[..], false));
    });
    router.submit("POST", b"6", true);
    serve(&mut inbox, After::Another, |it| {
        assert_eq!(it.body_at_hand(), (&b"6"[..], true));
        it.skip_body(1);
        assert_eq!(it.body_at_hand(), (&b""[..], true));
        assert_eq!(it.read_body(&mut [0]).unwrap(), 0);
    });
}

#[test]
fn long_bodies_are_acknowledged() {
    let (mut router, mut inbox) = channel();
    let id = router.submit("POST", b"", false);
    serve(&mut inbox, After::Another, |it| {
        let mut buffer = vec![0; 100_000];
        router.port.body(id, LANE, &[b'a'; 20_000], false).unwrap();
        router.port.body(id, LANE, &[b'b'; 20_000], false).unwrap();
        assert_eq!(it.read_body(&mut buffer[..10_000]).unwrap(), 10_000);
        assert_eq!(it.read_body(&mut buffer).unwrap(), 30_000);
        assert_eq!((buffer[9_999], buffer[10_000]), (b'a', b'b'));
        router.port.body(id, LANE, b"end", true).unwrap();
        assert_eq!(it.read_body(&mut buffer).unwrap(), 3);
        assert_eq!(it.read_body(&mut buffer).unwrap(), 0);
    });
    // The window that opens the body comes with the first acknowledgement, as the bytes were there before.
    assert_eq!(router.frames(), ["BodyCredit 75536", "Response 500 end done"]);
}

#[test]
fn a_body_that_breaks_off() {
    let (mut router, mut inbox) = channel();
    let id = router.submit("POST", b"", false);
    router.port.body(id, LANE, b"abc", false).unwrap();
    serve(&mut inbox, After::Another, |it| {
        let mut buffer = [0; 10];
        assert_eq!(it.read_body(&mut buffer).unwrap(), 3);
        router.port.cancel(id, LANE).unwrap();
        assert_eq!(it.read_body(&mut buffer).unwrap_err().kind(), ErrorKind::ConnectionAborted);
    });
    assert_eq!(router.frames(), ["BodyCredit 65539", "End end done"]);
}
