//! Cost of a round trip through the channel: `cargo bench -p corral-channel`.
//!
//! A router and a worker, two processes over a real memfd, each on a CPU of its own where there are
//! two. A round trip is two messages: a request and its response. System calls are counted where they
//! are made: the channel says of each wait and wake-up whether it took one, and the event loop counts
//! its epoll_wait; `strace -f -c` agrees.

use std::hint;
use std::os::fd::OwnedFd;
use std::time::Duration;

use corral_channel::{
    Bell, ChannelShape, Flags, FrameHead, FrameKind, Lane, LaneReceiver, RequestId, RequestSlot, WorkerBell,
    WorkerEnd, WorkerPort,
};
use corral_sys::spawn::{self, Fork};
use rustix::event::epoll;
use rustix::thread::CpuSet;
use rustix::time::ClockId;

const LANE: Lane = Lane(0);
const SHAPE: ChannelShape = ChannelShape { n_lanes: 1 };
const N_ROUNDS: usize = 5;

/// Behaviour of a side that has nothing to receive.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Idle {
    Spins,
    Sleeps,
}

struct Case {
    name: &'static str,
    router: Idle,
    worker: Idle,
    /// Requests on their way besides the one whose response is awaited.
    n_ahead: u32,
    request_len: usize,
    response_len: usize,
    n_trips: u32,
}

const CASES: [Case; 9] = {
    use Idle::{Sleeps, Spins};
    const fn case(name: &'static str, router: Idle, worker: Idle, n_ahead: u32, n_trips: u32) -> Case {
        Case { name, router, worker, n_ahead, request_len: 600, response_len: 250, n_trips }
    }
    [
        case("both awake, one by one", Spins, Spins, 0, 400_000),
        case("both awake, 16 ahead", Spins, Spins, 16, 800_000),
        Case { response_len: 17_890, ..case("both awake, 4 ahead, 17,890 bytes", Spins, Spins, 4, 200_000) },
        case("worker sleeps (futex)", Spins, Sleeps, 0, 60_000),
        case("router sleeps (eventfd, epoll)", Sleeps, Spins, 0, 60_000),
        case("both sleep", Sleeps, Sleeps, 0, 60_000),
        case("both may sleep, 1 ahead", Sleeps, Sleeps, 1, 60_000),
        case("both may sleep, 16 ahead", Sleeps, Sleeps, 16, 200_000),
        Case {
            response_len: 17_890,
            ..case("both may sleep, 4 ahead, 17,890 bytes", Sleeps, Sleeps, 4, 100_000)
        },
    ]
};

/// Time and system calls of one side or both, for all round trips of a round.
#[derive(Clone, Copy, Default)]
struct Cost {
    wall: Duration,
    cpu: Duration,
    n_calls: u64,
}

fn main() {
    // `cargo test --all-targets` runs this too: then it only has to work.
    let is_bench = std::env::args().any(|arg| arg == "--bench");
    let (divisor, n_rounds) = if is_bench { (1, N_ROUNDS) } else { (1000, 1) };
    println!(
        "request 600 bytes, response 250 bytes where nothing else is said; medians of {n_rounds} rounds"
    );
    println!("| case | round trips/s | ns/message | CPU ns/message, both sides | system calls/message |");
    println!("| --- | --- | --- | --- | --- |");
    print_one_thread(2_000_000 / divisor);
    for case in &CASES {
        let case = Case { n_trips: case.n_trips / divisor, ..*case };
        print_case(&case, n_rounds);
    }
}

/// Prints the instructions of publishing and receiving, with no other CPU and no other process in the way.
fn print_one_thread(n_trips: u32) {
    let (bell, mut bell_fds) = WorkerBell::create(1).expect("memory for a bell");
    let (mut worker, memory) = WorkerEnd::create(&bell).expect("memory for a worker");
    let mut router = Router::new(memory, &mut bell_fds);
    let (request, response) = (vec![1; 600], vec![2; 250]);
    let mut payload = Vec::new();
    let begun = clock(ClockId::Monotonic);
    for trip in 0..n_trips {
        router.submit(trip, &request);
        let head = worker.recv(&mut payload).expect("sound").expect("just sent");
        answer(&mut worker, &head, &response);
        router.lane.recv(&mut router.payload).expect("sound").expect("just sent");
    }
    let wall = clock(ClockId::Monotonic) - begun;
    print_row("one thread, both sides", n_trips, Cost { wall, cpu: wall, n_calls: 0 });
}

fn print_case(case: &Case, n_rounds: usize) {
    let mut costs = (0..n_rounds).map(|_| run(case)).collect::<Vec<_>>();
    costs.sort_by_key(|cost| cost.wall);
    print_row(case.name, case.n_trips, costs[n_rounds / 2]);
}

fn print_row(name: &str, n_trips: u32, cost: Cost) {
    let n_messages = f64::from(n_trips) * 2.0;
    println!(
        "| {name} | {:.0} | {:.0} | {:.0} | {:.2} |",
        f64::from(n_trips) / cost.wall.as_secs_f64(),
        cost.wall.as_secs_f64() * 1e9 / n_messages,
        cost.cpu.as_secs_f64() * 1e9 / n_messages,
        cost.n_calls as f64 / n_messages,
    );
}

