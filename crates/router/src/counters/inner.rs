//! Figures of the inside of one event loop: its turns, and what it does beside connections. Parts that count here know
//! no services; they find the set of their thread.

use std::cell::{Cell, OnceCell};
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

use corral_ipc::message::{FORWARD_RESULTS, InnerFigures, LoopFigures};

use super::{Counter, LoopCounters};

/// Figures that only one event loop writes.
#[derive(Debug, Default)]
pub(crate) struct InnerCounters {
    turns: Counter,
    busy_nanos: Counter,
    longest: LongestTurn,
    /// Workers that were woken for their requests.
    pub(crate) wakes_sent: Counter,
    /// Workers that were awake when they got requests.
    pub(crate) wakes_saved: Counter,
    /// Sleeps that ended because a worker had something to say.
    pub(crate) bells: Counter,
    /// Files that are open.
    pub(crate) file_entries: Counter,
    /// Bytes of them that are in memory.
    pub(crate) file_bytes: Counter,
    pub(crate) file_hits: Counter,
    pub(crate) file_misses: Counter,
    /// Compressed files that were there.
    pub(crate) compressed_hits: Counter,
    pub(crate) compressed_misses: Counter,
    forward: [Counter; FORWARD_RESULTS.len()],
    /// Bytes of bodies that were written to files.
    pub(crate) body_bytes_written: Counter,
}

/// The fate of a request that another server has to permit, in the order of [`FORWARD_RESULTS`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ForwardResult {
    /// The server has let it pass.
    Passed,
    /// The server has let one like it pass before.
    Remembered,
    /// The request was answered by the server, or is not one that can be asked about.
    Refused,
    /// The server has not answered, or not so that it could be understood.
    Failed,
}

/// The longest turn of this minute and of the one before, so that each of several collectors sees it.
#[derive(Debug, Default)]
struct LongestTurn {
    /// The last minute in which there was a turn.
    minute: Counter,
    nanos: Counter,
    nanos_before: Counter,
}

thread_local! {
    /// The set of the event loop that runs in this thread.
    static OURS: OnceCell<Arc<LoopCounters>> = const { OnceCell::new() };
}

/// From now on, this thread counts there.
pub(crate) fn join(counters: Arc<LoopCounters>) {
    // A thread runs one event loop.
    let _ = OURS.try_with(|ours| ours.set(counters));
}

/// Counts something, if this thread runs an event loop that has not ended.
pub(crate) fn note(count: impl FnOnce(&InnerCounters)) {
    let _ = OURS.try_with(|ours| {
        if let Some(counters) = ours.get() {
            count(&counters.inner);
        }
    });
}

/// Counts a request that another server has to permit.
pub(crate) fn note_forward(result: ForwardResult) {
    note(|counters| counters.forward[result as usize].add(1));
}

impl InnerCounters {
    /// Counts a turn that has ended in this minute of a [`MinuteClock`].
    pub(crate) fn note_turn(&self, took: Duration, minute: u64) {
        let took = nanos(took);
        self.turns.add(1);
        self.busy_nanos.add(took);
        self.longest.note(minute, took);
    }

    /// Adds all to those of other event loops.
    pub(crate) fn add_to(&self, sum: &mut InnerFigures, now: Instant) {
        sum.loops.push(LoopFigures {
            turns: self.turns.get(),
            busy_micros: self.busy_nanos.get() / 1000,
            longest_micros: self.longest.get(minute(now)) / 1000,
        });
        for (sum, counter) in [
            (&mut sum.channel.sent, &self.wakes_sent),
            (&mut sum.channel.saved, &self.wakes_saved),
            (&mut sum.channel.bells, &self.bells),
            (&mut sum.files.entries, &self.file_entries),
            (&mut sum.files.bytes, &self.file_bytes),
            (&mut sum.files.hits, &self.file_hits),
            (&mut sum.files.misses, &self.file_misses),
            (&mut sum.compression.hits, &self.compressed_hits),
            (&mut sum.compression.misses, &self.compressed_misses),
            (&mut sum.bodies.written, &self.body_bytes_written),
        ] {
            *sum += counter.get();
        }
        let forward = sum.authentication.forward.iter_mut().zip(&self.forward);
        forward.for_each(|(sum, counter)| *sum += counter.get());
    }
}

