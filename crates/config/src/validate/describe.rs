//! What can be said of configurations by a walk through their tables: documents that touch every part are
//! read, and each object tells which members it knows.

use super::context::Context;
use super::recorder::Recorder;
use super::{Draft, ROOT, names, schema};
use crate::json::{self, Value};
use crate::known::Known;

/// The schema of a whole configuration, in the form of JSON Schema 2020-12.
#[must_use]
pub fn configuration_schema() -> Value {
    SEEDS.iter().fold(Recorder::default(), |recorder, seed| walk(seed, recorder)).root().schema()
}

/// Notes what the tables say of the parts that a document has.
pub(super) fn walk(seed: &str, recorder: Recorder) -> Recorder {
    let known = Known::validated_elsewhere();
    let document = json::parse(seed.as_bytes()).expect("the seeds are JSON");
    let destinations = names::collect(&document);
    let mut cx = Context::new(&known, &destinations);
    cx.recorder = Some(recorder);
    let members = document.as_object().expect("the seeds are objects");
    schema::read_object(&mut cx, members, &[ROOT], &mut Draft::default());
    cx.recorder.expect("nobody takes it away")
}

/// Documents that lead to every object whose name is free.
const SEEDS: &[&str] = &[
    r#"{"listeners": {"*:80": {}},
        "routes": [{"action": {"pass": "routes"}}, {"action": {"return": 200}}, {"action": {"share": "/"}},
                   {"action": {"proxy": "http://127.0.0.1:80"}}],
        "applications": {"php": {"type": "php"}, "python": {"type": "python"}, "ruby": {"type": "ruby"},
                         "perl": {"type": "perl"}, "external": {"type": "external"}, "go": {"type": "go"}, "java": {"type": "java"},
                         "http": {"type": "http"},
                         "wasm": {"type": "wasm"}, "component": {"type": "wasm-wasi-component"}},
        "upstreams": {"name": {"servers": {"127.0.0.1:80": {}}}}}"#,
    r#"{"routes": {"name": [{"action": {"pass": "routes"}}, {"action": {"return": 200}},
                            {"action": {"share": "/"}}, {"action": {"proxy": "http://127.0.0.1:80"}}]}}"#,
];

#[cfg(test)]
mod tests {
    use super::*;

    /// The schema of what is at a path, where `*` stands for a free name and `[]` for an element.
    fn at<'a>(schema: &'a Value, path: &str) -> Option<&'a Value> {
        path.split('.').filter(|piece| !piece.is_empty()).try_fold(schema, |schema, piece| match piece {
            "*" => schema.member("additionalProperties"),
            "[]" => schema.member("items"),
            name => schema.member("properties")?.member(name),
        })
    }

    #[track_caller]
    fn check(path: &str, expect: &str) {
        let schema = configuration_schema();
        let found = at(&schema, path).unwrap_or_else(|| panic!("{path} is not described"));
        let types = found.member("type").map_or_else(Vec::new, Value::compact);
        assert_eq!(String::from_utf8(types).unwrap(), expect, "{path}");
    }

    #[test]
    fn options_are_described_with_their_types() {
        check("", r#""object""#);
        check("listeners.*.pass", r#""string""#);
        check("listeners.*.backlog", r#""number""#);
        check("routes", r#"["array","object"]"#);
        check("routes.[].match.uri", r#"["string","array"]"#);
        check("routes.*.[].match.uri", r#"["string","array"]"#);
        check("routes.[].action.return", r#""integer""#);
        check("routes.[].action.share", r#"["string","array"]"#);
        check("routes.[].action.fallback.share", r#"["string","array"]"#);
        check("applications.*.processes", r#"["integer","string","object"]"#);
        check("applications.*.processes.max", r#""integer""#);
        check("applications.*.targets.*.root", r#""string""#);
        check("applications.*.targets.*.factory", r#""boolean""#);
        check("applications.*.path", r#"["string","array"]"#);
        check("settings.http.static.mime_types", r#""object""#);
        check("access_log.path", r#""string""#);
    }

    #[test]
    fn required_members_are_told_and_others_refused() {
        let schema = configuration_schema();
        let tls = at(&schema, "listeners.*.tls").unwrap();
        assert_eq!(tls.member("required"), Some(&Value::Array(vec![Value::from("certificate")])));
        // A target of PHP needs a root, one of Python a module.
        assert_eq!(at(&schema, "applications.*.targets.*").unwrap().member("required"), None);
        assert_eq!(schema.member("additionalProperties"), Some(&Value::Bool(false)));
    }
}
