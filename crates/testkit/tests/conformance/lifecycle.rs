//! Starting, stopping, crashing, changing: no client loses more than a request that was being run.

mod changes;
mod deaths;
mod growth;
mod loading;
mod reconfiguration;
mod restarts;
mod service_manager;
mod starting;
mod state;
mod superseding;
mod takeover;
mod upgrade;

use corral_testkit::{Daemon, Site, daemon, php_app, site};

const WORKER: &str = "\"php\" worker";
const PROTOTYPE: &str = "\"php\" prototype";

fn php_site() -> Site {
    site().file("index.php", "<?php echo getmypid();")
}

fn php(site: &Site, n_workers: u32) -> Daemon {
    let server = daemon().application(php_app(site).processes(n_workers)).start();
    server.get("/").expect(200);
    server
}
