//! The ring on the heap: what goes in comes out, and nothing that a peer writes does harm.

use std::collections::VecDeque;
use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::frame::{Flags, FrameHead, FrameKind, Lane, RequestId, RingDirection};
use crate::mapped::region::Region;
use crate::ring::{Consumer, Corrupt, Producer, SendError, frame_size};

const DATA: usize = size_of::<Cursors>();

struct RingPair {
    producer: Producer<MappedRing>,
    consumer: Consumer<MappedRing>,
    /// A third view, for the test that plays the hostile peer.
    peer: MappedRing,
}

fn view(region: &Arc<Region>, capacity: usize) -> MappedRing {
    MappedRing { cursors: SharedView::new(region, 0), data: SharedBytes::new(region, DATA, capacity) }
}

fn pair(capacity: usize) -> RingPair {
    let region = Region::heap(DATA + capacity);
    let max_payload = capacity / 2;
    RingPair {
        producer: Producer::new(view(&region, capacity), max_payload),
        consumer: Consumer::new(view(&region, capacity), max_payload, RingDirection::FromWorker),
        peer: view(&region, capacity),
    }
}

/// A ring to a worker that is begun anew behind `home` bytes.
fn pair_with_home(capacity: usize, home: usize) -> RingPair {
    let region = Region::heap(DATA + capacity);
    let max_payload = home / 2;
    RingPair {
        producer: Producer::new(view(&region, capacity), max_payload).with_home(home),
        consumer: Consumer::new(view(&region, capacity), max_payload, RingDirection::ToWorker),
        peer: view(&region, capacity),
    }
}

fn head(request: u32) -> FrameHead {
    FrameHead::new(FrameKind::Data, Lane(0), RequestId(request)).with_flags(Flags::END)
}

#[derive(Debug, Clone)]
enum RingStep {
    /// Sends so many bytes, in two pieces split at the second number.
    Send(usize, usize),
    Receive,
    /// Reads at most so many bytes of the next frame.
    ReadPart(usize),
    Skip,
}

fn steps() -> impl Strategy<Value = Vec<RingStep>> {
    let step = prop_oneof![
        4 => (0..200usize, 0..200usize).prop_map(|(len, split)| RingStep::Send(len, split)),
        3 => Just(RingStep::Receive),
        1 => (0..100usize).prop_map(RingStep::ReadPart),
        1 => Just(RingStep::Skip),
    ];
    prop::collection::vec(step, 1..200)
}

/// Content that the ring must hold.
#[derive(Default)]
struct Model {
    frames: VecDeque<(u32, Vec<u8>)>,
    /// Bytes of the first frame that were read already.
    read: usize,
    /// Bytes in the ring, the first frame counted whole until it is gone.
    used: usize,
    n_sent: u32,
}

impl Model {
    fn payload(&self, len: usize) -> Vec<u8> {
        (0..len).map(|idx| (idx as u32).wrapping_mul(31).wrapping_add(self.n_sent) as u8).collect()
    }

    fn pop(&mut self) -> Option<(u32, Vec<u8>)> {
        let frame = self.frames.pop_front()?;
        self.used -= frame_size(frame.1.len());
        self.read = 0;
        Some(frame)
    }
}

fn send(pair: &mut RingPair, model: &mut Model, capacity: usize, len: usize, split: usize) {
    let payload = model.payload(len);
    let (before, after) = payload.split_at(split.min(len));
    let sent = pair.producer.push(head(model.n_sent), &[before, after], 0);
    if len > capacity / 2 {
        assert_eq!(sent, Err(SendError::TooLarge { len, max: capacity / 2 }));
    } else if model.used + frame_size(len) > capacity {
        assert_eq!(sent, Err(SendError::Full));
    } else {
        assert_eq!(sent, Ok(()));
        model.used += frame_size(len);
        model.frames.push_back((model.n_sent, payload));
        model.n_sent += 1;
    }
}

fn receive(pair: &mut RingPair, model: &mut Model) {
    let mut payload = b"left from before".to_vec();
    let got = pair.consumer.recv(&mut payload).unwrap();
    let read = model.read;
    match model.pop() {
        None => assert_eq!((got, &payload[..]), (None, &b""[..])),
        Some((request, wanted)) => {
            assert_eq!(got, Some(FrameHead { len: wanted.len() as u32, ..head(request) }));
            assert_eq!(payload, wanted[read..]);
        }
    }
}

fn read_part(pair: &mut RingPair, model: &mut Model, n: usize) {
    let got = pair.consumer.peek().unwrap();
    let Some((request, wanted)) = model.frames.front() else { return assert_eq!(got, None) };
    assert_eq!(got.map(|got| got.request), Some(RequestId(*request)));
    let mut out = b"head".to_vec();
    let wanted_part = wanted[model.read..].iter().take(n).copied().collect::<Vec<_>>();
    assert_eq!(pair.consumer.read(n, &mut out), wanted_part.len());
    assert_eq!(out, [b"head", &wanted_part[..]].concat());
    model.read += wanted_part.len();
    if model.read == wanted.len() {
        model.pop();
    }
}

