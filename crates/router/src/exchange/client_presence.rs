//! Clients that leave before they have an answer. A request that waits is dropped then, or is run all the same: because
//! of its method, or because its application says so.

use std::cell::OnceCell;
use std::future::pending;
use std::rc::Rc;

use corral_config::abandoned::Abandoned;

use crate::exchange::carrier::{Carrier, ClientSignal};
use crate::services::LoopServices;

/// Requests of one event loop that wait without their clients. Those of HTTP/2, whose streams are over, have no other
/// bound.
const MOST_ABANDONED: usize = 256;

/// The client of a request that waits or is under way.
#[derive(Clone, Copy)]
pub(crate) struct ClientPresence<'e> {
    pub(super) carrier: &'e dyn Carrier,
    pub(super) abandoned: Abandoned,
    pub(super) without_client: &'e OnceCell<Rc<()>>,
    pub(super) services: &'e LoopServices,
    pub(super) method: &'e [u8],
    /// The client has announced that it sends nothing more.
    pub(crate) closes: bool,
}

impl ClientPresence<'_> {
    /// Waits until the client of a request that waits has left, if that is the end of it. One that has only closed its
    /// sending half has most likely left, and is not waited for. Cancel safe.
    pub(crate) async fn left_waiting(self) {
        self.gone(ClientSignal::Finished).await;
        if self.is_run_without() {
            pending::<()>().await;
        }
    }

    /// Waits for a sign of its leaving, unless it is known to have left. Cancel safe.
    pub(crate) async fn gone(self, sign: ClientSignal) {
        let is_known = self.without_client.get().is_some();
        self.carrier.gone(if is_known { ClientSignal::None } else { sign }).await;
    }

    /// Whether a request that waits goes on without its client, which has left; from now on it does.
    pub(crate) fn is_run_without(self) -> bool {
        let is_run = self.abandoned.runs(self.method)
            && self.carrier.body_has_come()
            && Rc::strong_count(&self.services.abandoned) <= MOST_ABANDONED;
        if is_run {
            self.without_client.get_or_init(|| Rc::clone(&self.services.abandoned));
        }
        is_run
    }
}
