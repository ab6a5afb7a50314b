//! The main process that this one takes over from: what it hands over, and what it is told.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::PathBuf;
use std::rc::Rc;

use anyhow::{Context, bail};
use corral_config::address::ListenAddress;
use corral_ipc::link::Link;
use corral_ipc::message::{FromSuccessor, StartPolicy, ToSuccessor};

use crate::given::GivenSockets;
use crate::listeners::BoundListener;

/// Set, with any value, in the environment of a process that is to take over; its link is open then.
pub(crate) const MARK: &str = "CORRAL_TAKES_OVER";

/// Everything that a predecessor has handed over. Its sockets' files are its own until it is told.
pub(crate) struct Predecessor {
    link: Link,
    pub(crate) control: Option<(ListenAddress, OwnedFd)>,
    pub(crate) listeners: Vec<Rc<BoundListener>>,
    /// The sockets that a service manager has made.
    pub(crate) given: GivenSockets,
    /// How much of the stored configuration has to work.
    pub(crate) start_policy: StartPolicy,
    /// The predecessor runs commands that no listener reaches.
    has_background: bool,
    /// To be written when this process serves; set once the options have been read.
    pub(crate) pid_file: Option<PathBuf>,
}

impl Predecessor {
    /// Takes everything over, if this process was started for that.
    ///
    /// # Errors
    /// When the other process has ended meanwhile or speaks another language.
    pub(crate) fn meet() -> anyhow::Result<Option<Self>> {
        if std::env::var_os(MARK).is_none() {
            return Ok(None);
        }
        let link = Link::inherited().with_context(|| format!("{MARK} is for the daemon's own use"))?;
        Self::receive(link).context("take over from the running daemon").map(Some)
    }

    fn receive(link: Link) -> anyhow::Result<Self> {
        let (mut control, mut listeners, mut given) = (None, Vec::new(), GivenSockets::default());
        let mut has_background = false;
        loop {
            let received = link.recv::<ToSuccessor>()?;
            if let Some((message, sockets)) = &received
                && sockets.is_empty()
                && message.is_about_sockets()
            {
                bail!("no descriptor is left for its sockets");
            }
            match received {
                Some((ToSuccessor::Control { address }, mut sockets)) => {
                    control = sockets.pop().map(|socket| (address, socket));
                }
                Some((ToSuccessor::Listener { address }, sockets)) => {
                    listeners.push(Rc::new(BoundListener::handed_over(address, sockets)));
                }
                Some((ToSuccessor::Given { address }, sockets)) => given.add_listener(address, sockets),
                Some((ToSuccessor::GivenControl { address }, mut sockets)) => {
                    given.control = sockets.pop().map(|socket| (address, socket));
                }
                Some((ToSuccessor::HasBackground, _)) => has_background = true,
                Some((ToSuccessor::ServicesEnded | ToSuccessor::RunsEnded, _)) => {}
                Some((ToSuccessor::Begin { start_policy }, _)) => {
                    return Ok(Self {
                        link,
                        control,
                        listeners,
                        given,
                        start_policy,
                        has_background,
                        pid_file: None,
                    });
                }
                None => bail!("it has ended"),
            }
        }
    }

    /// Tells it why this process cannot take over.
    pub(crate) fn failed(&self, reason: &str) {
        let reason = corral_ipc::reason::cut(reason.to_owned());
        // It goes on in any case.
        let _ = self.link.send(&FromSuccessor::Failed { reason }, &[]);
    }

    pub(crate) fn has_background(&self) -> bool {
        self.has_background
    }

    /// Tells it that this process serves now, by which it has nothing left but what it has begun.
    pub(crate) fn relieve(self) -> Option<Retiring> {
        // One that has died meanwhile needs not be told.
        let _ = self.link.send(&FromSuccessor::Serving, &[]);
        self.has_background.then_some(Retiring { link: self.link, have_services_ended: false })
    }
}

/// A predecessor that serves no more, and ends its commands.
pub(crate) struct Retiring {
    link: Link,
    have_services_ended: bool,
}

impl Retiring {
    /// Whether its commands are in the way of others of their kind.
    pub(crate) fn holds(&self, runs_always: bool) -> bool {
        !(runs_always && self.have_services_ended)
    }

    /// Hears what has ended; true when there is nothing more to hear.
    pub(crate) fn hear(&mut self) -> bool {
        loop {
            match self.link.try_recv::<ToSuccessor>() {
                Ok(Some((ToSuccessor::ServicesEnded, _))) => self.have_services_ended = true,
                Ok(Some((ToSuccessor::RunsEnded, _)) | None) => return true,
                Ok(Some(_)) => {}
                Err(error) => return error.kind() != io::ErrorKind::WouldBlock,
            }
        }
    }
}

impl AsFd for Retiring {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.link.as_fd()
    }
}
