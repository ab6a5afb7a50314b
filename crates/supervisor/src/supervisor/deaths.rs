//! Children that have ended: which one it was, and what follows.

use std::time::{Duration, Instant};

use corral_sys::signal::{ChildChange, Ended, Pid};

use super::Supervisor;
use super::sources::Source;
use crate::children::Child;
use crate::children::prototypes::how_ended;
use crate::children::role::Role;
use crate::decide::life::Starts;

/// Messages that fit in a socket, and some.
const MOST_LAST_WORDS: usize = 1024;

/// They are read in less, but on a machine that is very busy.
const LONGEST_LAST_WORDS: Duration = Duration::from_secs(1);

impl Supervisor {
    /// Something has become of a child.
    pub(super) fn on_change(&mut self, pid: Pid, change: ChildChange) {
        let Some(child) = self.children.find(pid) else {
            return; // a worker whose prototype died, or a process that an application left behind
        };
        match change {
            ChildChange::Ended(ended) => self.on_death(child, pid, ended),
            ChildChange::Stopped | ChildChange::Continued => {
                if let Some(peer) = self.children.peer_mut(child) {
                    peer.set_stopped(change == ChildChange::Stopped);
                }
            }
        }
    }

    /// Reads what a process that has ended has said: the messages are still in the socket, which has room for fewer
    /// than are read. Other processes may have its end and go on.
    pub(super) fn read_last_words(&mut self, source: Source) {
        self.read_messages(source, MOST_LAST_WORDS, LONGEST_LAST_WORDS);
    }

    /// A child was collected.
    fn on_death(&mut self, child: Child, pid: Pid, ended: Ended) {
        self.read_last_words(Source::Child(child));
        match child {
            Child::Controller => {
                self.forget_controller();
                log_role_death(&self.children.controller, pid, ended, self.starts());
            }
            Child::Router(id) if id == self.children.routers.in_charge.id => {
                self.forget_router(id);
                log_role_death(&self.children.routers.in_charge.role, pid, ended, self.starts());
            }
            Child::Router(id) => {
                log_death("router", pid, ended, self.starts(), "");
                self.forget_router(id);
            }
            Child::Reader => {
                self.children.reader.ended(Instant::now());
                log_role_death(&self.children.reader, pid, ended, self.starts());
            }
            Child::Image(id) => {
                log_death("image", pid, ended, self.starts(), "");
                self.children.image_lost(id);
            }
            Child::Prototype(id) => {
                if let Some(app) = self.children.apps.get(&id) {
                    log_death(&format!("prototype of \"{}\"", app.spec.name), pid, ended, self.starts(), "");
                }
                self.children.prototype_died(id, pid, ended, &self.programs);
            }
        }
    }
}

/// Logs the death of a process that is started again, unless the end has begun; the line says how often that was.
fn log_role_death(role: &Role, pid: Pid, ended: Ended, starts: Starts) {
    let record = match starts {
        Starts::Permitted => role.backoff.describe(Instant::now()),
        Starts::Over => String::new(),
    };
    log_death(role.name, pid, ended, starts, &record);
}

fn log_death(name: &str, pid: Pid, ended: Ended, starts: Starts, record: &str) {
    let pid = pid.as_raw_nonzero();
    let is_expected = starts == Starts::Over || ended == Ended::Code(0);
    let how = how_ended(ended);
    if is_expected {
        tracing::info!(target: "notice", "process {pid} {how} ({name}){record}");
    } else {
        tracing::error!(target: "alert", "process {pid} {how} ({name}){record}");
    }
}
