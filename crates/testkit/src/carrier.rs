//! Carriers of requests for tests that are about what HTTP means, whatever they are written in.

use serde_json::{Value, json};

/// The version of HTTP on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Carrier {
    /// As tests write it.
    Http1,
    /// By prior knowledge, or by ALPN: `cargo nextest run --profile http2`, which says what is asked again in this way.
    Http2,
}

impl Carrier {
    /// The carrier of this run.
    #[must_use]
    pub fn of_this_run() -> Self {
        match std::env::var("NEXTEST_PROFILE").as_deref() {
            Ok("http2") => Self::Http2,
            _ => Self::Http1,
        }
    }

    /// Has the listeners in what is put at this path of the control API speak it.
    pub(crate) fn teach(self, path: &str, value: &mut Value) {
        if self == Self::Http1 {
            return;
        }
        let steps: Vec<&str> = path.trim_matches('/').split('/').collect();
        match *steps {
            ["config"] => value.get_mut("listeners").into_iter().for_each(teach_all),
            ["config", "listeners"] => teach_all(value),
            ["config", "listeners", _] => teach(value),
            _ => {}
        }
    }
}

fn teach_all(listeners: &mut Value) {
    listeners.as_object_mut().into_iter().flat_map(serde_json::Map::values_mut).for_each(teach);
}

fn teach(listener: &mut Value) {
    if let Some(options) = listener.as_object_mut() {
        options.entry("http2").or_insert_with(|| json!("prior_knowledge"));
    }
}
