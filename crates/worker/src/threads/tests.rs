//! Several requests at once over a real channel, the router's end of it in this process.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Barrier;
use std::time::Instant;

use corral_channel::message::{self, RequestHead, RequestView};
use corral_channel::{
    Flags, FrameKind, Lane, LaneReceiver, RequestId, RequestSlot, WorkerBell, WorkerDescriptors, WorkerEnd,
    WorkerPort, file_sockets,
};
use rustix::process::getppid;

use super::*;
use crate::runtime::{Exchange, RequestEnd};
use crate::setup::WorkerSetup;

const LANE: Lane = Lane(0);
const DEADLINE: Duration = Duration::from_secs(30);

struct Router {
    port: WorkerPort,
    lane: LaneReceiver,
    n_requests: u32,
}

impl Router {
    fn submit(&mut self, path: &[u8], body_complete: bool) -> RequestId {
        let id = RequestId(self.n_requests);
        let slot = RequestSlot::new(self.n_requests as usize % 64).unwrap();
        self.n_requests += 1;
        let head = RequestHead { method: b"GET", path, body_complete, ..RequestHead::default() };
        let mut payload = vec![];
        message::encode_request(&mut payload, &head, []);
        self.port.submit(slot, id, LANE, &[&payload]).unwrap();
        self.port.wake();
        id
    }

    /// Waits for a frame of this kind, past requests for more of a body.
    #[track_caller]
    fn wait(&mut self, kind: FrameKind) -> (FrameHead, Vec<u8>) {
        let begun = Instant::now();
        let mut payload = vec![];
        loop {
            if let Some(head) = self.lane.recv(&mut payload).unwrap() {
                self.lane.wake_producer();
                if head.kind == FrameKind::BodyCredit && kind != head.kind {
                    continue;
                }
                assert_eq!(head.kind, kind);
                return (head, payload);
            }
            assert!(begun.elapsed() < DEADLINE, "no {kind:?} comes");
            thread::yield_now();
        }
    }

    fn quit(&mut self) {
        self.port.quit().unwrap();
        self.port.wake();
    }
}

/// The scripted behaviour of requests, by their paths.
struct Scripts {
    threads: Threads,
    barrier: Barrier,
}

impl WorkerThreads for Scripts {
    fn run(&mut self, life: &dyn ThreadLoop) {
        self.threads.run(|| life.live(&mut Script(&self.barrier)));
    }
}

struct Script<'a>(&'a Barrier);

impl Server for Script<'_> {
    fn serve(&mut self, request: &RequestView<'_>, exchange: &mut dyn Exchange) -> RequestEnd {
        match request.head.path {
            b"/together" => {
                self.0.wait();
            }
            b"/leave" => return RequestEnd::Leave,
            b"/trace" => exchange.trace(b"inner()"),
            b"/hijack" => drop(exchange.hijack().unwrap()),
            b"/body" => {
                let mut buffer = [0; 100];
                while let Ok(n @ 1..) = exchange.read_body(&mut buffer) {
                    exchange.write(&buffer[..n]).unwrap();
                }
            }
            b"/long" => exchange.write(&vec![b'x'; 3 << 20]).unwrap(),
            _ => exchange.write(b"short").unwrap(),
        }
        RequestEnd::Done
    }
}

/// Runs a worker with `n` threads, of whose requests as many meet at `/together`, until `talk` has ended and it has
/// left.
fn with_worker(n: u32, n_left: Option<u32>, talk: impl FnOnce(&mut Router)) {
    let (bell, _) = WorkerBell::create(1).unwrap();
    let (end, memory) = WorkerEnd::create(&bell).unwrap();
    let (sender, files) = file_sockets().unwrap();
    let end = end.with_files(Some(sender));
    let beside = WorkerDescriptors { bell: None, files: Some(files) };
    let (port, mut lanes) = WorkerPort::map_with(memory, beside, bell.shape()).unwrap();
    let mut router = Router { port, lane: lanes.remove(0), n_requests: 0 };
    let parent = getppid().expect("a test has a parent");
    let threads = Threads { n: NonZeroU32::new(n).unwrap(), stack_size: None };
    let mut scripts = Scripts { threads, barrier: Barrier::new(n as usize) };
    thread::scope(|scope| {
        scope.spawn(|| {
            let inbox = Inbox::new(WorkerSetup { end, parent, report: None, doorbell: None });
            run(inbox, &mut scripts, n_left);
        });
        let talked = catch_unwind(AssertUnwindSafe(|| talk(&mut router)));
        if talked.is_err() {
            // The worker's threads would be waited for.
            router.quit();
        }
        talked.unwrap_or_else(|panic| resume_unwind(panic));
    });
}

