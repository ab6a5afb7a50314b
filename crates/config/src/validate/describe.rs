//! The JSON schema of configurations, found out by walking the tables of `schema` themselves: documents
//! that touch every part are read, and each object tells which members it knows. So an option is
//! described as soon as it is read, and not before.

use indexmap::IndexMap;

use super::context::Context;
use super::schema::{self, Field, Member, Types};
use super::{Draft, Known, ROOT, names};
use crate::json::{self, Bytes, Object, Value};

/// The schema of a whole configuration, in the form of JSON Schema 2020-12.
#[must_use]
pub fn configuration_schema() -> Value {
    let known = Known::validated_elsewhere();
    let mut recorder = Recorder::default();
    for seed in SEEDS {
        let document = json::parse(seed.as_bytes()).expect("the seeds are JSON");
        let destinations = names::collect(&document);
        let mut cx = Context::new(&known, &destinations);
        cx.recorder = Some(recorder);
        let members = document.as_object().expect("the seeds are objects");
        schema::read_object(&mut cx, members, &[ROOT], &mut Draft::default());
        recorder = cx.recorder.expect("nobody takes it away");
    }
    recorder.root.schema()
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

/// Values for a member that the document at hand does not have.
fn probes(name: &str, types: Types) -> Vec<Value> {
    let texts: &[&str] = match name {
        "action" | "fallback" => ACTIONS,
        "errors" => &[r#"{"404": {"return": 404}}"#, r#"{"404": {"share": "/"}}"#],
        "servers" => &[r#"{"127.0.0.1:80": {}}"#],
        _ => &[r#"{"name": {"name": {}}}"#, "[{}]", r#"[{"name": {}}]"#],
    };
    let values = texts.iter().map(|text| json::parse(text.as_bytes()).expect("the probes are JSON"));
    values.filter(|value| types.contains(schema::type_of(value))).collect()
}

const ACTIONS: &[&str] = &[
    r#"{"pass": "routes"}"#,
    r#"{"return": 200}"#,
    r#"{"share": "/"}"#,
    r#"{"proxy": "http://127.0.0.1:80"}"#,
];

/// What has been found out so far.
#[derive(Debug, Default)]
pub(super) struct Recorder {
    root: Node,
}

/// One value of the document.
#[derive(Debug, Default)]
struct Node {
    types: Types,
    /// How often it was seen as an object with a table of members.
    n_visits: u32,
    properties: IndexMap<&'static str, Property>,
    /// Members with free names.
    any: Option<Box<Node>>,
    /// Elements.
    items: Option<Box<Node>>,
}

#[derive(Debug, Default)]
struct Property {
    node: Node,
    n_required: u32,
}

/// Takes the place of reading an object: notes its members, and visits each of them once.
pub(super) fn record<T>(cx: &mut Context<'_>, members: &Object, tables: &[&[Member<T>]], draft: &mut T) {
    let pointer = cx.pointer().to_owned();
    let rows = || tables.iter().copied().flatten().filter(|row| row.types != schema::ANY);
    let Some(recorder) = &mut cx.recorder else { return };
    let node = recorder.root.at(&pointer);
    node.n_visits += 1;
    node.types = node.types.or(schema::OBJECT);
    for row in rows() {
        let property = node.properties.entry(row.name).or_default();
        property.node.types = property.node.types.or(row.types).or(row.beyond);
        property.n_required += u32::from(row.is_required());
    }
    for row in rows() {
        // An action within an action needs no second description.
        if pointer.split('/').filter(|segment| *segment == row.name).count() > 0 && row.name != "name" {
            continue;
        }
        let read = row.read;
        let given = members.get(row.name.as_bytes()).cloned();
        for value in given.map_or_else(|| probes(row.name, row.types.or(row.beyond)), |value| vec![value]) {
            cx.at(row.name.as_bytes(), |cx| read(cx, Field { name: row.name, value: &value }, draft));
        }
    }
}

impl Node {
    /// The node at a JSON pointer; made when it is not there yet.
    fn at(&mut self, pointer: &str) -> &mut Self {
        let mut node = self;
        for segment in pointer.split('/').skip(1) {
            let segment = segment.replace("~1", "/").replace("~0", "~");
            node = if node.properties.contains_key(segment.as_str()) {
                &mut node.properties[segment.as_str()].node
            } else if node.types != schema::OBJECT && is_index(&segment) {
                node.items.get_or_insert_default()
            } else {
                node.any.get_or_insert_default()
            };
        }
        node
    }

    fn schema(&self) -> Value {
        let mut schema = Object::new();
        let mut add = |name: &str, value: Value| schema.insert(Bytes::from(name), value);
        match self.types.schema_names().as_slice() {
            [] => {}
            [only] => drop(add("type", Value::from(*only))),
            several => {
                drop(add("type", Value::Array(several.iter().map(|name| Value::from(*name)).collect())));
            }
        }
        if self.n_visits > 0 {
            let properties = self.properties.iter();
            let properties = properties.map(|(name, property)| (Bytes::from(*name), property.node.schema()));
            add("properties", Value::Object(properties.collect()));
            let required =
                self.properties.iter().filter(|(_, property)| property.n_required == self.n_visits);
            let required: Vec<_> = required.map(|(name, _)| Value::from(*name)).collect();
            if !required.is_empty() {
                add("required", Value::Array(required));
            }
        }
        match &self.any {
            Some(any) => drop(add("additionalProperties", any.schema())),
            None if self.n_visits > 0 => drop(add("additionalProperties", Value::Bool(false))),
            None => {}
        }
        if let Some(items) = &self.items {
            add("items", items.schema());
        }
        Value::Object(schema)
    }
}

fn is_index(segment: &str) -> bool {
    !segment.is_empty() && segment.bytes().all(|byte| byte.is_ascii_digit())
}

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
