//! The clock that running code looks at: a thread that ticks while there are requests.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, Thread};
use std::time::Duration;

use anyhow::Context;
use wasmtime::Engine;

/// Code lets go of the thread this often, so that the time it has run can be checked.
const TICK: Duration = Duration::from_millis(20);

/// Ticks without a request after which the thread sleeps.
const IDLE_TICKS: u32 = 50;

/// Advances an engine's epoch.
pub(crate) struct Ticker {
    shared: Arc<TickerState>,
    thread: Thread,
}

#[derive(Default)]
struct TickerState {
    /// Requests that have begun and ended, together: odd while one runs.
    changes: AtomicU64,
    sleeps: AtomicBool,
}

impl Ticker {
    /// Starts the thread, in a worker.
    ///
    /// # Errors
    /// When there cannot be one more thread.
    pub(crate) fn start(engine: Engine) -> anyhow::Result<Self> {
        let shared = Arc::<TickerState>::default();
        let its = Arc::clone(&shared);
        let builder = thread::Builder::new().name("ticker".to_owned()).stack_size(64 << 10);
        let handle = builder.spawn(move || run(&engine, &its)).context("start a thread")?;
        Ok(Self { shared, thread: handle.thread().clone() })
    }

    /// A request begins.
    pub(crate) fn begin(&self) {
        self.shared.changes.fetch_add(1, Ordering::SeqCst);
        if self.shared.sleeps.load(Ordering::SeqCst) {
            self.thread.unpark();
        }
    }

    /// The request has ended.
    pub(crate) fn end(&self) {
        self.shared.changes.fetch_add(1, Ordering::SeqCst);
    }
}

fn run(engine: &Engine, shared: &TickerState) -> ! {
    let mut n_idle = 0;
    let mut last = 0;
    loop {
        thread::sleep(TICK);
        engine.increment_epoch();
        let now = shared.changes.load(Ordering::SeqCst);
        n_idle = if now == last && now.is_multiple_of(2) { n_idle + 1 } else { 0 };
        last = now;
        if n_idle > IDLE_TICKS {
            n_idle = 0;
            shared.sleeps.store(true, Ordering::SeqCst);
            // One that has begun just now has not seen that this thread sleeps.
            if shared.changes.load(Ordering::SeqCst) == last {
                thread::park();
            }
            shared.sleeps.store(false, Ordering::SeqCst);
        }
    }
}
