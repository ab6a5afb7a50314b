//! A daemon whose control API is on a port with two tokens, and applications that clients ask without a pause.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use corral_testkit::{Builder, Daemon, Load, Request, Site, daemon, site};
use serde_json::{Value, json};

use crate::scenario::Scenario;

/// The token that may do everything.
pub(crate) const TOKEN: &str = "control-token-of-this-test";

/// The token that may only read.
pub(crate) const READ_TOKEN: &str = "reading-token-of-this-test";

/// The application that scenarios act on; its requests begin with `/shop/`.
pub(crate) const APPLICATION: &str = "shop";

/// The name of another application.
pub(crate) const MARKUP: &str = "<img src=x onerror=alert(1)><b>bold</b>";

/// A name whose certificate cannot be ordered, as its authority is away.
pub(crate) const CERTIFICATE: &str = "dash.example.org";

/// An application in Python: some requests take long, some fail.
const PROGRAM: &str = r#"
import time

def application(environ, start_response):
    path = environ["PATH_INFO"]
    time.sleep(1.5 if "slow" in path else 0.2 if "fail" in path else 0.005)
    status = "500 Internal Server Error" if "fail" in path else "200 OK"
    start_response(status, [("Content-Type", "text/plain")])
    return [b"hello\n"]
"#;

/// Targets of requests, each with how many clients ask for it.
const LOADS: [(&str, usize); 4] = [
    ("/shop/items/12", 2),
    ("/blog/2026/hello", 1),
    ("/shop/slow/%3Cimg%20src=x%20onerror=alert(1)%3E", 1),
    ("/shop/fail", 1),
];

/// The daemon, and its clients.
#[derive(Debug)]
pub(crate) struct Dashboard {
    pub(crate) daemon: Daemon,
    /// Where the applications are.
    _site: Site,
    _loads: Vec<Load>,
}

impl Dashboard {
    /// Starts it under load.
    #[track_caller]
    pub(crate) fn start() -> Self {
        Self::start_with(|config| config)
    }

    /// Starts it under load with another configuration.
    #[track_caller]
    pub(crate) fn start_with(change: impl FnOnce(Value) -> Value) -> Self {
        let site = program();
        let daemon = with_tokens(&site).start_unconfigured();
        let config = change(config(&daemon.address().to_string(), &site));
        let request = Request::new("PUT", "/config").field("Authorization", &format!("Bearer {TOKEN}"));
        daemon.control().send(&request.body(config.to_string())).expect_done();
        let loads =
            LOADS.map(|(target, n_clients)| Load::start(daemon.address().socket(), target, n_clients));
        Self { daemon, _site: site, _loads: loads.into() }
    }

    /// Begins a scenario.
    #[track_caller]
    pub(crate) fn begin(&self, scenario: &str, more: &[&str]) -> Scenario {
        let base = base(&self.daemon);
        Scenario::start(scenario, &[&[base.as_str(), TOKEN], more].concat())
    }

    /// Runs a scenario to its end.
    #[track_caller]
    pub(crate) fn run(&self, scenario: &str, more: &[&str]) {
        self.begin(scenario, more).expect_success();
    }
}

/// The address of the control API as a browser writes it.
pub(crate) fn base(daemon: &Daemon) -> String {
    format!("http://{}", daemon.control_address())
}

/// A site with the program and the tokens.
pub(crate) fn program() -> Site {
    let site = site().file("app.py", PROGRAM).file("token", TOKEN).file("read-token", READ_TOKEN);
    for token in ["token", "read-token"] {
        fs::set_permissions(site.path(token), fs::Permissions::from_mode(0o600)).expect("it is ours");
    }
    site
}

/// A daemon with the site's tokens, whose control API is on a port.
pub(crate) fn with_tokens(site: &Site) -> Builder {
    let path = |name: &str| site.path(name).display().to_string();
    let builder = daemon().control_on_port();
    let builder = builder.argument("--control-token-file").argument(&path("token"));
    builder.argument("--control-read-token-file").argument(&path("read-token"))
}

/// An application with so many processes.
pub(crate) fn application(site: &Site, processes: &Value) -> Value {
    json!({ "type": "python", "path": site.root(), "module": "app", "processes": processes })
}

/// The configuration of most tests.
pub(crate) fn config(address: &str, site: &Site) -> Value {
    let https = corral_testkit::Address::fresh().to_string();
    let acme = json!({ "names": CERTIFICATE, "directory": "https://127.0.0.1:1/", "challenge": "http" });
    json!({
        "listeners": {
            address: { "pass": "routes" },
            https: { "pass": "routes", "tls": { "acme": acme } },
        },
        "settings": { "http": { "idle_timeout": 60 } },
        "routes": [
            { "match": { "uri": "/shop/*" }, "action": { "pass": "applications/shop" } },
            { "match": { "uri": "/blog/*" }, "action": { "pass": "applications/blog" } },
            { "match": { "uri": "/markup/*" }, "action": { "pass": format!("applications/{}", encoded(MARKUP)) } },
            { "match": { "uri": "/behind/*" }, "action": { "pass": "upstreams/backend" } },
            { "action": { "return": 200 } },
        ],
        "upstreams": { "backend": { "servers": { "127.0.0.1:1": {} } } },
        "applications": {
            "shop": application(site, &json!(4)),
            "blog": application(site, &json!({ "spare": 1, "max": 3 })),
            MARKUP: application(site, &json!(1)),
        },
    })
}

/// A name within a `pass`.
fn encoded(name: &str) -> String {
    name.replace('%', "%25").replace('/', "%2F")
}
