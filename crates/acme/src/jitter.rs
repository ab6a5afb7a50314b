//! Chance, for pauses and renewals that must not all end at once. No secret depends on it.

use std::hash::{BuildHasher as _, RandomState};

/// A source of numbers.
pub(crate) enum Jitter {
    /// Seeded by the operating system.
    Random { state: RandomState, n_drawn: u64 },
    /// The same number each time, for tests.
    #[cfg(test)]
    Fixed(f64),
}

impl Jitter {
    pub(crate) fn random() -> Self {
        Self::Random { state: RandomState::new(), n_drawn: 0 }
    }

    /// A number from 0 to 1, without 1.
    pub(crate) fn draw(&mut self) -> f64 {
        match self {
            Self::Random { state, n_drawn } => {
                *n_drawn += 1;
                // As many bits as the fraction of a number has.
                let bits = state.hash_one(*n_drawn) >> 11;
                bits as f64 / (1u64 << 53) as f64
            }
            #[cfg(test)]
            Self::Fixed(number) => *number,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_differ_and_stay_between_zero_and_one() {
        let mut jitter = Jitter::random();
        let drawn: Vec<_> = (0..1000).map(|_| jitter.draw()).collect();
        assert!(drawn.iter().all(|number| (0.0..1.0).contains(number)));
        assert!(drawn.iter().any(|number| *number < 0.1) && drawn.iter().any(|number| *number > 0.9));
    }
}
