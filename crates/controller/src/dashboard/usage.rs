//! Memory and processor time of the daemon and its applications, as far as they are known.

use std::time::Duration;

use corral_config::json::Value;
use corral_ipc::message::Status;

use super::figures::decimal;
use crate::reply::object;

/// The use that the daemon's own processes and applications make of the machine.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Usage {
    /// Bytes in RAM; none where the system hides them.
    pub(super) memory: Option<u64>,
    /// The time that they have had processors.
    pub(super) cpu: Option<Duration>,
}

impl Usage {
    pub(super) fn of(status: &Status) -> Self {
        let own = &status.daemon.main.processes;
        if own.iter().all(|process| process.memory.is_none()) {
            return Self::default();
        }
        let apps = || status.applications.iter().chain(&status.background);
        let memory = own.iter().filter_map(|process| process.memory).chain(apps().map(|app| app.memory));
        let cpu = own.iter().map(|process| process.cpu).chain(apps().map(|app| app.cpu));
        Self {
            memory: Some(memory.fold(0, u64::saturating_add)),
            cpu: Some(cpu.fold(Duration::ZERO, Duration::saturating_add)),
        }
    }

    /// The members that are known.
    pub(super) fn value(self) -> Value {
        let memory = self.memory.map(|bytes| ("memory", Value::from(bytes)));
        let cpu = self.cpu.map(|time| ("cpu", decimal(time.as_secs_f64())));
        object(memory.into_iter().chain(cpu))
    }
}

#[cfg(test)]
mod tests {
    use corral_ipc::message::{AppStatus, ProcessFigures};

    use super::*;

    #[test]
    fn applications_count_with_the_daemon() {
        let second = Duration::from_secs(1);
        let app = AppStatus { memory: 7, cpu: second * 2, ..AppStatus::default() };
        let mut status =
            Status { applications: vec![app.clone()], background: vec![app], ..Status::default() };
        assert_eq!(Usage::of(&status), Usage::default());
        assert_eq!(Usage::default().value(), Value::empty_object());
        status.daemon.main.processes[0] = ProcessFigures { memory: Some(100), cpu: second };
        assert_eq!(Usage::of(&status), Usage { memory: Some(114), cpu: Some(second * 5) });
    }
}
