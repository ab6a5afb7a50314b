//! The steps that a request may match.

use smallvec::SmallVec;

/// Lists of step numbers, each in rising order.
pub(super) type Candidates<'i> = SmallVec<[&'i [u32]; 8]>;
