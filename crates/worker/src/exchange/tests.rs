//! Requests over a real channel, both ends of it in this process.

mod body;
mod client;
mod handover;
mod leaving;
mod response;

use std::thread;

use corral_channel::message::{self, RequestHead};
use corral_channel::{
    Lane, LaneReceiver, RequestId, RequestSlot, WorkerBell, WorkerDescriptors, WorkerEnd, WorkerPort,
    file_sockets,
};
use rustix::process::{Pid, getppid};

use super::*;
use crate::inbox::{Inbox, NextRequest, ReceivedRequest};
use crate::setup::WorkerSetup;

const LANE: Lane = Lane(0);
const CREDIT: usize = corral_channel::INITIAL_CREDIT as usize;

/// The router's end of a channel.
struct Router {
    port: WorkerPort,
    lane: LaneReceiver,
    n_requests: u32,
}

fn channel() -> (Router, Inbox) {
    channel_of_child_of(getppid().expect("a test has a parent"))
}

fn channel_of_child_of(parent: Pid) -> (Router, Inbox) {
    let (bell, _) = WorkerBell::create(1).unwrap();
    let (end, memory) = WorkerEnd::create(&bell).unwrap();
    let (sender, files) = file_sockets().unwrap();
    let end = end.with_files(Some(sender));
    let beside = WorkerDescriptors { bell: None, files: Some(files) };
    let (port, mut lanes) = WorkerPort::map_with(memory, beside, bell.shape()).unwrap();
    let router = Router { port, lane: lanes.remove(0), n_requests: 0 };
    (router, Inbox::new(WorkerSetup { end, parent, report: None, doorbell: None }))
}

impl Router {
    fn submit(&mut self, method: &str, body: &[u8], body_complete: bool) -> RequestId {
        let id = RequestId(self.n_requests);
        let slot = RequestSlot::new(self.n_requests as usize).unwrap();
        self.n_requests += 1;
        let head = RequestHead { method: method.as_bytes(), body_complete, ..RequestHead::default() };
        let mut payload = vec![];
        message::encode_request(&mut payload, &head, []);
        self.port.submit(slot, id, LANE, &[&payload, body]).unwrap();
        self.port.wake();
        id
    }

    fn take_back(&self, id: RequestId) -> bool {
        self.port.take_back(RequestSlot::new(id.0 as usize).unwrap(), id, LANE)
    }

    /// The next frame as text: kind, flags, `aux` or body length.
    fn next(&mut self) -> Option<String> {
        let mut payload = vec![];
        let head = self.lane.recv(&mut payload).unwrap()?;
        let mut text = format!("{:?}", head.kind);
        let file = self.take_file(&head, &mut payload);
        if matches!(head.kind, FrameKind::Response | FrameKind::Informational) {
            let (view, offset) = message::decode_response(&payload).unwrap();
            text += &format!(" {}", view.status);
            payload.drain(..offset);
        }
        text += &file;
        for (flag, name) in [(Flags::END, " end"), (Flags::DONE, " done"), (Flags::LAST, " last")] {
            if head.flags.contains(flag) {
                text += name;
            }
        }
        match payload.len() as u32 + head.aux {
            0 => Some(text),
            number => Some(format!("{text} {number}")),
        }
    }

    /// Describes the file of a frame, which is taken out of it.
    fn take_file(&self, head: &FrameHead, payload: &mut Vec<u8>) -> String {
        if !head.flags.contains(Flags::FILE) {
            return String::new();
        }
        let (n_before, part) = message::split_file(payload).unwrap();
        payload.truncate(n_before);
        let file = self.lane.take_file(part.number).unwrap().unwrap();
        format!(" file {}+{} of {}", part.offset, part.len, file.size)
    }

    fn frames(&mut self) -> Vec<String> {
        std::iter::from_fn(|| self.next()).collect()
    }

    /// Waits for a frame.
    fn wait(&mut self) -> String {
        loop {
            if let Some(frame) = self.next() {
                self.lane.wake_producer();
                return frame;
            }
            thread::yield_now();
        }
    }
}

#[track_caller]
fn next(inbox: &mut Inbox) -> ReceivedRequest {
    match inbox.next() {
        NextRequest::Serve(received) => received,
        NextRequest::Leave => panic!("the worker leaves"),
    }
}

/// Answers the next request as `script` says.
fn serve(inbox: &mut Inbox, after: After, script: impl FnOnce(&mut RunningRequest<'_, Inbox>)) {
    let received = next(inbox);
    let (frame, payload) = inbox.begin(received);
    let view = message::decode_request(&payload).unwrap();
    let mut out = vec![];
    let mut running = RunningRequest::new(inbox, frame, &view, &mut out);
    script(&mut running);
    running.conclude(after, Duration::ZERO);
    inbox.end(&frame, payload);
}

/// Checks the frames that come of a response to a request without a body.
#[track_caller]
fn check(method: &str, script: impl FnOnce(&mut RunningRequest<'_, Inbox>), expected: &[&str]) {
    let (mut router, mut inbox) = channel();
    router.submit(method, b"", true);
    serve(&mut inbox, After::Another, script);
    assert_eq!(router.frames(), expected);
}
