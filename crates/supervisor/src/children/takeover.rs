//! Routers that take each other's place: one more is started for another number of event loops.

use std::time::Instant;

use corral_config::plan::Plan;
use corral_ipc::message::ToRouter;
use corral_sys::signal::Signal;

use crate::children::Children;
use crate::children::routers::threads_for;
use crate::decide::stop::LAST_REQUESTS;
use crate::issued_secrets::IssuedSecrets;
use crate::programs::Programs;

impl Children {
    /// Starts the router in charge.
    pub(crate) fn start_router(&mut self, programs: &Programs, secrets: &IssuedSecrets) {
        let router = &mut self.routers.in_charge;
        match programs.start_router(router.role.name, router.n_threads, secrets) {
            Ok((peer, outputs)) => {
                router.role.started(peer, Instant::now());
                self.outputs.add(outputs);
            }
            Err(error) => router.role.not_started(error, Instant::now()),
        }
    }

    /// Starts a successor if the router in charge has another number of event loops than a plan asks for. It takes over
    /// with the configuration that asks for it. Both accept connections for a moment; then the old one finishes what it
    /// has begun.
    pub(crate) fn fit_router(
        &mut self,
        plan: &Plan,
        programs: &Programs,
        secrets: &IssuedSecrets,
    ) -> Result<(), String> {
        let n_threads = threads_for(Some(plan));
        if n_threads == self.routers.in_charge.n_threads {
            return Ok(());
        }
        let successor = self.routers.successor_with(n_threads);
        match programs.start_router(successor.role.name, n_threads, secrets) {
            Ok((peer, outputs)) => {
                successor.role.started(peer, Instant::now());
                self.outputs.add(outputs);
                Ok(())
            }
            Err(error) => {
                self.routers.successor = None;
                Err(format!("start a router with {n_threads} event loops: {:#}", anyhow::Error::new(error)))
            }
        }
    }

    /// The successor, if there is one, has the configuration in force now. True if the router before it had died
    /// meanwhile.
    pub(crate) fn put_successor_in_charge(&mut self) -> bool {
        if self.routers.successor.is_none() {
            return false;
        }
        let replaced = self.routers.in_charge.id;
        self.routers.take_over();
        self.tell_router(replaced, &ToRouter::Finish { keep_idle: LAST_REQUESTS });
        let has_died = self.routers.find(replaced).is_none();
        if has_died {
            self.stop_apps_of(replaced);
        }
        has_died
    }

    /// The configuration that the successor was started for has failed.
    pub(crate) fn dismiss_successor(&mut self) {
        let successor = self.routers.successor.as_ref();
        if let Some(peer) = successor.and_then(|successor| successor.role.peer.as_ref()) {
            peer.kill(Signal::TERM);
        }
        self.routers.dismiss_successor();
    }
}
