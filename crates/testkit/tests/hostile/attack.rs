//! The daemon and the application of each attack.

use corral_testkit::attacker::Prototype;
use corral_testkit::{Attacker, Client, Daemon};

/// A daemon with one hostile application, which was asked for and has been started.
pub(crate) struct Attack {
    pub(crate) attacker: Attacker,
    pub(crate) server: Daemon,
    /// Its request for the application, without an answer yet.
    pub(crate) client: Client,
    pub(crate) prototype: Prototype,
}

pub(crate) fn begin() -> Attack {
    begin_with(&["hostile"])
}

/// With further applications; the first is started.
pub(crate) fn begin_with(names: &[&str]) -> Attack {
    let attacker = Attacker::new(env!("CARGO_BIN_EXE_corral-attacker"));
    let server = attacker.daemon().config(attacker.config(names)).start();
    let client = ask(&server, names[0]);
    let prototype = attacker.prototype();
    assert_eq!(prototype.name, names[0]);
    Attack { attacker, server, client, prototype }
}

/// Sends a request for an application and does not wait for the answer.
pub(crate) fn ask(server: &Daemon, name: &str) -> Client {
    let mut client = server.connect();
    client.write(format!("GET /{name} HTTP/1.1\r\nHost: localhost\r\n\r\n"));
    client
}
