//! Which server of a group gets a request. Pure: whether servers are usable and how busy they are is asked for.

use std::hash::{BuildHasher, RandomState};

use corral_syntax::fnv_1a;

/// Chooses among the servers of one group, for one event loop.
pub(crate) struct Balancer {
    method: BalanceMethod,
    weights: Box<[u64]>,
    /// A hash of each server's name: where it stands for `BalanceMethod::Hash`.
    seeds: Box<[u64]>,
    /// How far each is ahead of its share. The sum is always 0.
    turns: Box<[i64]>,
    random: u64,
}

/// How one is chosen, see `corral_config::upstream::Balance`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BalanceMethod {
    RoundRobin,
    /// The least load for the weight, whatever that counts.
    LeastLoad,
    RandomTwo,
    Hash,
}

/// The facts that a choice depends on beside the weights.
pub(crate) struct BalanceInput<'s> {
    pub(crate) is_usable: &'s dyn Fn(usize) -> bool,
    /// Requests in progress, or another measure of what there is to do.
    pub(crate) load: &'s dyn Fn(usize) -> u64,
    /// The key of `BalanceMethod::Hash`.
    pub(crate) key: &'s [u8],
    /// The weight of a server at present; none when it is always the same.
    pub(crate) ramp: Option<&'s dyn Fn(usize, u64) -> u64>,
}

impl Balancer {
    /// For servers of these names and weights; a weight of 0 is never chosen.
    pub(crate) fn new<'n>(method: BalanceMethod, servers: impl Iterator<Item = (&'n str, u64)>) -> Self {
        let (seeds, weights): (Vec<_>, Vec<_>) =
            servers.map(|(name, weight)| (hash(name.as_bytes()), weight)).unzip();
        Self {
            method,
            turns: vec![0; weights.len()].into(),
            weights: weights.into(),
            seeds: seeds.into(),
            random: RandomState::new().hash_one(0),
        }
    }

    /// The index of the server that gets the request; none when none is usable.
    pub(crate) fn choose(&mut self, situation: &BalanceInput<'_>) -> Option<usize> {
        match self.method {
            BalanceMethod::RoundRobin => self.in_turn(situation, &|_, _| true),
            BalanceMethod::LeastLoad => self.least_busy(situation),
            BalanceMethod::RandomTwo => self.of_two(situation),
            BalanceMethod::Hash => self.by_hash(situation),
        }
    }

    /// The one with the fewest requests for its weight; in turn among equals.
    fn least_busy(&mut self, situation: &BalanceInput<'_>) -> Option<usize> {
        let best = self.usable(situation).min_by(|&a, &b| self.compare(a, b, situation))?;
        let load = |idx| u128::from((situation.load)(idx));
        let (best_load, best_weight) = (load(best), self.weight(best, situation));
        let is_equal = |idx, weight| load(idx) * u128::from(best_weight) == best_load * u128::from(weight);
        self.in_turn(situation, &is_equal)
    }

    /// Smooth weighted round robin among some of the usable servers, of which `is_one` is asked with their weights:
    /// each earns its weight, the richest is chosen and pays for all.
    fn in_turn(
        &mut self,
        situation: &BalanceInput<'_>,
        is_one: &dyn Fn(usize, u64) -> bool,
    ) -> Option<usize> {
        let mut total = 0;
        let mut chosen: Option<usize> = None;
        for idx in 0..self.weights.len() {
            let weight = self.weight(idx, situation);
            if weight == 0 || !(situation.is_usable)(idx) || !is_one(idx, weight) {
                continue;
            }
            self.turns[idx] += weight as i64;
            total += weight as i64;
            if chosen.is_none_or(|best| self.turns[idx] > self.turns[best]) {
                chosen = Some(idx);
            }
        }
        self.turns[chosen?] -= total;
        chosen
    }

    /// A server's weight at present.
    fn weight(&self, idx: usize, situation: &BalanceInput<'_>) -> u64 {
        let weight = self.weights[idx];
        situation.ramp.map_or(weight, |ramp| ramp(idx, weight))
    }

    /// The less busy one of two that are drawn.
    fn of_two(&mut self, situation: &BalanceInput<'_>) -> Option<usize> {
        let first = self.draw(situation, None)?;
        let Some(second) = self.draw(situation, Some(first)) else { return Some(first) };
        Some(if self.compare(second, first, situation).is_lt() { second } else { first })
    }

    /// Rendezvous hashing: each server has a score for the text, weighted, and the highest wins. A server that
    /// comes or goes moves only the texts that it wins or has won.
    fn by_hash(&self, situation: &BalanceInput<'_>) -> Option<usize> {
        let key = hash(situation.key);
        let score = |idx: usize| {
            let bits = mix(key ^ self.seeds[idx]) >> 11;
            let uniform = (bits as f64 + 0.5) / (1_u64 << 53) as f64;
            -(self.weight(idx, situation) as f64) / uniform.ln()
        };
        self.usable(situation).max_by(|&a, &b| score(a).total_cmp(&score(b)))
    }

    fn usable(&self, situation: &BalanceInput<'_>) -> impl Iterator<Item = usize> {
        (0..self.weights.len()).filter(|&idx| self.weights[idx] > 0 && (situation.is_usable)(idx))
    }

    /// Which of two has more to do for its weight.
    fn compare(&self, a: usize, b: usize, situation: &BalanceInput<'_>) -> std::cmp::Ordering {
        let load = |idx| u128::from((situation.load)(idx));
        let weight = |idx| u128::from(self.weight(idx, situation));
        (load(a) * weight(b)).cmp(&(load(b) * weight(a)))
    }

    /// A usable server other than `except`, as likely as its weight says.
    fn draw(&mut self, situation: &BalanceInput<'_>, except: Option<usize>) -> Option<usize> {
        self.random = self.random.wrapping_add(GOLDEN);
        let random = mix(self.random);
        let candidates = || self.usable(situation).filter(|&idx| Some(idx) != except);
        let total: u64 = candidates().map(|idx| self.weight(idx, situation)).sum();
        let mut left = random.checked_rem(total)?;
        for idx in candidates() {
            match left.checked_sub(self.weight(idx, situation)) {
                Some(rest) => left = rest,
                None => return Some(idx),
            }
        }
        None
    }
}

/// The mixed hash of a text: the same in each event loop and after each restart.
fn hash(text: &[u8]) -> u64 {
    mix(fnv_1a(text))
}

/// The last step of SplitMix64: each bit of the input changes about half of the output's.
fn mix(mut bits: u64) -> u64 {
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

#[cfg(test)]
mod tests;
