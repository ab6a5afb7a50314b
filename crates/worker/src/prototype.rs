//! The prototype's loop: forks workers at main's word, collects those that end, and goes with main.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::time::Instant;

use corral_channel::{WorkerBell, WorkerEnd};
use corral_ipc::link::Link;
use corral_ipc::message::{Exit, FromPrototype, ToPrototype, WorkerId};
use corral_sys::process;
use corral_sys::signal::{self, Signal, SignalFd};
use corral_sys::spawn::{self, Fork};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, getpid};

use crate::children::Children;
use crate::log::complain;
use crate::runtime::Runtime;
use crate::starting::{self, Report, Starting, Word};

/// An application that is loaded and can be forked.
pub(crate) struct Prototype {
    /// None once main is gone.
    link: Option<Link>,
    signals: SignalFd,
    bell: WorkerBell,
    children: Children,
    /// Workers that are not ready for requests yet.
    starting: Vec<Starting>,
    /// Waits for its workers to end, then ends too.
    stopping: bool,
}

/// How [`Prototype::run`] ends.
pub(crate) enum Ended {
    /// All workers are gone, and this process can go.
    Stopped,
    /// This process is a new worker.
    InWorker(Box<Place>),
}

/// What a new worker has from its prototype.
pub(crate) struct Place {
    pub(crate) end: WorkerEnd,
    /// The prototype. A worker whose parent is another process has outlived it.
    pub(crate) parent: Pid,
    /// Where to say that it is ready, if somebody waits for that.
    pub(crate) report: Option<Report>,
}

impl Prototype {
    /// Reports to main that the application is loaded.
    ///
    /// # Errors
    /// When a descriptor or memory is lacking, or main is gone.
    pub(crate) fn start(link: Link, n_lanes: u16) -> io::Result<Self> {
        let signals = SignalFd::new(&[Signal::CHILD, Signal::TERM])?;
        let (bell, descriptors) = WorkerBell::create(n_lanes)?;
        let descriptors: Vec<_> = descriptors.iter().map(OwnedFd::as_fd).collect();
        link.send(&FromPrototype::Ready, &descriptors)?;
        let (children, starting) = (Children::default(), Vec::new());
        Ok(Self { link: Some(link), signals, bell, children, starting, stopping: false })
    }

    /// Serves main until it says stop or is gone.
    ///
    /// # Errors
    /// When the link or the signals cannot be read.
    pub(crate) fn run(mut self, runtime: &mut dyn Runtime) -> io::Result<Ended> {
        while !(self.stopping && self.children.is_empty()) {
            self.sleep()?;
            self.take_reports();
            self.take_signals()?;
            if let Some(place) = self.take_messages(runtime)? {
                return Ok(Ended::InWorker(Box::new(place)));
            }
            self.children.kill_overdue(Instant::now());
        }
        Ok(Ended::Stopped)
    }

    fn sleep(&self) -> io::Result<()> {
        let mut fds = vec![PollFd::new(&self.signals, PollFlags::IN)];
        fds.extend(self.link.as_ref().map(|link| PollFd::new(link, PollFlags::IN)));
        let pipes = self.starting.iter().filter_map(Starting::pipe);
        fds.extend(pipes.map(|pipe| PollFd::from_borrowed_fd(pipe, PollFlags::IN)));
        let timeout = self.children.next_deadline(Instant::now());
        let timeout = timeout.map(|timeout| Timespec::try_from(timeout).expect("a deadline is seconds away"));
        match poll(&mut fds, timeout.as_ref()) {
            Err(error) if error != rustix::io::Errno::INTR => Err(error.into()),
            _ => Ok(()),
        }
    }

    fn take_signals(&mut self) -> io::Result<()> {
        while let Some(number) = self.signals.next_signal()? {
            if number == Signal::TERM.as_raw() {
                self.stop();
            }
        }
        for (worker, exit) in self.children.reap(Instant::now()) {
            let place = self.starting.iter().position(|starting| starting.worker == worker);
            match place.map(|place| self.starting.swap_remove(place)) {
                Some(starting) => self.take_last_word(starting, exit),
                None => self.tell(&FromPrototype::Exited { worker, exit }, &[]),
            }
        }
        Ok(())
    }

    /// A worker has ended that nobody has heard of as ready.
    fn take_last_word(&mut self, mut starting: Starting, exit: Exit) {
        let worker = starting.worker;
        match starting.word() {
            Word::Ready => {
                self.announce(starting);
                self.tell(&FromPrototype::Exited { worker, exit }, &[]);
            }
            Word::Failed(reason) => self.tell(&FromPrototype::ForkFailed { worker, reason }, &[]),
            Word::Nothing => {
                let reason = match exit {
                    Exit::Code(code) => format!("the process exited with code {code} while it started"),
                    Exit::Signal(number) => format!("the process exited on signal {number} while it started"),
                };
                self.tell(&FromPrototype::ForkFailed { worker, reason }, &[]);
            }
        }
    }

