//! Another number of event loops: a new router takes over from the one in charge, with the configuration
//! that asks for it. Both accept connections for a moment; then the old one finishes what it has begun.

use std::num::NonZero;
use std::time::Duration;

use corral_config::plan::Plan;
use corral_ipc::message::ToRouter;
use corral_sys::signal::Signal;

use super::{Supervisor, router};
use crate::apply::Job;

/// Most event loops of a router: more than this many eventfds would not fit one message.
const MAX_THREADS: u32 = 128;

/// Clients may use an open connection again for this long; they are asked to open another one then.
pub(super) const LAST_REQUESTS: Duration = Duration::from_secs(5);

/// Event loops that a plan asks for, or one for each processor.
pub(super) fn threads_for(plan: Option<&Plan>) -> u16 {
    let n_threads = plan.and_then(|plan| plan.listen_threads).map_or_else(n_processors, NonZero::get);
    n_threads.min(MAX_THREADS) as u16
}

fn n_processors() -> u32 {
    std::thread::available_parallelism().map_or(1, |n| u32::try_from(n.get()).unwrap_or(u32::MAX))
}

impl Supervisor {
    /// Starts a successor if the router in charge has another number of event loops than a plan asks for.
    pub(super) fn fit_router(&mut self, plan: &Plan) -> Result<(), String> {
        let n_threads = threads_for(Some(plan));
        if n_threads == self.routers.in_charge.n_threads {
            return Ok(());
        }
        let successor = self.routers.successor_with(n_threads);
        match router::start(successor, &self.parts) {
            Ok(outputs) => {
                self.outputs.extend(outputs);
                Ok(())
            }
            Err(error) => {
                self.routers.successor = None;
                Err(format!("start a router with {n_threads} event loops: {:#}", anyhow::Error::new(error)))
            }
        }
    }

    /// The successor has the configuration in force now.
    pub(super) fn take_over(&mut self) {
        if self.routers.successor.is_none() {
            return;
        }
        let replaced = self.routers.in_charge.id;
        self.routers.take_over();
        self.tell_router(replaced, &ToRouter::Finish { keep_idle: LAST_REQUESTS });
        if self.routers.find(replaced).is_none() {
            // It had died meanwhile: what was planned to restore it is in its successor.
            self.stop_apps_of(replaced);
            self.jobs.retain(|job| !matches!(job, Job::Restore));
        }
    }

    /// The configuration that the successor was started for has failed.
    pub(super) fn dismiss_successor(&mut self) {
        let successor = self.routers.successor.as_ref();
        if let Some(peer) = successor.and_then(|successor| successor.role.peer.as_ref()) {
            peer.kill(Signal::TERM);
        }
        self.routers.dismiss_successor();
    }
}
