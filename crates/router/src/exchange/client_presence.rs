//! Clients that leave before they have an answer. A request that waits is dropped then, or is run all the same: because
//! of its method, or because its application says so.

use std::cell::OnceCell;
use std::future::pending;
use std::rc::Rc;

use corral_config::abandoned::Abandoned;

use crate::exchange::Exchange;
use crate::exchange::carrier::{Carrier, ClientSignal};
use crate::request::client::Gone;
use crate::services::LoopServices;

/// Requests of one event loop that wait without their clients. Those of HTTP/2, whose streams are over, have no other
/// bound.
const MOST_ABANDONED: usize = 256;

impl Exchange<'_> {
    /// The sign that the client of a request that is under way has left.
    pub(crate) fn sign_of_departure(&self) -> ClientSignal {
        match (self.way.without_client.get(), self.reply.close) {
            (Some(_), _) => ClientSignal::None,
            (None, true) => ClientSignal::Lasting,
            (None, false) => ClientSignal::Finished,
        }
    }

    /// `Err` if the client has left, and the application that was found since does not want such requests.
    pub(crate) fn drop_if_abandoned(&self) -> Result<(), Gone> {
        let is_without = self.way.without_client.get().is_some();
        if is_without && !self.way.abandoned.runs(self.request.method()) { Err(Gone) } else { Ok(()) }
    }

    /// The client, for code that waits on its behalf.
    pub(crate) fn presence(&self) -> ClientPresence<'_> {
        let Self { carrier, way, services, .. } = self;
        ClientPresence {
            carrier: &**carrier,
            abandoned: way.abandoned,
            without_client: &way.without_client,
            services,
            method: self.request.method(),
            closes: self.reply.close,
        }
    }
}

/// The client of a request that waits or is under way.
#[derive(Clone, Copy)]
pub(crate) struct ClientPresence<'e> {
    carrier: &'e dyn Carrier,
    abandoned: Abandoned,
    without_client: &'e OnceCell<Rc<()>>,
    services: &'e LoopServices,
    method: &'e [u8],
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
