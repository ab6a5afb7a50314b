//! Limits for clients: how many requests of one key are answered in a time, or at once. All event loops share them, and
//! a new configuration keeps those that it leaves as they were.
//!
//! Which requests are asked, and how a refusal is answered, belongs to the exchange.
//!
//! A limit is shared by all event loops: a table in sixteen parts, each with a lock that is held for a few comparisons,
//! so that the rate is exact. Of a key it keeps a hash with a seed of its own. An application's limits are not part of
//! its specification, so that a change of them starts nothing.

mod concurrency;
mod gcra;
mod quota;
mod rate;
mod table;

use std::collections::HashMap;
use std::fmt::Display;
use std::hash::{BuildHasher, Hash, RandomState};
use std::sync::Arc;
use std::time::{Duration, Instant};

use corral_config::table::{Key, Table};
use corral_config::throttle::{Throttle, ThrottleBound};
use corral_ipc::message::LimitStatus;

use self::concurrency::Concurrency;
pub(crate) use self::quota::Quota;
use self::rate::RateLimiter;
use crate::clock::Millis;
use crate::log_throttle::LogThrottle;

/// All limits of a generation.
#[derive(Default)]
pub(crate) struct ClientLimits(Table<Throttle, Arc<ClientLimit>>);

/// One limit.
pub(crate) struct ClientLimit {
    throttle: Throttle,
    /// Hashes with a key of its own: a client cannot choose texts that collide.
    hasher: RandomState,
    limiter: Limiter,
    log_throttle: LogThrottle,
}

enum Limiter {
    Rate(RateLimiter),
    Concurrency(Concurrency),
}

/// A key as a limit counts it. Texts of any length take the same memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LimitKey(u64);

/// The answer of a limit to a request.
#[derive(Debug, Default)]
pub(crate) struct LimitDecision {
    /// The request is not to be answered.
    pub(crate) is_refused: bool,
    /// How long it is to wait before that.
    pub(crate) delay: Duration,
    /// To be said in the reply.
    pub(crate) quota: Option<Quota>,
    /// To be kept until the request is over.
    pub(crate) held: Option<ConcurrencyPermit>,
    /// The place of a request that may have to wait.
    pub(crate) turn: Option<DelayedTurn>,
}

/// A place among the requests of a key that are answered one after the other.
pub(crate) struct DelayedTurn {
    limit: Arc<ClientLimit>,
    counted: LimitKey,
}

impl DelayedTurn {
    /// The request has left before its turn.
    pub(crate) fn give_back(self, now: Instant) {
        if let Limiter::Rate(limiter) = &self.limit.limiter {
            limiter.give_back(self.counted, now);
        }
    }
}

/// A place among the requests of a key that are answered at the same time.
pub(crate) struct ConcurrencyPermit {
    limit: Arc<ClientLimit>,
    counted: LimitKey,
}

/// The figures of a limit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct LimitCounts {
    /// Requests that went on, at once or later.
    passed: u64,
    /// Passed requests that had to wait first, or would have had to without the dry run.
    delayed: u64,
    /// Requests that were refused, or would have been.
    refused: u64,
    /// Keys that are counted at the moment.
    keys: u64,
}

impl ClientLimits {
    /// The limits of a configuration; those that `previous` has, too, go on.
    pub(crate) fn new(throttles: &Table<Throttle>, previous: Option<&Self>) -> Self {
        let previous = previous.into_iter().flat_map(|limits| &limits.0);
        let known: HashMap<&str, _> = previous.map(|limit| (&*limit.throttle.place, limit)).collect();
        let limit = |throttle: &Throttle| match known.get(&*throttle.place) {
            Some(limit) if limit.throttle == *throttle => Arc::clone(limit),
            _ => Arc::new(ClientLimit::new(throttle)),
        };
        Self(throttles.iter().map(limit).collect())
    }

    pub(crate) fn get(&self, key: Key<Throttle>) -> Option<&Arc<ClientLimit>> {
        self.0.get(key)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &ClientLimit> {
        self.0.iter().map(|limit| &**limit)
    }
}

impl ClientLimit {
    fn new(throttle: &Throttle) -> Self {
        let limiter = match &throttle.bound {
            ThrottleBound::Rate(rate) => Limiter::Rate(RateLimiter::new(rate, Instant::now())),
            ThrottleBound::Concurrency(most) => Limiter::Concurrency(Concurrency::new(most.get())),
        };
        let throttle = throttle.clone();
        Self { throttle, hasher: RandomState::new(), limiter, log_throttle: LogThrottle::default() }
    }

    pub(crate) fn count(&self, key: impl Hash) -> LimitKey {
        LimitKey(self.hasher.hash_one(key))
    }

    /// Asks for one more request, and counts it.
    pub(crate) fn ask(self: &Arc<Self>, counted: LimitKey, now: Instant) -> LimitDecision {
        match &self.limiter {
            Limiter::Rate(limiter) => {
                let answer = limiter.ask(counted, now);
                let is_turn = limiter.delays() && !answer.is_refused;
                LimitDecision {
                    turn: is_turn.then(|| DelayedTurn { limit: Arc::clone(self), counted }),
                    ..answer
                }
            }
            Limiter::Concurrency(concurrency) => {
                let has_permit = concurrency.enter(counted);
                let held = has_permit.then(|| ConcurrencyPermit { limit: Arc::clone(self), counted });
                LimitDecision { is_refused: !has_permit, held, ..LimitDecision::default() }
            }
        }
    }

    /// Logs a refusal, once in a second.
    pub(crate) fn warn(&self, key: impl Display, now: Instant) {
        let Some(suppressed) = self.log_throttle.admit(Millis::of(now)) else { return };
        let place = &self.throttle.place;
        let refused = if self.throttle.dry_run { "would be refused (dry_run)" } else { "refused" };
        let reason = match self.limiter {
            Limiter::Rate(_) => "too many requests in a time",
            Limiter::Concurrency(_) => "too many requests at once",
        };
        tracing::warn!("{place}: {refused}, \"{key}\" has {reason}{suppressed}");
    }

    pub(crate) fn status(&self, now: Instant) -> LimitStatus {
        let tally = match &self.limiter {
            Limiter::Rate(limiter) => limiter.tally(now),
            Limiter::Concurrency(concurrency) => concurrency.tally(),
        };
        // No request was refused in a dry run.
        let dry_run = self.throttle.dry_run;
        let passed = tally.passed + if dry_run { tally.refused } else { 0 };
        let LimitCounts { delayed, refused, keys, .. } = tally;
        LimitStatus { place: self.throttle.place.clone(), dry_run, passed, delayed, refused, keys }
    }
}

impl Drop for ConcurrencyPermit {
    fn drop(&mut self) {
        if let Limiter::Concurrency(concurrency) = &self.limit.limiter {
            concurrency.leave(self.counted);
        }
    }
}

impl std::fmt::Debug for ConcurrencyPermit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ConcurrencyPermit").field("place", &self.limit.throttle.place).finish_non_exhaustive()
    }
}

impl std::fmt::Debug for DelayedTurn {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DelayedTurn").field("place", &self.limit.throttle.place).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
