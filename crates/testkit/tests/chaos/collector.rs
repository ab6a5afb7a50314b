//! A real Prometheus reads a loaded daemon over upgrades and a killed router: no counter goes backwards.

use std::process::{Child, Command, Stdio};
use std::time::Duration;

use corral_testkit::{Address, Client, Daemon, Load, Request, Site, daemon, eventually, php_app, site};
use serde_json::{Value, json};

/// Prometheus from Debian's package, which reads one target four times a second.
struct Prometheus {
    child: Child,
    address: Address,
    _folder: Site,
}

impl Prometheus {
    fn start(target: Address) -> Self {
        let address = Address::fresh();
        let folder = site().file(
            "prometheus.yml",
            format!(
                "global: {{ scrape_interval: 250ms, scrape_timeout: 250ms }}\n\
                 scrape_configs: [{{ job_name: corral, static_configs: [{{ targets: [\"{target}\"] }}] }}]\n"
            ),
        );
        let child = Command::new("prometheus")
            .arg(format!("--config.file={}", folder.path("prometheus.yml").display()))
            .arg(format!("--storage.tsdb.path={}", folder.path("data").display()))
            .arg(format!("--web.listen-address={address}"))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("prometheus starts: scripts/setup test");
        let server = Self { child, address, _folder: folder };
        eventually("prometheus has read something", || {
            server.query("corral_requests_total").first().cloned()
        });
        server
    }

    /// The series that a query finds.
    fn query(&self, query: &str) -> Vec<Value> {
        let form = format!("query={}", query.replace('%', "%25").replace('+', "%2B").replace('&', "%26"));
        let request = Request::post("/api/v1/query")
            .field("Content-Type", "application/x-www-form-urlencoded")
            .body(form);
        let Ok(mut client) = Client::try_connect_http1(self.address.socket()) else { return Vec::new() };
        let Ok(reply) = client.try_send(&request) else { return Vec::new() };
        if reply.status != 200 {
            return Vec::new();
        }
        reply.json()["data"]["result"].as_array().cloned().unwrap_or_default()
    }

    /// The value of the only series that a query finds.
    fn value(&self, query: &str) -> Option<f64> {
        let found = self.query(query);
        let [series] = &found[..] else { return None };
        series["value"][1].as_str()?.parse().ok()
    }

    /// Waits until it has read the target so many times more.
    fn await_reads(&self, n: f64) {
        let read = || self.value("sum(count_over_time(up[10m]))");
        let before = read().unwrap_or_default();
        eventually("prometheus reads on", || read().filter(|now| *now >= before + n));
    }
}

impl Drop for Prometheus {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn kill_router(server: &Daemon) {
    server.kill(server.expect_processes("router", 1)[0]);
    eventually("it serves again", || {
        let mut client = Client::try_connect(server.address().socket()).ok()?;
        client.try_send(&Request::get("/")).ok().filter(|reply| reply.status == 200)
    });
}

#[test]
fn no_counter_goes_backwards_for_prometheus() {
    let site = site().file("index.php", "<?php echo 'fine';");
    let metrics = Address::fresh();
    let mut server = daemon().application(php_app(&site).processes(2)).start();
    let settings = json!({ "metrics": { "listen": metrics.to_string() } });
    server.control().put("/config/settings", &settings).expect_done();
    let load = Load::start(server.address().socket(), "/", 2);
    load.await_more(50);
    let prometheus = Prometheus::start(metrics);
    for round in 0..3 {
        load.await_more(50);
        prometheus.await_reads(3.0);
        server.upgrade();
        load.await_more(50);
        prometheus.await_reads(3.0);
        if round == 1 {
            kill_router(&server);
        }
    }
    prometheus.await_reads(3.0);
    let n_good = load.stop().n_good;
    prometheus.await_reads(3.0);
    let names = "{__name__=~\"corral_.+_(total|count|sum|bucket)\"}";
    let gone_backwards = prometheus.query(&format!("max by (__name__) (resets({names}[10m])) > 0"));
    assert!(gone_backwards.is_empty(), "{gone_backwards:#?}");
    // It has seen what it is about: a series of each kind, counters that have grown, and no gap.
    let n_series = prometheus.value(&format!("count({names})")).unwrap_or_default();
    assert!(n_series > 20.0, "{n_series} series");
    let counted = prometheus.value("corral_requests_total").unwrap_or_default();
    // Requests of a killed router that it had not told main of are lost.
    assert!(counted >= n_good as f64 * 0.8, "{counted} of {n_good} requests are counted");
    let longest = prometheus.value("max_over_time((time() - timestamp(corral_requests_total))[5m:250ms])");
    assert!(longest.is_some_and(|seconds| seconds < Duration::from_secs(10).as_secs_f64()), "{longest:?}");
}
