//! The rows of the tables, gathered by the place of their objects in a document.

use indexmap::IndexMap;

use super::label::Label;
use super::types::{OBJECT, Types};
use crate::json::{Bytes, Object, Value, pointer};

/// The findings so far.
#[derive(Debug, Default)]
pub(super) struct Recorder {
    root: Node,
}

/// One value of the document.
#[derive(Debug, Default)]
pub(super) struct Node {
    types: Types,
    /// How often it was seen as an object with a table of members.
    n_visits: u32,
    pub(super) properties: IndexMap<&'static str, Property>,
    /// Members with free names.
    pub(super) any: Option<Box<Node>>,
    /// Elements.
    pub(super) items: Option<Box<Node>>,
}

/// A member that a row describes.
#[derive(Debug)]
pub(super) struct Property {
    pub(super) node: Node,
    /// As the first row has it.
    pub(super) label: Label,
    /// Which of the object's parts that row belongs to.
    pub(super) part: usize,
    n_required: u32,
}

impl Recorder {
    /// Notes the rows of an object, each with the part that it belongs to.
    pub(super) fn note(&mut self, pointer: &str, rows: &[(usize, Label)]) {
        let node = self.root.at(pointer);
        node.n_visits += 1;
        node.types = node.types.or(OBJECT);
        for &(part, label) in rows {
            let property = node.properties.entry(label.name).or_insert_with(|| Property::new(part, label));
            property.node.types = property.node.types.or(label.accepted());
            property.n_required += u32::from(label.is_required);
        }
    }

    /// The whole document.
    pub(super) fn root(&self) -> &Node {
        &self.root
    }

    /// The finding at a pointer.
    pub(super) fn at(&mut self, pointer: &str) -> &Node {
        self.root.at(pointer)
    }
}

impl Property {
    fn new(part: usize, label: Label) -> Self {
        Self { node: Node::default(), label, part, n_required: 0 }
    }
}

impl Node {
    /// The node at a JSON pointer; made when it is not there yet.
    fn at(&mut self, pointer: &str) -> &mut Self {
        let mut node = self;
        for step in pointer::steps(pointer) {
            let step = step.to_string_lossy();
            node = if node.properties.contains_key(&*step) {
                &mut node.properties[&*step].node
            } else if node.types != OBJECT && is_index(&step) {
                node.items.get_or_insert_default()
            } else {
                node.any.get_or_insert_default()
            };
        }
        node
    }

    /// In the form of JSON Schema 2020-12.
    pub(super) fn schema(&self) -> Value {
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

fn is_index(step: &str) -> bool {
    !step.is_empty() && step.bytes().all(|byte| byte.is_ascii_digit())
}