fn skip(pair: &mut RingPair, model: &mut Model) {
    pair.consumer.peek().unwrap();
    pair.consumer.close();
    model.pop();
}

proptest! {
    #![proptest_config(crate::few_cases())]

    #[test]
    fn a_ring_is_a_queue(capacity in prop::sample::select(vec![64usize, 128, 256, 512]), steps in steps()) {
        let (mut pair, mut model) = (pair(capacity), Model::default());
        for step in steps {
            match step {
                RingStep::Send(len, split) => send(&mut pair, &mut model, capacity, len, split),
                RingStep::Receive => receive(&mut pair, &mut model),
                RingStep::ReadPart(n) => read_part(&mut pair, &mut model, n),
                RingStep::Skip => skip(&mut pair, &mut model),
            }
            prop_assert_eq!(pair.consumer.has_frames(), !model.frames.is_empty());
            prop_assert_eq!(pair.producer.free(), Ok(capacity - model.used));
        }
    }
}

/// How much of the data was ever written.
fn n_used(pair: &RingPair) -> usize {
    let mut data = Vec::new();
    pair.peer.read(0, pair.peer.capacity(), &mut data);
    data.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1)
}

fn body(request: u32) -> FrameHead {
    FrameHead::new(FrameKind::Body, Lane(0), RequestId(request))
}

#[test]
fn a_ring_that_is_empty_begins_anew() {
    let mut pair = pair_with_home(1024, 256);
    let mut payload = Vec::new();
    for request in 0..1000 {
        let sent = vec![1; request as usize % 100 + 1];
        pair.producer.push(body(request), &[&sent], 100).unwrap();
        assert_eq!(
            pair.consumer.recv(&mut payload).unwrap().map(|head| head.request),
            Some(RequestId(request))
        );
        assert_eq!(payload, sent);
        assert!(!pair.consumer.has_frames() && pair.producer.free() == Ok(1024));
    }
    assert!((256..=256 + frame_size(100)).contains(&n_used(&pair)), "{}", n_used(&pair));
}

#[test]
fn all_of_a_ring_is_used_while_it_is_not_empty() {
    let mut pair = pair_with_home(1024, 256);
    let mut payload = Vec::new();
    pair.producer.push(body(0), &[&[1; 100]], 0).unwrap();
    for request in 1..1000 {
        pair.producer.push(body(request), &[&[1; 100]], 0).unwrap();
        assert_eq!(
            pair.consumer.recv(&mut payload).unwrap().map(|head| head.request),
            Some(RequestId(request - 1))
        );
    }
    assert!(n_used(&pair) > 1024 - frame_size(100));
    while pair.producer.push(body(0), &[&[1; 100]], 0).is_ok() {}
    assert!(pair.producer.free().unwrap() < frame_size(100));
}

#[test]
fn a_skip_that_lies_is_caught() {
    let mut pair = pair_with_home(256, 64);
    pair.producer.push(body(0), &[&[0; 16]], 0).unwrap();
    for len in [17u32, 256, u32::MAX] {
        pair.peer.data.write(
            0,
            &FrameHead { len, ..FrameHead::new(FrameKind::Skip, Lane(0), RequestId(0)) }.to_bytes(),
        );
        assert_eq!(pair.consumer.recv(&mut Vec::new()), Err(Corrupt::Length { len, limit: 16 }));
    }
}

#[test]
fn a_reserve_is_kept_for_others() {
    let mut pair = pair(256);
    assert_eq!(pair.producer.push(head(0), &[&[1; 100]], 128), Ok(()));
    assert_eq!(pair.producer.push(head(1), &[], 128), Err(SendError::Full));
    for request in 1..=8 {
        assert_eq!(pair.producer.push(head(request), &[], 0), Ok(()), "{request}");
    }
    assert_eq!(pair.producer.push(head(9), &[], 0), Err(SendError::Full));
}

/// The producer's position is `position` when the consumer has read two frames of 32 bytes.
#[track_caller]
fn check_produced(position: u64, expect: Result<bool, ()>) {
    let mut pair = pair(256);
    for request in 0..2 {
        pair.producer.push(head(request), &[&[0; 16]], 0).unwrap();
        pair.consumer.recv(&mut Vec::new()).unwrap();
    }
    pair.peer.cursors.producer.0.produced.store(position, Ordering::Relaxed);
    let got = pair.consumer.recv(&mut Vec::new());
    let corrupt = Corrupt::Position { theirs: position, ours: 64 };
    match expect {
        Ok(frame) => assert_eq!(got.map(|head| head.is_some()), Ok(frame)),
        Err(()) => assert_eq!((got, pair.consumer.has_frames()), (Err(corrupt), true)),
    }
}

