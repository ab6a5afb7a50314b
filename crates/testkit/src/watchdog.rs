//! Whether a daemon answers while it is attacked: main, which is asked for the status, and each event loop.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::client::{Client, Request};
use crate::control::ControlClient;
use crate::daemon::Daemon;

/// An answer that comes within this time is prompt.
const PROMPT: Duration = Duration::from_millis(50);

/// A machine that has other things to do answers late now and then; one that is held up answers nothing in time for as
/// long as that lasts.
const LONGEST_LAPSE: Duration = Duration::from_millis(1500);

/// More connections than event loops, so that each loop has some: the kernel deals them out by chance.
const N_CONNECTIONS: usize = 12;

const PAUSE: Duration = Duration::from_millis(10);

/// Asks again and again until [`Watchdog::expect_prompt`].
#[derive(Debug)]
pub struct Watchdog {
    is_over: Arc<AtomicBool>,
    askers: Vec<JoinHandle<Lapse>>,
}

/// The longest time in which nobody had a prompt answer.
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
        let mut askers = vec![ask_main(daemon.control(), Arc::clone(&is_over))];
        let address = daemon.address().socket();
        askers.extend((0..N_CONNECTIONS).map(|n| ask_router(n, address, Arc::clone(&is_over))));
        Self { is_over, askers }
    }

    /// Fails unless prompt answers came all the time: in each stretch of 1.5 s at least one within 50 ms.
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
fn ask_main(control: ControlClient, is_over: Arc<AtomicBool>) -> JoinHandle<Lapse> {
    thread::spawn(move || {
        ask("main", &is_over, || {
            let reply = control.try_send(&Request::get("/status")).expect("the control API answers");
            reply.0.expect(200);
        })
    })
}

fn ask_router(n: usize, address: SocketAddr, is_over: Arc<AtomicBool>) -> JoinHandle<Lapse> {
    thread::spawn(move || {
        let mut client = Client::connect(address);
        ask(&format!("the router on connection {n}"), &is_over, || {
            client.get("/").expect(204);
        })
    })
}

fn ask(of: &str, is_over: &AtomicBool, mut question: impl FnMut()) -> Lapse {
    let (mut last, mut longest) = (Instant::now(), Duration::ZERO);
    loop {
        let begin = Instant::now();
        question();
        if begin.elapsed() <= PROMPT {
            longest = longest.max(last.elapsed());
            last = Instant::now();
        }
        if is_over.load(Ordering::Relaxed) {
            return Lapse { of: of.to_owned(), longest: longest.max(last.elapsed()) };
        }
        thread::sleep(PAUSE);
    }
}
