//! A Redis of the test's own, from Debian's package.

use std::fs;
use std::process::{Child, Command, Stdio};

use crate::site::{Site, site};
use crate::wait::eventually;

/// A server with a socket of its own, which every user may connect to.
#[derive(Debug)]
pub struct Redis {
    child: Child,
    folder: Site,
}

impl Redis {
    /// Starts one, without files.
    ///
    /// # Panics
    /// When it is not installed.
    #[must_use]
    #[track_caller]
    pub fn start() -> Self {
        let folder = site();
        let socket = folder.path("redis.sock");
        let child = Command::new("redis-server")
            .args(["--port", "0", "--save", "", "--appendonly", "no", "--unixsocketperm", "777"])
            .arg("--dir")
            .arg(folder.path(""))
            .arg("--unixsocket")
            .arg(&socket)
            .stdout(Stdio::null())
            .spawn()
            .expect("redis-server starts: scripts/setup test");
        eventually("redis listens", || fs::metadata(&socket).is_ok().then_some(()));
        Self { child, folder }
    }

    /// The path of its socket.
    #[must_use]
    pub fn socket(&self) -> String {
        self.folder.path("redis.sock").display().to_string()
    }
}

impl Drop for Redis {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
