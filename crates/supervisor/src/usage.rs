//! Memory and processor time of the daemon's own processes, as `/proc` shows them. They are looked at for a question
//! alone; a process that has ended counts with the time that it had taken at the last one.

use std::collections::BTreeMap;
use std::time::Duration;

use corral_ipc::message::{OwnProcess, ProcessFigures};
use corral_sys::process_use::ProcessUse;

/// The use that all of them make of the machine.
#[derive(Debug, Default)]
pub(crate) struct OwnUsage {
    /// The processes that were there at the last look, by number.
    running: BTreeMap<u32, (OwnProcess, Duration)>,
    /// Processor time of those that have ended.
    ended: [Duration; OwnProcess::ALL.len()],
}

impl OwnUsage {
    /// Looks at these processes, which are all that run.
    pub(crate) fn look(
        &mut self,
        processes: impl Iterator<Item = (OwnProcess, u32)>,
    ) -> [ProcessFigures; OwnProcess::ALL.len()] {
        let found = processes.filter_map(|(role, pid)| Some((role, pid, ProcessUse::of(pid)?)));
        self.take(found.collect())
    }

    fn take(&mut self, found: Vec<(OwnProcess, u32, ProcessUse)>) -> [ProcessFigures; OwnProcess::ALL.len()] {
        let before = std::mem::take(&mut self.running);
        for (pid, (role, cpu)) in before {
            let goes_on = found.iter().any(|found| (found.0, found.1) == (role, pid) && found.2.cpu >= cpu);
            if !goes_on {
                self.ended[role as usize] += cpu;
            }
        }
        let mut figures = self.ended.map(|cpu| ProcessFigures { memory: None, cpu });
        for (role, pid, process) in found {
            self.running.insert(pid, (role, process.cpu));
            let figures = &mut figures[role as usize];
            figures.cpu += process.cpu;
            figures.memory = Some(figures.memory.unwrap_or_default() + process.memory);
        }
        figures
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Routers by number, with the seconds that each has taken.
    #[track_caller]
    fn check(usage: &mut OwnUsage, routers: &[(u32, u64)], seconds: u64, memory: Option<u64>) {
        let router = |(pid, seconds): &(u32, u64)| {
            let process = ProcessUse { memory: 10, cpu: Duration::from_secs(*seconds) };
            (OwnProcess::Router, *pid, process)
        };
        let figures = usage.take(routers.iter().map(router).collect());
        let router = figures[OwnProcess::Router as usize];
        assert_eq!((router.cpu, router.memory), (Duration::from_secs(seconds), memory), "{routers:?}");
        assert_eq!(figures[OwnProcess::Main as usize], ProcessFigures::default());
    }

    #[test]
    fn processor_time_goes_on_when_a_process_has_ended() {
        let mut usage = OwnUsage::default();
        check(&mut usage, &[], 0, None);
        check(&mut usage, &[(7, 3)], 3, Some(10));
        check(&mut usage, &[(7, 4), (8, 1)], 5, Some(20));
        check(&mut usage, &[(8, 2)], 6, Some(10));
        check(&mut usage, &[], 6, None);
        check(&mut usage, &[(9, 1)], 7, Some(10));
        // Another process has got the number.
        check(&mut usage, &[(9, 0)], 7, Some(10));
        check(&mut usage, &[(9, 2)], 9, Some(10));
    }

    #[test]
    fn this_process_is_seen() {
        let mut usage = OwnUsage::default();
        let figures =
            usage.look([(OwnProcess::Main, std::process::id()), (OwnProcess::Reader, u32::MAX)].into_iter());
        assert!(
            figures[OwnProcess::Main as usize].memory.is_some_and(|memory| memory > 100_000),
            "{figures:?}"
        );
        assert_eq!(figures[OwnProcess::Reader as usize], ProcessFigures::default());
    }
}
