//! The controller: starting it, and what it asks for.

use std::os::fd::AsFd;
use std::time::Instant;

use corral_ipc::message::{
    ChangeOrigin, FromController, GenerationId, IssuedSecret, StartPolicy, Ticket, ToController, ToRouter,
};

use super::Supervisor;
use crate::configuration::build::Content;
use crate::configuration::jobs::{Job, Purpose};

const TOO_BUSY: &str = "too many changes wait already";

impl Supervisor {
    /// A new controller is told what is in force, so nothing may be half-way.
    pub(super) fn may_start_controller(&self) -> bool {
        !self.configuration.is_applying() && !self.upgrade.goes_on()
    }

    pub(super) fn start_controller(&mut self) {
        let controller = &mut self.children.controller;
        match self.programs.launcher.start_own(controller.name, false) {
            Ok((peer, outputs)) => {
                controller.started(peer, Instant::now());
                self.children.outputs.add(outputs);
                self.greet_controller();
            }
            Err(error) => controller.not_started(error, Instant::now()),
        }
    }

    fn greet_controller(&mut self) {
        let (document, origin) = match self.configuration.in_force() {
            Some(build) => (Some(build.document.clone()), ChangeOrigin::InForce),
            None => (self.stored.document.clone(), ChangeOrigin::Stored),
        };
        let start = ToController::Start {
            document,
            origin,
            generation: self.configuration.highest(),
            modules: self.programs.modules.clone(),
            assets: self.stored.assets().clone(),
            records: self.stored.records().to_vec(),
            history: self.stored.history().to_vec(),
            files: self.files.describe(),
            token: self.token.clone(),
            read_token: self.read_token.clone(),
        };
        if let Some(peer) = &mut self.children.controller.peer {
            peer.send(&start, &[self.inheritance.control.socket().as_fd()]);
        }
        if origin == ChangeOrigin::InForce {
            self.replace_by_files();
        }
    }

    /// Handles one message; false when there is none.
    pub(super) fn read_controller(&mut self) -> bool {
        let peer = self.children.controller.peer.as_mut();
        let Some((message, _)) = peer.and_then(|peer| peer.next_message()) else {
            return false;
        };
        match message {
            FromController::Apply { generation, .. } if !self.configuration.is_next(generation) => {
                self.children.controller.give_up("numbers configurations as it likes");
            }
            FromController::Apply { generation, .. } if self.configuration.is_busy() => {
                let reason = TOO_BUSY.to_owned();
                self.children.controller.send(&ToController::Refused { generation, reason });
            }
            FromController::RestartApp { ticket, .. } if self.configuration.is_busy() => {
                let error = Some(TOO_BUSY.to_owned());
                self.children.controller.send(&ToController::Restarted { ticket, error });
            }
            FromController::Apply { generation, plan, document, assets, store, start_policy } => {
                self.plan_change(generation, Content { plan, document, assets }, store, start_policy);
            }
            FromController::Revoke { order } => {
                let effects = self.configuration.revoke(order);
                self.carry_out(effects);
            }
            FromController::KeepStoredAside => self.stored.keep_aside(),
            FromController::Status { ticket } => self.ask_status(ticket),
            FromController::Workers { ticket, name } => self.ask_workers(ticket, &name),
            FromController::EndWorker { ticket, name, pid, ending } => {
                self.end_worker(ticket, &name, pid, ending);
            }
            FromController::RunApp { ticket, name } => self.run_now(ticket, &name),
            FromController::DescribeExec { ticket, name, uid } => self.describe_exec(ticket, &name, uid),
            FromController::RestartApp { ticket, name } => {
                self.configuration.plan(Job::RestartApp { ticket: Some(ticket), name });
            }
            FromController::StoreAsset { ticket, kind, name, bytes } => {
                let error = self.stored.set_asset(kind, &name, bytes).err();
                self.children.controller.send(&ToController::AssetStored { ticket, error });
            }
            FromController::StoreRecord { ticket, name, bytes } => {
                let error = self.stored.set_record(&name, bytes).err();
                self.children.controller.send(&ToController::RecordStored { ticket, error });
            }
            FromController::StoreHistory { ticket, configuration } => {
                let error = self.stored.add_history(configuration).err();
                self.children.controller.send(&ToController::RecordStored { ticket, error });
            }
            FromController::Provide { ticket, secrets } => self.provide(ticket, secrets),
            FromController::OpenLog { ticket } => self.open_log(ticket),
            FromController::Listening => self.on_listening(),
            FromController::ExportMetrics { request } => {
                self.children.routers.in_charge.role.send(&ToRouter::ExportMetrics { request });
            }
        }
        true
    }

    fn plan_change(
        &mut self,
        generation: GenerationId,
        content: Content,
        store: bool,
        start_policy: StartPolicy,
    ) {
        self.configuration.note_number(generation);
        let start_policy = match &self.inheritance.predecessor {
            // A person at a terminal has asked for this one document.
            _ if self.audience.console.is_some() => StartPolicy::Everything,
            Some(predecessor) => predecessor.start_policy,
            None => start_policy,
        };
        let purpose = Purpose::Change { generation, store, start_policy };
        self.configuration.plan(Job::Change { purpose, content });
    }

    /// A router that is not there yet gets all of them when it starts.
    fn provide(&mut self, ticket: Ticket, secrets: Vec<IssuedSecret>) {
        if self.secrets.take(&secrets).is_err() {
            return self.children.controller.give_up("provides more than a router can be told");
        }
        if self.children.routers.in_charge.role.peer.is_none() {
            self.children.controller.send(&ToController::Provided { ticket });
        }
        self.children.tell_routers(&ToRouter::Provide { ticket, secrets });
    }

    /// A controller that does not read its answers gets no further descriptors: each that waits is one of this process.
    fn open_log(&mut self, ticket: Ticket) {
        let Some(peer) = &mut self.children.controller.peer else { return };
        let opened = if peer.wants_to_write() {
            Err("answers wait to be read".to_owned())
        } else {
            self.audience.open_log().map_err(|error| error.to_string())
        };
        let (file, error) = match opened {
            Ok(file) => (file, None),
            Err(reason) => (None, Some(format!("open the log: {reason}"))),
        };
        let fds: Vec<_> = file.iter().map(AsFd::as_fd).collect();
        peer.send(&ToController::LogOpened { ticket, error }, &fds);
    }

    fn on_listening(&mut self) {
        self.children.controller.is_ready = true;
        self.relieve_predecessor();
        self.audience.ready();
    }

    /// The controller died.
    pub(super) fn forget_controller(&mut self) {
        self.children.controller.ended(Instant::now());
        self.questions.clear();
        let effects = self.configuration.controller_ended(Instant::now());
        self.carry_out(effects);
    }
}
