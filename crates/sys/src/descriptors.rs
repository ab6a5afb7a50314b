//! How many descriptors this process has open.

use std::fs;

const OWN: &str = "/proc/self/fd";

/// The descriptors that are open now; nothing without `/proc`. Kernels before Linux 6.2 have to list them.
#[must_use]
pub fn n_open() -> Option<u64> {
    let said = fs::metadata(OWN).ok()?.len();
    if said > 0 { Some(said) } else { n_listed() }
}

/// One is the list's own.
fn n_listed() -> Option<u64> {
    let n_listed = fs::read_dir(OWN).ok()?.count() as u64;
    Some(n_listed.saturating_sub(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Other tests of this process open and close some meanwhile.
    #[test]
    fn descriptors_are_counted() {
        const MANY: u64 = 200;
        let before = (n_open().unwrap(), n_listed().unwrap());
        let files: Vec<_> = (0..MANY).map(|_| fs::File::open("/dev/null").unwrap()).collect();
        let after = (n_open().unwrap(), n_listed().unwrap());
        assert!(after.0 > before.0 + MANY / 2 && after.0 < before.0 + 2 * MANY, "{before:?} {after:?}");
        assert!(
            after.1 > before.1 + MANY / 2 && after.1.abs_diff(after.0) < MANY / 2,
            "{before:?} {after:?}"
        );
        drop(files);
    }
}
