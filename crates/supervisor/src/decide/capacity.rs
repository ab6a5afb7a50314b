//! How many processes a machine can carry: a configuration that wants more is refused before one of them is started.

use std::fmt;

use corral_config::plan::{AppSpec, Growth};

/// Bytes of memory that no worker of any language does without.
const LEAST_MEMORY: u64 = 1 << 20;

/// The bounds of the number of processes; none where the system does not tell.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Capacity {
    /// Descriptors that main may have open, of which each process takes one.
    pub(crate) descriptors: Option<u64>,
    /// Processes of the system, or of the control group that the daemon is in.
    pub(crate) pids: Option<u64>,
    /// Bytes of memory, used or not.
    pub(crate) memory: Option<u64>,
}

/// More than that.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "application \"{name}\" asks for {wanted} processes, and {what} carries {most} at most, of which \
     others take {taken}"
)]
pub(crate) struct TooMany {
    name: String,
    wanted: u64,
    what: Resource,
    most: u64,
    taken: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Resource {
    Descriptors,
    Pids,
    Memory,
}

impl fmt::Display for Resource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Descriptors => "the limit of open files (LimitNOFILE= of the service, ulimit -n)",
            Self::Pids => "the limit of processes (kernel.pid_max, pids.max of the control group)",
            Self::Memory => "the memory of this machine",
        })
    }
}

impl Capacity {
    /// Whether all that is started with a configuration fits beside what is kept, and what an application may grow to
    /// by itself. What runs already is refused nothing, as the machine may have become smaller since.
    pub(crate) fn check(&self, kept: &[&AppSpec], started: &[&AppSpec]) -> Result<(), TooMany> {
        let Some((what, most)) = self.least() else { return Ok(()) };
        let mut taken: u64 = kept.iter().map(|spec| u64::from(spec.processes.spare)).sum();
        for spec in started {
            let spare = u64::from(spec.processes.spare);
            // As many as are needed are no more than fit.
            let grown = match spec.processes.growth {
                Growth::ByRequests => u64::from(spec.processes.max.get()),
                Growth::ByWaiting => spare,
            };
            if grown > most || taken + spare > most {
                return Err(TooMany { name: spec.name.clone(), wanted: grown.max(spare), what, most, taken });
            }
            taken += spare;
        }
        Ok(())
    }

    fn least(&self) -> Option<(Resource, u64)> {
        let bounds = [
            (Resource::Descriptors, self.descriptors),
            (Resource::Pids, self.pids),
            (Resource::Memory, self.memory.map(|bytes| bytes / LEAST_MEMORY)),
        ];
        bounds.into_iter().filter_map(|(what, most)| Some((what, most?))).min_by_key(|(_, most)| *most)
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;

    use super::*;
    use crate::testing::spec;

    fn processes(name: &str, max: u32, spare: u32) -> AppSpec {
        let mut spec = spec(&format!("{name}=/"));
        spec.processes.max = NonZeroU32::new(max).unwrap();
        spec.processes.spare = spare;
        spec
    }

    #[track_caller]
    fn check(applications: &[AppSpec], refused: Option<&str>) {
        let capacity = Capacity { descriptors: Some(100), pids: Some(50), memory: Some(1 << 30) };
        let name =
            capacity.check(&[], &applications.iter().collect::<Vec<_>>()).err().map(|error| error.name);
        assert_eq!(name.as_deref(), refused);
    }

    #[test]
    fn what_fits_is_started() {
        check(&[], None);
        check(&[processes("a", 50, 50)], None);
        check(&[processes("a", 50, 25), processes("b", 50, 25)], None);
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        check(&[processes("a", 51, 51)], Some("a"));
        check(&[processes("a", u32::MAX, 0)], Some("a"));
        check(&[processes("a", 25, 25), processes("b", 26, 26)], Some("b"));
    }

    #[test]
    fn what_runs_already_is_counted_and_not_refused() {
        let capacity = Capacity { pids: Some(50), ..Capacity::default() };
        let (kept, started) = (processes("kept", 100, 40), processes("started", 11, 11));
        capacity.check(&[&kept], &[]).unwrap();
        capacity.check(&[&kept], &[&processes("started", 10, 10)]).unwrap();
        let error = capacity.check(&[&kept], &[&started]).unwrap_err();
        assert_eq!((error.name.as_str(), error.wanted, error.taken), ("started", 11, 40));
    }

    #[test]
    fn the_refusal_names_the_narrowest_bound() {
        let memory = Capacity { memory: Some(8 << 20), pids: Some(9), descriptors: None };
        let text = memory.check(&[], &[&processes("a", 9, 9)]).unwrap_err().to_string();
        assert!(text.contains("9 processes, and the memory of this machine carries 8"), "{text}");
        Capacity::default().check(&[], &[&processes("a", u32::MAX, u32::MAX)]).unwrap();
    }
}