impl LongestTurn {
    fn note(&self, minute: u64, nanos: u64) {
        let known = self.minute.get();
        if minute > known {
            self.nanos_before.set(if minute == known + 1 { self.nanos.get() } else { 0 });
            self.nanos.set(0);
            self.minute.set(minute);
        }
        if nanos > self.nanos.get() {
            self.nanos.set(nanos);
        }
    }

    /// Another thread may see a minute that has just begun with the turns of the last.
    fn get(&self, minute: u64) -> u64 {
        match minute.saturating_sub(self.minute.get()) {
            0 => self.nanos.get().max(self.nanos_before.get()),
            1 => self.nanos.get(),
            _ => 0,
        }
    }
}

/// The minute, for one thread: worked out anew only when the last one is over.
#[derive(Debug)]
pub(crate) struct MinuteClock {
    minute: Cell<u64>,
    ends: Cell<Instant>,
}

impl MinuteClock {
    pub(crate) fn new() -> Self {
        let now = Instant::now();
        Self { minute: Cell::new(minute(now)), ends: Cell::new(now) }
    }

    /// The minute of a moment that is not before that of the last call.
    pub(crate) fn at(&self, moment: Instant) -> u64 {
        if moment >= self.ends.get() {
            self.minute.set(minute(moment));
            self.ends.set(*START + MINUTE * u32::try_from(self.minute.get() + 1).unwrap_or(u32::MAX));
        }
        self.minute.get()
    }
}

const MINUTE: Duration = Duration::from_secs(60);

/// The beginning of the first minute.
static START: LazyLock<Instant> = LazyLock::new(Instant::now);

fn nanos(span: Duration) -> u64 {
    u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)
}

/// Minutes that all threads count alike.
fn minute(at: Instant) -> u64 {
    at.saturating_duration_since(*START).as_secs() / MINUTE.as_secs()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_are_counted_and_the_longest_is_known_for_a_while() {
        let counters = InnerCounters::default();
        let begin = Instant::now();
        for millis in [3, 9, 5, 0] {
            counters.note_turn(Duration::from_millis(millis), minute(begin));
        }
        let figures = |after: u64| {
            let mut sum = InnerFigures::default();
            counters.add_to(&mut sum, begin + Duration::from_secs(after));
            sum.loops.remove(0)
        };
        assert_eq!(figures(0), LoopFigures { turns: 4, busy_micros: 17_000, longest_micros: 9_000 });
        assert_eq!(figures(60).longest_micros, 9_000);
        assert_eq!(figures(240).longest_micros, 0);
    }

    #[test]
    fn minutes_go_on() {
        let clock = MinuteClock::new();
        let now = Instant::now();
        for seconds in [0, 1, 30, 59, 60, 61, 119, 121, 3600, 3601] {
            let moment = now + Duration::from_secs(seconds);
            assert_eq!(clock.at(moment), minute(moment), "after {seconds} s");
        }
    }

    /// Turns by minute, and what is said at a minute.
    #[track_caller]
    fn check(turns: &[(u64, u64)], minute: u64, expect: u64) {
        let longest = LongestTurn::default();
        turns.iter().for_each(|(minute, nanos)| longest.note(*minute, *nanos));
        assert_eq!(longest.get(minute), expect, "{turns:?} at {minute}");
    }

    #[test]
    fn a_turn_is_forgotten_after_one_to_two_minutes() {
        check(&[], 0, 0);
        check(&[(0, 5), (0, 3)], 0, 5);
        check(&[(0, 5), (1, 3)], 1, 5);
        check(&[(0, 5), (1, 3)], 2, 3);
        check(&[(0, 5), (1, 3)], 3, 0);
        check(&[(0, 5), (2, 3)], 2, 3);
        check(&[(0, 5), (1, 3), (2, 1)], 2, 3);
    }

    #[test]
    fn loops_are_told_apart_and_the_rest_is_summed() {
        let mut sum = InnerFigures::default();
        for n in [1, 2] {
            let counters = Arc::new(LoopCounters::default());
            let theirs = Arc::clone(&counters);
            let thread = std::thread::spawn(move || {
                note(|counters| counters.file_hits.add(100));
                join(theirs);
                note(|counters| counters.file_hits.add(n));
                note_forward(ForwardResult::Failed);
            });
            thread.join().expect("it counts");
            counters.inner.add_to(&mut sum, Instant::now());
        }
        assert_eq!((sum.loops.len(), sum.files.hits), (2, 3));
        assert_eq!(sum.authentication.forward, [0, 0, 0, 2]);
    }
}
