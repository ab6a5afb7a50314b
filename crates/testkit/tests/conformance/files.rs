//! Files: `share`, what may be on the way to a file, and what Corral adds.

mod beyond;
mod confined;
mod fresh;
mod pages;
mod share;

use corral_testkit::{Daemon, Site, daemon};
use serde_json::{Value, json};

fn share(site: &Site) -> Daemon {
    serve(&json!({ "share": format!("{}$uri", site.root()) }))
}

fn serve(action: &Value) -> Daemon {
    daemon().routes(json!([{ "action": action }])).start()
}

/// The status of each path.
#[track_caller]
fn check(server: &Daemon, expect: &[(&str, u16)]) {
    let mut client = server.connect();
    for (path, status) in expect {
        let response = client.get(path);
        assert_eq!(response.status, *status, "{path}\n{response}\n{}", server.log());
    }
}
