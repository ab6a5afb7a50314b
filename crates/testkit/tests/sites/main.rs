//! Real sites, whole: the example of this repository, and frameworks from Debian's packages.

mod database;
mod django;
mod fastapi;
mod flask;
mod frameworks;
mod in_memory;
mod python;
mod queues;
mod rails;
mod recipes;
mod scripts;
mod welcome;
mod wordpress;

use std::path::Path;

use corral_testkit::{Address, Builder, Client, Run, Site, daemon, eventually};
use serde_json::json;

/// Has `corral run` serve a folder.
#[track_caller]
fn serve(site: &Site) -> (Run, Client) {
    let address = Address::fresh();
    let run = Run::start(&["run", &site.root(), "--listen", &address.to_string(), "--workers", "1"]);
    let client = eventually("it accepts connections", || Client::try_connect(address.socket()).ok());
    (run, client)
}

/// Files, then scripts by their path, then the front controller: what most PHP sites want.
fn with_front_controller(site: &Site, public: &str) -> Builder {
    let root = site.path(public);
    daemon().config(json!({
        "routes": [
            {
                "match": { "uri": ["*.php", "*.php/*", "*/wp-admin/"] },
                "action": { "pass": "applications/php/direct" }
            },
            {
                "action": {
                    "share": format!("{}$uri", root.display()),
                    "fallback": { "pass": "applications/php/front" }
                }
            }
        ],
        "applications": {
            "php": {
                "type": "php",
                "processes": 4,
                "targets": {
                    "direct": { "root": root },
                    "front": { "root": root, "script": "index.php" }
                }
            }
        },
        "settings": { "http": { "max_body_size": 20_000_000 } }
    }))
}

fn fixture(name: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name)
}
