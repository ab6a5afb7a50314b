//! Help for developers (`corral run`): requests wait for code that is being loaded, and errors are explained.
//! A daemon has none of this.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;

use corral_ipc::message::{DevMode as Services, DevQuestion, FromRouter, Ticket};
use tokio::sync::oneshot;

use crate::main_link::MainSender;

static DEV_RELOAD: OnceLock<DevReload> = OnceLock::new();

/// Asks `main` for requests.
pub(crate) struct DevReload {
    services: Services,
    main: MainSender,
    last_ticket: AtomicU64,
    waiting: Mutex<HashMap<Ticket, oneshot::Sender<Vec<String>>>>,
}

/// Turned on once, at start, if anything is wanted.
pub(crate) fn enable(services: Services, main: MainSender) {
    if services != Services::default() {
        let (last_ticket, waiting) = (AtomicU64::new(0), Mutex::default());
        // Only the first call counts; the router starts once in a process.
        let _ = DEV_RELOAD.set(DevReload { services, main, last_ticket, waiting });
    }
}

/// The means to ask `main`, if requests wait for changed code.
pub(crate) fn watching() -> Option<&'static DevReload> {
    DEV_RELOAD.get().filter(|dev| dev.services.watches)
}

/// The means to ask `main`, if errors are explained.
pub(crate) fn explaining() -> Option<&'static DevReload> {
    DEV_RELOAD.get().filter(|dev| dev.services.explains)
}

/// An answer of `main`.
pub(crate) fn answer(ticket: Ticket, words: Vec<String>) {
    let asked = DEV_RELOAD.get().and_then(|dev| dev.lock().remove(&ticket));
    if let Some(asked) = asked {
        // The client may have gone meanwhile.
        let _ = asked.send(words);
    }
}

impl DevReload {
    /// Waits until the applications run the code that there is.
    pub(crate) async fn be_current(&self) {
        self.ask(DevQuestion::IsCurrent).await;
    }

    /// The lines that the applications have printed last, or in the time that a request has taken.
    pub(crate) async fn last_words(&self, within: Option<Duration>) -> Vec<String> {
        self.ask(DevQuestion::LastWords { within }).await
    }

    async fn ask(&self, question: DevQuestion) -> Vec<String> {
        let ticket = Ticket(self.last_ticket.fetch_add(1, Ordering::Relaxed));
        let (asked, answer) = oneshot::channel();
        self.lock().insert(ticket, asked);
        self.main.send(&FromRouter::Ask { ticket, question });
        answer.await.unwrap_or_default()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<Ticket, oneshot::Sender<Vec<String>>>> {
        // No operation on the map can leave it half-done.
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
