//! How many workers there may be where `processes` is `"auto"`.

use std::num::NonZeroU32;

use corral_config::plan::{AppSpec, PoolGrowth, Processes};
use corral_sys::machine;

/// Workers for each processor at most: more than those that wait for something are hardly of use.
const MOST_PER_PROCESSOR: usize = 32;

/// Idle workers are kept up to so many, if there are as many processors.
const MOST_KEPT: usize = 4;

/// Memory of a worker of a larger application, in bytes.
const USUAL_SIZE: u64 = 64 << 20;

/// The bounds in force; those that depend on the machine are logged.
pub(super) fn bounds(spec: &AppSpec, n_processors: usize) -> Processes {
    if spec.processes.growth == PoolGrowth::ByRequests {
        return spec.processes.clone();
    }
    let cgroup = spec.isolation.cgroup.as_ref().and_then(|cgroup| cgroup.limits.memory);
    let memory = machine::available_memory().into_iter().chain(cgroup.map(u64::from)).min();
    let processes = derive(&spec.processes, n_processors, memory);
    let of_memory = memory.map_or_else(String::new, |memory| format!(" and {} MiB of memory", memory >> 20));
    tracing::info!(
        "\"{}\": {} to {} workers, as they are needed, for {n_processors} processors{of_memory}",
        spec.name,
        processes.spare,
        processes.max,
    );
    processes
}

fn derive(processes: &Processes, n_processors: usize, memory: Option<u64>) -> Processes {
    let by_memory = memory.map_or(u64::MAX, |memory| memory / USUAL_SIZE).max(2);
    let by_processors = n_processors.saturating_mul(MOST_PER_PROCESSOR);
    let most = usize::try_from(by_memory).unwrap_or(usize::MAX).min(by_processors);
    let max = u32::try_from(most)
        .ok()
        .and_then(NonZeroU32::new)
        .map_or(processes.max, |max| max.min(processes.max));
    let kept = u32::try_from(n_processors.min(MOST_KEPT)).unwrap_or(u32::MAX).min(max.get());
    Processes { max, spare: kept, ..processes.clone() }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[track_caller]
    fn check(n_processors: usize, memory: Option<u64>, expect: (u32, u32)) {
        let processes = Processes {
            max: NonZeroU32::new(512).expect("not zero"),
            spare: 1,
            idle_timeout: Duration::from_secs(10),
            growth: PoolGrowth::ByWaiting,
        };
        let Processes { max, spare, .. } = derive(&processes, n_processors, memory);
        assert_eq!((spare, max.get()), expect, "{n_processors} processors, {memory:?}");
    }

    #[test]
    fn bounds_follow_from_processors_and_memory() {
        check(1, None, (1, 32));
        check(2, Some(8 << 30), (2, 64));
        check(2, Some(1 << 30), (2, 16));
        check(2, Some(1 << 20), (2, 2));
        check(8, Some(4 << 30), (4, 64));
        check(128, Some(1 << 40), (4, 512));
        check(0, None, (0, 512));
    }
}
