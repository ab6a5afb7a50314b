//! Both ends of real links, well-behaved and hostile.

use std::fs::File;
use std::io::Read;
use std::path::PathBuf;
use std::time::Duration;

use corral_config::plan::Assets;

use super::*;
use crate::message::{
    AppId, ChangeOrigin, Exit, FromRouter, GenerationId, Module, ToController, ToRouter, WorkerId,
};

fn pair() -> (Link, Link) {
    Link::pair().unwrap()
}

fn start(document: Vec<u8>) -> ToController {
    let module = Module {
        language: "php".into(),
        version: "8.2.29".into(),
        path: PathBuf::from("/x/corral-php"),
        dependencies: vec![],
    };
    ToController::Start {
        document: Some(document),
        origin: ChangeOrigin::Stored,
        generation: GenerationId(7),
        modules: vec![module],
        assets: Assets::default(),
        records: Vec::new(),
        history: Vec::new(),
        files: None,
        token: None,
        read_token: None,
    }
}

#[track_caller]
fn check_round_trip(len: usize) {
    let (main, controller) = pair();
    let sent = vec![b'x'; len];
    main.send(&start(sent.clone()), &[main.as_fd()]).unwrap();
    let (message, fds) = controller.recv::<ToController>().unwrap().unwrap();
    let ToController::Start { document, modules, .. } = message else {
        panic!("another message came: {message:?}");
    };
    assert_eq!(document, Some(sent));
    assert_eq!(modules[0].version, "8.2.29");
    assert_eq!(fds.len(), 1, "the memory of a large message is not handed out");
}

#[test]
fn messages_of_every_size_come_through() {
    for len in [0, 1, MAX_INLINE - 100, MAX_INLINE, MAX_INLINE + 1, 5 << 20] {
        check_round_trip(len);
    }
}

#[test]
fn the_end_is_none_and_nothing_is_would_block() {
    let (main, router) = pair();
    assert_eq!(main.try_recv::<FromRouter>().unwrap_err().kind(), io::ErrorKind::WouldBlock);
    router.send(&FromRouter::Ready, &[]).unwrap();
    drop(router);
    assert!(matches!(main.recv::<FromRouter>().unwrap(), Some((FromRouter::Ready, _))));
    assert!(main.recv::<FromRouter>().unwrap().is_none());
    assert_eq!(main.send(&FromRouter::Ready, &[]).unwrap_err().kind(), io::ErrorKind::BrokenPipe);
}

/// The last words of a process must not be lost because it has not read everything.
#[test]
fn what_was_sent_before_an_end_with_unread_messages_is_received() {
    let gone = || FromRouter::AppUnused { app: AppId(300) };
    let receive = [
        |link: &Link| link.try_recv::<FromRouter>(),
        |link: &Link| link.recv::<FromRouter>(),
        |link: &Link| link.take::<FromRouter>(),
    ];
    for receive in receive {
        let (ours, theirs) = pair();
        ours.send(&ToRouter::AppGone { app: AppId(1) }, &[]).unwrap();
        theirs.send(&gone(), &[]).unwrap();
        theirs.send(&gone(), &[]).unwrap();
        drop(theirs);
        for _ in 0..2 {
            assert!(matches!(receive(&ours), Ok(Some((FromRouter::AppUnused { .. }, _)))));
        }
        assert!(receive(&ours).unwrap().is_none());
    }
}

#[test]
fn an_end_with_unread_messages_is_an_end() {
    let (main, router) = pair();
    main.send(&ToRouter::Finish { keep_idle: Duration::ZERO }, &[]).unwrap();
    drop(router);
    assert!(main.recv::<FromRouter>().unwrap().is_none());
}

#[test]
fn a_packet_waits_for_room_and_keeps_its_descriptors() {
    let (main, router) = pair();
    let (reader, writer) = io::pipe().unwrap();
    let message =
        ToRouter::WorkerReady { app: AppId(1), worker: WorkerId(2), pid: 3, concurrency: None, files: false };
    let packet = Packet::new(&message, &[writer.as_fd()]).unwrap();
    drop(writer);
    let filler = ToRouter::Prepare {
        generation: GenerationId(1),
        document: vec![0; 9000],
        applications: vec![],
        assets: Assets::default(),
    };
    let mut n_fillers = 0;
    while main.try_send(&filler, &[]).is_ok() {
        n_fillers += 1;
    }
    assert_eq!(main.try_send_packet(&packet).unwrap_err().kind(), io::ErrorKind::WouldBlock);
    for _ in 0..n_fillers {
        router.recv::<ToRouter>().unwrap().unwrap();
    }
    main.try_send_packet(&packet).unwrap();
    drop(packet);
    let (message, fds) = router.recv::<ToRouter>().unwrap().unwrap();
    assert!(matches!(message, ToRouter::WorkerReady { pid: 3, .. }));
    drop(fds);
    let mut rest = Vec::new();
    File::from(OwnedFd::from(reader)).read_to_end(&mut rest).unwrap();
    assert!(rest.is_empty(), "no duplicate of the writing end is left");
}

#[track_caller]
fn check_refused(datagram: &[u8], fds: &[BorrowedFd<'_>]) {
    let (main, router) = pair();
    socket::send(router.as_fd(), datagram, fds, Wait::Block).unwrap();
    let error = main.recv::<FromRouter>().unwrap_err();
    assert!(matches!(error.kind(), io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput), "{error}");
    router.send(&FromRouter::Ready, &[]).unwrap();
    assert!(main.recv::<FromRouter>().unwrap().is_some(), "the link goes on");
}

#[test]
fn broken_peers_are_refused() {
    let gone = FromRouter::AppUnused { app: AppId(300) };
    let (valid, _) = encode(&gone).unwrap();
    check_refused(&valid[..valid.len() - 1], &[]);
    check_refused(&[valid.as_slice(), b"!"].concat(), &[]);
    check_refused(&[9], &[]);
    check_refused(&[INLINE], &[]);
    check_refused(&[INLINE, 200], &[]);
    check_refused(&[IN_MEMFD], &[]);
    check_refused(&[IN_MEMFD], &[File::open("/etc/passwd").unwrap().as_fd()]);
    check_refused(&[IN_MEMFD, 1], &[]);
    check_refused(&[INLINE; MAX_INLINE + 2], &[]);
    let nonsense = sealed::seal("test", b"\xff\xff\xff\xff\xff").unwrap();
    check_refused(&[IN_MEMFD], &[nonsense.as_fd()]);
}

#[test]
fn a_length_without_bytes_allocates_nothing() {
    // `Prepared { outcome: Err(string of 2^40 bytes) }`, cut off.
    check_refused(&[INLINE, 1, 1, 1, 0x80, 0x80, 0x80, 0x80, 0x80, 0x20], &[]);
}

#[test]
fn this_process_was_not_started_by_main() {
    // The harness may itself have inherited descriptor 3; taking it twice fails in any case.
    let _ = Link::inherited();
    assert_eq!(Link::inherited().unwrap_err().kind(), io::ErrorKind::NotFound);
}

#[test]
fn plain_data_survives() {
    let (a, b) = pair();
    a.send(&Exit::Signal(11), &[]).unwrap();
    assert_eq!(b.recv::<Exit>().unwrap().unwrap().0, Exit::Signal(11));
}
