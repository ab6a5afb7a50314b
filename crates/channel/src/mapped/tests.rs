//! Both ends over one memory: what each hears of the other.

use super::port::Checked;
use super::region::Region;
use super::*;
use crate::MAX_TRACE;
use crate::frame::{Flags, FrameHead, FrameKind, Lane, RequestId};
use crate::ring::{Corrupt, SendError};
use crate::slot::RequestSlot;

const SHAPE: ChannelShape = ChannelShape { n_lanes: 2 };
const LANE: Lane = Lane(1);
const REQUEST: RequestId = RequestId(70_000);

struct ChannelEnds {
    port: WorkerPort,
    lanes: Vec<LaneReceiver>,
    worker: WorkerEnd,
}

/// Over the heap, so that Miri can run this.
fn ends() -> ChannelEnds {
    let region = Region::heap(SHAPE.worker_size());
    let (port, lanes) = WorkerPort::new(&region, Checked::default(), SHAPE).unwrap();
    let worker = WorkerEnd::new(&region, &WorkerBell::on_heap(SHAPE));
    ChannelEnds { port, lanes, worker }
}

fn slot(index: usize) -> RequestSlot {
    RequestSlot::new(index).unwrap()
}

/// Compares the frames that the worker hears, as text: kind, flags, aux and payload.
#[track_caller]
fn check_heard(ends: &mut ChannelEnds, expect: &[&str]) {
    let mut payload = Vec::new();
    let mut heard = Vec::new();
    while let Some(head) = ends.worker.recv(&mut payload).unwrap() {
        let end = if head.flags.contains(Flags::END) { " end" } else { "" };
        let aux = if head.kind == FrameKind::Request { head.slot().index() as u32 } else { head.aux };
        let text = String::from_utf8_lossy(&payload);
        heard.push(format!("{:?} {}/{}{end} {aux} {text}", head.kind, head.request.0, head.lane.0));
    }
    assert_eq!(heard, expect);
}

#[test]
fn a_worker_hears_what_the_router_says() {
    let mut ends = ends();
    ends.port.submit(slot(5), REQUEST, LANE, &[b"head", b"body"]).unwrap();
    ends.port.body(REQUEST, LANE, b"more", false).unwrap();
    ends.port.body(REQUEST, LANE, b"", true).unwrap();
    ends.port.credit(REQUEST, LANE, 65536).unwrap();
    ends.port.cancel(REQUEST, LANE).unwrap();
    ends.port.quit().unwrap();
    let expect = [
        "Request 70000/1 5 headbody",
        "Body 70000/1 0 more",
        "Body 70000/1 end 0 ",
        "Credit 70000/1 65536 ",
        "Cancel 70000/1 0 ",
        "Quit 0/0 0 ",
    ];
    check_heard(&mut ends, &expect);
    check_heard(&mut ends, &[]);
}

#[test]
fn each_loop_hears_its_own_responses() {
    let mut ends = ends();
    let head =
        FrameHead::new(FrameKind::Response, LANE, REQUEST).with_flags(Flags::END | Flags::DONE).with_aux(4);
    ends.worker.send(head, &[b"head", b"body"]).unwrap();
    let mut payload = Vec::new();
    assert!(!ends.lanes[0].has_frames() && ends.lanes[1].has_frames());
    assert_eq!(ends.lanes[0].recv(&mut payload), Ok(None));
    assert_eq!(ends.lanes[1].recv(&mut payload), Ok(Some(FrameHead { len: 8, ..head })));
    assert_eq!(payload, b"headbody");
    assert!(!ends.lanes[1].has_frames());
}

#[test]
fn a_trace_is_heard_as_it_was_said() {
    let mut ends = ends();
    let (head, text) = (FrameHead::new(FrameKind::Trace, LANE, REQUEST), [b'x'; MAX_TRACE]);
    ends.worker.send(head, &[&text]).unwrap();
    let mut payload = Vec::new();
    let len = MAX_TRACE as u32;
    assert_eq!(ends.lanes[1].recv(&mut payload), Ok(Some(FrameHead { len, ..head })));
    assert_eq!(payload, text);
}

#[test]
fn a_payload_can_go_to_two_places() {
    let mut ends = ends();
    let head = FrameHead::new(FrameKind::Response, LANE, REQUEST).with_aux(4);
    ends.worker.send(head, &[b"head", b"body"]).unwrap();
    ends.worker.send(FrameHead::new(FrameKind::End, LANE, REQUEST), &[]).unwrap();
    let lane = &mut ends.lanes[1];
    let head = lane.peek().unwrap().unwrap();
    let (mut scratch, mut body) = (Vec::new(), b"before ".to_vec());
    assert_eq!(lane.read(head.aux as usize, &mut scratch), 4);
    assert_eq!(lane.peek().unwrap(), Some(head));
    assert_eq!(lane.read(usize::MAX, &mut body), 4);
    assert_eq!((&scratch[..], &body[..]), (&b"head"[..], &b"before body"[..]));
    assert_eq!(lane.peek().unwrap().map(|head| head.kind), Some(FrameKind::End));
    lane.skip();
    assert_eq!(lane.peek(), Ok(None));
}

/// The Request frames that the worker finds and whether it may start each.
#[track_caller]
fn check_started(ends: &mut ChannelEnds, expect: &[(u32, bool)]) {
    let mut started = Vec::new();
    while let Some(head) = ends.worker.recv(&mut Vec::new()).unwrap() {
        started.push((head.request.0, ends.worker.start(&head)));
    }
    assert_eq!(started, expect);
}

