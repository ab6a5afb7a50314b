//! Whether a daemon answers while it is attacked: main, which is asked for the status, and each event loop.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::client::Client;
use crate::control::ControlClient;
use crate::daemon::Daemon;
use crate::processes::held_up;
use crate::request::Request;

/// An answer that comes within this time is prompt, but for what the machine has held up: the time in which a process
/// that takes part was ready to run, and others had the processors.
const PROMPT: Duration = Duration::from_millis(50);

/// Disks and virtual machines are late now and then, too; a loop that is held up answers nothing in time for as long as
/// that lasts. The kernel shares processors among sessions, of which each process of the daemon has its own: beside a
/// flood, one of two processors may go to another session for more than a second.
const LONGEST_LAPSE: Duration = Duration::from_secs(3);

/// More connections than event loops, so that each loop has some: the kernel deals them out by chance.
const N_CONNECTIONS: usize = 12;

const PAUSE: Duration = Duration::from_millis(10);

/// Asks again and again until [`Watchdog::expect_prompt`].
#[derive(Debug)]
pub struct Watchdog {
    is_over: Arc<AtomicBool>,
    askers: Vec<JoinHandle<Lapse>>,
}

/// The longest time without a prompt answer.
#[derive(Debug)]
struct Lapse {
    of: String,
    longest: Duration,
}

impl Watchdog {
    /// Begins. The router answers `GET /` by itself.
    #[must_use]
    pub fn of(daemon: &Daemon) -> Self {
        let is_over = Arc::new(AtomicBool::new(false));
        let routers = daemon.named("router");
        let all = [vec![daemon.pid()], daemon.named("controller"), routers.clone()].concat();
        let mut askers = vec![ask_main(daemon.control(), all, Arc::clone(&is_over))];
        let address = daemon.address().socket();
        askers.extend(
            (0..N_CONNECTIONS).map(|n| ask_router(n, address, routers.clone(), Arc::clone(&is_over))),
        );
        Self { is_over, askers }
    }

    /// Fails unless prompt answers came all the time: in each second at least one within 50 ms.
    #[track_caller]
    pub fn expect_prompt(self) {
        self.is_over.store(true, Ordering::Relaxed);
        for asker in self.askers {
            let Lapse { of, longest } = asker.join().expect("each question is answered");
            assert!(longest <= LONGEST_LAPSE, "no prompt answer of {of} for {longest:?}");
        }
    }
}

/// The status goes from the controller through main to each event loop and back.
fn ask_main(control: ControlClient, asked: Vec<u32>, is_over: Arc<AtomicBool>) -> JoinHandle<Lapse> {
    thread::spawn(move || {
        ask("main", &asked, &is_over, || {
            let reply = control.try_send(&Request::get("/status")).expect("the control API answers");
            reply.0.expect(200);
        })
    })
}

fn ask_router(n: usize, address: SocketAddr, asked: Vec<u32>, is_over: Arc<AtomicBool>) -> JoinHandle<Lapse> {
    thread::spawn(move || {
        let mut client = Client::connect(address);
        ask(&format!("the router on connection {n}"), &asked, &is_over, || {
            client.get("/").expect(204);
        })
    })
}

fn ask(of: &str, asked: &[u32], is_over: &AtomicBool, mut question: impl FnMut()) -> Lapse {
    let (mut last, mut longest) = (Instant::now(), Duration::ZERO);
    loop {
        let (begin, before) = (Instant::now(), held_up(asked));
        question();
        let took = begin.elapsed();
        // The delay of a prompt answer need not be looked at.
        if took <= PROMPT || took <= PROMPT + held_up(asked).saturating_sub(before) {
            longest = longest.max(last.elapsed());
            last = Instant::now();
        }
        if is_over.load(Ordering::Relaxed) {
            return Lapse { of: of.to_owned(), longest: longest.max(last.elapsed()) };
        }
        thread::sleep(PAUSE);
    }
}
