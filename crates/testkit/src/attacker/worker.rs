//! A worker in the hands of a test: its end of the channel is in the process of the test.

use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use corral_channel::message::decode_request;
use corral_channel::{Flags, FrameHead, FrameKind, WorkerBell, WorkerEnd};
use corral_ipc::message::WorkerId;

use super::prototype::Child;
use crate::wait::PATIENCE;

/// How often a worker that waits for requests looks at something else.
const LOOK: Duration = Duration::from_millis(20);

/// A worker that main and the router know.
#[derive(Debug)]
pub struct Worker {
    /// The worker's number.
    pub id: WorkerId,
    /// The process that is said to be it.
    pub child: Child,
    /// The worker's end of the channel.
    pub end: WorkerEnd,
}

impl Worker {
    pub(super) fn new(id: WorkerId, child: Child, bell: &WorkerBell) -> (Self, OwnedFd) {
        let (end, memory) = WorkerEnd::create(bell).expect("make a channel");
        (Self { id, child, end }, memory)
    }

    /// Waits for a request, and starts it.
    #[must_use]
    #[track_caller]
    pub fn request(&mut self) -> FrameHead {
        self.request_and_target().0
    }

    /// The same, with the request's target.
    #[must_use]
    #[track_caller]
    pub fn request_and_target(&mut self) -> (FrameHead, Vec<u8>) {
        let mut payload = Vec::new();
        loop {
            match self.end.recv(&mut payload).expect("the router keeps to the rules") {
                Some(head) if head.kind == FrameKind::Request => {
                    assert!(self.end.start(&head), "nobody took it back");
                    let request = decode_request(&payload).expect("the router keeps to the rules");
                    return (head, request.head.target.to_vec());
                }
                Some(_) => {}
                None => assert!(self.end.wait(Some(PATIENCE)), "no request comes"),
            }
        }
    }

    /// Answers every request until `is_over` is set, or the other end is closed.
    pub fn answer_until(&mut self, is_over: &AtomicBool) {
        let (mut payload, deadline) = (Vec::new(), Instant::now() + PATIENCE);
        while !is_over.load(Ordering::Relaxed) && Instant::now() < deadline {
            match self.end.recv(&mut payload) {
                Ok(Some(head)) if head.kind == FrameKind::Request && self.end.start(&head) => {
                    self.answer(&head);
                }
                Ok(Some(_)) => {}
                Ok(None) => {
                    self.end.wait(Some(LOOK));
                }
                Err(error) => panic!("the router keeps to the rules: {error}"),
            }
        }
    }

    /// Answers a request with 200 and nothing else.
    #[track_caller]
    pub fn answer(&mut self, request: &FrameHead) {
        let mut head = Vec::new();
        corral_channel::message::encode_response(&mut head, 200, []);
        let frame = FrameHead::new(FrameKind::Response, request.lane, request.request)
            .with_flags(Flags::END | Flags::DONE);
        self.end.send(frame, &[&head]).expect("there is room");
        self.end.ring(request.lane);
    }
}
