//! Limits of resources (getrlimit(2)), which a process has from the one that has started it.

use std::io;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Every one that the kernel knows, by the number that it has on its way to another process.
const RESOURCES: [Resource; 16] = [
    Resource::Cpu,
    Resource::Fsize,
    Resource::Data,
    Resource::Stack,
    Resource::Core,
    Resource::Rss,
    Resource::Nproc,
    Resource::Nofile,
    Resource::Memlock,
    Resource::As,
    Resource::Locks,
    Resource::Sigpending,
    Resource::Msgqueue,
    Resource::Nice,
    Resource::Rtprio,
    Resource::Rttime,
];

/// A limit: the one that counts, and the highest that it may be raised to. `None` is unlimited.
pub type Limit = (Option<u64>, Option<u64>);

/// The limits of this process, in an order that [`set`] knows.
#[must_use]
pub fn current() -> Vec<Limit> {
    RESOURCES.map(getrlimit).map(|limit| (limit.current, limit.maximum)).into()
}

/// Gives this process limits that another one has. What it may not raise without privileges stays as high as it is.
///
/// # Errors
/// The errors of setrlimit(2).
pub fn set(limits: &[Limit]) -> io::Result<()> {
    for (resource, (current, maximum)) in RESOURCES.into_iter().zip(limits) {
        let wanted = Rlimit { current: *current, maximum: *maximum };
        if setrlimit(resource, wanted).is_ok() {
            continue;
        }
        let highest = getrlimit(resource).maximum;
        setrlimit(resource, Rlimit { current: lower(*current, highest), maximum: lower(*maximum, highest) })?;
    }
    Ok(())
}

fn lower(one: Option<u64>, other: Option<u64>) -> Option<u64> {
    one.into_iter().chain(other).min()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_taken_over() {
        let before = current();
        let mut wanted = before.clone();
        let files = RESOURCES.iter().position(|resource| *resource == Resource::Nofile).unwrap();
        wanted[files].0 = Some(100);
        set(&wanted).unwrap();
        assert_eq!(current(), wanted);
        set(&before).unwrap();
        assert_eq!(current(), before);
    }

    #[test]
    fn no_limit_is_higher_than_any() {
        assert_eq!(lower(None, Some(3)), Some(3));
        assert_eq!(lower(Some(2), Some(3)), Some(2));
        assert_eq!(lower(None, None), None);
    }
}
