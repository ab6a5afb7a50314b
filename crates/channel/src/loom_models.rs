//! Models of every protocol between two sides, explored by loom in all interleavings and memory orders:
//! `RUSTFLAGS="--cfg loom" cargo test -p corral-channel --release --lib loom`.
//!
//! A lost wake-up shows as a deadlock, a byte that is read before it is published as a causality error.

use loom::cell::UnsafeCell;
use loom::sync::{Arc, Condvar, Mutex};
use loom::thread;

use crate::frame::{FRAME_UNIT, FrameHead, FrameKind, Lane, RequestId, RingDirection};
use crate::ring::{Consumer, Cursors, Padded, Producer, ProducerWords, RingMemory, SendError};
use crate::sleep::{self, SleepFlag};
use crate::slot::{self, RequestSlot, SlotState, SlotWord, SubmissionTicket};
use crate::sync::AtomicU64;

/// Two frames with a unit of payload fit.
const CAPACITY: usize = 4 * FRAME_UNIT;

/// A ring whose bytes complain when they are read and written at once. One cell is a unit: a model
/// checker's time is better spent on the cursors.
struct Cells {
    cursors: Cursors,
    units: Vec<UnsafeCell<[u8; FRAME_UNIT]>>,
}

#[derive(Clone)]
struct LoomRing(Arc<Cells>);

impl LoomRing {
    fn new() -> Self {
        let producer = ProducerWords { produced: AtomicU64::new(0), wants_room: SleepFlag::new() };
        let cursors = Cursors { producer: Padded(producer), consumed: Padded(AtomicU64::new(0)) };
        let units = (0..CAPACITY / FRAME_UNIT).map(|_| UnsafeCell::new([0; FRAME_UNIT])).collect();
        Self(Arc::new(Cells { cursors, units }))
    }

    fn wants_room(&self) -> &SleepFlag {
        &self.0.cursors.producer.0.wants_room
    }

    fn ends(&self, direction: RingDirection) -> (Producer<Self>, Consumer<Self>) {
        let max_payload = CAPACITY / 2;
        (Producer::new(self.clone(), max_payload), Consumer::new(self.clone(), max_payload, direction))
    }
}

impl RingMemory for LoomRing {
    fn cursors(&self) -> &Cursors {
        &self.0.cursors
    }

    fn capacity(&self) -> usize {
        CAPACITY
    }

    fn write(&self, at: usize, bytes: &[u8]) {
        for (idx, unit) in bytes.chunks(FRAME_UNIT).enumerate() {
            self.0.units[at / FRAME_UNIT + idx].with_mut(|cell| {
                // SAFETY: loom has checked that no other thread looks at this cell; `unit` is a chunk of at
                // most its size.
                unsafe { (&mut *cell)[..unit.len()].copy_from_slice(unit) };
            });
        }
    }

    fn read(&self, at: usize, len: usize, out: &mut Vec<u8>) {
        let wanted = out.len() + len;
        let mut idx = at / FRAME_UNIT;
        while out.len() < wanted {
            out.extend_from_slice(&self.read_head(idx * FRAME_UNIT));
            idx += 1;
        }
        out.truncate(wanted);
    }

    fn read_head(&self, at: usize) -> [u8; FRAME_UNIT] {
        // SAFETY: loom has checked that no thread writes this cell.
        self.0.units[at / FRAME_UNIT].with(|cell| unsafe { *cell })
    }
}

/// An eventfd in an edge-triggered epoll: an edge that comes before the sleep ends it at once.
#[derive(Default)]
struct Eventfd {
    edges: Mutex<usize>,
    changed: Condvar,
}

impl Eventfd {
    fn notify(&self) {
        *self.edges.lock().unwrap() += 1;
        self.changed.notify_one();
    }

    fn epoll_wait(&self) {
        let mut edges = self.edges.lock().unwrap();
        while *edges == 0 {
            edges = self.changed.wait(edges).unwrap();
        }
        *edges = 0;
    }
}

/// A frame from a worker.
fn data(request: u32) -> FrameHead {
    FrameHead::new(FrameKind::Data, Lane(0), RequestId(request))
}

/// A frame to a worker, for the one slot of the models.
fn request(ticket: SubmissionTicket) -> FrameHead {
    let slot = RequestSlot::new(0).expect("there are more");
    FrameHead::new(FrameKind::Request, Lane(0), RequestId(7)).with_aux(slot::pack(slot, ticket))
}

