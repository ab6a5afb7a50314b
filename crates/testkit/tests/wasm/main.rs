//! WebAssembly components as they and their visitors see it.

// `cfg(test)` always holds here; it tells clippy that these helpers are tests too.
#[cfg(test)]
mod bodies;
#[cfg(test)]
mod failures;
#[cfg(test)]
mod life;
#[cfg(test)]
mod limits;
#[cfg(test)]
mod manual;
#[cfg(test)]
mod requests;
#[cfg(test)]
mod surroundings;

#[cfg(test)]
use corral_testkit::{Daemon, component, daemon};
#[cfg(test)]
use serde_json::{Value, json};

/// The configuration of an application that does what the path says.
#[cfg(test)]
fn probe() -> Value {
    json!({ "type": "wasm-wasi-component", "component": component("probe") })
}

#[cfg(test)]
fn serve(app: &Value) -> Daemon {
    daemon().config(json!({ "applications": { "app": app } })).start()
}
