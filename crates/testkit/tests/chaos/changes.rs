//! Changes without end while clients send without pause: no request is lost, and nothing is left of what was changed.
//!
//! `CORRAL_CHANGES=2000` makes it the long form; `make changes` runs it so.

use std::fmt;
use std::time::{Duration, Instant};

use corral_testkit::{
    Address, Authority, Client, Daemon, Load, Request, Site, TlsClient, daemon, eventually, private_memory,
    site,
};
use serde_json::{Value, json};

/// Changes until memory has found its size: everything that is made once has been made by then.
const WARM_UP: usize = 100;

/// Growth of memory allowed after that, in bytes for each process: the allocator takes 2 MiB at a time. In the
/// long form that is less than 2 KiB for a change, and any generation is larger.
const NOISE: u64 = 3 << 20;

/// A busy moment that comes late, when as much is in flight as never before, grows memory once; a leak does so in
/// each turn.
const MOST_TURNS: usize = 3;

/// Twice as long as anything that is about to be closed stays open.
const SETTLED: Duration = Duration::from_secs(3);

const PROCESSES: &[&str] = &["main", "controller", "router"];

#[test]
fn nothing_is_lost_or_left_behind_by_changes_under_load() {
    let n_changes = std::env::var("CORRAL_CHANGES").map_or(200, |n| n.parse().expect("a number of changes"));
    let site = site().file("index.php", "<?php echo 'x';").file("a.txt", "x");
    let changing = Changing::start(site);
    // Whole turns, so that the same is there when it is counted.
    let [n_first, n_all] = [WARM_UP.min(n_changes / 2), n_changes].map(|n| n.next_multiple_of(CHANGES.len()));
    let n_good = changing.run_under_load(0..n_first);
    eprintln!("{n_first} changes, {n_good} requests");
    let mut before = changing.usage();
    for _ in 0..MOST_TURNS {
        let n_good = changing.run_under_load(n_first..n_all);
        let after = changing.usage();
        eprintln!("{} changes, {n_good} requests\nbefore: {before}\nafter:  {after}", n_all - n_first);
        for (old, new) in before.0.iter().zip(&after.0) {
            assert_eq!(old.pid, new.pid, "{} was replaced", new.name);
            let (n_old, n_new) = (old.open.len(), new.open.len());
            assert_eq!(n_old, n_new, "descriptors of {}: {:#?}, then {:#?}", new.name, old.open, new.open);
        }
        if before.0.iter().zip(&after.0).all(|(old, new)| new.memory < old.memory + NOISE) {
            return;
        }
        before = after;
    }
    panic!("memory grows with every turn");
}

/// A daemon, and what is changed about it in turn.
struct Changing {
    server: Daemon,
    site: Site,
    /// Comes and goes; the daemon's own address stays.
    guest: Address,
    /// Stays as well, with one certificate after the other.
    secure: Address,
    authority: Authority,
}

type Change = fn(&Changing, usize);

/// One of each kind, in an order that makes each possible again in the next turn.
const CHANGES: &[Change] = &[
    Changing::add_listener,
    Changing::swap_routes,
    Changing::change_application,
    Changing::use_listener,
    Changing::exchange_certificate,
    Changing::change_upstream,
    Changing::change_settings,
    Changing::remove_listener,
];

impl Changing {
    fn start(site: Site) -> Self {
        let server = daemon().start_unconfigured();
        let [guest, secure] = [Address::fresh(), Address::fresh()];
        let changing = Self { server, site, guest, secure, authority: Authority::new("test") };
        changing.upload("first");
        let config = json!({
            "listeners": {
                changing.server.address().to_string(): { "pass": "routes" },
                secure.to_string(): { "pass": "routes", "tls": { "certificate": "first" } },
            },
            "routes": routes(&changing.site, 0),
            "upstreams": { "self": changing.upstream(0) },
            "applications": { "php": application(&changing.site, 0) },
        });
        changing.put("/config", &config);
        changing.server.get("/").expect(200);
        changing
    }

    /// Returns how many requests were answered.
    fn run_under_load(&self, turns: std::ops::Range<usize>) -> u64 {
        let address = self.server.address().socket();
        let tls = TlsClient::new(&self.authority);
        let loads = [
            Load::start(address, "/a.txt", 24),
            Load::start(address, "/", 24),
            Load::start(address, "/proxied", 8),
            Load::start_tls(self.secure.socket(), &tls, "/a.txt", 8),
        ];
        for n in turns {
            CHANGES[n % CHANGES.len()](self, n);
        }
        let tallies = loads.map(Load::stop);
        for tally in &tallies {
            assert!(tally.failures.is_empty(), "{} good, but {:?}", tally.n_good, tally.failures);
        }
        tallies.iter().map(|tally| tally.n_good).sum()
    }

    fn guest_path(&self) -> String {
        format!("/config/listeners/{}", self.guest)
    }

    fn put(&self, path: &str, value: &Value) {
        self.server.control().put(path, value).expect_done();
    }

    fn add_listener(&self, _: usize) {
        self.put(&self.guest_path(), &json!({ "pass": "routes" }));
    }

    /// Leaves a connection open that the removal has to close.
    fn use_listener(&self, n: usize) {
        Client::connect(self.guest.socket()).send(&Request::get("/a.txt")).expect(200);
        self.put(&self.guest_path(), &json!({ "pass": "routes", "backlog": 100 + n }));
    }

