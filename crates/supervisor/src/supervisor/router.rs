//! Routers: what they ask for, and what follows when one ends.

use std::os::fd::{AsFd as _, OwnedFd};
use std::time::Instant;

use corral_ipc::message::{ControlCall, FailedListener, FromRouter, GenerationId, ToController};
use corral_sys::deferred_close;

use super::Supervisor;
use crate::children::role::Role;
use crate::configuration::Unused;
use crate::decide::steps::ApplyEvent;
use crate::ids::RouterId;
use crate::issued_secrets::NOBODY;
use crate::peer::Peer;

impl Supervisor {
    /// Handles one message; false when there is none.
    pub(super) fn read_router(&mut self, id: RouterId) -> bool {
        let Self { children, programs, questions, .. } = self;
        let Some((message, fds)) = children.routers.peer_mut(id).and_then(Peer::next_message) else {
            return false;
        };
        match message {
            FromRouter::Ready => self.router_ready(id),
            FromRouter::Prepared { generation, failed } => self.router_prepared(id, generation, failed),
            FromRouter::NotPrepared { generation, reason } => {
                self.advance_if_about(id, generation, ApplyEvent::Prepared(Err(reason)));
            }
            FromRouter::Committed { generation } => {
                self.advance_if_about(id, generation, ApplyEvent::Committed);
            }
            FromRouter::Closed => {
                children.routers.closed(id);
                self.answer_changes();
            }
            FromRouter::StartWorker { app }
            | FromRouter::KillWorker { app, .. }
            | FromRouter::RetireWorker { app, .. }
            | FromRouter::WorkerDismissed { app, .. }
            | FromRouter::Workers { app, .. }
            | FromRouter::AppNotTaken { app, .. }
            | FromRouter::AppUnused { app }
                if children.apps.get(&app).is_some_and(|app| app.router != Some(id)) =>
            {
                children.end_router(id, "speaks of an application that is not its own");
            }
            FromRouter::StartWorker { app } => children.start_worker(id, app, programs),
            FromRouter::KillWorker { app, worker, cause, reason } => {
                children.kill_worker(app, worker, cause, &reason);
            }
            FromRouter::WorkerDismissed { app, worker, cause } => children.note_cause(app, worker, cause),
            FromRouter::Workers { ticket, app, workers } => self.take_workers(id, ticket, app, workers),
            FromRouter::RetireWorker { app, worker } => children.retire_worker(app, worker),
            FromRouter::AppNotTaken { app, reason } => children.app_not_taken(app, &reason),
            FromRouter::AppUnused { app } => {
                if self.configuration.unused(app) == Unused::Stop {
                    children.stop_app(app);
                }
            }
            FromRouter::Provided { ticket } if id == children.routers.in_charge.id && ticket != NOBODY => {
                self.children.controller.send(&ToController::Provided { ticket });
            }
            FromRouter::Provided { .. } => {}
            FromRouter::CertificateWanted { name, client } => {
                self.children.controller.send(&ToController::CertificateWanted { name, client });
            }
            FromRouter::ControlCall(call) => pass_on(&mut children.controller, call, fds),
            FromRouter::Status { ticket, status } => self.take_status(id, ticket, status),
            FromRouter::Ask { ticket, question } => self.on_desk_question(id, ticket, question),
            FromRouter::Finished { .. }
                if !self.stopping.has_begun() && id == children.routers.in_charge.id =>
            {
                children.end_router(id, "says that it has finished, but was not told to");
            }
            FromRouter::Finished { status } => {
                questions.keep_totals(id, status);
                self.tell_sums();
            }
        }
        true
    }

    fn router_ready(&mut self, id: RouterId) {
        if let Some(router) = self.children.routers.find_mut(id) {
            router.role.is_ready = true;
        }
        if self.children.routers.newest().id == id {
            self.advance(ApplyEvent::RouterReady);
        }
    }

    fn router_prepared(&mut self, id: RouterId, generation: GenerationId, failed: Vec<FailedListener>) {
        match self.configuration.applying(id, generation) {
            Some(apply) if failed.len() <= apply.build.listeners.len() => {
                self.advance(ApplyEvent::Prepared(Ok(failed)));
            }
            Some(_) => self.children.end_router(id, "cannot serve more listeners than there are"),
            None => {}
        }
    }

