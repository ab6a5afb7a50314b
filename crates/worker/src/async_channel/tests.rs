//! Many requests over a real channel, both ends of it in this process.

use std::os::fd::OwnedFd;

use corral_channel::message::RequestHead;
use corral_channel::{
    BODY_WINDOW, INITIAL_CREDIT, LaneReceiver, RequestSlot, WorkerBell, WorkerDescriptors, WorkerEnd,
    WorkerPort, file_sockets,
};
use corral_sys::doorbell;
use corral_sys::memory::SharedMemory;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::getppid;

use super::*;

const LANE: Lane = Lane(0);

/// The router's end.
struct Router {
    port: WorkerPort,
    lane: LaneReceiver,
}

fn channel(n_left: Option<u32>) -> (Router, AsyncChannel) {
    let (bell, _) = WorkerBell::create(1).unwrap();
    let (end, memory) = WorkerEnd::create(&bell).unwrap();
    let (doorbell, push) = doorbell::pair().unwrap();
    let (sender, files) = file_sockets().unwrap();
    let end = end.with_files(Some(sender));
    let beside = WorkerDescriptors { bell: Some(push), files: Some(files) };
    let (port, mut lanes) = WorkerPort::map_with(memory, beside, bell.shape()).unwrap();
    let place =
        WorkerSetup { end, parent: getppid().expect("a test has a parent"), report: None, doorbell: None };
    (Router { port, lane: lanes.remove(0) }, AsyncChannel::new(place, doorbell, n_left))
}

impl Router {
    fn submit_head(&mut self, id: u32, head: &RequestHead<'_>, body: &[u8]) -> RequestId {
        let mut payload = vec![];
        message::encode_request(&mut payload, head, []);
        let slot = RequestSlot::new(id as usize % 64).unwrap();
        self.port.submit(slot, RequestId(id), LANE, &[&payload, body]).unwrap();
        self.port.wake();
        RequestId(id)
    }

    fn submit(&mut self, id: u32) -> RequestId {
        self.submit_head(id, &RequestHead { body_complete: true, ..RequestHead::default() }, b"")
    }

    /// All frames that have come, as text: request, kind, flags, and the length of the body or `aux`.
    fn frames(&mut self) -> Vec<String> {
        let mut frames = Vec::new();
        let mut payload = Vec::new();
        while let Some(head) = self.lane.recv(&mut payload).unwrap() {
            let mut text = format!("{} {:?}", head.request.0, head.kind);
            if head.flags.contains(Flags::FILE) {
                let (n_before, part) = message::split_file(&payload).unwrap();
                payload.truncate(n_before);
                assert!(self.lane.take_file(part.number).unwrap().is_some());
                text += &format!(" file of {}", part.len);
            }
            if matches!(head.kind, FrameKind::Response | FrameKind::Informational) {
                let (view, offset) = message::decode_response(&payload).unwrap();
                text += &format!(" {}", view.status);
                payload.drain(..offset);
            }
            if head.kind == FrameKind::BodyCredit {
                text += &format!(" {}", head.aux);
            }
            if !payload.is_empty() {
                text += &format!(" {}", payload.len());
            }
            for (flag, name) in [(Flags::END, "end"), (Flags::DONE, "done"), (Flags::LAST, "last")] {
                if head.flags.contains(flag) {
                    text += &format!(" {name}");
                }
            }
            frames.push(text);
        }
        self.lane.wake_producer();
        frames
    }
}

/// The keys of requests that have begun since the last call.
fn begun(board: &mut AsyncChannel) -> Vec<RequestKey> {
    let mut events = Vec::new();
    board.receive(&mut events);
    events
        .iter()
        .filter_map(|event| if let ChannelEvent::Begun(key, _) = event { Some(*key) } else { None })
        .collect()
}

fn receive(board: &mut AsyncChannel) {
    board.receive(&mut Vec::new());
}

fn is_ringing(board: &AsyncChannel) -> bool {
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    poll(&mut [PollFd::new(&board.bell(), PollFlags::IN)], Some(&now)).unwrap() == 1
}

