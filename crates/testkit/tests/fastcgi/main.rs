//! `fastcgi`, `scgi` and `uwsgi` against real servers, and against some that break the rules.

mod answers;
mod bodies;
mod groups;
mod kept;
mod moved;
mod options;
mod paths;
mod pools;
mod redirects;
mod scgi;
mod tried;
mod variables;
mod wire;
mod wsgi;

use corral_testkit::{Daemon, PhpFpm, Site, daemon};
use serde_json::{Value, json};

/// Two processes that are always there.
const STATIC: &str = "pm = static\npm.max_children = 2";

/// A daemon that has php-fpm answer everything, with further options of the action.
#[track_caller]
fn serve(fpm: &PhpFpm, site: &Site, options: Value) -> Daemon {
    serve_at(fpm.address(), site, options)
}

/// The same with servers that are named.
#[track_caller]
fn serve_at(servers: &str, site: &Site, options: Value) -> Daemon {
    let mut action = options;
    action["fastcgi"] = json!(servers);
    action["root"] = json!(site.root());
    daemon().routes(json!([{ "action": action }])).start()
}
