//! How long a request may run.
//!
//! A second thread ticks, code yields at each tick, and the first thread looks at the time.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use corral_config::plan::Limits;
use corral_worker::Exchange;
use tokio::time::{Sleep, sleep};

/// How often a request is looked at whose visitor may have been sent away.
const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// Why a request was ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Overdue {
    /// The router has given up.
    #[error("it ran for {0:.1?} and its client no longer waits (limits.timeout)")]
    Timeout(Duration),
    /// The request has run for as long as any may.
    #[error("it ran for {0:.1?} (limits.kill_after)")]
    KillAfter(Duration),
}

/// The bounds of one request.
pub(crate) struct Deadline {
    begun: Instant,
    timeout: Duration,
    kill_after: Duration,
    alarm: Pin<Box<Sleep>>,
}

impl Deadline {
    /// The deadline of a request that begins now; `None` when it may take as long as it likes. Within Tokio.
    pub(crate) fn new(limits: &Limits) -> Option<Self> {
        let timeout = limits.timeout.unwrap_or(Duration::MAX);
        let kill_after = limits.kill_after.unwrap_or(Duration::MAX);
        let first = timeout.min(kill_after);
        (first != Duration::MAX).then(|| Self {
            begun: Instant::now(),
            timeout,
            kill_after,
            alarm: Box::pin(sleep(first)),
        })
    }

    /// Whether it is over; if not, the task is woken when it is worth asking again.
    pub(crate) fn poll(&mut self, exchange: &mut dyn Exchange, cx: &mut Context<'_>) -> Poll<Overdue> {
        let ran = self.begun.elapsed();
        if ran >= self.kill_after {
            return Poll::Ready(Overdue::KillAfter(ran));
        }
        if ran >= self.timeout && exchange.client_gone() {
            return Poll::Ready(Overdue::Timeout(ran));
        }
        while self.alarm.as_mut().poll(cx).is_ready() {
            self.alarm.set(sleep(LOOK_AGAIN));
        }
        Poll::Pending
    }
}