#[test]
fn answers_go_in_any_order() {
    let (mut router, mut board) = channel(None);
    (0..3).for_each(|id| _ = router.submit(id));
    let keys = begun(&mut board);
    keys.iter().for_each(|key| board.respond(*key, 200, &[]));
    assert_eq!(router.frames(), [""; 0], "a head waits for what follows");
    for (key, body) in [(keys[2], &b"third"[..]), (keys[0], b"first!")] {
        board.write(key, body, true).unwrap();
        assert_eq!(board.phase(key), ResponsePhase::Ended);
        board.finish(key);
    }
    board.abort(keys[1]);
    assert_eq!(
        router.frames(),
        [
            "2 Response 200 5 end",
            "2 Finished done",
            "0 Response 200 6 end",
            "0 Finished done",
            "1 Response 500 end done"
        ]
    );
    assert!(board.requests.is_empty() && board.is_gone(keys[0]));
}

#[test]
fn informational_responses_go_before_the_response_and_never_after() {
    let (mut router, mut board) = channel(None);
    router.submit(0);
    let key = begun(&mut board)[0];
    board.inform(key, 103, &[(b"Link", b"</a>")]).unwrap();
    assert_eq!(router.frames(), ["0 Informational 103"], "at once");
    board.inform(key, 103, &[]).unwrap();
    board.respond(key, 200, &[]);
    board.inform(key, 103, &[(b"Link", b"</late>")]).unwrap();
    board.write(key, b"body", true).unwrap();
    board.finish(key);
    assert_eq!(router.frames(), ["0 Informational 103", "0 Response 200 4 end", "0 Finished done"]);
    assert!(board.inform(key, 103, &[]).is_ok(), "it has ended");
}

#[test]
fn informational_responses_that_no_client_may_see_are_refused() {
    let (mut router, mut board) = channel(None);
    router.submit(0);
    let key = begun(&mut board)[0];
    let refused = board.inform(key, 103, &[(b"Link", b"</a>"), (b"a b", b"")]);
    assert_eq!(refused, Err(Malformed::FieldName { index: 1 }));
    assert_eq!(board.inform(key, 101, &[]), Err(Malformed::Status { status: 101 }));
    board.inform(key, 103, &[(b"Link", &[b'x'; 70_000])]).unwrap();
    board.abort(key);
    assert_eq!(router.frames(), ["0 Response 500 end done"]);
}

#[test]
fn informational_responses_keep_to_the_credit() {
    let (mut router, mut board) = channel(None);
    let id = router.submit(0);
    let key = begun(&mut board)[0];
    let value = [b'x'; 10_000];
    (0..30).for_each(|_| board.inform(key, 103, &[(b"Link", &value)]).unwrap());
    board.finish(key);
    let mut got = Vec::new();
    for _ in 0..20 {
        got.extend(router.frames());
        receive(&mut board);
    }
    assert_eq!(got, vec!["0 Informational 103"; INITIAL_CREDIT as usize / 10_024]);
    router.port.credit(id, LANE, 100_000).unwrap();
    receive(&mut board);
    let rest = router.frames();
    assert_eq!((rest.len(), rest[4].as_str()), (5, "0 Response 500 end done"));
    assert!(board.requests.is_empty());
}

#[test]
fn trailers_come_behind_the_body_and_end_the_response() {
    let (mut router, mut board) = channel(None);
    (0..2).for_each(|id| _ = router.submit(id));
    let keys = begun(&mut board);
    board.respond(keys[0], 200, &[]);
    board.write(keys[0], b"body", false).unwrap();
    assert_eq!(router.frames(), ["0 Response 200 4"]);
    board.write_trailers(keys[0], &[(b"A", b"b")]);
    assert_eq!(board.phase(keys[0]), ResponsePhase::Ended);
    board.write_trailers(keys[0], &[(b"A", b"late")]);
    board.finish(keys[0]);
    assert_eq!(router.frames(), ["0 Trailers 18", "0 End end", "0 Finished done"]);
    // A body that waits for credit is in front of them.
    let n = INITIAL_CREDIT as usize + 10;
    board.respond(keys[1], 200, &[]);
    board.write(keys[1], &vec![b'x'; n], false).unwrap();
    board.write_trailers(keys[1], &[(b"A", b"b")]);
    board.finish(keys[1]);
    for _ in 0..20 {
        assert!(!router.frames().iter().any(|frame| frame.contains("Trailers") || frame.contains("end")));
        receive(&mut board);
    }
    for credit in [10, 18] {
        router.port.credit(RequestId(1), LANE, credit).unwrap();
        receive(&mut board);
    }
    assert_eq!(router.frames(), ["1 Data 10", "1 Trailers 18", "1 End end done"]);
    assert!(board.requests.is_empty());
}