#[test]
fn a_queued_request_can_be_taken_back_until_it_is_started() {
    let mut ends = ends();
    for request in 1..=3 {
        ends.port.submit(slot(request as usize), RequestId(request), LANE, &[]).unwrap();
    }
    assert!(ends.port.take_back(slot(2), RequestId(2), LANE));
    assert!(!ends.port.take_back(slot(2), RequestId(2), LANE));
    check_started(&mut ends, &[(1, true), (2, false), (3, true)]);
    assert!(ends.port.is_started(slot(1), RequestId(1), LANE));
    assert!(!ends.port.is_started(slot(2), RequestId(2), LANE));
    assert!(!ends.port.take_back(slot(3), RequestId(3), LANE));
}

#[test]
fn a_slot_knows_its_request() {
    let mut ends = ends();
    ends.port.submit(slot(0), REQUEST, LANE, &[]).unwrap();
    assert!(!ends.port.take_back(slot(1), REQUEST, LANE));
    assert!(!ends.port.take_back(slot(0), RequestId(1), LANE));
    assert!(!ends.port.take_back(slot(0), REQUEST, Lane(0)));
    assert!(ends.port.take_back(slot(0), REQUEST, LANE));
}

#[test]
fn the_same_request_submitted_again_is_started_once() {
    let mut ends = ends();
    for _ in 0..2 {
        ends.port.submit(slot(0), REQUEST, LANE, &[]).unwrap();
        assert!(ends.port.take_back(slot(0), REQUEST, LANE));
    }
    ends.port.submit(slot(0), REQUEST, LANE, &[]).unwrap();
    check_started(&mut ends, &[(70_000, false), (70_000, false), (70_000, true)]);
}

#[test]
fn requests_leave_room_for_control() {
    let mut ends = ends();
    let body = vec![0; MAX_REQUEST_PAYLOAD / 2];
    let mut n_sent = 0;
    while ends.port.body(REQUEST, LANE, &body, false).is_ok() {
        n_sent += 1;
    }
    assert_eq!(n_sent, 14);
    assert!(ends.port.body(REQUEST, LANE, &vec![0; ends.port.free_space().unwrap()], false).is_ok());
    assert_eq!(ends.port.free_space(), Ok(0));
    assert_eq!(ends.port.submit(slot(0), REQUEST, LANE, &[b"x"]), Err(SendError::Full));
    assert_eq!(ends.port.submit(slot(0), REQUEST, LANE, &[]), Err(SendError::Full));
    assert!(!ends.port.take_back(slot(0), REQUEST, LANE));
    for _ in 0..4096 {
        ends.port.credit(REQUEST, LANE, 1).unwrap();
    }
    assert_eq!(ends.port.quit(), Err(SendError::Full));
}

#[test]
fn frames_have_a_largest_size() {
    let mut ends = ends();
    let max = MAX_REQUEST_PAYLOAD;
    let payload = vec![0; max + 1];
    assert_eq!(
        ends.port.submit(slot(0), REQUEST, LANE, &[&payload]),
        Err(SendError::TooLarge { len: max + 1, max })
    );
    ends.port.submit(slot(0), REQUEST, LANE, &[&payload[..max]]).unwrap();
    let max = ends.worker.max_payload();
    assert_eq!(max, SHAPE.lane_capacity() / 2 - 16);
    let head = FrameHead::new(FrameKind::Data, LANE, REQUEST);
    assert_eq!(
        ends.worker.send(head, &[&payload[..max], b"x"]),
        Err(SendError::TooLarge { len: max + 1, max })
    );
    ends.worker.send(head, &[&payload[..max]]).unwrap();
    assert_eq!(
        ends.lanes[1].recv(&mut Vec::new()).map(|head| head.map(|head| head.len)),
        Ok(Some(max as u32))
    );
}

#[test]
fn a_request_of_a_loop_that_does_not_exist_is_corrupt() {
    let mut ends = ends();
    ends.port.cancel(REQUEST, Lane(2)).unwrap();
    assert_eq!(ends.worker.recv(&mut Vec::new()), Err(Corrupt::Lane { lane: 2, n_lanes: 2 }));
}

#[test]
fn notes_are_seen_by_the_router() {
    let ends = ends();
    ends.worker.set_note(b"/srv/index.php");
    assert_eq!(ends.port.note(), b"/srv/index.php");
}

#[test]
fn nobody_is_woken_who_is_awake() {
    let mut ends = ends();
    ends.port.submit(slot(0), REQUEST, LANE, &[]).unwrap();
    assert!(!ends.port.is_asleep() && !ends.port.wake() && ends.port.claim_sleeper().is_none());
    ends.worker.send(FrameHead::new(FrameKind::End, LANE, REQUEST), &[]).unwrap();
    assert!(!ends.worker.ring(LANE));
    assert!(!ends.lanes[1].wake_producer());
}

#[test]
fn used_memory_is_refused() {
    let region = Region::heap(SHAPE.worker_size());
    let (mut port, _lanes) = WorkerPort::new(&region, Checked::default(), SHAPE).unwrap();
    port.quit().unwrap();
    assert!(matches!(WorkerPort::new(&region, Checked::default(), SHAPE), Err(MemoryError::Used)));
}
