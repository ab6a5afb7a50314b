//! Sockets that a service manager has made and given to this process: sd_listen_fds(3). They stay open whatever the
//! configuration says, so that no connection is refused while this process is started again.

use std::cell::Cell;
use std::os::fd::OwnedFd;
use std::rc::Rc;

use anyhow::Context;
use corral_config::address::ListenAddress;
use corral_sys::listen::{self, Local};
use corral_sys::process;

use crate::listeners::BoundListener;

/// The name of the socket that the control API is to use (`FileDescriptorName`).
const CONTROL: &str = "control";

/// The sockets that were given for the control API and for listeners.
#[derive(Debug, Default)]
pub(crate) struct GivenSockets {
    pub(crate) control: Option<(ListenAddress, OwnedFd)>,
    pub(crate) listeners: Vec<Rc<BoundListener>>,
    /// Whether the sockets that no listener names have been reported.
    is_told: Cell<bool>,
}

impl GivenSockets {
    /// Takes what the environment describes, if it is meant for this process.
    ///
    /// # Errors
    /// When it does not describe what is open, as after a wrapper that has closed descriptors.
    pub(crate) fn take() -> anyhow::Result<Self> {
        let names = sd_notify::listen_fds_with_names().context("take the sockets of LISTEN_FDS")?;
        let names: Vec<_> = names.map(|(_, name)| name).collect();
        let n = u16::try_from(names.len()).context("take the sockets of LISTEN_FDS")?;
        let sockets = process::take_inherited_descriptors(n).context("take the sockets of LISTEN_FDS")?;
        let mut given = Self::default();
        for (socket, name) in sockets.into_iter().zip(&names) {
            match listen::adopt(&socket) {
                Ok(local) => given.add(address(local), name, socket),
                Err(error) => {
                    tracing::warn!("the socket \"{name}\" of the service manager is not used: {error}");
                }
            }
        }
        Ok(given)
    }

    fn add(&mut self, address: ListenAddress, name: &str, socket: OwnedFd) {
        if name == CONTROL && self.control.is_none() {
            self.control = Some((address, socket));
        } else {
            self.add_listener(address, vec![socket]);
        }
    }

    /// Sockets of one address belong together, as with `ReusePort`.
    pub(crate) fn add_listener(&mut self, address: ListenAddress, sockets: Vec<OwnedFd>) {
        let position = self.listeners.iter().position(|bound| *bound.address() == address);
        let before = position.map(|position| self.listeners.swap_remove(position));
        let before = before.and_then(Rc::into_inner).map(BoundListener::into_sockets).unwrap_or_default();
        let sockets = before.into_iter().chain(sockets).collect();
        self.listeners.push(Rc::new(BoundListener::given(address, sockets)));
    }

    /// The one that the control API is to use: by its name, or its address.
    pub(crate) fn take_control(&mut self, wanted: &ListenAddress) -> Option<(ListenAddress, OwnedFd)> {
        if self.control.is_none()
            && let Some(position) = self.listeners.iter().position(|bound| bound.address() == wanted)
        {
            let bound = Rc::into_inner(self.listeners.remove(position))?;
            return bound.into_sockets().pop().map(|socket| (wanted.clone(), socket));
        }
        self.control.take()
    }

    /// Says once which of them no listener uses.
    pub(crate) fn report_unused(&self, used: &[Rc<BoundListener>]) {
        if self.is_told.replace(true) {
            return;
        }
        for given in &self.listeners {
            if !used.iter().any(|bound| bound.address() == given.address()) {
                let address = given.address();
                tracing::info!(
                    target: "notice",
                    "the socket \"{address}\" of the service manager stays open for later: no listener names it"
                );
            }
        }
    }
}

fn address(local: Local) -> ListenAddress {
    match local {
        Local::Inet(address) => ListenAddress::Inet(address),
        Local::Unix(path) => ListenAddress::Unix(path),
        Local::Abstract(name) => ListenAddress::Abstract(name),
        Local::Udp(address) => ListenAddress::Udp(address),
    }
}
