//! The channel between two sides that really sleep: threads with a mapping each, then two processes.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail like the tests")]

use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::process::Command;
use std::thread;

use corral_channel::{
    Bell, ChannelShape, Flags, FrameHead, FrameKind, Lane, LaneReceiver, RequestId, RequestSlot, SendError,
    WorkerBell, WorkerEnd, WorkerPort,
};
use rustix::event::epoll;

const LANE: Lane = Lane(0);
const SHAPE: ChannelShape = ChannelShape { n_lanes: 1 };
const ENV: &str = "CORRAL_TEST_DESCRIPTORS";

/// The router's side of one worker, with an event loop around it.
struct Router {
    port: WorkerPort,
    lane: LaneReceiver,
    bell: Bell,
    epoll: OwnedFd,
    payload: Vec<u8>,
}

impl Router {
    fn new(worker: OwnedFd, mut bell: Vec<OwnedFd>) -> Self {
        let (port, mut lanes) = WorkerPort::map(worker, SHAPE).unwrap();
        let eventfds = bell.split_off(1);
        let bell = Bell::map(bell.remove(0), eventfds, 1).unwrap();
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC).unwrap();
        let edges = epoll::EventFlags::IN | epoll::EventFlags::ET;
        epoll::add(&epoll, bell.eventfd(LANE).unwrap(), epoll::EventData::new_u64(0), edges).unwrap();
        Self { port, lane: lanes.remove(0), bell, epoll, payload: Vec::new() }
    }

    /// The next frame, however long it takes.
    fn recv(&mut self) -> FrameHead {
        loop {
            if let Some(head) = self.lane.recv(&mut self.payload).unwrap() {
                self.lane.wake_producer();
                return head;
            }
            self.bell.announce_sleep(LANE);
            if !self.lane.has_frames() {
                let mut events = Vec::with_capacity(1);
                epoll::wait(&self.epoll, rustix::buffer::spare_capacity(&mut events), None).unwrap();
            }
            self.bell.cancel_sleep(LANE);
        }
    }

    /// Submits payloads of all sizes and checks that each comes back, with `n_ahead` in flight.
    fn exchange(&mut self, n_requests: u32, n_ahead: u32) {
        for request in 0..n_requests + n_ahead {
            if request < n_requests {
                let slot = RequestSlot::new(request as usize % 64).unwrap();
                self.port.submit(slot, RequestId(request), LANE, &[&payload(request)]).unwrap();
                self.port.wake();
            }
            if let Some(answered) = request.checked_sub(n_ahead) {
                let head = self.recv();
                assert_eq!((head.kind, head.request), (FrameKind::Response, RequestId(answered)));
                assert!(head.flags.contains(Flags::END | Flags::DONE));
                assert_eq!(self.payload, payload(answered));
            }
        }
    }

    fn quit(&mut self) {
        self.port.quit().unwrap();
        self.port.wake();
    }
}

fn payload(request: u32) -> Vec<u8> {
    let len = (request as usize).wrapping_mul(7919) % 9000;
    (0..len).map(|idx| (idx as u32 ^ request) as u8).collect()
}

/// Answers each request with its own payload until it has to leave.
fn echo(mut worker: WorkerEnd) {
    let mut payload = Vec::new();
    loop {
        let Some(head) = worker.recv(&mut payload).unwrap() else {
            worker.wait(None);
            continue;
        };
        match head.kind {
            FrameKind::Quit => return,
            _ => assert!(worker.start(&head)),
        }
        let flags = Flags::END | Flags::DONE;
        let response = FrameHead::new(FrameKind::Response, head.lane, head.request).with_flags(flags);
        // Requests that come while there is no room stay where they are.
        while worker.send(response, &[&payload]) == Err(SendError::Full) {
            worker.ring(head.lane);
            thread::yield_now();
        }
        worker.ring(head.lane);
    }
}

#[test]
fn threads_exchange_requests_one_by_one_and_many_ahead() {
    for n_ahead in [0, 1, 15] {
        let (bell, bell_fds) = WorkerBell::create(1).unwrap();
        let (worker, worker_fd) = WorkerEnd::create(&bell).unwrap();
        let mut router = Router::new(worker_fd, bell_fds);
        thread::scope(|scope| {
            scope.spawn(|| echo(worker));
            router.exchange(3000, n_ahead);
            router.quit();
        });
    }
}

#[test]
fn a_worker_without_room_sleeps_until_the_loop_has_read() {
    let (bell, bell_fds) = WorkerBell::create(1).unwrap();
    let (mut worker, worker_fd) = WorkerEnd::create(&bell).unwrap();
    let mut router = Router::new(worker_fd, bell_fds);
    thread::scope(|scope| {
        scope.spawn(move || {
            for request in 0..500 {
                let head = FrameHead::new(FrameKind::Data, LANE, RequestId(request));
                worker.send_blocking(head, &[&[request as u8; 10_000]], |_| true).unwrap();
                worker.ring(LANE);
            }
        });
        for request in 0..500 {
            assert_eq!(router.recv().request, RequestId(request));
            assert_eq!(router.payload, [request as u8; 10_000]);
        }
    });
}

#[test]
fn a_worker_without_room_gives_up_when_told() {
    let (bell, bell_fds) = WorkerBell::create(1).unwrap();
    let (mut worker, worker_fd) = WorkerEnd::create(&bell).unwrap();
    let mut router = Router::new(worker_fd, bell_fds);
    thread::scope(|scope| {
        let sender = scope.spawn(move || {
            let head = FrameHead::new(FrameKind::Data, LANE, RequestId(1));
            let not_cancelled = |worker: &mut WorkerEnd| {
                let frame = worker.recv(&mut Vec::new()).unwrap();
                frame.is_none_or(|frame| frame.kind != FrameKind::Cancel)
            };
            while worker.send_blocking(head, &[&[0; 10_000]], not_cancelled).is_ok() {}
        });
        router.port.cancel(RequestId(1), LANE).unwrap();
        router.port.wake();
        sender.join().unwrap();
    });
}

/// The other process of `processes_exchange_requests`; does nothing when it is run by itself.
#[test]
fn router_process() {
    let Ok(descriptors) = std::env::var(ENV) else { return };
    let mut descriptors = descriptors.split(',').map(|fd| {
        let fd: RawFd = fd.parse().unwrap();
        // SAFETY: The parent left these descriptors open for us, and nothing else in this process knows them.
        unsafe { OwnedFd::from_raw_fd(fd) }
    });
    let worker = descriptors.next().unwrap();
    let mut router = Router::new(worker, descriptors.collect());
    router.exchange(3000, 1);
    router.exchange(1000, 0);
    router.quit();
}

#[test]
fn processes_exchange_requests() {
    let (bell, mut descriptors) = WorkerBell::create(1).unwrap();
    let (worker, worker_fd) = WorkerEnd::create(&bell).unwrap();
    descriptors.insert(0, worker_fd);
    for fd in &descriptors {
        rustix::io::fcntl_setfd(fd.as_fd(), rustix::io::FdFlags::empty()).unwrap();
    }
    let numbers = descriptors.iter().map(|fd| fd.as_raw_fd().to_string()).collect::<Vec<_>>();
    let mut router = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "router_process"])
        .env(ENV, numbers.join(","))
        .spawn()
        .unwrap();
    let worker = thread::spawn(|| echo(worker));
    assert!(router.wait().unwrap().success());
    worker.join().unwrap();
}