#[test]
fn a_producer_that_lies_about_its_position_is_caught() {
    check_produced(64, Ok(false));
    check_produced(48, Err(())); // Back.
    check_produced(0, Err(()));
    check_produced(65, Err(())); // Not a unit.
    check_produced(72, Err(()));
    check_produced(64 + 256 + 16, Err(())); // More than there is room for.
    check_produced(u64::MAX, Err(()));
    check_produced(u64::MAX - 15, Err(()));
    check_produced(1 << 63, Err(()));
}

/// The consumer's position is `position` when the producer's is 64 and the last known one 32.
#[track_caller]
fn check_consumed(position: u64, expect_free: Result<usize, ()>) {
    let mut pair = pair(256);
    pair.producer.push(head(0), &[&[0; 16]], 0).unwrap();
    pair.consumer.recv(&mut Vec::new()).unwrap();
    pair.producer.check_room(128, 112).unwrap(); // Reads the position, 32.
    pair.producer.push(head(1), &[&[0; 16]], 0).unwrap();
    pair.peer.cursors.consumed.0.store(position, Ordering::Relaxed);
    let corrupt = Corrupt::Position { theirs: position, ours: 64 };
    assert_eq!(pair.producer.free(), expect_free.map_err(|()| corrupt));
    if expect_free.is_err() {
        // Only what was free before can still be used.
        assert_eq!(pair.producer.check_room(128, 112), Err(SendError::Corrupt(corrupt)));
        assert_eq!(pair.producer.push(head(2), &[&[0; 128]], 0), Ok(()));
    }
}

fn corrupt_at(theirs: u64, ours: u64) -> Corrupt {
    Corrupt::Position { theirs, ours }
}

#[test]
fn a_consumer_that_lies_about_its_position_is_caught() {
    check_consumed(32, Ok(224));
    check_consumed(64, Ok(256));
    check_consumed(16, Err(())); // Back.
    check_consumed(0, Err(()));
    check_consumed(80, Err(())); // Before us.
    check_consumed(40, Err(())); // Not a unit.
    check_consumed(u64::MAX - 15, Err(()));
}

/// One frame whose head has `bytes` in place of what belongs there, in 32 bytes that were published.
#[track_caller]
fn check_head(at: usize, bytes: &[u8], expect: Corrupt) {
    let mut pair = pair(256);
    pair.producer.push(head(0), &[&[0; 16]], 0).unwrap();
    pair.peer.data.write(at, bytes);
    for _ in 0..2 {
        let mut payload = b"old".to_vec();
        assert_eq!(pair.consumer.recv(&mut payload), Err(expect));
        assert_eq!(payload, b"");
    }
}

#[test]
fn a_head_that_lies_is_caught() {
    let length = |len: u32| Corrupt::Length { len, limit: 16 };
    for len in [17, 32, 128, 129, 255, 4096, u32::MAX - 15, u32::MAX] {
        check_head(0, &len.to_ne_bytes(), length(len));
    }
    for kind in [0, 1, 5, 16, 32, 255] {
        check_head(4, &[kind], Corrupt::Kind { kind });
    }
    check_head(5, &[0x80], Corrupt::Flags { flags: 0x80 });
}

#[test]
fn a_frame_is_never_longer_than_allowed() {
    let mut pair = pair(256);
    pair.producer.push(head(0), &[&[0; 128]], 0).unwrap();
    pair.producer.push(head(1), &[&[0; 64]], 0).unwrap();
    pair.peer.data.write(0, &129u32.to_ne_bytes());
    assert_eq!(pair.consumer.peek(), Err(Corrupt::Length { len: 129, limit: 128 }));
}

#[test]
fn a_head_that_changes_after_it_was_taken_changes_nothing() {
    let mut pair = pair(256);
    pair.producer.push(head(0), &[&[7; 40]], 0).unwrap();
    let taken = pair.consumer.peek().unwrap();
    pair.peer.data.write(0, &[0xff; 16]);
    pair.peer.cursors.producer.0.produced.store(u64::MAX, Ordering::Relaxed);
    pair.peer.cursors.consumed.0.store(u64::MAX, Ordering::Relaxed);
    assert_eq!(pair.consumer.peek(), Ok(taken));
    let mut out = Vec::new();
    assert_eq!(pair.consumer.read(usize::MAX, &mut out), 40);
    assert_eq!(out, [7; 40]);
    assert_eq!(pair.consumer.peek(), Err(corrupt_at(u64::MAX, 64)));
}
