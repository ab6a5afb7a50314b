//! The prototype of an interpreter: forks workers, copies of itself with the application loaded, at main's word.

use std::io;
use std::num::NonZeroU32;
use std::os::fd::OwnedFd;
use std::time::Instant;

use corral_channel::{WorkerBell, WorkerEnd, file_sockets};
use corral_ipc::link::Link;
use corral_ipc::message::{Exit, FromPrototype, WorkerId};
use corral_ipc::reason;
use corral_sys::doorbell;
use corral_sys::process;
use corral_sys::signal;
use corral_sys::spawn::Fork;
use rustix::process::{Pid, getpid};

use crate::children::Scope;
use crate::keeper::Keeper;
use crate::runtime::Runtime;
use crate::setup::WorkerSetup;
use crate::starting::{self, ReadyReport, Starting, WorkerHandles};

/// An application that is loaded and can be forked.
pub(crate) struct Prototype {
    keeper: Keeper,
    bell: WorkerBell,
    /// Workers that are not ready for requests yet.
    starting: Vec<Starting>,
}

/// How [`Prototype::run`] ends.
pub(crate) enum PrototypeEnd {
    /// All workers are gone, and this process can go.
    Stopped,
    /// This process is a new worker.
    InWorker(Box<WorkerSetup>),
}

impl Prototype {
    /// Reports to main that the application is loaded.
    ///
    /// # Errors
    /// When a descriptor or memory is lacking.
    pub(crate) fn start(link: Link, n_lanes: u16) -> io::Result<Self> {
        let keeper = Keeper::new(link, Scope::Process)?;
        let (bell, descriptors) = WorkerBell::create(n_lanes)?;
        keeper.tell(&FromPrototype::Ready, &descriptors);
        Ok(Self { keeper, bell, starting: Vec::new() })
    }

    /// Serves main until it says stop or is gone.
    ///
    /// # Errors
    /// When the link or the signals cannot be read.
    pub(crate) fn run(mut self, runtime: &mut dyn Runtime) -> io::Result<PrototypeEnd> {
        if runtime.has_end() {
            self.keeper.children.take_note_of_termination();
        }
        while !self.keeper.is_done() {
            let pipes: Vec<_> = self.starting.iter().filter_map(Starting::pipe).collect();
            let now = Instant::now();
            let left = self.starting.iter().filter_map(|starting| starting.time_left(now)).min();
            self.keeper.sleep(&pipes, left)?;
            self.take_reports();
            self.end_overdue(Instant::now());
            self.take_deaths()?;
            while let Some(worker) = self.keeper.next_wanted()? {
                if let Some(place) = self.fork(worker, runtime) {
                    return Ok(PrototypeEnd::InWorker(place));
                }
            }
        }
        Ok(PrototypeEnd::Stopped)
    }

    fn end_overdue(&mut self, now: Instant) {
        for starting in self.starting.iter().filter(|starting| starting.is_overdue(now)) {
            self.keeper.children.end(starting.worker, now);
        }
    }

    fn take_deaths(&mut self) -> io::Result<()> {
        for (worker, exit) in self.keeper.reap()? {
            let place = self.starting.iter().position(|starting| starting.worker == worker);
            match place.map(|place| self.starting.swap_remove(place)) {
                Some(starting) => self.take_last_word(starting, exit),
                None => self.keeper.tell(&FromPrototype::Exited { worker, exit }, &[]),
            }
        }
        Ok(())
    }

    /// A worker has ended that was never reported as ready.
    fn take_last_word(&mut self, mut starting: Starting, exit: Exit) {
        let worker = starting.worker;
        match starting.word() {
            ReadyReport::Ready(concurrency) => {
                self.announce(starting, concurrency);
                self.keeper.tell(&FromPrototype::Exited { worker, exit }, &[]);
            }
            ReadyReport::Failed(reason) => {
                let reason = reason::cut(reason);
                self.keeper.tell(&FromPrototype::ForkFailed { worker, reason }, &[]);
            }
            ReadyReport::Nothing if starting.is_overdue(Instant::now()) => {
                let reason =
                    format!("the process was not ready within {} s", starting::LONGEST_START.as_secs());
                self.keeper.tell(&FromPrototype::ForkFailed { worker, reason }, &[]);
            }
            ReadyReport::Nothing => {
                let reason = match exit {
                    Exit::Code(code) => format!("the process exited with code {code} while it started"),
                    Exit::Signal(number) => format!("the process exited on signal {number} while it started"),
                };
                self.keeper.tell(&FromPrototype::ForkFailed { worker, reason }, &[]);
            }
        }
    }

