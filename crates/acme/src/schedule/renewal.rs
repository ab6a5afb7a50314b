//! When a certificate is to be renewed: as its authority suggests (RFC 9773), or by a share of its lifetime.

use std::time::{Duration, SystemTime};

use crate::issued_certificate::IssuedCertificate;
use crate::jitter::Jitter;
use crate::pause;
use crate::time;

/// The window that an authority suggests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Suggestion {
    pub(crate) start: SystemTime,
    pub(crate) end: SystemTime,
    /// When to ask again.
    pub(crate) ask_after: Duration,
}

/// When one certificate is renewed, and when its authority is asked about that.
pub(super) struct Renewal {
    at: SystemTime,
    ask_at: SystemTime,
    n_failures: u32,
}

impl Renewal {
    /// For a certificate of an earlier process: its authority may have changed its mind meanwhile.
    pub(super) fn new(held: &IssuedCertificate, now: SystemTime, jitter: &mut Jitter) -> Self {
        Self { at: usual(held, jitter), ask_at: now, n_failures: 0 }
    }

    /// For a certificate that was issued just now, about which there is nothing to ask for a while.
    pub(super) fn fresh(held: &IssuedCertificate, now: SystemTime, jitter: &mut Jitter) -> Self {
        let first = pause::OF_QUESTION.longest.min(lifetime(held) / 4);
        Self { ask_at: now + first.mul_f64(0.5 + 0.5 * jitter.draw()), ..Self::new(held, now, jitter) }
    }

    pub(super) fn at(&self) -> SystemTime {
        self.at
    }

    pub(super) fn ask_at(&self, now: SystemTime) -> SystemTime {
        time::unless_beyond(self.ask_at, now, LATEST_QUESTION)
    }

    /// An answer, or none. A time within the window is kept for as long as the window holds it.
    pub(super) fn suggested(
        &mut self,
        held: &IssuedCertificate,
        suggestion: Option<Suggestion>,
        now: SystemTime,
        jitter: &mut Jitter,
    ) {
        let Some(Suggestion { start, end, ask_after }) = suggestion else {
            self.n_failures = self.n_failures.saturating_add(1);
            self.ask_at = now + pause::OF_QUESTION.after(self.n_failures, jitter);
            return;
        };
        self.n_failures = 0;
        self.ask_at = now + ask_after.clamp(SOONEST_QUESTION, LATEST_QUESTION);
        if !(start..=end).contains(&self.at) {
            let window = end.duration_since(start).unwrap_or_default();
            // Never so late that a failure could not be made good.
            self.at = (start + window.mul_f64(jitter.draw())).min(held.not_after - lifetime(held) / 20);
        }
    }
}

fn lifetime(held: &IssuedCertificate) -> Duration {
    held.not_after.duration_since(held.not_before).unwrap_or_default()
}

/// A third of the lifetime before the end, half of it for those that live for some days; a little earlier for some, so
/// that those that were ordered together are not renewed together.
fn usual(held: &IssuedCertificate, jitter: &mut Jitter) -> SystemTime {
    let lifetime = lifetime(held);
    let left = if lifetime < SHORT_LIFE { lifetime / 2 } else { lifetime / 3 };
    held.not_after - left - lifetime.mul_f64(0.02 * jitter.draw())
}

const SHORT_LIFE: Duration = Duration::from_secs(10 * 86_400);

/// Bounds for `Retry-After` of an answer (RFC 9773 section 4.3.2).
const SOONEST_QUESTION: Duration = Duration::from_secs(60);
const LATEST_QUESTION: Duration = Duration::from_secs(86_400);