    fn remove_listener(&self, _: usize) {
        self.server.control().delete(&self.guest_path()).expect_done();
    }

    fn swap_routes(&self, n: usize) {
        self.put("/config/routes", &routes(&self.site, n));
    }

    fn change_application(&self, n: usize) {
        self.put("/config/applications/php", &application(&self.site, n));
    }

    fn upload(&self, name: &str) {
        let bundle = self.authority.server("localhost", &["localhost"]).pem();
        let request = Request::new("PUT", &format!("/certificates/{name}")).body(bundle);
        self.server.control().send(&request).0.expect(200);
    }

    fn exchange_certificate(&self, n: usize) {
        let path = format!("/config/listeners/{}/tls/certificate", self.secure);
        let old = self.server.control().get(&path).json();
        let new = format!("certificate-{n}");
        self.upload(&new);
        self.put(&path, &json!(new));
        let old = format!("/certificates/{}", old.as_str().expect("one certificate is in use"));
        self.server.control().delete(&old).0.expect(200);
    }

    /// The server itself is the upstream. Idle connections end soon, so that what is left can be counted.
    fn upstream(&self, n: usize) -> Value {
        let weight = json!({ "weight": 1 + n });
        json!({ "servers": { self.server.address().to_string(): weight }, "keepalive": { "idle_timeout": 1 } })
    }

    fn change_upstream(&self, n: usize) {
        self.put("/config/upstreams/self", &self.upstream(n));
    }

    fn change_settings(&self, n: usize) {
        self.put(
            "/config/settings",
            &json!({ "http": { "idle_timeout": 100 + n, "max_body_size": 1_000_000 + n } }),
        );
    }

    /// Descriptors and memory of each process once all that was replaced is gone.
    fn usage(&self) -> Usage {
        eventually("the old applications are gone", || {
            let names = ["\"php\" prototype", "\"php\" worker"];
            names.iter().all(|name| self.server.named(name).len() == 1).then_some(())
        });
        let (mut last, mut since) = (self.usage_now(), Instant::now());
        // Connections of the load are closed one after another, and those to the upstream when they were idle
        // for a second: wait until the counts stay as they are.
        eventually("descriptors settle", || {
            let now = self.usage_now();
            if now.0.iter().zip(&last.0).any(|(now, last)| now.open.len() != last.open.len()) {
                since = Instant::now();
            }
            last = now;
            (since.elapsed() >= SETTLED).then_some(())
        });
        last
    }

    fn usage_now(&self) -> Usage {
        let pid = |name: &str| if name == "main" { self.server.pid() } else { self.server.named(name)[0] };
        let mut usage = Usage(PROCESSES.iter().map(|name| Holding::of(name, pid(name))).collect());
        // The cache of files lets go of one some seconds after the last request for it.
        usage.0.iter_mut().for_each(|one| one.open.retain(|link| !link.starts_with(&self.site.root())));
        usage
    }
}

fn routes(site: &Site, n: usize) -> Value {
    let mut steps = vec![
        json!({ "match": { "uri": "*.txt" }, "action": { "share": format!("{}$uri", site.root()) } }),
        json!({ "match": { "uri": format!("/nobody-asks/{n}/*"), "host": "*.example.com" },
            "action": { "return": 404 } }),
        json!({ "match": { "uri": "~^/nobody/asks$" }, "action": { "return": 404 } }),
    ];
    let proxied = json!({ "pass": "upstreams/self", "rewrite": "/a.txt" });
    steps.push(json!({ "match": { "uri": "/proxied" }, "action": proxied }));
    let by = n % steps.len();
    steps.rotate_left(by);
    steps.push(json!({ "action": { "pass": "applications/php" } }));
    Value::Array(steps)
}

fn application(site: &Site, n: usize) -> Value {
    json!({ "type": "php", "root": site.root(), "environment": { "N": n.to_string() } })
}

/// Descriptors and memory of each process.
struct Usage(Vec<Holding>);

struct Holding {
    name: &'static str,
    pid: u32,
    /// The open descriptors by their links; a TCP socket with its addresses and state.
    open: Vec<String>,
    /// Private bytes.
    memory: u64,
}

impl Holding {
    fn of(name: &'static str, pid: u32) -> Self {
        Self { name, pid, open: descriptors(pid), memory: private_memory(pid).expect("the process runs") }
    }
}

impl fmt::Display for Usage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for Holding { name, open, memory, .. } in &self.0 {
            write!(f, "{name} {} descriptors, {} KiB; ", open.len(), memory / 1024)?;
        }
        Ok(())
    }
}

/// The open descriptors of a process, to see what was left.
fn descriptors(pid: u32) -> Vec<String> {
    let tcp = std::fs::read_to_string(format!("/proc/{pid}/net/tcp")).expect("the process runs");
    let entries = std::fs::read_dir(format!("/proc/{pid}/fd")).expect("the process runs");
    let links = entries.flatten().filter_map(|entry| std::fs::read_link(entry.path()).ok());
    let describe = |link: std::path::PathBuf| {
        let link = link.display().to_string();
        let inode = link.strip_prefix("socket:[").and_then(|rest| rest.strip_suffix("]"));
        let line = inode.and_then(|inode| tcp.lines().find(|line| line.contains(&format!(" {inode} "))));
        line.map_or_else(|| link.clone(), |line| format!("{link} {}", &line[..line.len().min(40)]))
    };
    links.map(describe).collect()
}
