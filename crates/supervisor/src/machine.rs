//! The capacity of this machine, and of the control group that the daemon is in.

use std::fs;
use std::path::{Path, PathBuf};

use corral_sys::process;

use crate::decide::capacity::Capacity;

const HIERARCHY: &str = "/sys/fs/cgroup";

/// As it is now: a control group's bounds may change.
pub(crate) fn capacity() -> Capacity {
    let groups = groups();
    let bounds = |file: &str| groups.iter().filter_map(|group| number(&group.join(file))).collect::<Vec<_>>();
    let pids = ["pid_max", "threads-max"].map(|file| number(&Path::new("/proc/sys/kernel").join(file)));
    Capacity {
        descriptors: Some(process::descriptor_limit()),
        pids: bounds("pids.max").into_iter().chain(pids.into_iter().flatten()).min(),
        memory: bounds("memory.max").into_iter().chain(total_memory()).min(),
    }
}

/// The control group of this process in the hierarchy of version 2, and those above it.
fn groups() -> Vec<PathBuf> {
    let text = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let own = text.lines().find_map(|line| line.strip_prefix("0::/"));
    let own = own.map(|group| Path::new(HIERARCHY).join(group));
    let above = own.iter().flat_map(|group| group.ancestors());
    above.take_while(|group| group.starts_with(HIERARCHY)).map(Path::to_owned).collect()
}

/// The number that a file holds; nothing for the word `max`.
fn number(path: &Path) -> Option<u64> {
    fs::read_to_string(path).ok()?.trim().parse().ok()
}

fn total_memory() -> Option<u64> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim_end().parse().ok()?;
    kibibytes.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_has_bounds() {
        let Capacity { descriptors, pids, memory } = capacity();
        assert!(descriptors.is_some() && pids.is_some_and(|pids| pids > 1));
        assert!(memory.is_some_and(|memory| memory > 1 << 20));
    }
}
