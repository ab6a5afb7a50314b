//! A daemon that serves three kinds of things, and clients that ask for them all the time.

use corral_testkit::{Daemon, Load, Origin, Site, Tally, daemon, site};
use serde_json::{Value, json};

pub(crate) const WORKER: &str = "\"php\" worker";
pub(crate) const PROTOTYPE: &str = "\"php\" prototype";

pub(crate) const N_WORKERS: usize = 4;

/// Clients of each kind.
pub(crate) const N_CLIENTS: usize = 8;

pub(crate) struct Busy {
    pub(crate) server: Daemon,
    pub(crate) php: Load,
    files: Load,
    proxied: Load,
    site: Site,
    origin: Origin,
}

impl Busy {
    pub(crate) fn start() -> Self {
        // Long enough that some worker is always at it when one is killed.
        let site = site().file("index.php", "<?php usleep(2000); echo 'x';").file("a.txt", "x");
        let app = json!({ "type": "php", "root": site.root(), "processes": N_WORKERS });
        Self::with_application(site, &app)
    }

    /// With bounds of the application's own.
    pub(crate) fn start_with_limits(limits: &Value) -> Self {
        let site = site().file("index.php", "<?php usleep(2000); echo 'x';").file("a.txt", "x");
        let app = json!({ "type": "php", "root": site.root(), "processes": N_WORKERS, "limits": limits });
        Self::with_application(site, &app)
    }

    fn with_application(site: Site, app: &Value) -> Self {
        let origin = Origin::saying("x");
        let config = json!({ "routes": routes(&site, &origin, 0), "applications": { "php": app } });
        let server = daemon().config(config).start();
        server.expect_processes(WORKER, N_WORKERS);
        let load = |target: &str| Load::start(server.address().socket(), target, N_CLIENTS);
        let [php, files, proxied] = ["/", "/a.txt", "/proxied"].map(load);
        let busy = Self { server, php, files, proxied, site, origin };
        busy.loads().into_iter().for_each(|load| load.await_more(20));
        busy
    }

    pub(crate) fn loads(&self) -> [&Load; 3] {
        [&self.php, &self.files, &self.proxied]
    }

    pub(crate) fn change_routes(&self, n: usize) {
        self.server.control().put("/config/routes", &routes(&self.site, &self.origin, n)).expect_done();
    }

    pub(crate) fn restart_application(&self) {
        self.server.control().get("/control/applications/php/restart").0.expect(200);
    }

    /// Ends the clients; what is returned beside the daemon is what it serves.
    pub(crate) fn idle(self) -> (Daemon, (Site, Origin)) {
        let Self { server, php, files, proxied, site, origin } = self;
        let _ = [php, files, proxied].map(Load::stop);
        (server, (site, origin))
    }

    /// What clients of PHP, files and the proxied server have seen.
    pub(crate) fn stop(self) -> [Tally; 3] {
        [self.php, self.files, self.proxied].map(Load::stop)
    }

    /// Fails if anything was lost that no worker had; returns what clients of PHP have seen, and the log.
    #[track_caller]
    pub(crate) fn stop_and_expect_others_unharmed(self) -> (Tally, String) {
        self.loads().into_iter().for_each(|load| load.await_more(20));
        let Self { server, php, files, proxied, .. } = self;
        let [php, files, proxied] = [php, files, proxied].map(Load::stop);
        for tally in [&files, &proxied] {
            assert!(tally.failures.is_empty(), "{} good, but {:?}", tally.n_good, tally.failures);
        }
        eprintln!("{} of PHP good, {} failed", php.n_good, php.failures.len());
        (php, server.log())
    }
}

fn routes(site: &Site, origin: &Origin, n: usize) -> Value {
    json!([
        { "match": { "uri": format!("/nobody-asks/{n}") }, "action": { "return": 404 } },
        { "match": { "uri": "/proxied" }, "action": { "proxy": origin.url() } },
        { "match": { "uri": "*.txt" }, "action": { "share": format!("{}$uri", site.root()) } },
        { "action": { "pass": "applications/php" } },
    ])
}