    /// Tells of workers that have become ready. What one says that has failed is looked at when it is gone.
    fn take_reports(&mut self) {
        let starting = std::mem::take(&mut self.starting);
        for mut starting in starting {
            if starting.word() == Word::Ready {
                self.announce(starting);
            } else {
                self.starting.push(starting);
            }
        }
    }

    /// Tells main of a worker that takes requests.
    fn announce(&self, starting: Starting) {
        self.announce_worker(starting.worker, starting.pid, starting.memory);
    }

    fn announce_worker(&self, worker: WorkerId, pid: Pid, memory: OwnedFd) {
        let number = pid.as_raw_nonzero().get().unsigned_abs();
        // Main may not know that number, if this process has a namespace of its own.
        let descriptors: Vec<_> = [Some(memory), process::pidfd(pid).ok()].into_iter().flatten().collect();
        self.tell(&FromPrototype::Forked { worker, pid: number }, &descriptors);
    }

    /// Returns in a new worker with its place, and in the prototype with nothing.
    fn take_messages(&mut self, runtime: &mut dyn Runtime) -> io::Result<Option<Place>> {
        while let Some(link) = &self.link {
            match link.try_recv::<ToPrototype>() {
                Ok(Some((ToPrototype::Fork { worker }, _))) => {
                    if let Some(place) = self.fork(worker, runtime) {
                        return Ok(Some(place));
                    }
                }
                Ok(Some((ToPrototype::Kill { worker }, _))) => self.children.end(worker, Instant::now()),
                Ok(Some((ToPrototype::Stop, _))) => self.stop(),
                Ok(Some((ToPrototype::Start { .. }, _))) => {
                    return Err(io::Error::new(io::ErrorKind::InvalidData, "main says Start twice"));
                }
                Ok(None) => self.lose_main(),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(None),
                Err(error) => return Err(error),
            }
        }
        Ok(None)
    }

    fn fork(&mut self, worker: WorkerId, runtime: &mut dyn Runtime) -> Option<Place> {
        match self.try_fork(runtime) {
            Ok(Forked::Child(place)) => return Some(place),
            Ok(Forked::Parent { pid, memory, pipe }) => {
                self.children.add(pid, worker);
                match pipe {
                    Some(pipe) => self.starting.push(Starting::new(worker, pid, memory, pipe)),
                    None => self.announce_worker(worker, pid, memory),
                }
            }
            Err(error) => {
                let reason = format!("fork a worker: {error}");
                self.tell(&FromPrototype::ForkFailed { worker, reason }, &[]);
            }
        }
        None
    }

    fn try_fork(&self, runtime: &mut dyn Runtime) -> io::Result<Forked> {
        if self.stopping {
            return Err(io::Error::other("the application is stopping"));
        }
        let (end, memory) = WorkerEnd::create(&self.bell)?;
        let (pipe, report) = runtime.has_start().then(starting::pipe).transpose()?.unzip();
        let parent = getpid();
        runtime.before_fork();
        let forked = spawn::fork();
        if matches!(forked, Ok(Fork::Child)) {
            runtime.forked();
        } else {
            runtime.after_fork();
        }
        match forked? {
            Fork::Parent(pid) => Ok(Forked::Parent { pid, memory, pipe }),
            Fork::Child => {
                signal::unblock_all()?;
                Ok(Forked::Child(Place { end, parent, report }))
            }
        }
    }

    /// Main that is gone needs no answer: the next `take_messages` notices it.
    fn tell(&self, message: &FromPrototype, descriptors: &[OwnedFd]) {
        let Some(link) = &self.link else { return };
        let descriptors: Vec<_> = descriptors.iter().map(AsFd::as_fd).collect();
        if let Err(error) = link.send(message, &descriptors)
            && error.kind() != io::ErrorKind::BrokenPipe
        {
            complain(format_args!("cannot tell the daemon {message:?}: {error}"));
        }
    }

    fn lose_main(&mut self) {
        self.link = None;
        self.stop();
    }

    fn stop(&mut self) {
        self.stopping = true;
        self.children.end_all(Instant::now());
    }
}

enum Forked {
    Parent {
        pid: Pid,
        memory: OwnedFd,
        /// Says when it is ready, if it is not yet.
        pipe: Option<OwnedFd>,
    },
    Child(Place),
}
