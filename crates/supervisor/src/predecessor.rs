//! The main process that this one takes over from: what it hands over, and what it is told.

use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::rc::Rc;

use anyhow::{Context, bail};
use corral_config::address::ListenAddress;
use corral_ipc::link::Link;
use corral_ipc::message::{Demand, FromSuccessor, ToSuccessor};

use crate::given::GivenSockets;
use crate::listeners::Bound;

/// Set, with any value, in the environment of a process that is to take over; its link is open then.
pub(crate) const MARK: &str = "CORRAL_TAKES_OVER";

/// What a predecessor has handed over. Its sockets' files are its own until it is told.
pub(crate) struct Predecessor {
    link: Link,
    pub(crate) control: Option<(ListenAddress, OwnedFd)>,
    pub(crate) listeners: Vec<Rc<Bound>>,
    /// What a service manager has made.
    pub(crate) given: GivenSockets,
    /// What of the stored configuration has to work.
    pub(crate) demand: Demand,
    /// To be written when this process serves; set by whoever has read the options.
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
        loop {
            let received = link.recv()?;
            // All of these are about sockets, but the last.
            if let Some((message, sockets)) = &received
                && sockets.is_empty()
                && !matches!(message, ToSuccessor::Begin { .. })
            {
                bail!("no descriptor is left for its sockets");
            }
            match received {
                Some((ToSuccessor::Control { address }, mut sockets)) => {
                    control = sockets.pop().map(|socket| (address, socket));
                }
                Some((ToSuccessor::Listener { address }, sockets)) => {
                    listeners.push(Rc::new(Bound::handed_over(address, sockets)));
                }
                Some((ToSuccessor::Given { address }, sockets)) => given.add_listener(address, sockets),
                Some((ToSuccessor::GivenControl { address }, mut sockets)) => {
                    given.control = sockets.pop().map(|socket| (address, socket));
                }
                Some((ToSuccessor::Begin { demand }, _)) => {
                    return Ok(Self { link, control, listeners, given, demand, pid_file: None });
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

    /// Tells it that this process serves now, by which it has nothing left but what it has begun.
    pub(crate) fn relieve(self) {
        // One that has died meanwhile needs not be told.
        let _ = self.link.send(&FromSuccessor::Serving, &[]);
    }
}
