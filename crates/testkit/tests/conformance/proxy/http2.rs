//! Servers that are spoken to over HTTP/2.

mod connections;
mod failures;
mod groups;
mod grpc;
mod grpcurl;
mod messages;
mod servers;
mod streams;
mod tls;
mod tunnels;

use corral_testkit::{Daemon, Http2Origin, Request, daemon};
use serde_json::{Value, json};

/// A daemon with one event loop that passes everything on, and whose clients may speak HTTP/2 too.
fn proxy(origin: &Http2Origin) -> Daemon {
    proxy_with(&origin.url(), json!({}))
}

/// The same with further options, to a URL.
fn proxy_with(url: &str, mut options: Value) -> Daemon {
    options["http2"] = json!(true);
    let routes = json!([{ "action": { "proxy": url, "proxy_options": options } }]);
    let server = daemon().start_unconfigured();
    let address = server.address().to_string();
    let listeners = json!({ address: { "pass": "routes", "http2": "prior_knowledge" } });
    let settings = json!({ "listen_threads": 1, "http": { "max_body_size": 100_000_000 } });
    let config = json!({ "settings": settings, "listeners": listeners, "routes": routes });
    server.control().put("/config", &config).expect_done();
    server
}

/// A request whose body has no length that anybody knows.
fn streamed(target: &str) -> Request {
    Request::post(target).field("Transfer-Encoding", "chunked")
}

/// One event loop, whose requests all go to the upstream `pool`.
fn upstream(pool: &Value) -> Daemon {
    let routes = json!([{ "action": { "pass": "upstreams/pool" } }]);
    let config =
        json!({ "settings": { "listen_threads": 1 }, "upstreams": { "pool": pool }, "routes": routes });
    daemon().config(config).start()
}
