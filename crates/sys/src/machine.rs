//! Resources of the machine, or of the control group that this process is in.

use std::path::Path;

/// The name of the machine.
pub fn hostname() -> Vec<u8> {
    rustix::system::uname().nodename().to_bytes().to_vec()
}

/// Bytes of memory that programs can still take, or that the control group may have at most if that is less.
/// Nothing where the system does not tell.
pub fn available_memory() -> Option<u64> {
    let read = |path: &Path| std::fs::read_to_string(path).ok();
    let machine = read(Path::new("/proc/meminfo")).and_then(|text| available(&text));
    let own_group = read(Path::new("/proc/self/cgroup")).and_then(|text| group(&text).map(str::to_owned));
    let groups = own_group.into_iter().flat_map(|group| {
        let folder = Path::new(HIERARCHY).join(group.trim_start_matches('/'));
        let bound = |folder: &Path| read(&folder.join("memory.max"))?.trim().parse().ok();
        folder
            .ancestors()
            .take_while(|folder| folder.starts_with(HIERARCHY))
            .filter_map(bound)
            .collect::<Vec<u64>>()
    });
    machine.into_iter().chain(groups).min()
}

const HIERARCHY: &str = "/sys/fs/cgroup";

/// From `MemAvailable:    1234 kB`.
fn available(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim_end().parse().ok()?;
    kibibytes.checked_mul(1024)
}

/// The path in the hierarchy of version 2, from `0::/path`.
fn group(cgroup: &str) -> Option<&str> {
    cgroup.lines().find_map(|line| line.strip_prefix("0::"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_files_of_the_system_are_understood() {
        assert_eq!(available("MemTotal: 9 kB\nMemAvailable:   23162 kB\n"), Some(23162 * 1024));
        assert_eq!(available("MemTotal: 9 kB\n"), None);
        assert_eq!(available("MemAvailable: many kB\n"), None);
        assert_eq!(group("4:memory:/a\n0::/b/c\n"), Some("/b/c"));
        assert_eq!(group("4:memory:/a\n"), None);
    }

    #[test]
    fn this_machine_has_some() {
        assert!(available_memory().is_some_and(|memory| memory > 1 << 20));
    }
}
