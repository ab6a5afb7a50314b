//! A daemon that serves three kinds of things, and clients that ask for them all the time.

use corral_testkit::{Builder, ControlReply, Daemon, Load, Origin, Site, Tally, daemon, site};
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
        Self::start_with(daemon(), &json!({}))
    }

    /// Starts the site with further options of the application.
    pub(crate) fn start_with(daemon: Builder, options: &Value) -> Self {
        // Long enough that some worker is always at it when one is killed.
        let site = site()
            .file("index.php", "<?php usleep(2000); echo 'x';")
            .file("length.php", "<?php echo strlen(file_get_contents('php://input'));")
            .file("long.php", "<?php for ($i = 0; $i < 500; $i++) echo str_repeat('x', 100000);")
            .file("a.txt", "x");
        let origin = Origin::saying("x");
        let mut app = json!({ "type": "php", "root": site.root(), "processes": N_WORKERS });
        for (name, value) in options.as_object().into_iter().flatten() {
            app[name] = value.clone();
        }
        let config = json!({ "routes": routes(&site, &origin, 0), "applications": { "php": app } });
        let server = daemon.config(config).start();
        server.expect_processes(WORKER, N_WORKERS);
        let load = |target: &str| Load::start(server.address().socket(), target, N_CLIENTS);
        let [php, files, proxied] = ["/", "/a.txt", "/proxied"].map(load);
        let busy = Self { server, php, files, proxied, site, origin };
        busy.await_more();
        busy
    }

    pub(crate) fn loads(&self) -> [&Load; 3] {
        [&self.php, &self.files, &self.proxied]
    }

    pub(crate) fn change_routes(&self, n: usize) -> ControlReply {
        self.server.control().put("/config/routes", &routes(&self.site, &self.origin, n)).expect_done()
    }

    /// Waits until each kind of client has had more good answers.
    pub(crate) fn await_more(&self) {
        self.loads().into_iter().for_each(|load| load.await_more(20));
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

    /// Ends the load, and returns the tallies of PHP, of files and of the proxied server.
    pub(crate) fn stop(self) -> [Tally; 3] {
        [self.php, self.files, self.proxied].map(Load::stop)
    }

    /// Fails if anything was lost that no worker had; returns what clients of PHP have seen, and the log.
    #[track_caller]
    pub(crate) fn stop_and_expect_others_unharmed(self) -> (Tally, String) {
        self.await_more();
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
