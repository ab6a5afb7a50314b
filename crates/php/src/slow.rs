//! Has requests that run for longer than `limits.slow`, or until shortly before `limits.kill_after`, say where they
//! are: in the log, and to the router.
//!
//! A thread of the worker asks them (`shim/corral_trace.c`): the signal of a timer would end `sleep()` and other
//! waits of the script early. It sleeps while no request runs, and is there only if the limit is.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use corral_config::plan::Limits;
use corral_worker::complain;

use crate::ffi;

static STATE: Mutex<SlowState> = Mutex::new(SlowState { begun: None, n_asked: 0, sleeps: false });

/// A request has begun, for a thread that waits for one.
static BEGUN: Condvar = Condvar::new();

struct SlowState {
    /// When the running request has begun.
    begun: Option<Instant>,
    /// How often it was asked.
    n_asked: usize,
    /// The thread waits for a request.
    sleeps: bool,
}

/// Tells the thread about requests.
pub(crate) struct SlowLog {
    _private: (),
}

impl SlowLog {
    /// Starts the thread, in the thread that runs requests. Without it, or with no time to ask at, there are no
    /// traces.
    pub(crate) fn start(limits: &Limits) -> Option<Self> {
        let times = times(limits);
        if times.is_empty() {
            return None;
        }
        // SAFETY: PHP is started in this thread, no request runs, and this is called once in a worker.
        unsafe { ffi::corral_trace_prepare() };
        let thread = std::thread::Builder::new().name("slow log".to_owned()).stack_size(STACK_SIZE);
        match thread.spawn(move || watch(&times)) {
            Ok(_) => Some(Self { _private: () }),
            Err(error) => {
                complain(format_args!("slow requests get no backtraces: start a thread: {error}"));
                None
            }
        }
    }

    pub(crate) fn begin(&self) {
        let mut state = lock();
        state.begun = Some(Instant::now());
        state.n_asked = 0;
        if std::mem::take(&mut state.sleeps) {
            BEGUN.notify_one();
        }
    }

    pub(crate) fn end(&self) {
        lock().begun = None;
    }
}

/// When to ask a request, in order. A worker is killed at the next look after `kill_after`, so it has the time to say
/// something.
fn times(limits: &Limits) -> Vec<Duration> {
    let before_killing = limits.kill_after.map(|limit| limit.saturating_sub(BEFORE_KILLING));
    let mut times: Vec<_> = limits.slow.into_iter().chain(before_killing).collect();
    times.sort_unstable();
    times
}

/// The running request says in the log where it is. False, and nothing is said, if another one was asked.
pub(crate) fn report(trace: &[u8]) -> bool {
    let state = lock();
    let Some(begun) = state.begun.filter(|_| state.n_asked > 0) else { return false };
    let (pid, elapsed) = (std::process::id(), begun.elapsed().as_secs_f64());
    complain(format_args!(
        "slow: process {pid} is after {elapsed:.1} s at {}",
        String::from_utf8_lossy(trace)
    ));
    true
}

fn watch(times: &[Duration]) {
    // SAFETY: changes the mask of this thread alone.
    unsafe { ffi::corral_trace_be_quiet() };
    let mut state = lock();
    loop {
        let next = state.begun.zip(times.get(state.n_asked));
        let left = next.map(|(begun, time)| time.saturating_sub(begun.elapsed()));
        state = match left {
            None => {
                state.sleeps = true;
                BEGUN.wait(state).unwrap_or_else(PoisonError::into_inner)
            }
            Some(Duration::ZERO) => {
                state.n_asked += 1;
                // SAFETY: `corral_trace_prepare` was called before this thread was started, and PHP does not end
                // while a request runs, which cannot end while the state is locked.
                unsafe { ffi::corral_trace_ask() };
                state
            }
            Some(left) => BEGUN.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0,
        };
    }
}

/// The state is whole wherever a panic is possible.
fn lock() -> MutexGuard<'static, SlowState> {
    STATE.lock().unwrap_or_else(PoisonError::into_inner)
}

const BEFORE_KILLING: Duration = Duration::from_millis(50);

/// The thread calls next to nothing.
const STACK_SIZE: usize = 64 * 1024;