/// One round: forks a worker, exchanges `n_trips` requests, adds up what both sides used.
fn run(case: &Case) -> Cost {
    let (bell, mut bell_fds) = WorkerBell::create(1).expect("memory for a bell");
    let (worker, memory) = WorkerEnd::create(&bell).expect("memory for a worker");
    let pid = match spawn::fork().expect("this process has one thread") {
        Fork::Child => {
            pin(1);
            serve(worker, case);
            std::process::exit(0);
        }
        Fork::Parent(pid) => pid,
    };
    pin(0);
    let cost = Router::new(memory, &mut bell_fds).drive(case);
    corral_sys::signal::wait_for(pid).expect("our child");
    cost
}

/// On a CPU of its own, if there is one of that number.
fn pin(cpu: usize) {
    let mut set = CpuSet::new();
    set.set(cpu);
    let _ = rustix::thread::sched_setaffinity(None, &set);
}

fn clock(id: ClockId) -> Duration {
    let now = rustix::time::clock_gettime(id);
    Duration::new(now.tv_sec as u64, now.tv_nsec as u32)
}

struct Router {
    port: WorkerPort,
    lane: LaneReceiver,
    bell: Bell,
    epoll: OwnedFd,
    payload: Vec<u8>,
    n_calls: u64,
}

impl Router {
    fn new(memory: OwnedFd, bell_fds: &mut Vec<OwnedFd>) -> Self {
        let (port, mut lanes) = WorkerPort::map(memory, SHAPE).expect("made just now");
        let eventfds = bell_fds.split_off(1);
        let bell = Bell::map(bell_fds.remove(0), eventfds, 1).expect("made just now");
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC).expect("a descriptor");
        let edges = epoll::EventFlags::IN | epoll::EventFlags::ET;
        epoll::add(&epoll, bell.eventfd(LANE).expect("it rings"), epoll::EventData::new_u64(0), edges)
            .expect("an eventfd");
        Self { port, lane: lanes.remove(0), bell, epoll, payload: Vec::new(), n_calls: 0 }
    }

    fn submit(&mut self, trip: u32, payload: &[u8]) {
        let slot = RequestSlot::new(trip as usize % 64).expect("below 64");
        self.port.submit(slot, RequestId(trip), LANE, &[payload]).expect("few are on their way");
        self.n_calls += u64::from(self.port.wake());
    }

    fn drive(mut self, case: &Case) -> Cost {
        let request = vec![1; case.request_len];
        let begun = clock(ClockId::Monotonic);
        let cpu_begun = clock(ClockId::ProcessCPUTime);
        for trip in 0..case.n_trips + case.n_ahead {
            if trip < case.n_trips {
                self.submit(trip, &request);
            }
            if trip >= case.n_ahead {
                let head = self.recv(case.router);
                assert_eq!(head.len as usize, case.response_len);
            }
        }
        let (wall, cpu) = (clock(ClockId::Monotonic) - begun, clock(ClockId::ProcessCPUTime) - cpu_begun);
        let n_calls = self.n_calls;
        self.port.quit().expect("the ring is empty");
        self.port.wake();
        let worker = self.last_words();
        Cost { wall, cpu: cpu + worker.cpu, n_calls: n_calls + worker.n_calls }
    }

    fn recv(&mut self, idle: Idle) -> FrameHead {
        loop {
            if let Some(head) = self.lane.recv(&mut self.payload).expect("sound") {
                self.n_calls += u64::from(self.lane.wake_producer());
                return head;
            }
            match idle {
                Idle::Spins => hint::spin_loop(),
                Idle::Sleeps => self.sleep(),
            }
        }
    }

    fn sleep(&mut self) {
        self.bell.announce_sleep(LANE);
        if !self.lane.has_frames() {
            let mut events = Vec::with_capacity(1);
            epoll::wait(&self.epoll, rustix::buffer::spare_capacity(&mut events), None).expect("an epoll");
            self.n_calls += 1;
        }
        self.bell.cancel_sleep(LANE);
    }

    /// The worker's side of the bill, see `serve`.
    fn last_words(&mut self) -> Cost {
        self.recv(Idle::Sleeps);
        let number =
            |at: usize| u64::from_ne_bytes(self.payload[at..at + 8].try_into().expect("eight bytes"));
        Cost { wall: Duration::ZERO, cpu: Duration::from_nanos(number(0)), n_calls: number(8) }
    }
}

/// The worker: answers until it has to quit, then sends what it used.
fn serve(mut worker: WorkerEnd, case: &Case) {
    let response = vec![2; case.response_len];
    let mut payload = Vec::new();
    let mut n_calls = 0;
    let begun = clock(ClockId::ProcessCPUTime);
    loop {
        let Some(head) = worker.recv(&mut payload).expect("sound") else {
            match case.worker {
                Idle::Spins => hint::spin_loop(),
                Idle::Sleeps => n_calls += u64::from(worker.wait(None)),
            }
            continue;
        };
        if head.kind == FrameKind::Quit {
            break;
        }
        n_calls += u64::from(answer(&mut worker, &head, &response));
    }
    let cpu = clock(ClockId::ProcessCPUTime) - begun;
    let words = [(cpu.as_nanos() as u64).to_ne_bytes(), u64::to_ne_bytes(n_calls)].concat();
    worker.send(FrameHead::new(FrameKind::Finished, LANE, RequestId(0)), &[&words]).expect("all was read");
    worker.ring(LANE);
}

/// Answers as a blocking runtime does; true if that took a system call.
fn answer(worker: &mut WorkerEnd, request: &FrameHead, response: &[u8]) -> bool {
    assert!(worker.start(request));
    let flags = Flags::END | Flags::DONE;
    let head = FrameHead::new(FrameKind::Response, request.lane, request.request).with_flags(flags);
    worker.send(head, &[response]).expect("few are on their way");
    worker.ring(request.lane)
}
