//! The identity of a file in one state, which tells it from every other.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The figures that change when a file is replaced or written to, or when a folder gets or loses an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(crate) struct FileIdentity {
    pub(crate) device: u64,
    pub(crate) inode: u64,
    pub(crate) size: u64,
    pub(crate) modified: (i64, i64),
    pub(crate) changed: (i64, i64),
}

/// Longer than the clock by which the kernel notes changes stands still.
const TICK: Duration = Duration::from_millis(50);

/// The same for file systems that note whole seconds (or two).
const COARSE_TICK: Duration = Duration::from_millis(2050);

impl FileIdentity {
    pub(crate) fn of(metadata: &Metadata) -> Self {
        Self {
            device: metadata.dev(),
            inode: metadata.ino(),
            size: metadata.len(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        }
    }

    /// Whether the file was not written to in between; it may have been renamed or removed.
    pub(crate) fn has_content_of(&self, earlier: &Self) -> bool {
        (self.size, self.modified) == (earlier.size, earlier.modified)
    }

    /// Whether another change from now on would make it another one. A change in the same tick of the clock as the last
    /// one does not show, so that what is read of a file until then may not be kept in its name.
    pub(crate) fn is_settled(&self) -> bool {
        self.is_settled_at(SystemTime::now())
    }

    fn is_settled_at(&self, now: SystemTime) -> bool {
        let (seconds, nanoseconds) = self.changed;
        let (Ok(seconds), Ok(part)) = (u64::try_from(seconds), u32::try_from(nanoseconds)) else {
            return false;
        };
        let tick = if part == 0 { COARSE_TICK } else { TICK };
        let changed = UNIX_EPOCH.checked_add(Duration::new(seconds, part));
        changed.is_some_and(|changed| now.duration_since(changed).is_ok_and(|age| age >= tick))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(changed: (i64, i64), now_millis: u64, expect: bool) {
        let identity = FileIdentity { changed, ..FileIdentity::default() };
        let now = UNIX_EPOCH + Duration::from_millis(now_millis);
        assert_eq!(identity.is_settled_at(now), expect, "changed at {changed:?}, now {now_millis} ms");
    }

    #[test]
    fn a_change_settles_after_a_tick_of_the_clock() {
        check((1000, 1_000_000), 1_000_001, false);
        check((1000, 1_000_000), 1_000_040, false);
        check((1000, 1_000_000), 1_000_051, true);
    }

    #[test]
    fn whole_seconds_may_be_all_that_the_file_system_knows() {
        check((1000, 0), 1_001_900, false);
        check((1000, 0), 1_002_050, true);
    }

    #[test]
    fn times_that_cannot_be_do_not_settle() {
        check((1000, 1), 999_000, false);
        check((-1, 1), 999_000, false);
        check((i64::MAX, 999_999_999), 999_000, false);
    }
}