    /// Tells of workers that have become ready. What one says that has failed is looked at when it is gone.
    fn take_reports(&mut self) {
        let starting = std::mem::take(&mut self.starting);
        for mut starting in starting {
            match starting.word() {
                ReadyReport::Ready(concurrency) => self.announce(starting, concurrency),
                ReadyReport::Nothing | ReadyReport::Failed(_) => self.starting.push(starting),
            }
        }
    }

    /// Tells main of a worker that takes requests.
    fn announce(&self, starting: Starting, concurrency: Option<NonZeroU32>) {
        let Starting { worker, pid, access, .. } = starting;
        self.announce_worker(worker, pid, concurrency, access);
    }

    fn announce_worker(
        &self,
        worker: WorkerId,
        pid: Pid,
        concurrency: Option<NonZeroU32>,
        access: WorkerHandles,
    ) {
        let number = pid.as_raw_nonzero().get().unsigned_abs();
        // Main may not know that number, if this process has a namespace of its own.
        let WorkerHandles { memory, bell, files } = access;
        let bell = bell.filter(|_| concurrency.is_some());
        let message = FromPrototype::Forked { worker, pid: number, concurrency, files: files.is_some() };
        let descriptors = [Some(memory), bell, files, process::pidfd(pid).ok()];
        let descriptors: Vec<_> = descriptors.into_iter().flatten().collect();
        self.keeper.tell(&message, &descriptors);
    }

    /// Returns in a new worker with its place, and in the prototype with nothing.
    fn fork(&mut self, worker: WorkerId, runtime: &mut dyn Runtime) -> Option<Box<WorkerSetup>> {
        match self.try_fork(runtime) {
            Ok(Forked::Child(place)) => return Some(place),
            Ok(Forked::Parent { pid, access, pipe }) => {
                self.keeper.children.add(pid, worker);
                match pipe {
                    Some(pipe) => {
                        self.starting.push(Starting::new(worker, pid, access, pipe, Instant::now()));
                    }
                    None => self.announce_worker(worker, pid, None, access),
                }
            }
            Err(error) => {
                let reason = format!("fork a worker: {error}");
                self.keeper.tell(&FromPrototype::ForkFailed { worker, reason }, &[]);
            }
        }
        None
    }

    fn try_fork(&self, runtime: &mut dyn Runtime) -> io::Result<Forked> {
        if self.keeper.is_stopping() {
            return Err(io::Error::other("the application is stopping"));
        }
        let (end, memory) = WorkerEnd::create(&self.bell)?;
        let (doorbell, bell) = runtime.may_loop().then(doorbell::pair).transpose()?.unzip();
        let (sender, files) = runtime.sends_files().then(file_sockets).transpose()?.unzip();
        let end = end.with_files(sender);
        let (pipe, report) = runtime.has_start().then(starting::pipe).transpose()?.unzip();
        let parent = getpid();
        runtime.before_fork();
        let forked = runtime.fork();
        if matches!(forked, Ok(Fork::Child)) {
            runtime.forked();
        } else {
            runtime.after_fork();
        }
        match forked? {
            Fork::Parent(pid) => {
                Ok(Forked::Parent { pid, access: WorkerHandles { memory, bell, files }, pipe })
            }
            Fork::Child => {
                process::end_with(parent)?;
                signal::unblock_all()?;
                Ok(Forked::Child(Box::new(WorkerSetup { end, parent, report, doorbell })))
            }
        }
    }
}

enum Forked {
    Parent {
        pid: Pid,
        access: WorkerHandles,
        /// Says when it is ready, if it is not yet.
        pipe: Option<OwnedFd>,
    },
    Child(Box<WorkerSetup>),
}