    /// A router speaks of a generation, which may be another one by now.
    fn advance_if_about(&mut self, id: RouterId, generation: GenerationId, event: ApplyEvent) {
        let effects = self.configuration.on_router(id, generation, event, Instant::now());
        self.carry_out(effects);
    }

    /// A router has ended, as it was told to or not.
    pub(super) fn forget_router(&mut self, id: RouterId) {
        let Self { children, configuration, .. } = self;
        if id == children.routers.in_charge.id {
            children.routers.in_charge.role.ended(Instant::now());
            let kept = configuration.router_in_charge_ended();
            children.take_back_workers(kept.as_deref());
        } else {
            children.routers.remove(id);
            children.stop_apps_of(id);
        }
        self.questions.forget_router(id);
        self.tell_sums();
        self.answer_questions();
        self.answer_changes();
        self.watch.iter_mut().for_each(|watch| watch.forget_router(id));
        // A few may end at a start.
        let is_tried_again = self.children.routers.in_charge.role.backoff.is_patient();
        let effects = self.configuration.router_ended(id, is_tried_again, Instant::now());
        self.carry_out(effects);
    }

    /// Takes note of what a router is to have in force that can still be heard.
    pub(super) fn note_owed(&mut self, now: Instant) {
        let Self { children, configuration, questions, .. } = self;
        questions.note_owed(configuration.owed().filter(|(router, _)| children.hears(*router)), now);
    }

    /// Ends routers that have owed an answer for too long.
    pub(super) fn end_silent(&mut self, now: Instant) {
        let children = &self.children;
        let silent = self.questions.silent(|router| children.hears(router), now);
        for router in silent {
            self.children.end_router(router, "has not answered for minutes");
        }
        self.note_owed(now);
    }
}

/// Passes a request of a client on to the controller. One that does not read those that wait gets no more of them, and
/// the client sees that its connection is closed.
fn pass_on(controller: &mut Role, call: ControlCall, fds: Vec<OwnedFd>) {
    match (&fds[..], &mut controller.peer) {
        ([socket], Some(peer)) if peer.takes_descriptors() => {
            peer.send(&ToController::Call(call), &[socket.as_fd()]);
        }
        ([_], _) => tracing::debug!("a request for the controller is dropped, which reads none"),
        _ => tracing::error!("pass a request on to the controller: no descriptor is left"),
    }
    // What waits in the socket is closed with it.
    deferred_close::let_go(fds);
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;
    use std::os::unix::net::UnixStream;

    use corral_config::control_service::ControlService;
    use corral_ipc::link::Link;
    use corral_sys::signal::Pid;

    use super::*;
    use crate::peer::{MOST_DESCRIPTORS, OutboxLimit};

    /// A request, and the client's end of its connection.
    fn call(controller: &mut Role) -> UnixStream {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let call = ControlCall { service: ControlService::Metrics, client: None, is_secure: false };
        pass_on(controller, call, vec![theirs.into()]);
        ours
    }

    #[test]
    fn requests_that_the_controller_does_not_read_are_bounded() {
        let (main, other) = Link::pair().unwrap();
        let this = Pid::from_raw(std::process::id().cast_signed()).unwrap();
        let mut controller = Role::new("controller", Instant::now());
        assert_eq!(call(&mut controller).read(&mut [0]).unwrap(), 0, "there is none");
        let peer = Peer::new("controller".to_owned(), this, main, OutboxLimit::Large);
        controller.started(peer, Instant::now());
        let takes = |controller: &Role| controller.peer.as_ref().is_some_and(Peer::takes_descriptors);
        let n_taken = (0..10_000).find(|_| {
            let is_full = !takes(&controller);
            if !is_full {
                call(&mut controller);
            }
            is_full
        });
        assert!(n_taken.is_some_and(|n| n >= MOST_DESCRIPTORS), "{n_taken:?}");
        assert_eq!(call(&mut controller).read(&mut [0]).unwrap(), 0);
        let read = other.try_recv::<ToController>();
        assert!(matches!(read, Ok(Some((ToController::Call(_), _)))), "{read:?}");
        controller.peer.iter_mut().for_each(Peer::flush);
        assert!(takes(&controller));
    }
}
