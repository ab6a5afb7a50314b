//! After how many requests a worker leaves.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::SystemTime;

use corral_config::plan::Limits;

/// The number for this process; none if there is no limit.
pub(crate) fn draw(limits: &Limits) -> Option<u32> {
    let mut lot = DefaultHasher::new();
    (std::process::id(), SystemTime::now()).hash(&mut lot);
    limits.draw_requests(lot.finish())
}
