//! The recorded options in the form of JSON Schema, from draft 7 to 2020-12, each with its documentation and default.

use super::description::{self, OptionTexts};
use super::recorder::{Property, RecordedNode, Voice};
use crate::json::{Bytes, Object, Value};

/// The schema of a whole document.
pub(super) fn of(root: &RecordedNode) -> Value {
    unnamed(root, &OptionTexts::default())
}

/// A member that a row describes; `around` is said of the object that it is in.
fn member(property: &Property, around: &OptionTexts) -> Value {
    let texts = OptionTexts::of(property, around);
    let mut schema = Object::new();
    add(&mut schema, "description", Value::from(&*texts.to_string()));
    if let Some(default) = common_default(&property.voices) {
        add(&mut schema, "default", default);
    }
    add_shape(&property.node, &texts, &mut schema);
    Value::Object(schema)
}

/// The document, a member with a free name, or an element: the object around it says what it is.
fn unnamed(node: &RecordedNode, around: &OptionTexts) -> Value {
    let mut schema = Object::new();
    add_shape(node, around, &mut schema);
    Value::Object(schema)
}

/// Adds which values there may be.
fn add_shape(node: &RecordedNode, texts: &OptionTexts, schema: &mut Object) {
    match node.types.schema_names().as_slice() {
        [] => {}
        [only] => add(schema, "type", Value::from(*only)),
        several => add(schema, "type", names(several)),
    }
    if node.n_visits > 0 {
        add_members(node, texts, schema);
    }
    match &node.any {
        Some(any) => add(schema, "additionalProperties", unnamed(any, texts)),
        None if node.n_visits > 0 => add(schema, "additionalProperties", Value::Bool(false)),
        None => {}
    }
    if let Some(items) = &node.items {
        add(schema, "items", unnamed(items, texts));
    }
}

fn add_members(node: &RecordedNode, texts: &OptionTexts, schema: &mut Object) {
    let members = node.properties.iter();
    let members = members.map(|(name, property)| (Bytes::from(*name), member(property, texts)));
    add(schema, "properties", Value::Object(members.collect()));
    let required = node.properties.iter().filter(|(_, property)| property.n_required == node.n_visits);
    let required: Vec<_> = required.map(|(name, _)| *name).collect();
    if !required.is_empty() {
        add(schema, "required", names(&required));
    }
}

/// The default of all rows, if they have the same one.
fn common_default(voices: &[Voice]) -> Option<Value> {
    let (first, others) = voices.split_first()?;
    let default = description::default_value(&first.label)?;
    let agrees = |other: &Voice| description::default_value(&other.label).as_ref() == Some(&default);
    others.iter().all(agrees).then_some(default)
}

fn names(names: &[&str]) -> Value {
    Value::Array(names.iter().map(|name| Value::from(*name)).collect())
}

fn add(schema: &mut Object, name: &str, value: Value) {
    schema.insert(Bytes::from(name), value);
}
