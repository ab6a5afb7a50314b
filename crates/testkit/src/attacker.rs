//! An application whose code is hostile: a test holds its prototype's end of the link to main, and what its workers
//! share with the router, and says and writes whatever it likes.
//!
//! [`Attacker`] is a folder of modules with `attacker` as the host of PHP. Each prototype that main starts from it
//! gives its link to the test ([`Attacker::prototype`]) and makes processes when the test asks for them.
//!
//! A well-behaved application, which a test leaves when it wants to:
//!
//! ```no_run
//! use corral_testkit::Attacker;
//!
//! let attacker = Attacker::new("target/debug/attacker"); // env!("CARGO_BIN_EXE_attacker")
//! let server = attacker.daemon().config(attacker.config(&["hostile"])).start();
//! // Its first request starts the application, as it keeps no workers ready.
//! let mut client = server.connect();
//! client.write(b"GET /hostile HTTP/1.1\r\nHost: localhost\r\n\r\n");
//! let prototype = attacker.prototype();
//! let bell = prototype.ready();
//! let mut worker = prototype.worker(&bell);
//! let request = worker.request();
//! ```
//!
//! - [`Prototype::say`] sends main any message with any descriptors, [`Prototype::say_bytes`] any datagram.
//! - [`Prototype::hear`] is what main has said.
//! - [`Worker::end`] is the worker's end of its channel, in the process of the test. For memory, bells and file sockets
//!   of another kind, make them, [`Prototype::fork`] a process and `say` `Forked` with them.
//! - [`tarry()`] makes a descriptor whose closing takes long.
//! - [`link_of`] is the end of a link that a process of the daemon itself has: of a router that was taken over, say.
//! - [`crate::Watchdog`] sees whether main and the event loops answer meanwhile.

mod insider;
mod prototype;
mod tarry;
mod worker;

use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::Path;

use serde_json::{Value, json};
use tempfile::TempDir;

pub use self::insider::{can_take_links, link_of};
pub use self::prototype::{Child, Prototype};
pub use self::tarry::{TARRYING, Tarrying, tarry};
pub use self::worker::Worker;
use crate::daemon::{Builder, daemon};
use crate::site::{readable_temp_dir, set_mode};
use crate::wait::eventually;

/// Starts hostile applications.
#[derive(Debug)]
pub struct Attacker {
    dir: TempDir,
    listener: UnixListener,
}

impl Attacker {
    /// With the executable `attacker`, which Cargo builds for tests of this package.
    ///
    /// # Panics
    /// When the temporary folder cannot be written to.
    #[must_use]
    pub fn new(executable: &str) -> Self {
        let dir = readable_temp_dir();
        let modules = dir.path().join("modules");
        fs::create_dir(&modules).expect("make the folder");
        symlink(Path::new(executable), modules.join("corral-php")).expect("link the executable");
        let socket = dir.path().join("socket");
        let listener = UnixListener::bind(&socket).expect("listen");
        set_mode(&socket, 0o666);
        listener.set_nonblocking(true).expect("a socket can be told not to wait");
        Self { dir, listener }
    }

    /// A daemon that runs it.
    #[must_use]
    pub fn daemon(&self) -> Builder {
        daemon().argument("--modulesdir").argument(&self.path("modules"))
    }

    /// The configuration of one application. It keeps no workers ready: the first request starts it.
    #[must_use]
    pub fn application(&self) -> Value {
        json!({
            "type": "php",
            "root": self.path(""),
            "script": "index.php",
            "processes": { "max": 4, "spare": 0, "idle_timeout": 60 },
            "environment": { "ATTACKER": self.path("socket") },
        })
    }

    /// Applications with these names, reached at `/NAME`, and `/` as a page of the router itself.
    #[must_use]
    pub fn config(&self, names: &[&str]) -> Value {
        let applications = names.iter().map(|name| ((*name).to_owned(), self.application()));
        let application = |name| {
            json!({ "match": { "uri": format!("/{name}") },
            "action": { "pass": format!("applications/{name}") } })
        };
        let routes = names.iter().map(application).chain([json!({ "action": { "return": 204 } })]);
        json!({
            "applications": applications.collect::<serde_json::Map<_, _>>(),
            "routes": routes.collect::<Vec<_>>(),
        })
    }

    /// The next prototype that main starts, which has been told what to load.
    #[must_use]
    #[track_caller]
    pub fn prototype(&self) -> Prototype {
        let (stream, _) = eventually("main starts the application", || self.listener.accept().ok());
        stream.set_nonblocking(false).expect("a socket can be told to wait");
        Prototype::meet(&stream)
    }

    fn path(&self, name: &str) -> String {
        self.dir.path().join(name).to_str().expect("temporary paths are text").to_owned()
    }
}
