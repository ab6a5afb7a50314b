//! The bounds of the history of configurations: the controller shows it and main stores it, so both drop the same ones.

use serde::{Deserialize, Serialize};

/// Most configurations that are kept.
pub const MOST_CONFIGURATIONS: usize = 100;

/// Most bytes of all of them together.
pub const MOST_BYTES: usize = 16 * 1024 * 1024;

/// One configuration that was in force, as it is stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredConfiguration {
    /// A number that grows with each.
    pub id: u32,
    /// The configuration with what is told about it, opaque to main.
    pub bytes: Vec<u8>,
}

/// How many of the oldest have to go, so that the rest keeps the bounds. `sizes` has the oldest first.
#[must_use]
pub fn surplus(sizes: &[usize]) -> usize {
    let mut room = MOST_BYTES;
    let fits = |size: &&usize| {
        let rest = room.checked_sub(**size);
        room = rest.unwrap_or(0);
        rest.is_some()
    };
    sizes.len() - sizes.iter().rev().take(MOST_CONFIGURATIONS).take_while(fits).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_go_first() {
        const HALF: usize = MOST_BYTES / 2;
        for (sizes, expected) in [
            (vec![], 0),
            (vec![1; MOST_CONFIGURATIONS], 0),
            (vec![1; MOST_CONFIGURATIONS + 3], 3),
            (vec![HALF, HALF], 0),
            (vec![HALF, 1, HALF], 1),
            (vec![1, MOST_BYTES], 1),
            (vec![1, MOST_BYTES + 1, 1], 2),
            (vec![MOST_BYTES + 1], 1),
            (vec![usize::MAX, usize::MAX], 2),
        ] {
            assert_eq!(surplus(&sizes), expected, "{sizes:?}");
        }
    }
}
