//! Resource use and state of other processes, as `/proc` shows them to every process.

use std::io::Read;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The resources that a process uses.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ProcessUsage {
    /// Bytes of its memory that are in RAM.
    pub resident: u64,
    /// The part of them that it has for itself, as [`anonymous_memory`].
    pub anonymous: u64,
    /// The time that it has had a processor, with that of its children that it has waited for.
    pub cpu: Duration,
    /// When it was started, since the machine was.
    pub started: Duration,
}

impl ProcessUsage {
    /// The use of a process. Nothing if it is gone or hidden.
    pub fn of(pid: u32) -> Option<Self> {
        let (resident, anonymous) = memory(&read(pid, "statm")?)?;
        let (cpu, started) = times(&read(pid, "stat")?)?;
        Some(Self { resident, anonymous, cpu, started })
    }
}

/// The time that a process has had a processor, with that of its children that it has waited for. Nothing if it is gone
/// or hidden.
pub fn processor_time(pid: u32) -> Option<Duration> {
    Some(times(&read(pid, "stat")?)?.0)
}

/// The bytes of memory that a process has in RAM, where each page counts for the processes that share it in equal
/// parts. Takes some milliseconds for 200 MB. Nothing if the process is gone, or this one may not look into it.
pub fn proportional_memory(pid: u32) -> Option<u64> {
    proportional(&read(pid, "smaps_rollup")?)
}

/// The bytes of memory that a process has in RAM for itself: what belongs to no file and is not shared
/// memory. Pages that it still shares with the process that forked it count. Nothing if it is gone or hidden.
pub fn anonymous_memory(pid: u32) -> Option<u64> {
    Some(memory(&read(pid, "statm")?)?.1)
}

/// When the machine was started, since 1970.
pub fn machine_start() -> Duration {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let up = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
    now.saturating_sub(Duration::try_from(up).unwrap_or_default())
}

/// Bytes of all memory, and of that which is not shared, of `size resident shared …` in pages.
fn memory(statm: &str) -> Option<(u64, u64)> {
    let mut numbers = statm.split(' ').map(|number| number.parse::<u64>().ok());
    let (resident, shared) = (numbers.nth(1)??, numbers.next()??);
    let bytes = |pages: u64| pages.saturating_mul(rustix::param::page_size() as u64);
    // They are not read at one moment.
    Some((bytes(resident), bytes(resident.saturating_sub(shared))))
}

/// The time on processors and the start, of `pid (name) state …` with times in ticks; the name may hold anything.
fn times(stat: &str) -> Option<(Duration, Duration)> {
    let (_, rest) = stat.rsplit_once(')')?;
    let mut fields = rest.split_ascii_whitespace().skip(PLACE_OF_TIMES);
    let mut next = || fields.next()?.parse::<u64>().ok();
    let (user, system, children_user, children_system) = (next()?, next()?, next()?, next()?);
    let started = fields.nth(BETWEEN_TIMES_AND_START)?.parse().ok()?;
    let ticks = [system, children_user, children_system].iter().fold(user, |sum, n| sum.saturating_add(*n));
    Some((duration(ticks), duration(started)))
}

/// The fields from the state to the first of the times.
const PLACE_OF_TIMES: usize = 11;

/// Priority, niceness, number of threads, and a field that is not used any more.
const BETWEEN_TIMES_AND_START: usize = 4;

fn duration(ticks: u64) -> Duration {
    let a_second = rustix::param::clock_ticks_per_second().max(1);
    let (seconds, rest) = (ticks / a_second, ticks % a_second);
    Duration::from_secs(seconds) + Duration::from_nanos(rest.saturating_mul(1_000_000_000) / a_second)
}