#[test]
fn a_request_says_where_it_is() {
    with_worker(2, None, |router| {
        let id = router.submit(b"/trace", true);
        let (head, text) = router.wait(FrameKind::Trace);
        assert_eq!((head.request, &*text), (id, &b"inner()"[..]));
        router.wait(FrameKind::Response);
        router.quit();
    });
}

#[test]
fn as_many_requests_run_at_once_as_there_are_threads() {
    with_worker(4, None, |router| {
        for _ in 0..200 {
            for _ in 0..4 {
                router.submit(b"/together", true);
            }
            let mut ids: Vec<_> = (0..4).map(|_| router.wait(FrameKind::Response).0.request.0).collect();
            ids.sort_unstable();
            assert_eq!(ids, (router.n_requests - 4..router.n_requests).collect::<Vec<_>>());
        }
        router.quit();
    });
}

/// Threads that have nothing more to do wait for the word that no connection that was taken over is left.
#[test]
fn a_worker_stays_for_what_it_has_taken_over() {
    with_worker(3, Some(2), |router| {
        router.submit(b"/hijack", true);
        router.wait(FrameKind::Hijacked);
        router.wait(FrameKind::Finished);
        router.submit(b"/", true);
        let (head, _) = router.wait(FrameKind::Response);
        assert!(head.flags.contains(Flags::LAST));
        router.quit();
    });
}

#[test]
fn sleepers_are_woken_one_request_after_the_other() {
    with_worker(3, None, |router| {
        for _ in 0..2000 {
            let id = router.submit(b"/", true);
            let (head, _) = router.wait(FrameKind::Response);
            assert_eq!((head.request, head.flags), (id, Flags::END | Flags::DONE));
        }
        router.quit();
    });
}

#[test]
fn bodies_come_to_their_requests_while_others_run_and_sleep() {
    with_worker(3, None, |router| {
        let ids: Vec<_> = (0..2).map(|_| router.submit(b"/body", false)).collect();
        for _ in 0..2 {
            router.wait(FrameKind::BodyCredit);
        }
        for round in 0..100_u8 {
            // The third thread comes and goes.
            let other = router.submit(b"/", true);
            assert_eq!(router.wait(FrameKind::Response).0.request, other);
            for id in &ids {
                router.port.body(*id, LANE, &[round], round == 99).unwrap();
            }
            router.port.wake();
        }
        let answers: Vec<_> = (0..2).map(|_| router.wait(FrameKind::Response).1).collect();
        let expected: Vec<u8> = (0..100).collect();
        for answer in answers {
            let (_, offset) = message::decode_response(&answer).unwrap();
            assert_eq!(answer[offset..], expected);
        }
        router.quit();
    });
}

#[test]
fn long_responses_wait_for_credit_each_on_its_own() {
    with_worker(2, None, |router| {
        let ids = [router.submit(b"/long", true), router.submit(b"/long", true)];
        let mut n_received = [0_usize; 2];
        let mut payload = vec![];
        let begun = Instant::now();
        let mut n_done = 0;
        while n_done < 2 {
            assert!(begun.elapsed() < DEADLINE, "{n_received:?}");
            let Some(head) = router.lane.recv(&mut payload).unwrap() else {
                router.lane.wake_producer();
                thread::yield_now();
                continue;
            };
            let idx = usize::from(head.request == ids[1]);
            n_received[idx] += payload.len();
            n_done += usize::from(head.flags.contains(Flags::DONE));
            if !head.flags.contains(Flags::DONE) {
                router.port.credit(head.request, LANE, payload.len() as u32).unwrap();
                router.port.wake();
            }
        }
        assert!(n_received.iter().all(|n| *n >= 3 << 20), "{n_received:?}");
        router.quit();
    });
}

#[test]
fn all_threads_leave_after_the_last_request() {
    with_worker(3, Some(5), |router| {
        let flags: Vec<_> = (0..5)
            .map(|_| {
                router.submit(b"/", true);
                router.wait(FrameKind::Response).0.flags
            })
            .collect();
        assert_eq!(flags[4], Flags::END | Flags::DONE | Flags::LAST);
        assert!(flags[..4].iter().all(|flags| !flags.contains(Flags::LAST)));
    });
}

#[test]
fn all_threads_leave_when_one_request_says_so() {
    with_worker(3, None, |router| {
        router.submit(b"/leave", true);
        assert!(router.wait(FrameKind::Response).0.flags.contains(Flags::LAST));
    });
}