#[test]
fn a_response_without_a_body_has_nothing_behind_it() {
    let (mut router, mut board) = channel(None);
    router.submit_head(
        0,
        &RequestHead { method: b"HEAD", body_complete: true, ..RequestHead::default() },
        b"",
    );
    router.submit(1);
    for (key, status) in begun(&mut board).into_iter().zip([200, 204]) {
        board.respond(key, status, &[]);
        board.write(key, b"dropped", false).unwrap();
        board.write_trailers(key, &[(b"A", b"b")]);
        board.finish(key);
    }
    let frames = ["0 Response 200 end", "0 Finished done", "1 Response 204 end", "1 Finished done"];
    assert_eq!(router.frames(), frames);
}

#[test]
fn a_short_response_goes_with_the_end_of_its_request() {
    let (mut router, mut board) = channel(None);
    (0..3).for_each(|id| _ = router.submit(id));
    board.silence();
    let keys = begun(&mut board);
    keys.iter().for_each(|key| board.respond(*key, 200, &[]));
    board.write(keys[0], b"at once", true).unwrap();
    board.write(keys[1], b"a part", false).unwrap();
    assert_eq!(router.frames(), ["1 Response 200 6"], "what goes on does not wait");
    board.finish(keys[0]);
    assert_eq!(router.frames(), ["0 Response 200 7 end done"]);
    board.write(keys[2], b"and more to do", true).unwrap();
    assert_eq!(router.frames(), [""; 0]);
    assert!(board.may_sleep());
    assert_eq!(router.frames(), ["2 Response 200 14 end"], "the loop does not sleep before it is sent");
    board.write(keys[1], b"", true).unwrap();
    board.finish(keys[1]);
    board.finish(keys[2]);
    assert_eq!(router.frames(), ["1 End end", "1 Finished done", "2 Finished done"]);
}

#[test]
fn a_long_response_is_not_held_back() {
    let (mut router, mut board) = channel(None);
    router.submit(0);
    let key = begun(&mut board)[0];
    board.silence();
    board.respond(key, 200, &[]);
    board.write(key, &[b'x'; MOST_HELD_BACK], true).unwrap();
    assert_eq!(board.n_pending(key), 0);
    assert_eq!(router.frames(), [format!("0 Response 200 {MOST_HELD_BACK} end")]);
}

#[test]
fn the_bell_rings_for_a_loop_that_sleeps_and_for_no_other() {
    let (mut router, mut board) = channel(None);
    router.submit(0);
    assert!(!is_ringing(&board));
    assert!(!board.may_sleep(), "something has come");
    begun(&mut board);
    assert!(board.may_sleep());
    router.submit(1);
    router.submit(2);
    assert!(is_ringing(&board));
    board.silence();
    assert!(!is_ringing(&board));
    assert_eq!(begun(&mut board).len(), 2);
}

#[test]
fn a_response_keeps_to_its_credit() {
    let (mut router, mut board) = channel(None);
    let id = router.submit(0);
    let key = begun(&mut board)[0];
    board.respond(key, 200, &[]);
    let n = INITIAL_CREDIT as usize + 1000;
    board.write(key, &vec![b'x'; n], true).unwrap();
    board.finish(key);
    let mut got = 0;
    // The ring is smaller than the credit, so that it takes several turns.
    for _ in 0..20 {
        got += router
            .frames()
            .iter()
            .map(|text| text.split(' ').next_back().unwrap().parse().unwrap_or(0))
            .sum::<usize>();
        receive(&mut board);
    }
    assert_eq!((got, board.n_pending(key)), (n - 1000, 1000));
    router.port.credit(id, LANE, 5000).unwrap();
    receive(&mut board);
    assert_eq!(router.frames(), ["0 Data 1000 end done"]);
    assert!(board.requests.is_empty());
}

