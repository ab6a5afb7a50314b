//! The run's clock: nanoseconds since its start, the same in all threads, and the processor time of the generator.

use std::fs;
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::time::{ClockId, Timespec, clock_gettime};

/// Nanoseconds, of a moment since the start of the run or of a time between two moments.
pub(crate) type Nanos = u64;

pub(crate) const SECOND: Nanos = 1_000_000_000;

/// The start of a run, on two clocks.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Clock {
    /// On the monotonic clock.
    start: Nanos,
    /// Since 1970.
    wall: Duration,
}

impl Clock {
    /// A clock whose run starts after `delay`.
    pub(crate) fn starting_in(delay: Duration) -> Self {
        let wall = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self { start: read(ClockId::Monotonic) + nanos(delay), wall: wall + delay }
    }

    /// Sleeps until the start.
    pub(crate) fn wait_for_start(&self) {
        let left = self.start.saturating_sub(read(ClockId::Monotonic));
        thread::sleep(Duration::from_nanos(left));
    }

    /// Since the start; 0 before it.
    pub(crate) fn now(&self) -> Nanos {
        read(ClockId::Monotonic).saturating_sub(self.start)
    }

    /// The moment on the monotonic clock of the system.
    pub(crate) fn monotonic(&self, moment: Nanos) -> Timespec {
        let moment = Duration::from_nanos(self.start.saturating_add(moment));
        Timespec { tv_sec: moment.as_secs().cast_signed(), tv_nsec: i64::from(moment.subsec_nanos()) }
    }

    /// The moment since 1970.
    pub(crate) fn wall(&self, moment: Nanos) -> Duration {
        self.wall + Duration::from_nanos(moment)
    }
}

/// Processor time, user and system, of all threads of this process.
pub(crate) fn process_cpu() -> Nanos {
    read(ClockId::ProcessCPUTime)
}

/// How long the calling thread ran or waited for a processor. A thread that is never asleep cannot do more.
pub(crate) fn thread_busy() -> Nanos {
    let waited = fs::read_to_string("/proc/thread-self/schedstat").ok();
    let waited = waited.and_then(|text| text.split(' ').nth(1)?.parse::<Nanos>().ok());
    read(ClockId::ThreadCPUTime) + waited.unwrap_or(0)
}

pub(crate) fn nanos(duration: Duration) -> Nanos {
    Nanos::try_from(duration.as_nanos()).unwrap_or(Nanos::MAX)
}

fn read(clock: ClockId) -> Nanos {
    let now = clock_gettime(clock);
    now.tv_sec.cast_unsigned() * SECOND + now.tv_nsec.cast_unsigned()
}