/// The bytes of the line `Pss:  123 kB`.
fn proportional(rollup: &str) -> Option<u64> {
    let line = rollup.lines().find_map(|line| line.strip_prefix("Pss:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

/// Whether a process waits for something: its first thread, which does not want a processor then. False if it
/// is gone or hidden.
pub fn is_asleep(pid: u32) -> bool {
    read(pid, "stat").is_some_and(|stat| is_state_asleep(&stat))
}

/// `pid (name) state …`; the name may hold anything.
fn is_state_asleep(stat: &str) -> bool {
    let state = stat.rsplit_once(')').and_then(|(_, rest)| rest.trim_start().chars().next());
    matches!(state, Some('S' | 'D'))
}

/// These files are short, and come in one piece.
pub(crate) fn read(pid: u32, name: &str) -> Option<String> {
    let mut text = String::with_capacity(512);
    std::fs::File::open(format!("/proc/{pid}/{name}")).ok()?.read_to_string(&mut text).ok()?;
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_shared_is_told_apart() {
        let page = rustix::param::page_size() as u64;
        assert_eq!(memory("5000 300 120 7 0 80 0\n"), Some((300 * page, 180 * page)));
        assert_eq!(memory("5000 300 301 7 0 80 0\n"), Some((300 * page, 0)));
        assert_eq!(memory("5000 300"), None);
        assert_eq!(memory(""), None);
        assert_eq!(memory("1 18446744073709551615 0 "), Some((u64::MAX, u64::MAX)));
    }

    #[test]
    fn times_are_behind_the_name_whatever_that_is() {
        let a_second = rustix::param::clock_ticks_per_second();
        let fields =
            format!("S 1 2 3 0 -1 64 5 6 7 8 {a_second} 0 {} 0 20 0 1 0 {} 1000", a_second * 2, a_second * 9);
        let seconds = Duration::from_secs;
        for name in ["php", "a) S 1 (b", ""] {
            assert_eq!(times(&format!("12 ({name}) {fields}")), Some((seconds(3), seconds(9))), "{name}");
        }
        for cut in
            ["12 (a) S 1 2", "12 (a) S 1 2 3 0 -1 64 5 6 7 8 1 1 1 1 20 0 1 0", "12 (a", "", "12 (a) S x"]
        {
            assert_eq!(times(cut), None, "{cut}");
        }
        let huge = format!("1 (a) S 1 2 3 0 -1 64 5 6 7 8 {0} {0} {0} {0} 20 0 1 0 {0}", u64::MAX);
        assert!(times(&huge).is_some());
    }

    #[test]
    fn parts_of_pages_are_read_from_their_line() {
        let rollup = "55d0-7ffc ---p 0 00:00 0 [rollup]\nRss:  400 kB\nPss:    120 kB\nPss_Anon: 7 kB\n";
        assert_eq!(proportional(rollup), Some(120 * 1024));
        for other in ["", "Rss: 1 kB\n", "Pss: x kB\n", "Pss: 1\n", "Pss: 18446744073709551615 kB\n"] {
            assert_eq!(proportional(other), None, "{other}");
        }
    }

    #[test]
    fn this_process_is_measured() {
        let pid = std::process::id();
        let begin = std::time::Instant::now();
        // Long enough for two ticks of the slowest clock.
        while processor_time(pid).expect("it is there") < Duration::from_millis(20) {
            std::hint::black_box((0..10_000u64).sum::<u64>());
            assert!(begin.elapsed() < Duration::from_secs(60), "it uses a processor");
        }
        let usage = ProcessUsage::of(pid).expect("it is there");
        assert!(usage.resident > usage.anonymous && usage.cpu >= Duration::from_millis(20), "{usage:?}");
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        let age = now.saturating_sub(machine_start() + usage.started);
        assert!(age < Duration::from_secs(600), "{age:?}");
        let proportional = proportional_memory(pid).expect("it may look into itself");
        assert!((1..=usage.resident * 2).contains(&proportional), "{proportional} {usage:?}");
    }

    #[test]
    fn memory_counts_when_it_is_used() {
        const SIZE: usize = 64 << 20;
        let before = anonymous_memory(std::process::id()).expect("this process is there");
        let memory = vec![1u8; SIZE];
        let after = anonymous_memory(std::process::id()).expect("this process is there");
        assert!(std::hint::black_box(&memory).iter().all(|byte| *byte == 1));
        // The kernel counts in batches for each processor.
        assert!(after > before + SIZE as u64 / 2, "{before} {after}");
    }

    #[test]
    fn who_waits_is_asleep() {
        assert!(is_state_asleep("1 (a) S 1"));
        assert!(is_state_asleep("1 (a) R b) D 1"));
        assert!(!is_state_asleep("1 (S) S) R 1"));
        assert!(!is_state_asleep(""));
        assert!(!is_asleep(u32::MAX));
    }

    #[test]
    fn nobody_uses_nothing() {
        assert_eq!(anonymous_memory(u32::MAX), None);
        assert_eq!(ProcessUsage::of(u32::MAX), None);
        assert_eq!(processor_time(u32::MAX), None);
        assert_eq!(proportional_memory(u32::MAX), None);
    }
}
