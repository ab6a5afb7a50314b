//! Walking the tables themselves, with the recorder in the place of a reader: each object tells which members
//! it knows, and each of them is visited once. So an option is described as soon as it is read, and not before.

use super::context::Context;
use super::label::Label;
use super::table::{Field, TablePart};
use super::types::{Types, type_of};
use crate::json::{self, Object, Value, pointer};

/// Takes the place of reading an object: notes its members, and visits each of them.
pub(super) fn visit(cx: &mut Context<'_>, members: &Object, parts: &mut [&mut dyn TablePart]) {
    let place = cx.pointer().to_owned();
    let rows: Vec<(usize, Label)> = (0..)
        .zip(parts.iter())
        .flat_map(|(idx, part)| part.labels().map(move |label| (idx, *label)))
        .collect();
    let Some(recorder) = &mut cx.recorder else { return };
    recorder.note(&place, &rows);
    let steps = pointer::steps(&place);
    for (part, label) in rows {
        // An action within an action needs no second description.
        if steps.iter().any(|step| **step == *label.name.as_bytes()) && label.name != "name" {
            continue;
        }
        let given = members.get(label.name.as_bytes()).cloned();
        for value in given.map_or_else(|| probes(label.name, label.accepted()), |value| vec![value]) {
            let field = Field { name: label.name, value: &value };
            cx.at(label.name.as_bytes(), |cx| parts[part].read(cx, field));
        }
    }
}

/// Values for a member that the document at hand does not have.
fn probes(name: &str, types: Types) -> Vec<Value> {
    let texts: &[&str] = match name {
        "action" | "fallback" => ACTIONS,
        "errors" => &[r#"{"404": {"return": 404}}"#, r#"{"404": {"share": "/"}}"#],
        "servers" => &[r#"{"127.0.0.1:80": {}}"#],
        _ => &[r#"{"name": {"name": {}}}"#, "[{}]", r#"[{"name": {}}]"#],
    };
    let values = texts.iter().map(|text| json::parse(text.as_bytes()).expect("the probes are JSON"));
    values.filter(|value| types.contains(type_of(value))).collect()
}

const ACTIONS: &[&str] = &[
    r#"{"pass": "routes"}"#,
    r#"{"return": 200}"#,
    r#"{"share": "/"}"#,
    r#"{"proxy": "http://127.0.0.1:80"}"#,
    r#"{"fastcgi": "127.0.0.1:9000"}"#,
    r#"{"scgi": "127.0.0.1:9000"}"#,
    r#"{"uwsgi": "127.0.0.1:9000"}"#,
    r#"{"metrics": true}"#,
];
