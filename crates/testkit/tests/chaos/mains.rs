//! One main process after the other takes over, while connections of every age hold those before it, and end in every
//! order; some are killed. No client is refused meanwhile, and nothing remains.

use std::collections::BTreeSet;
use std::time::Instant;

use corral_testkit::{
    Client, Daemon, Load, Origin, PATIENCE, Request, Signal, daemon, descendants, eventually, is_alive,
    signal,
};
use serde_json::json;
use tempfile::TempDir;

use super::is_long;

const N_UPGRADES: usize = 20;

/// A main process that a connection keeps from ending.
struct Held {
    main: u32,
    client: Client,
}

impl Held {
    fn open(server: &Daemon) -> Self {
        let mut client = server.connect();
        client.write("GET /held HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n");
        assert!(client.read_until_text("\r\n\r\n").starts_with("HTTP/1.1 101 "));
        let mut held = Self { main: server.pid(), client };
        held.expect_open();
        held
    }

    #[track_caller]
    fn expect_open(&mut self) {
        self.client.write("x");
        assert_eq!(self.client.read_some(), b"x", "of process {}", self.main);
    }

    /// Closes the connection, by which its main process has nothing left to do.
    fn end(self) {
        drop(self.client);
        expect_end(self.main);
    }

    /// Kills the main process, and the connection with it.
    fn kill(mut self) {
        let processes = descendants(self.main);
        signal(self.main, Signal::KILL);
        expect_end(self.main);
        processes.iter().for_each(|process| expect_end(process.pid));
        assert!(self.client.is_closed());
    }
}

#[track_caller]
fn expect_end(pid: u32) {
    eventually("the process ends", || (!is_alive(pid)).then_some(()));
}

/// The series of upgrades, and all processes that have taken part.
struct Series {
    server: Daemon,
    load: Load,
    held: Vec<Held>,
    seen: BTreeSet<u32>,
    _origin: Origin,
    _no_modules: TempDir,
}

impl Series {
    fn start() -> Self {
        let origin = Origin::start(|peer| {
            if peer.read_head().is_some()
                && peer.write(
                    b"HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: echo\r\n\r\n",
                )
            {
                while let piece = peer.read()
                    && !piece.is_empty()
                    && peer.write(&piece)
                {}
            }
        });
        // Looking for modules is most of what a start costs, and no test needs them here.
        let no_modules = tempfile::tempdir().expect("a folder");
        let server = daemon()
            .argument("--modulesdir")
            .argument(&no_modules.path().display().to_string())
            .routes(json!([
                { "match": { "uri": "/held" }, "action": { "proxy": origin.url() } },
                { "action": { "return": 200 } },
            ]))
            .start();
        let load = Load::start(server.address().socket(), "/", 4);
        Self {
            server,
            load,
            held: Vec::new(),
            seen: BTreeSet::new(),
            _origin: origin,
            _no_modules: no_modules,
        }
    }

    fn upgrade(&mut self) {
        self.held.push(Held::open(&self.server));
        self.note_processes();
        self.server.upgrade();
        self.expect_service();
    }

    fn note_processes(&mut self) {
        self.seen.insert(self.server.pid());
        self.seen.extend(self.server.processes().iter().map(|process| process.pid));
    }

    /// Kills a successor before it serves.
    fn kill_successor(&mut self) {
        let n_begun = |log: &str| log.matches(" is to take over").count();
        let before = n_begun(&self.server.log());
        signal(self.server.pid(), Signal::USR2);
        let find = || {
            let log = self.server.log();
            let (rest, _) = log.rsplit_once(" is to take over").filter(|_| n_begun(&log) > before)?;
            rest.rsplit_once("process ")?.1.parse().ok()
        };
        // It serves a moment later, so that there is no time to sleep between two looks.
        let asked = Instant::now();
        let looks = std::iter::repeat_with(find).take_while(|_| asked.elapsed() < PATIENCE);
        let successor = looks.flatten().next().expect("a successor is started");
        signal(successor, Signal::STOP);
        self.seen.insert(successor);
        self.seen.extend(descendants(successor).iter().map(|process| process.pid));
        let n_failed = |log: &str| log.matches("could not take over").count();
        let before = n_failed(&self.server.log());
        signal(successor, Signal::KILL);
        eventually("the one before it goes on", || (n_failed(&self.server.log()) > before).then_some(()));
        self.expect_service();
    }

    /// The newest one serves, those before it hold what they held.
    #[track_caller]
    fn expect_service(&mut self) {
        self.load.await_more(50);
        eventually("the control API answers", || {
            self.server.control().try_send(&Request::get("/config")).ok().map(drop)
        });
        assert_eq!(self.server.pid_in_file(), Some(self.server.pid()));
        self.held.iter_mut().for_each(Held::expect_open);
    }

    /// The oldest, the middle and the newest of those that clients have surely left, in turn.
    fn take(&mut self, n: usize) -> Option<Held> {
        let n_left = self.held.len().checked_sub(2).filter(|n_left| *n_left > 0)?;
        Some(self.held.remove([0, n_left / 2, n_left - 1][n % 3]))
    }

    fn finish(mut self) {
        self.note_processes();
        let mut n = 0;
        while !self.held.is_empty() {
            let place = [0, self.held.len() / 2, self.held.len() - 1][n % 3];
            self.held.remove(place).end();
            n += 1;
        }
        self.expect_service();
        let tally = self.load.stop();
        assert!(tally.failures.is_empty(), "{} good, but {:?}", tally.n_good, tally.failures);
        self.server.stop();
        self.seen.into_iter().for_each(expect_end);
    }
}

#[test]
fn no_main_process_takes_one_that_serves_with_it() {
    let mut series = Series::start();
    for n in 0..if is_long() { 10 * N_UPGRADES } else { N_UPGRADES } {
        series.upgrade();
        match n % 5 {
            1 | 4 => series.take(n).into_iter().for_each(Held::end),
            2 => series.take(n).into_iter().for_each(Held::kill),
            3 => series.kill_successor(),
            _ => {}
        }
        series.expect_service();
    }
    series.finish();
}
