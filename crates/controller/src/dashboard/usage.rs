//! Memory and processor time of the daemon and its applications, as far as they are known here.

use std::time::Duration;

use corral_config::json::Value;
use corral_ipc::message::Status;
use corral_sys::usage::{anonymous_memory, children_named, processor_time};

use super::figures::decimal;
use crate::reply::object;

/// Sums over all these processes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Usage {
    /// Bytes of the daemon's own processes and of applications.
    pub(super) memory: Option<u64>,
    /// The time of the daemon's own processes since they were started.
    pub(super) cpu: Option<Duration>,
}

/// The daemon's own processes: main, its routers and this one.
#[derive(Debug, Default)]
pub(super) struct OwnProcesses {
    routers: Vec<u32>,
}

impl OwnProcesses {
    pub(super) fn usage(&mut self, status: &Status) -> Usage {
        let main = status.daemon.pid;
        // A router that has ended is looked for again: there may be hundreds of children to look at.
        if self.routers.is_empty() || self.routers.iter().any(|pid| processor_time(*pid).is_none()) {
            self.routers = children_named(main, "router");
        }
        let pids = [main, std::process::id()].into_iter().chain(self.routers.iter().copied());
        let apps = status.applications.iter().chain(&status.background).map(|app| app.memory);
        let own: Option<Vec<_>> =
            pids.map(|pid| Some((anonymous_memory(pid)?, processor_time(pid)?))).collect();
        match own {
            Some(own) => Usage {
                memory: Some(own.iter().map(|(memory, _)| *memory).chain(apps).fold(0, u64::saturating_add)),
                cpu: Some(own.iter().map(|(_, cpu)| *cpu).fold(Duration::ZERO, Duration::saturating_add)),
            },
            // They may be hidden from this process' user.
            None => Usage::default(),
        }
    }
}

impl Usage {
    /// The sums that are known.
    pub(super) fn value(self) -> Value {
        let memory = self.memory.map(|bytes| ("memory", Value::from(bytes)));
        let cpu = self.cpu.map(|time| ("cpu", decimal(time.as_secs_f64())));
        object(memory.into_iter().chain(cpu))
    }
}

#[cfg(test)]
mod tests {
    use corral_ipc::message::{AppStatus, DaemonStatus};

    use super::*;

    #[test]
    fn memory_of_applications_counts_with_that_of_the_daemon() {
        let daemon = DaemonStatus { pid: std::process::id(), ..DaemonStatus::default() };
        let app = AppStatus { memory: 1 << 40, ..AppStatus::default() };
        let status = Status { daemon, applications: vec![app], ..Status::default() };
        let usage = OwnProcesses::default().usage(&status);
        assert!(usage.memory.unwrap() > 1 << 40);
        assert!(usage.cpu.is_some());
        let hidden =
            Status { daemon: DaemonStatus { pid: u32::MAX, ..DaemonStatus::default() }, ..Status::default() };
        assert_eq!(OwnProcesses::default().usage(&hidden), Usage::default());
        assert_eq!(Usage::default().value(), Value::empty_object());
    }
}
