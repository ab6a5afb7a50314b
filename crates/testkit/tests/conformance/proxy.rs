//! `proxy` and `upstreams`: what servers are asked, and what becomes of their answers.

mod clients;
mod connections;
mod dynamic;
mod http2;
mod identity;
mod in_step;
mod places;
mod requests;
mod retry_on;
mod rewrites;
mod server_states;
mod sticky;
mod streams;
mod tls;
mod tunnels;
mod upstreams;

use corral_testkit::{Daemon, Origin, daemon};
use serde_json::{Value, json};

/// A daemon with one event loop that passes everything on.
fn proxy(origin: &Origin) -> Daemon {
    proxy_with(origin, json!({}))
}

/// The same with further options.
fn proxy_with(origin: &Origin, options: Value) -> Daemon {
    let action = json!({ "proxy": origin.url(), "proxy_options": options });
    let routes = json!([{ "action": action }]);
    daemon().config(json!({ "settings": { "listen_threads": 1 }, "routes": routes })).start()
}
