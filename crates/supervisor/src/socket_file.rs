//! The file of a Unix socket, which has to be removed in the end.

use std::cell::Cell;
use std::path::PathBuf;

use corral_config::address::ListenAddress;

/// Removes the file when dropped, unless another main process uses the socket.
#[derive(Debug)]
pub(crate) struct SocketFile {
    path: Option<PathBuf>,
    is_ours: Cell<bool>,
}

impl SocketFile {
    /// The file of a socket that was bound here; other addresses have no file.
    pub(crate) fn of(address: &ListenAddress) -> Self {
        let path = match address {
            ListenAddress::Unix(path) => Some(path.clone()),
            ListenAddress::Inet(_) | ListenAddress::Abstract(_) | ListenAddress::Udp(_) => None,
        };
        Self { path, is_ours: Cell::new(true) }
    }

    /// The file of a socket that another process has made and removes.
    pub(crate) fn of_another() -> Self {
        Self { path: None, is_ours: Cell::new(false) }
    }

    /// Decides which process removes the file: this one or another one.
    pub(crate) fn set_ours(&self, is_ours: bool) {
        self.is_ours.set(is_ours);
    }
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        if let Some(path) = self.path.as_ref().filter(|_| self.is_ours.get()) {
            // Another process may have removed it.
            let _ = std::fs::remove_file(path);
        }
    }
}
