//! Files and sockets that a worker hands to the router.

use std::io::Write;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;

use corral_channel::MAX_FILES;
use corral_sys::memory::SharedMemory;

use super::*;

/// So many bytes on a file system that files are sent from.
fn file(len: usize) -> OwnedFd {
    SharedMemory::create("file", len).unwrap().1
}

fn send_file(it: &mut RunningRequest<'_, Inbox>, file: &OwnedFd, offset: u64) -> bool {
    it.send_file(&FileRest::of(file.as_fd(), offset).unwrap()).unwrap()
}

#[test]
fn a_file_ends_the_response_in_one_frame() {
    let large = file(100_000);
    check(
        "GET",
        |it| {
            it.respond(200, &[(b"A", b"b")]);
            assert!(send_file(it, &large, 7));
            it.write(b"too late").unwrap();
            it.finish();
        },
        &["Response 200 file 7+99993 of 100000 end", "Finished done"],
    );
    check(
        "GET",
        |it| {
            it.write(b"before").unwrap();
            it.flush();
            assert!(send_file(it, &large, 0));
        },
        &["Response 200 6", "Data file 0+100000 of 100000 end", "Finished done"],
    );
    check(
        "GET",
        |it| {
            it.write(b"before").unwrap();
            assert!(send_file(it, &large, 0));
        },
        &["Response 200 file 0+100000 of 100000 end 6", "Finished done"],
    );
}

#[test]
fn a_file_that_is_framed_has_to_be_read() {
    let large = file(100_000);
    let script = |it: &mut RunningRequest<'_, Inbox>| {
        it.respond(200, &[(b"transfer-Encoding", b"chunked")]);
        assert!(!send_file(it, &large, 0));
    };
    check("GET", script, &["Response 200 end done"]);
}

#[test]
fn a_file_is_cut_to_what_is_wanted_of_it() {
    let large = file(100_000);
    let rest = FileRest::of(large.as_fd(), 10).unwrap().at_most(5);
    assert_eq!(rest.n_bytes(), 5);
    check(
        "GET",
        |it| assert!(it.send_file(&rest).unwrap()),
        &["Response 200 file 10+5 of 100000 end", "Finished done"],
    );
}

#[test]
fn files_of_responses_without_a_body_stay_here() {
    let large = file(100_000);
    check("HEAD", |it| assert!(send_file(it, &large, 0)), &["Response 200 end done"]);
    check(
        "GET",
        |it| {
            it.respond(304, &[]);
            assert!(send_file(it, &large, 0));
        },
        &["Response 304 end done"],
    );
}

#[test]
fn what_is_short_or_no_file_is_read() {
    let (reader, _writer) = rustix::pipe::pipe().unwrap();
    for (file, offset) in [(&file(32_000), 0), (&file(40_000), 8000), (&file(40_000), 50_000), (&reader, 0)] {
        assert!(FileRest::of(file.as_fd(), offset).is_none());
    }
}

/// The router does not look for a while, and the worker must not send without end.
#[test]
fn there_are_only_so_many_files_on_the_way() {
    let (mut router, mut inbox) = channel();
    let large = file(100_000);
    for n in 0..=MAX_FILES {
        router.port.submit(RequestSlot::new(0).unwrap(), RequestId(n), LANE, &[&request_head()]).unwrap();
        serve(&mut inbox, After::Another, |it| assert_eq!(send_file(it, &large, 0), n < MAX_FILES));
    }
    assert_eq!(router.frames().len(), 2 * MAX_FILES as usize + 1);
    router.port.submit(RequestSlot::new(0).unwrap(), RequestId(0), LANE, &[&request_head()]).unwrap();
    serve(&mut inbox, After::Another, |it| assert!(send_file(it, &large, 0)));
}

fn request_head() -> Vec<u8> {
    let head = RequestHead { method: b"GET", body_complete: true, ..RequestHead::default() };
    let mut payload = vec![];
    message::encode_request(&mut payload, &head, []);
    payload
}

/// The socket that the frame which was just received speaks of.
#[track_caller]
fn socket_of_frame(router: &mut Router) -> UnixStream {
    let head = router.lane.recv(&mut vec![]).unwrap().expect("a frame");
    assert_eq!((head.kind, head.flags), (FrameKind::Hijacked, Flags::END));
    let socket = router.lane.take_socket(head.aux).unwrap().expect("a descriptor is left for it");
    socket.into_inner().into()
}

#[test]
fn a_connection_is_taken_over_in_place_of_a_response() {
    let (mut router, mut inbox) = channel();
    router.submit("GET", b"", true);
    let mut taken = None;
    serve(&mut inbox, After::Another, |it| {
        it.inform(103, &[]).unwrap();
        taken = Some(UnixStream::from(it.hijack().unwrap()));
        assert_eq!(it.hijack().unwrap_err().raw_os_error(), Some(Errno::ALREADY.raw_os_error()));
        it.respond(200, &[]);
        it.write(b"nobody reads this").unwrap();
        it.finish();
        it.abort();
    });
    assert_eq!(router.next().unwrap(), "Informational 103");
    let mut socket = socket_of_frame(&mut router);
    assert_eq!(router.frames(), ["Finished done"]);
    taken.as_ref().unwrap().write_all(b"through").unwrap();
    drop(taken);
    assert_eq!(io::read_to_string(&mut socket).unwrap(), "through");
}

#[test]
fn a_response_that_has_begun_stays_one() {
    check(
        "GET",
        |it| {
            it.respond(404, &[]);
            it.hijack().unwrap_err();
        },
        &["Response 404 end done"],
    );
}

/// Connections that were taken over end with the process, so it waits for the word that there are none.
#[test]
fn a_worker_stays_after_its_last_request_for_what_it_has_taken_over() {
    let (mut router, mut inbox) = channel();
    inbox.stay();
    router.submit("GET", b"", true);
    serve(&mut inbox, After::Nothing, |it| drop(it.hijack().unwrap()));
    assert!(inbox.is_bound());
    let quits = thread::spawn(move || {
        router.port.quit().unwrap();
        router.port.wake();
        router
    });
    inbox.stay();
    assert!(!inbox.is_bound());
    quits.join().unwrap();
}
