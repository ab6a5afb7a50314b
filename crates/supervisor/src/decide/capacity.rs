//! How many processes a machine can carry: a configuration that wants more is refused before one of them is started.

use std::fmt;
use std::num::NonZeroU32;

use corral_config::plan::{AppSpec, PoolGrowth, RuntimeSpec};

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
#[error("application \"{name}\": {excess}")]
pub(crate) struct OverCapacity {
    name: String,
    excess: Excess,
}

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("it asks for {wanted} processes, and {what} carries {most} at most, of which others take {taken}")]
struct Excess {
    wanted: u64,
    what: Bounded,
    most: u64,
    taken: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Bounded {
    Descriptors,
    Pids,
    Memory,
}

impl fmt::Display for Bounded {
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
    pub(crate) fn check(&self, kept: &[&AppSpec], started: &[&AppSpec]) -> Result<(), OverCapacity> {
        let Some(mut room) = self.room(kept) else { return Ok(()) };
        started.iter().try_for_each(|spec| room.take(spec))
    }

    /// Makes what is started fit beside what is kept, one application after the other: one whose processes find no room
    /// is not started, and one that may grow too much grows less.
    pub(crate) fn fit<'a>(&self, kept: &[&AppSpec], started: impl IntoIterator<Item = &'a mut AppSpec>) {
        let Some(mut room) = self.room(kept) else { return };
        for spec in started {
            room.limit_growth(spec);
            if let Err(OverCapacity { excess, .. }) = room.take(spec) {
                spec.runtime = RuntimeSpec::Unusable(excess.to_string());
            }
            if !is_usable(spec) {
                // The router hears of each worker that does not come.
                spec.processes.max = NonZeroU32::MIN;
                spec.processes.spare = spec.processes.spare.min(1);
            }
        }
    }

    /// Room beside what runs; nothing if there is no bound.
    fn room(&self, kept: &[&AppSpec]) -> Option<Headroom> {
        let (what, most) = self.least()?;
        let taken = kept.iter().filter(|spec| is_usable(spec)).map(|spec| u64::from(spec.processes.spare));
        Some(Headroom { what, most, taken: taken.sum() })
    }

    fn least(&self) -> Option<(Bounded, u64)> {
        let bounds = [
            (Bounded::Descriptors, self.descriptors),
            (Bounded::Pids, self.pids),
            (Bounded::Memory, self.memory.map(|bytes| bytes / LEAST_MEMORY)),
        ];
        bounds.into_iter().filter_map(|(what, most)| Some((what, most?))).min_by_key(|(_, most)| *most)
    }
}

/// The rest of the narrowest bound.
struct Headroom {
    what: Bounded,
    most: u64,
    taken: u64,
}

impl Headroom {
    /// Takes what an application always keeps.
    fn take(&mut self, spec: &AppSpec) -> Result<(), OverCapacity> {
        let Self { what, most, taken } = *self;
        let spare = if is_usable(spec) { u64::from(spec.processes.spare) } else { return Ok(()) };
        // As many as are needed are no more than fit.
        let grown = match spec.processes.growth {
            PoolGrowth::ByRequests => u64::from(spec.processes.max.get()),
            PoolGrowth::ByWaiting => spare,
        };
        if grown > most || taken + spare > most {
            let excess = Excess { wanted: grown.max(spare), what, most, taken };
            return Err(OverCapacity { name: spec.name.clone(), excess });
        }
        self.taken += spare;
        Ok(())
    }

    /// Has an application grow no further than to all that there is.
    fn limit_growth(&self, spec: &mut AppSpec) {
        let most = u32::try_from(self.most).ok().and_then(NonZeroU32::new).unwrap_or(NonZeroU32::MAX);
        let processes = &mut spec.processes;
        if processes.growth == PoolGrowth::ByRequests && processes.spare <= most.get() && processes.max > most
        {
            tracing::error!(
                target: "alert",
                "application \"{}\": it may have {} processes, and {} carries {most} at most: it gets no more than \
                that",
                spec.name, processes.max, self.what
            );
            processes.max = most;
        }
    }
}

fn is_usable(spec: &AppSpec) -> bool {
    !matches!(spec.runtime, RuntimeSpec::Unusable(_))
}

#[cfg(test)]
mod tests {
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
        assert_eq!((error.name.as_str(), error.excess.wanted, error.excess.taken), ("started", 11, 40));
    }

    #[test]
    fn the_refusal_names_the_narrowest_bound() {
        let memory = Capacity { memory: Some(8 << 20), pids: Some(9), descriptors: None };
        let text = memory.check(&[], &[&processes("a", 9, 9)]).unwrap_err().to_string();
        assert!(text.contains("9 processes, and the memory of this machine carries 8"), "{text}");
        Capacity::default().check(&[], &[&processes("a", u32::MAX, u32::MAX)]).unwrap();
    }

    /// `max` and `spare` of applications that are stored, and the `max` that each gets; none for one that is left out.
    #[track_caller]
    fn check_fit(kept: &[&AppSpec], applications: &[(u32, u32)], expected: &[Option<u32>]) {
        let capacity = Capacity { pids: Some(50), ..Capacity::default() };
        let mut specs: Vec<_> =
            applications.iter().map(|(max, spare)| processes("a", *max, *spare)).collect();
        capacity.fit(kept, &mut specs);
        let fitted = specs.iter().map(|spec| is_usable(spec).then_some(spec.processes.max.get()));
        assert_eq!(fitted.collect::<Vec<_>>(), expected);
    }

    #[test]
    fn what_is_stored_is_served_as_far_as_it_fits() {
        check_fit(&[], &[(20, 20), (40, 40), (30, 30)], &[Some(20), None, Some(30)]);
        check_fit(&[], &[(u32::MAX, u32::MAX), (2, 2)], &[None, Some(2)]);
        check_fit(&[], &[(u32::MAX, 2), (50, 48)], &[Some(50), Some(50)]);
        check_fit(&[], &[(60, 50)], &[Some(50)]);
        check_fit(&[], &[(60, 51)], &[None]);
        let kept = processes("kept", 45, 45);
        check_fit(&[&kept], &[(6, 6), (5, 5)], &[None, Some(5)]);
    }

    #[test]
    fn what_is_left_out_takes_no_room() {
        let capacity = Capacity { pids: Some(50), ..Capacity::default() };
        let mut left_out = processes("left out", 60, 60);
        capacity.fit(&[], [&mut left_out]);
        capacity.check(&[&left_out], &[&processes("started", 50, 50)]).unwrap();
        let RuntimeSpec::Unusable(reason) = &left_out.runtime else { panic!("it is not left out") };
        assert_eq!(left_out.processes.spare, 1, "one worker less is to be told of");
        assert!(reason.starts_with("it asks for 60 processes, and the limit of processes"), "{reason}");
    }
}
