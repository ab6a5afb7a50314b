//! The inheritance that one main process hands on to the next: the sockets, and the files that say which process
//! serves.

use std::os::fd::AsFd;
use std::rc::Rc;

use corral_ipc::message::{StartPolicy, ToSuccessor};

use crate::control::OwnControlSocket;
use crate::earlier::EarlierProcesses;
use crate::given::GivenSockets;
use crate::listeners::BoundListener;
use crate::peer::Peer;
use crate::pid_file::PidFile;
use crate::predecessor::Predecessor;

/// Everything that this process has made or taken over, besides the listeners of its configuration.
pub(crate) struct Inheritance {
    pub(crate) control: OwnControlSocket,
    pub(crate) given: GivenSockets,
    pub(crate) pid_file: Option<PidFile>,
    /// Serves until this process does.
    pub(crate) predecessor: Option<Predecessor>,
    /// The same when it serves no more, and those before it.
    pub(crate) earlier: EarlierProcesses,
}

impl Inheritance {
    pub(crate) fn new(
        control: OwnControlSocket,
        given: GivenSockets,
        pid_file: Option<PidFile>,
        predecessor: Option<Predecessor>,
    ) -> Self {
        Self { control, given, pid_file, predecessor, earlier: EarlierProcesses::default() }
    }

    /// Listeners of the process that still serves.
    pub(crate) fn handed_over(&self) -> &[Rc<BoundListener>] {
        self.predecessor.as_ref().map_or(&[], |predecessor| &predecessor.listeners)
    }

    /// Gives a successor the sockets, its own copies, and tells it what has to work.
    pub(crate) fn hand_over(
        &self,
        listeners: &[Rc<BoundListener>],
        start_policy: StartPolicy,
        has_background: bool,
        successor: &mut Peer,
    ) {
        let control = &self.control;
        let address = control.address().clone();
        let message = match control.is_given() {
            true => ToSuccessor::GivenControl { address },
            false => ToSuccessor::Control { address },
        };
        successor.send(&message, &[control.socket().as_fd()]);
        let ours = listeners.iter().filter(|listener| !listener.is_given());
        for listener in ours.chain(&self.given.listeners) {
            let sockets: Vec<_> = listener.sockets().iter().map(AsFd::as_fd).collect();
            let address = listener.address().clone();
            let message = match listener.is_given() {
                true => ToSuccessor::Given { address },
                false => ToSuccessor::Listener { address },
            };
            successor.send(&message, &sockets);
        }
        if has_background {
            successor.send(&ToSuccessor::HasBackground, &[]);
        }
        successor.send(&ToSuccessor::Begin { start_policy }, &[]);
    }

    /// A successor serves: the files are its own from now on.
    pub(crate) fn let_go(&mut self, listeners: &[Rc<BoundListener>]) {
        self.control.file().set_ours(false);
        listeners.iter().for_each(|listener| listener.file().set_ours(false));
        self.pid_file.take().into_iter().for_each(std::mem::forget);
    }

    /// This process serves what its predecessor did: takes over the rest as well.
    pub(crate) fn take_over(&mut self, listeners: &[Rc<BoundListener>]) {
        let Some(mut predecessor) = self.predecessor.take() else { return };
        self.control.file().set_ours(true);
        listeners.iter().for_each(|listener| listener.file().set_ours(true));
        self.pid_file = predecessor.pid_file.take().and_then(|path| {
            PidFile::write(path).inspect_err(|error| tracing::error!(target: "alert", "{error:#}")).ok()
        });
        self.earlier.add(predecessor.relieve());
    }

    /// Whether commands may not begin, as those of processes before have not ended.
    pub(crate) fn holds(&self, runs_always: bool) -> bool {
        let is_before = self.predecessor.as_ref().is_some_and(Predecessor::has_background);
        is_before || self.earlier.hold(runs_always)
    }
}
