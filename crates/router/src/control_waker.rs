//! The word of event loops to the control thread that there is something to look after.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::sync::Notify;

/// How often it looks as long as something goes on.
pub(crate) const INTERVAL: Duration = Duration::from_secs(1);

/// By which event loops say that something goes on.
#[derive(Debug, Default)]
pub(crate) struct ControlWaker {
    is_wanted: AtomicBool,
    wanted: Notify,
}

impl ControlWaker {
    /// Something has begun that is to be looked after. Said after that, it is not missed.
    pub(crate) fn want(&self) {
        if !self.is_wanted.load(Ordering::Relaxed) && !self.is_wanted.swap(true, Ordering::AcqRel) {
            self.wanted.notify_one();
        }
    }

    /// Whether anything has begun since this was asked. Asked before looking, nothing is missed.
    pub(crate) fn take(&self) -> bool {
        self.is_wanted.swap(false, Ordering::AcqRel)
    }

    /// Waits until something begins. Cancel safe.
    pub(crate) async fn wanted(&self) {
        self.wanted.notified().await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_begins_is_noticed_once() {
        let control_waker = ControlWaker::default();
        assert!(!control_waker.take());
        control_waker.want();
        control_waker.want();
        control_waker.wanted().await;
        assert!(control_waker.take() && !control_waker.take());
        control_waker.want();
        control_waker.wanted().await;
    }
}
