//! Memory and processor time of a process, of its own as well, as `/proc` shows them.

use std::time::Duration;

use crate::usage;

/// The use that a process makes of the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProcessUse {
    /// Bytes in RAM, with those that it shares with others.
    pub memory: u64,
    /// Time of processors that all its threads have taken together.
    pub cpu: Duration,
}

impl ProcessUse {
    /// The use of the process with this number; nothing if it is gone or hidden.
    #[must_use]
    pub fn of(pid: u32) -> Option<Self> {
        Self::parse(&usage::read(pid, "stat")?, rustix::param::clock_ticks_per_second())
    }

    /// `pid (name) state …`, where the name may hold anything. Fields are counted from 1 (proc_pid_stat(5)).
    fn parse(stat: &str, ticks_per_second: u64) -> Option<Self> {
        let (_, behind_name) = stat.rsplit_once(')')?;
        let mut fields = behind_name.split_ascii_whitespace().skip(14 - 3).map(str::parse::<u64>);
        let (user, system) = (fields.next()?.ok()?, fields.next()?.ok()?);
        let pages = fields.nth(24 - 16)?.ok()?;
        // A tick is a hundredth of a second; in thousandths, its multiples are exact.
        let millis = u128::from(user.saturating_add(system)) * 1000 / u128::from(ticks_per_second.max(1));
        Some(Self {
            memory: pages.saturating_mul(rustix::param::page_size() as u64),
            cpu: Duration::from_millis(u64::try_from(millis).unwrap_or(u64::MAX)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_and_memory_stand_behind_the_name() {
        let page = rustix::param::page_size() as u64;
        let stat = "7 (a) S 1) R 1 7 7 0 -1 4194560 9 0 0 0 123 45 6 7 20 0 1 0 99 4096000 250 18446744073709551615 1\n";
        let expected = ProcessUse { memory: 250 * page, cpu: Duration::from_millis(1680) };
        assert_eq!(ProcessUse::parse(stat, 100), Some(expected));
        for broken in ["", "7 (a", "7 (a) S 1", "7 (a) S 1 7 7 0 -1 4194560 9 0 0 0 x 45 6 7 20 0 1 0 99 1 2"]
        {
            assert_eq!(ProcessUse::parse(broken, 100), None, "{broken}");
        }
    }

    #[test]
    fn work_takes_time() {
        let own = || ProcessUse::of(std::process::id()).expect("this process is there");
        let before = own();
        while own().cpu < before.cpu + Duration::from_millis(20) {
            std::hint::black_box((0..10_000u64).sum::<u64>());
        }
        assert!(own().memory > 100_000);
        assert_eq!(ProcessUse::of(u32::MAX), None);
    }
}