#[test]
fn who_is_gone_gets_nothing() {
    let (mut router, mut board) = channel(None);
    let id = router.submit(0);
    let key = begun(&mut board)[0];
    board.respond(key, 200, &[]);
    router.port.cancel(id, LANE).unwrap();
    receive(&mut board);
    assert!(board.is_gone(key));
    assert_eq!(board.write(key, b"x", false), Err(ClientGone));
    board.finish(key);
    assert_eq!(router.frames(), ["0 End end done"]);
}

#[test]
fn a_response_that_was_begun_is_cut_and_another_is_replaced() {
    let (mut router, mut board) = channel(None);
    (0..2).for_each(|id| _ = router.submit(id));
    let keys = begun(&mut board);
    board.respond(keys[0], 200, &[]);
    board.abort(keys[0]);
    assert_eq!(router.frames(), ["0 Response 500 end done"]);
    board.respond(keys[1], 200, &[]);
    board.write(keys[1], b"begun", false).unwrap();
    board.abort(keys[1]);
    assert_eq!(router.frames(), ["1 Response 200 5", "1 Failed end done"]);
}

fn take_body(board: &mut AsyncChannel, key: RequestKey) -> Option<(Vec<u8>, bool)> {
    board.take_body(key).map(|(body, is_all)| (body.to_vec(), is_all))
}

#[test]
fn a_body_is_asked_for_as_it_is_taken() {
    let (mut router, mut board) = channel(None);
    let id = router.submit_head(0, &RequestHead::default(), b"inline");
    let key = begun(&mut board)[0];
    assert_eq!(router.frames(), [""; 0], "nobody wants it yet");
    assert_eq!(take_body(&mut board, key), Some((b"inline".to_vec(), false)));
    assert_eq!(router.frames(), [format!("0 BodyCredit {}", BODY_WINDOW + 6)]);
    assert_eq!(take_body(&mut board, key), None);
    router.port.body(id, LANE, b"more", false).unwrap();
    router.port.body(id, LANE, b"last", true).unwrap();
    receive(&mut board);
    assert_eq!(take_body(&mut board, key), Some((b"morelast".to_vec(), true)));
    assert_eq!(router.frames(), [""; 0]);
}

#[test]
fn messages_are_put_together() {
    let (mut router, mut board) = channel(None);
    let head = RequestHead { body_complete: true, websocket: true, ..RequestHead::default() };
    let id = router.submit_head(0, &head, b"");
    let key = begun(&mut board)[0];
    board.respond(key, 101, &[]);
    assert_eq!(router.frames(), [format!("0 BodyCredit {BODY_WINDOW}"), "0 Response 101".to_owned()]);
    for (bytes, opcode, end) in
        [(&b"he"[..], Opcode::Text, false), (b"llo", Opcode::Text, true), (b"\0", Opcode::Binary, true)]
    {
        router.port.message(id, LANE, bytes, opcode, end).unwrap();
    }
    receive(&mut board);
    assert_eq!(board.take_message(key), Some(Message { opcode: Opcode::Text, bytes: b"hello".to_vec() }));
    assert_eq!(board.take_message(key), Some(Message { opcode: Opcode::Binary, bytes: vec![0] }));
    assert_eq!(board.take_message(key), None);
    // What is taken makes room for as much, and no more.
    for _ in 0..3 {
        for end in [false, true] {
            router.port.message(id, LANE, &[0; 20_000], Opcode::Binary, end).unwrap();
        }
        receive(&mut board);
        assert_eq!(board.take_message(key).map(|message| message.bytes.len()), Some(40_000));
    }
    let told = router
        .frames()
        .iter()
        .map(|frame| frame.split(' ').next_back().unwrap().parse::<u32>().unwrap())
        .sum::<u32>();
    assert!((100_000..=120_008).contains(&told), "{told}");
    board.write_message(key, Opcode::Text, b"hi").unwrap();
    board.close(key, 1000, &[b'r'; 200]).unwrap();
    board.finish(key);
    assert_eq!(router.frames(), ["0 Data 4", "0 Data 127", "0 End end", "0 Finished done"]);
}