const PAYLOAD: [u8; FRAME_UNIT] = *b"0123456789abcdef";

fn push(producer: &mut Producer<LoomRing>, head: FrameHead) -> Result<(), SendError> {
    producer.push(head, &[&PAYLOAD], 0)
}

/// Takes the next frame, if any, and checks that it is this one.
fn pop(consumer: &mut Consumer<LoomRing>, wanted: FrameHead) -> bool {
    let mut payload = Vec::new();
    let Some(head) = consumer.recv(&mut payload).expect("no side is hostile here") else { return false };
    assert_eq!(head, FrameHead { len: FRAME_UNIT as u32, ..wanted });
    assert_eq!(payload, PAYLOAD);
    true
}

/// Explores what two threads can do with five preemptions; bounds keep the models at a few seconds in all.
fn model(check: impl Fn() + Send + Sync + 'static) {
    explore(5, check);
}

/// Explores what three threads can do with three preemptions.
fn model_of_three(check: impl Fn() + Send + Sync + 'static) {
    explore(3, check);
}

fn explore(preemption_bound: usize, check: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemption_bound);
    builder.check(check);
}

#[test]
fn frames_are_whole_and_in_order_across_the_end() {
    model(|| {
        let (mut producer, mut consumer) = LoomRing::new().ends(RingDirection::FromWorker);
        let sender = thread::spawn(move || {
            for request in 0..3 {
                while push(&mut producer, data(request)) == Err(SendError::Full) {
                    thread::yield_now();
                }
            }
        });
        for request in 0..3 {
            while !pop(&mut consumer, data(request)) {
                thread::yield_now();
            }
        }
        sender.join().unwrap();
    });
}

#[test]
fn a_ring_begins_anew_only_when_nobody_reads_it() {
    model(|| {
        let (producer, mut consumer) = LoomRing::new().ends(RingDirection::ToWorker);
        let mut producer = producer.with_home(3 * FRAME_UNIT);
        let credit = |request| FrameHead::new(FrameKind::Credit, Lane(0), RequestId(request));
        let sender = thread::spawn(move || {
            for request in 0..5 {
                while producer.push(credit(request), &[], 0) == Err(SendError::Full) {
                    thread::yield_now();
                }
            }
        });
        let mut payload = Vec::new();
        for request in 0..5 {
            let head = loop {
                match consumer.recv(&mut payload).expect("no side is hostile here") {
                    Some(head) => break head,
                    None => thread::yield_now(),
                }
            };
            assert_eq!(head, credit(request));
        }
        sender.join().unwrap();
    });
}

#[test]
fn a_sleeping_worker_is_woken_by_a_frame() {
    model(|| {
        let sleeping = Arc::new(SleepFlag::new());
        let tickets = [SubmissionTicket::FIRST, SubmissionTicket::FIRST.next()];
        let (mut producer, mut consumer) = LoomRing::new().ends(RingDirection::ToWorker);
        let router = thread::spawn({
            let sleeping = Arc::clone(&sleeping);
            move || {
                for ticket in tickets {
                    push(&mut producer, request(ticket)).expect("two frames fit");
                    sleeping.wake();
                }
            }
        });
        for ticket in tickets {
            while !pop(&mut consumer, request(ticket)) {
                sleeping.sleep_unless(None, || consumer.has_frames());
            }
        }
        router.join().unwrap();
    });
}

#[test]
fn a_worker_that_waits_for_room_is_woken_by_the_reader() {
    model(|| {
        let ring = LoomRing::new();
        let sleeping = Arc::new(SleepFlag::new());
        let (mut producer, mut consumer) = ring.ends(RingDirection::FromWorker);
        for request in 0..2 {
            push(&mut producer, data(request)).expect("two frames fit");
        }
        let event_loop = thread::spawn({
            let (ring, sleeping) = (ring.clone(), Arc::clone(&sleeping));
            move || {
                for request in 0..2 {
                    assert!(pop(&mut consumer, data(request)));
                    if sleep::is_room_wanted(ring.wants_room()) {
                        sleeping.wake();
                    }
                }
            }
        });
        for request in 2..4 {
            while push(&mut producer, data(request)) == Err(SendError::Full) {
                sleep::sleep_for_room(&sleeping, ring.wants_room(), None, || {
                    producer.is_worth_trying(FRAME_UNIT)
                });
            }
        }
        event_loop.join().unwrap();
    });
}

