//! The daemon and the application of each attack.

use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::Duration;

use corral_ipc::message::{ToPrototype, WorkerId};
use corral_testkit::attacker::Prototype;
use corral_testkit::{Attacker, Client, Daemon, OnEnd, Signal, eventually, signal, stop};

/// A daemon with hostile applications, of which the first was asked for and has been started.
pub(crate) struct Attack {
    pub(crate) prototype: Prototype,
    /// A client whose request for the application has no answer yet.
    pub(crate) client: Client,
    pub(crate) server: Daemon,
    pub(crate) attacker: Attacker,
    /// The processes of the daemon itself, as they were at the beginning.
    own: [Vec<u32>; 2],
}

pub(crate) fn begin() -> Attack {
    begin_with(&["hostile"])
}

/// With further applications; the first is started.
pub(crate) fn begin_with(names: &[&str]) -> Attack {
    let attacker = Attacker::new(env!("CARGO_BIN_EXE_attacker"));
    let server = attacker.daemon().config(attacker.config(names)).start();
    let own = processes(&server);
    let client = ask(&server, names[0]);
    let prototype = attacker.prototype();
    assert_eq!(prototype.name, names[0]);
    Attack { prototype, client, server, attacker, own }
}

/// Sends a request for an application and does not wait for the answer.
pub(crate) fn ask(server: &Daemon, name: &str) -> Client {
    let mut client = server.connect();
    client.write(format!("GET /{name} HTTP/1.1\r\nHost: localhost\r\n\r\n"));
    client
}

fn processes(server: &Daemon) -> [Vec<u32>; 2] {
    ["router", "controller"].map(|name| server.expect_processes(name, 1))
}

impl Attack {
    /// Main ends the prototype for what it has said, and no other process; then it starts another one.
    #[track_caller]
    pub(crate) fn expect_given_up(&mut self) {
        assert!(self.prototype.is_given_up(), "main goes on\n{}", self.server.log());
        self.prototype.expect_end();
        self.expect_unharmed();
        self.prototype = self.attacker.prototype();
        // A request that waits for it, whatever has become of the one before.
        self.client = ask(&self.server, &self.prototype.name);
    }

    /// The daemon's processes are those of the beginning, and it serves.
    #[track_caller]
    pub(crate) fn expect_unharmed(&self) {
        assert_eq!(processes(&self.server), self.own, "{}", self.server.log());
        self.server.get("/").expect(204);
    }

    /// Says things while main cannot listen, so that they are all there when it does.
    pub(crate) fn say_at_once(&self, say: impl FnOnce(&Prototype)) {
        let main = self.server.pid();
        stop(main);
        say(&self.prototype);
        signal(main, Signal::CONT);
    }

    /// Has the application run a worker that keeps to the rules. Requests before that are answered 503, as long as no
    /// worker is asked for after a failure.
    #[track_caller]
    pub(crate) fn expect_served(&mut self) {
        let bell = self.prototype.ready();
        let is_over = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| {
                let target = format!("/{}", self.prototype.name);
                let _end = OnEnd(&is_over);
                eventually("it serves", || (self.server.get(&target).status == 200).then_some(()));
            });
            self.prototype.worker(&bell).answer_until(&is_over);
        });
    }

    /// Main wants another worker, sooner or later after a failure.
    #[track_caller]
    pub(crate) fn asked_again(&mut self) -> WorkerId {
        eventually("main asks for a worker", || {
            self.client = ask(&self.server, &self.prototype.name);
            match self.prototype.hear(Duration::from_millis(100)) {
                Some(ToPrototype::Fork { worker }) => Some(worker),
                _ => None,
            }
        })
    }
}
