//! Resource use and state of other processes, as `/proc` shows them to every process.

use std::io::Read;
use std::time::Duration;

/// The bytes of memory that a process has in RAM for itself: what belongs to no file and is not shared
/// memory. Pages that it still shares with the process that forked it count. Nothing if it is gone or hidden.
pub fn anonymous_memory(pid: u32) -> Option<u64> {
    let pages = anonymous_pages(&read(pid, "statm")?)?;
    Some(pages * rustix::param::page_size() as u64)
}

/// `size resident shared …`, in pages.
fn anonymous_pages(statm: &str) -> Option<u64> {
    let mut numbers = statm.split(' ').map(|number| number.parse::<u64>().ok());
    let (resident, shared) = (numbers.nth(1)??, numbers.next()??);
    // They are not read at one moment.
    Some(resident.saturating_sub(shared))
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

/// The processor time that a process has taken, without its children. Nothing if it is gone or hidden.
pub fn processor_time(pid: u32) -> Option<Duration> {
    let ticks = ticks(&read(pid, "stat")?)?;
    let per_second = rustix::param::clock_ticks_per_second();
    Some(
        Duration::from_secs(ticks / per_second)
            + Duration::from_secs(ticks % per_second) / u32::try_from(per_second).ok()?,
    )
}

/// The sum of `utime` and `stime`, the 14th and 15th number.
fn ticks(stat: &str) -> Option<u64> {
    let (_, numbers) = stat.rsplit_once(')')?;
    let mut numbers = numbers.split_ascii_whitespace().skip(11).map(|number| number.parse::<u64>().ok());
    numbers.next()??.checked_add(numbers.next()??)
}

/// The children of a process that have this short name, among its first thousand. None if it is gone or hidden, or
/// where the kernel does not list children.
pub fn children_named(pid: u32, name: &str) -> Vec<u32> {
    let path = format!("/proc/{pid}/task/{pid}/children");
    let children = std::fs::read_to_string(path).unwrap_or_default();
    let children =
        children.split_ascii_whitespace().take(MOST_CHILDREN).filter_map(|child| child.parse().ok());
    children.filter(|child| read(*child, "comm").is_some_and(|comm| comm.trim_end() == name)).collect()
}

const MOST_CHILDREN: usize = 1000;

/// These files are short, and come in one piece.
fn read(pid: u32, name: &str) -> Option<String> {
    let mut text = String::with_capacity(512);
    std::fs::File::open(format!("/proc/{pid}/{name}")).ok()?.read_to_string(&mut text).ok()?;
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_shared_does_not_count() {
        assert_eq!(anonymous_pages("5000 300 120 7 0 80 0\n"), Some(180));
        assert_eq!(anonymous_pages("5000 300 301 7 0 80 0\n"), Some(0));
        assert_eq!(anonymous_pages("5000 300"), None);
        assert_eq!(anonymous_pages(""), None);
    }

    #[test]
    fn ticks_are_found_behind_any_name() {
        let rest = "S 1 2 3 4 5 6 7 8 9 10 30 12 7 8 20";
        for name in ["a", "a b", "a) S 1 (b"] {
            assert_eq!(ticks(&format!("12 ({name}) {rest}")), Some(42), "{name}");
        }
        assert_eq!(ticks("12 (a) S 1 2 3"), None);
        assert_eq!(ticks(""), None);
    }

    #[test]
    fn this_process_takes_time_and_has_no_such_child() {
        let pid = std::process::id();
        let begin = processor_time(pid).expect("this process is there");
        let work = std::time::Instant::now();
        while work.elapsed() < Duration::from_millis(100) {}
        assert!(processor_time(pid).expect("this process is there") > begin);
        assert_eq!(processor_time(0), None);
        assert!(children_named(pid, "no such child").is_empty() && children_named(0, "").is_empty());
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
    }
}
