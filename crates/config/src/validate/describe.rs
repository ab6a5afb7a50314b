//! Descriptions of configurations by a walk through their tables: documents that touch every part are read, and each
//! object tells which members it knows.

use super::context::Context;
use super::recorder::Recorder;
use super::{DocumentDraft, ROOT, actions, json_schema, names, schema};
use crate::json::{self, Value};
use crate::known::Known;

/// The schema of a whole configuration, in the form of JSON Schema, from draft 7 to 2020-12.
#[must_use]
pub fn configuration_schema() -> Value {
    let recorder = SEEDS.iter().fold(Recorder::default(), |recorder, seed| walk(seed, recorder));
    json_schema::of(recorder.root())
}

/// Notes what the tables say of the parts that a document has.
pub(super) fn walk(seed: &str, recorder: Recorder) -> Recorder {
    let known = Known::validated_elsewhere();
    let document = json::parse(seed.as_bytes()).expect("the seeds are JSON");
    let destinations = names::collect(&document);
    let maps = names::maps(&document);
    let mut cx = Context::new(&known, &destinations, &maps, actions::read);
    cx.recorder = Some(recorder);
    let members = document.as_object().expect("the seeds are objects");
    schema::read_object(&mut cx, members, &[ROOT], &mut DocumentDraft::default());
    cx.recorder.expect("nobody takes it away")
}

/// Documents that lead to every object whose name is free. Applications are called by their types.
const SEEDS: &[&str] = &[
    r#"{"listeners": {"*:80": {}},
        "routes": [{"action": {"pass": "routes"}}, {"action": {"return": 200}}, {"action": {"share": "/"}},
                   {"action": {"proxy": "http://127.0.0.1:80"}}, {"action": {"fastcgi": "127.0.0.1:9000"}},
                   {"action": {"scgi": "127.0.0.1:9000"}}, {"action": {"uwsgi": "127.0.0.1:9000"}},
                   {"action": {"metrics": true}}],
        "applications": {"php": {"type": "php"}, "python": {"type": "python"}, "ruby": {"type": "ruby"},
                         "perl": {"type": "perl"}, "external": {"type": "external"}, "go": {"type": "go"},
                         "java": {"type": "java"}, "http": {"type": "http"}, "fastcgi": {"type": "fastcgi"},
                         "cgi": {"type": "cgi"}, "process": {"type": "process"},
                         "wasm": {"type": "wasm"}, "wasm-wasi-component": {"type": "wasm-wasi-component"}},
        "upstreams": {"name": {"servers": {"127.0.0.1:80": {}}}}}"#,
    r#"{"routes": {"name": [{"action": {"pass": "routes"}}, {"action": {"return": 200}},
                            {"action": {"share": "/"}}, {"action": {"proxy": "http://127.0.0.1:80"}},
                            {"action": {"fastcgi": "127.0.0.1:9000"}}, {"action": {"scgi": "127.0.0.1:9000"}},
                            {"action": {"uwsgi": "127.0.0.1:9000"}}, {"action": {"metrics": true}}]}}"#,
];

#[cfg(test)]
mod tests;
