//! The connections of one event loop to one server that speaks HTTP/2.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Instant;

use corral_config::upstream::KeepAlive;
use tokio::sync::{Mutex, Notify};

use super::h2_connection::{H2Connection, StreamPermit};
use crate::upstream::failure::ServerFailure;
use crate::upstream::server_connection::ServerConnection;

/// Connections on which something new can be sent, in the order in which they were made.
#[derive(Default)]
pub(crate) struct H2Connections {
    open: RefCell<Vec<Rc<H2Connection>>>,
    /// Requests that come together wait for one connection, rather than make one each.
    opening: Mutex<()>,
}

impl H2Connections {
    /// A permit for a request: on the new connection that `connecting` makes if there is none on another one; `opened`
    /// is told of that. The caller limits the time.
    pub(crate) async fn permit_or_open(
        &self,
        rules: &KeepAlive,
        opened: &Notify,
        connecting: impl Future<Output = Result<ServerConnection, ServerFailure>>,
    ) -> Result<StreamPermit, ServerFailure> {
        if let Some(permit) = self.permit(rules) {
            return Ok(permit);
        }
        let _turn = self.opening.lock().await;
        if let Some(permit) = self.permit(rules) {
            return Ok(permit);
        }
        let h2_connection = H2Connection::open(connecting.await?).await?;
        let permit = h2_connection.permit(rules).unwrap_or_default().ok_or(ServerFailure::NoStreams)?;
        self.open.borrow_mut().push(h2_connection);
        opened.notify_one();
        Ok(permit)
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.open.borrow().len()
    }

    /// A permit on the first connection that has one, so that those behind it become idle; drops what is of no use.
    fn permit(&self, rules: &KeepAlive) -> Option<StreamPermit> {
        let mut found = None;
        self.open.borrow_mut().retain(|h2_connection| {
            if found.is_some() {
                return true;
            }
            match h2_connection.permit(rules) {
                Ok(permit) => {
                    found = permit;
                    true
                }
                Err(_) => false,
            }
        });
        found
    }

    /// Closes what has been idle for too long, and what is idle beyond the number that is kept. True when something is
    /// left.
    pub(crate) fn sweep(&self, rules: &KeepAlive, now: Instant) -> bool {
        let mut open = self.open.borrow_mut();
        let mut n_idle = 0;
        open.retain(|h2_connection| {
            let Some(since) = h2_connection.idle_since() else { return !h2_connection.has_ended() };
            n_idle += 1;
            let is_old = now.saturating_duration_since(since) >= rules.idle_timeout;
            !is_old && n_idle <= rules.connections && !h2_connection.has_ended()
        });
        !open.is_empty()
    }
}