#[test]
fn a_worker_leaves_after_its_share() {
    let (mut router, mut board) = channel(Some(2));
    (0..3).for_each(|id| _ = router.submit(id));
    let keys = begun(&mut board);
    assert_eq!(keys.len(), 2, "the third is for another");
    assert_eq!(router.frames(), ["1 End last"]);
    assert!(router.port.take_back(RequestSlot::new(2).unwrap(), RequestId(2), LANE));
    assert!(board.is_leaving() && !board.is_over());
    keys.iter().for_each(|key| board.finish(*key));
    assert!(board.is_over());
}

#[test]
fn the_router_hears_that_many_have_begun() {
    let (mut router, mut board) = channel(None);
    (0..40).for_each(|id| _ = router.submit(id));
    assert_eq!(begun(&mut board).len(), 40);
    assert_eq!(router.frames(), ["31 Started"]);
    (40..44).for_each(|id| _ = router.submit_head(id, &RequestHead::default(), &[0; 20_000]));
    assert_eq!(begun(&mut board).len(), 4);
    assert_eq!(router.frames(), ["43 Started"]);
}

#[test]
fn a_request_that_was_taken_back_is_not_begun() {
    let (mut router, mut board) = channel(None);
    let id = router.submit(0);
    assert!(router.port.take_back(RequestSlot::new(0).unwrap(), id, LANE));
    router.port.body(id, LANE, b"x", true).unwrap();
    assert_eq!(begun(&mut board), []);
}

fn file() -> OwnedFd {
    SharedMemory::create("file", 100_000).unwrap().1
}

#[test]
fn a_file_ends_a_response_or_its_body() {
    let (mut router, mut board) = channel(None);
    (0..2).for_each(|id| _ = router.submit(id));
    let keys = begun(&mut board);
    let file = file();
    let rest = FileRest::of(file.as_fd(), 0).unwrap();
    keys.iter().for_each(|key| board.respond(*key, 200, &[]));
    assert_eq!(board.send_file(keys[0], &rest, true), Ok(true));
    assert_eq!(board.phase(keys[0]), ResponsePhase::Ended);
    board.finish(keys[0]);
    board.write(keys[1], b"before", false).unwrap();
    assert_eq!(board.send_file(keys[1], &rest, false), Ok(true));
    board.write_trailers(keys[1], &[(b"A", b"b")]);
    board.finish(keys[1]);
    assert_eq!(
        router.frames(),
        [
            "0 Response file of 100000 200 end",
            "0 Finished done",
            "1 Response 200 6",
            "1 Data file of 100000",
            "1 Trailers 18",
            "1 End end",
            "1 Finished done"
        ]
    );
    assert!(board.requests.is_empty());
}

#[test]
fn a_file_is_not_sent_before_its_head_or_in_the_place_of_messages() {
    let (mut router, mut board) = channel(None);
    router.submit(0);
    let head = RequestHead { body_complete: true, websocket: true, ..RequestHead::default() };
    router.submit_head(1, &head, b"");
    router.submit_head(
        2,
        &RequestHead { method: b"HEAD", body_complete: true, ..RequestHead::default() },
        b"",
    );
    let keys = begun(&mut board);
    let file = file();
    let rest = FileRest::of(file.as_fd(), 0).unwrap();
    assert_eq!(board.send_file(keys[0], &rest, true), Ok(false));
    board.respond(keys[1], 101, &[]);
    assert_eq!(board.send_file(keys[1], &rest, true), Ok(false));
    board.respond(keys[2], 200, &[]);
    assert_eq!(board.send_file(keys[2], &rest, true), Ok(true));
    assert!(router.frames().iter().all(|frame| !frame.contains("file")));
    router.port.cancel(RequestId(0), LANE).unwrap();
    receive(&mut board);
    assert_eq!(board.send_file(keys[0], &rest, true), Err(ClientGone));
}
