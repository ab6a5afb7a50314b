//! Programs that serve HTTP themselves as workers of an application.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use corral_channel::{Lane, RequestId};
use corral_ipc::message::{EndCause, FromRouter};

use super::app::AppInstance;
use super::pool::worker::WorkerKey;
use super::port::AnyPort;
use super::program::ReadyProgram;
use super::program_port::ProgramPort;

impl AppInstance {
    /// Puts a program into the pool, where it takes nothing yet.
    pub(crate) fn add_program(&self, program: &Arc<ReadyProgram>) -> WorkerKey {
        *self.last_error.lock() = None;
        let (id, pid) = (program.id, program.pid);
        let port = ProgramPort { program: Arc::clone(program), turns: Arc::clone(&self.turns) };
        let key = self.pool.lock().add_worker(id, pid, AnyPort::Program(port), Instant::now());
        program.set_key(key);
        key
    }

    /// A program can take another request in place of this one.
    pub(super) fn release_worker(
        &self,
        program: &ReadyProgram,
        (lane, id): (Lane, RequestId),
        elapsed: Duration,
    ) {
        let Some(worker) = program.key() else { return };
        let run_time = u32::try_from(elapsed.as_micros()).unwrap_or(u32::MAX);
        // Nothing follows from that it was held no more.
        let _ = self.done(worker, lane, id, run_time, Instant::now());
    }

    /// The turn of a program that was released before has ended.
    pub(super) fn end_turn(&self, program: &ReadyProgram) {
        let was_last = program.end_turn();
        let Some(worker) = program.key() else { return };
        if was_last {
            program.dismiss();
            self.leaving(worker, Instant::now());
        }
        if program.retires_now() {
            self.main.send(&FromRouter::RetireWorker { app: self.id, worker: program.id });
        }
    }

    /// A program accepts no connections: it is of no use, if it has not ended already.
    pub(crate) fn forsake(&self, program: &ReadyProgram, why: &dyn fmt::Display) {
        let Some(worker) = program.key() else { return };
        if self.pool.lock().is_leaving(worker) {
            return; // it was told so already
        }
        self.leaving(worker, Instant::now());
        if program.has_answered() && self.spec.runtime.gateway().is_some() {
            // Such programs end themselves after some requests, each in its own way. One that does not end is told to.
            program.dismiss();
            if program.retires_now() {
                self.main.send(&FromRouter::RetireWorker { app: self.id, worker: program.id });
            }
            return;
        }
        let reason = format!("process {} accepts no connections: {why}", program.pid);
        let (worker, cause) = (program.id, EndCause::Broken);
        self.main.send(&FromRouter::KillWorker { app: self.id, worker, cause, reason });
    }
}
