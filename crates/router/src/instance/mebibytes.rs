//! Amounts of memory in messages.

use std::fmt;

/// Bytes, as people read them.
pub(super) struct Mebibytes(pub(super) u64);

impl fmt::Display for Mebibytes {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tenths = self.0.saturating_mul(10) >> 20;
        write!(out, "{}.{} MiB", tenths / 10, tenths % 10)
    }
}
