//! Ruby applications (Rack) as the application and its visitors see it.

// `cfg(test)` always holds here; it tells clippy that these helpers are tests too.
#[cfg(test)]
mod early_hints;
#[cfg(test)]
mod errors;
#[cfg(test)]
mod files;
#[cfg(test)]
mod frameworks;
#[cfg(test)]
mod hijack;
#[cfg(test)]
mod life;
#[cfg(test)]
mod requests;
#[cfg(test)]
mod responses;
#[cfg(test)]
mod threads;

#[cfg(test)]
use corral_testkit::{Daemon, Site, daemon, site};
#[cfg(test)]
use serde_json::{Value, json};

/// The configuration of a rackup file's application.
#[cfg(test)]
fn app_of(site: &Site) -> Value {
    json!({ "type": "ruby", "script": site.path("config.ru"), "working_directory": site.root() })
}

/// Serves an application that is the text of a block's body: `env` is its argument.
#[cfg(test)]
fn serve(body: &str) -> (Daemon, Site) {
    serve_script(&format!("run ->(env) do\n{body}\nend"))
}

#[cfg(test)]
fn serve_script(script: &str) -> (Daemon, Site) {
    let site = site().file("config.ru", script);
    let server = daemon().config(json!({ "applications": { "app": app_of(&site) } })).start();
    (server, site)
}
