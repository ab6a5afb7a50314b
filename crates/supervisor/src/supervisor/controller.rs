//! The controller: starting it, and what it asks for.

use std::os::fd::AsFd;
use std::time::Instant;

use corral_config::plan::AssetKind;
use corral_ipc::link::MAX_MESSAGE;
use corral_ipc::message::{Demand, FromController, Generation, Origin, ToController};

use super::Supervisor;
use crate::apply::{Apply, Content, Job, Purpose};
use crate::store::Store;

/// Changes that wait. Each has a whole configuration.
const MOST_JOBS: usize = 100;

/// Bytes of configurations that wait.
const MOST_WAITING: usize = 2 * MAX_MESSAGE;

/// Bytes of all that is uploaded: less than what a new controller can be told in its first message.
const MOST_UPLOADED: usize = MAX_MESSAGE / 2;

/// How much higher than the one before a number may be. Those of changes that were refused at once are not known here.
const LONGEST_STEP: u64 = 1 << 32;

const TOO_BUSY: &str = "too many changes wait already";

impl Supervisor {
    /// Reads what an earlier daemon left: contents and document.
    pub(super) fn read_stored(&mut self) {
        self.assets = self.parts.store.as_ref().map(Store::assets).unwrap_or_default();
        self.read_stored_document();
    }

    fn read_stored_document(&mut self) {
        if let Some(console) = &self.parts.console {
            self.stored = Some(console.document.clone());
            return;
        }
        let read = self.parts.store.as_ref().map(|store| store.read()).transpose();
        self.stored = read.map(Option::flatten).unwrap_or_else(|error| {
            let error = anyhow::Error::new(error);
            tracing::error!(target: "alert", "failed to restore previous configuration: {error:#}");
            self.keep_stored_aside = true;
            None
        });
    }

    pub(super) fn start_controller(&mut self) {
        self.controller.is_ready = false;
        match self.parts.launcher.start_own(self.controller.name, false) {
            Ok((peer, outputs)) => {
                self.controller.backoff.started(Instant::now());
                self.controller.peer = Some(peer);
                self.outputs.extend(outputs);
                self.greet_controller();
            }
            Err(error) => {
                self.controller.backoff.failed(Instant::now());
                tracing::error!(target: "alert", "start the controller: {:#}", anyhow::Error::new(error));
            }
        }
    }

    fn greet_controller(&mut self) {
        let (document, origin) = match &self.in_force {
            Some(build) => (Some(build.document.clone()), Origin::InForce),
            None => (self.stored.clone(), Origin::Stored),
        };
        let start = ToController::Start {
            document,
            origin,
            generation: self.controller_generation,
            modules: self.parts.modules.clone(),
            assets: self.assets.clone(),
            files: self.config_files(),
            token: self.parts.token.clone(),
        };
        if let Some(peer) = &mut self.controller.peer {
            peer.send(&start, &[self.parts.control.socket().as_fd()]);
        }
        if origin == Origin::InForce {
            self.replace_by_files();
        }
    }

    pub(super) fn tell_controller(&mut self, message: &ToController) {
        if let Some(peer) = &mut self.controller.peer {
            peer.send(message, &[]);
        }
    }

    /// Handles one message; false when there is none.
    pub(super) fn read_controller(&mut self) -> bool {
        let Some((message, _)) = self.controller.peer.as_mut().and_then(|peer| peer.next_message()) else {
            return false;
        };
        match message {
            FromController::Apply { generation, .. } if !self.is_next(generation) => {
                let peer = self.controller.peer.as_mut();
                peer.into_iter().for_each(|peer| peer.give_up("numbers configurations as it likes"));
            }
            FromController::Apply { generation, .. } if self.is_busy() => {
                let reason = TOO_BUSY.to_owned();
                self.tell_controller(&ToController::Refused { generation, reason });
            }
            FromController::RestartApp { ticket, .. } if self.is_busy() => {
                let error = Some(TOO_BUSY.to_owned());
                self.tell_controller(&ToController::Restarted { ticket, error });
            }
            FromController::Apply { generation, plan, document, assets, store, demand } => {
                self.controller_generation = self.controller_generation.max(generation);
                let demand = match &self.parts.predecessor {
                    // A person at a terminal has asked for this one document.
                    _ if self.parts.console.is_some() => Demand::Everything,
                    Some(predecessor) => predecessor.demand,
                    None => demand,
                };
                let purpose = Purpose::Change { generation, store, demand };
                self.jobs.push_back(Job::Change { purpose, content: Content { plan, document, assets } });
            }
            FromController::KeepStoredAside => self.keep_stored_aside = true,
            FromController::Status { ticket } => self.ask_status(ticket),
            FromController::RestartApp { ticket, name } => {
                self.jobs.push_back(Job::RestartApp { ticket: Some(ticket), name });
            }
            FromController::StoreAsset { ticket, kind, name, bytes } => {
                let error = self.store_asset(kind, &name, bytes).err();
                self.tell_controller(&ToController::AssetStored { ticket, error });
            }
            FromController::Listening => self.on_listening(),
        }
        true
    }

    /// Whether more changes wait than people make.
    fn is_busy(&self) -> bool {
        self.jobs.len() >= MOST_JOBS || self.jobs.iter().map(Job::size).sum::<usize>() > MOST_WAITING
    }

    /// Whether it is a number that the next configuration may have: the controllers to come need others.
    fn is_next(&self, generation: Generation) -> bool {
        let step = generation.0.checked_sub(self.controller_generation.0);
        step.is_some_and(|step| (1..=LONGEST_STEP).contains(&step))
    }

    /// Remembers it for the next controller as well, which may start when there is no state directory.
    fn store_asset(&mut self, kind: AssetKind, name: &str, bytes: Option<Vec<u8>>) -> Result<(), String> {
        let n_bytes = bytes.as_ref().map_or(0, |bytes| name.len() + bytes.len());
        if n_bytes > 0 && self.assets.size() + n_bytes > MOST_UPLOADED {
            return Err(format!("all that is uploaded may have {MOST_UPLOADED} bytes together"));
        }
        if let Some(store) = &self.parts.store {
            let stored = store.set_asset(kind, name, bytes.as_deref());
            stored.map_err(|error| format!("{:#}", anyhow::Error::new(error)))?;
        }
        self.assets.set(kind, name, bytes);
        Ok(())
    }

    fn on_listening(&mut self) {
        self.controller.is_ready = true;
        self.relieve_predecessor();
        self.service_manager.ready();
        if let Some(starter) = self.parts.starter.take() {
            starter.ready();
        }
    }

    /// The controller died: what it asked for has nobody to answer to.
    pub(super) fn forget_controller(&mut self) {
        self.controller.peer = None;
        self.controller.is_ready = false;
        self.jobs.retain(|job| matches!(job, Job::Restore | Job::Rebind));
        self.questions.clear();
        self.controller.backoff.failed(Instant::now());
        // The next one is told what is in force, and waits until that is known: applications may load for minutes.
        if self.in_force.is_some() && self.apply.as_ref().is_some_and(Apply::is_revocable_change) {
            self.fail("the controller process ended".to_owned());
        }
    }
}