#[test]
fn a_worker_that_waits_for_room_is_woken_by_a_frame_too() {
    model_of_three(|| {
        let (lane, requests) = (LoomRing::new(), LoomRing::new());
        let sleeping = Arc::new(SleepFlag::new());
        let (mut lane_producer, mut lane_consumer) = lane.ends(RingDirection::FromWorker);
        let (mut request_producer, mut request_consumer) = requests.ends(RingDirection::ToWorker);
        for request in 0..2 {
            push(&mut lane_producer, data(request)).expect("two frames fit");
        }
        let pool = thread::spawn({
            let sleeping = Arc::clone(&sleeping);
            move || {
                push(&mut request_producer, request(SubmissionTicket::FIRST)).expect("two frames fit");
                sleeping.wake();
            }
        });
        let event_loop = thread::spawn({
            let (lane, sleeping) = (lane.clone(), Arc::clone(&sleeping));
            move || {
                assert!(pop(&mut lane_consumer, data(0)));
                if sleep::is_room_wanted(lane.wants_room()) {
                    sleeping.wake();
                }
            }
        });
        // It wants both, and whichever comes second must wake it too.
        let (mut received, mut sent) = (false, false);
        while !(received && sent) {
            received |= !received && pop(&mut request_consumer, request(SubmissionTicket::FIRST));
            sent |= !sent && push(&mut lane_producer, data(2)).is_ok();
            let ready =
                || !received && request_consumer.has_frames() || !sent && lane_producer.is_worth_trying(16);
            if !(received && sent) {
                sleep::sleep_for_room(&sleeping, lane.wants_room(), None, ready);
            }
        }
        pool.join().unwrap();
        event_loop.join().unwrap();
    });
}

#[test]
fn a_sleeping_event_loop_is_woken_by_two_workers() {
    model_of_three(|| {
        let bell = Arc::new((SleepFlag::new(), Eventfd::default()));
        let mut consumers = Vec::new();
        let mut workers = Vec::new();
        for _ in 0..2 {
            let (mut producer, consumer) = LoomRing::new().ends(RingDirection::FromWorker);
            consumers.push((consumer, false));
            let bell = Arc::clone(&bell);
            workers.push(thread::spawn(move || {
                push(&mut producer, data(0)).expect("two frames fit");
                if bell.0.claim() {
                    bell.1.notify();
                }
            }));
        }
        while !consumers.iter().all(|(_, done)| *done) {
            for (consumer, done) in &mut consumers {
                *done |= pop(consumer, data(0));
            }
            bell.0.announce();
            if !consumers.iter().all(|(consumer, done)| *done || !consumer.has_frames()) {
                bell.0.cancel();
            } else if !consumers.iter().all(|(_, done)| *done) {
                bell.1.epoll_wait();
                bell.0.cancel();
            }
        }
        for worker in workers {
            worker.join().unwrap();
        }
    });
}

#[test]
fn one_side_gets_a_queued_request() {
    model(|| {
        let slot = Arc::new(SlotWord::new());
        let ticket = SubmissionTicket::FIRST.next();
        slot.queue(ticket);
        let worker = thread::spawn({
            let slot = Arc::clone(&slot);
            move || slot.start(ticket)
        });
        let taken_back = slot.take_back(ticket);
        let started = worker.join().unwrap();
        assert!(taken_back != started);
        assert_eq!(slot.is(ticket, SlotState::Started), started);
    });
}

#[test]
fn a_slot_used_again_starts_the_new_request_only() {
    model(|| {
        let slot = Arc::new(SlotWord::new());
        let (old, new) = (SubmissionTicket::FIRST, SubmissionTicket::FIRST.next());
        let (mut producer, mut consumer) = LoomRing::new().ends(RingDirection::ToWorker);
        slot.queue(old);
        push(&mut producer, request(old)).expect("two frames fit");
        let worker = thread::spawn({
            let slot = Arc::clone(&slot);
            move || {
                let old_started = pop(&mut consumer, request(old)) && slot.start(old);
                let new_started = pop(&mut consumer, request(new)) && slot.start(new);
                (old_started, new_started, consumer)
            }
        });
        let taken_back = slot.take_back(old);
        if taken_back {
            slot.queue(new);
            push(&mut producer, request(new)).expect("two frames fit");
        }
        let (old_started, new_started, mut consumer) = worker.join().unwrap();
        assert_eq!(old_started, !taken_back);
        let new_started = new_started || pop(&mut consumer, request(new)) && slot.start(new);
        assert_eq!(new_started, taken_back);
    });
}
