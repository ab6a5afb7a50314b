//! A document whose values and names remember where they were written.

use std::collections::HashMap;

use corral_config::json::{Bytes, Object, Value, pointer};

use crate::fault::Position;

/// One value.
#[derive(Debug, Clone)]
pub(crate) struct Node {
    pub(crate) place: Position,
    pub(crate) content: NodeContent,
}

#[derive(Debug, Clone)]
pub(crate) enum NodeContent {
    /// Anything but a string, an array or an object.
    Scalar(Value),
    Text(NodeText),
    Array(Vec<Node>),
    /// Names are unique.
    Object(Vec<NodeMember>),
}

/// A string.
#[derive(Debug, Clone)]
pub(crate) struct NodeText {
    pub(crate) bytes: Bytes,
    /// The string is nothing but one substitution, so it may stand for a number or a boolean.
    pub(crate) is_substitute: bool,
    /// How it is written, if something was inserted.
    pub(crate) written: Option<Bytes>,
}

/// One member of an object.
#[derive(Debug, Clone)]
pub(crate) struct NodeMember {
    pub(crate) name: Bytes,
    pub(crate) name_place: Position,
    pub(crate) value: Node,
}

impl Node {
    /// An object without members.
    pub(crate) fn empty(file: &str) -> Self {
        Self {
            place: Position { file: file.into(), line: 1, column: 1 },
            content: NodeContent::Object(Vec::new()),
        }
    }

    pub(crate) fn text(place: Position, bytes: Bytes) -> Self {
        Self { place, content: NodeContent::Text(NodeText { bytes, is_substitute: false, written: None }) }
    }

    /// The document itself; notes by JSON pointer where its values are and which may stand for
    /// numbers. A member is where its name is.
    pub(crate) fn into_value(self, pointer: &str, notes: &mut Notes) -> Value {
        notes.places.entry(pointer.to_owned()).or_insert(self.place);
        match self.content {
            NodeContent::Scalar(value) => value,
            NodeContent::Text(text) => {
                if text.is_substitute {
                    notes.substitutes.push(pointer.to_owned());
                }
                notes.written.extend(text.written.map(|written| (pointer.to_owned(), written)));
                Value::String(text.bytes)
            }
            NodeContent::Array(elements) => {
                let elements = elements.into_iter().enumerate();
                Value::Array(
                    elements
                        .map(|(idx, node)| node.into_value(&pointer::element(pointer, idx), notes))
                        .collect(),
                )
            }
            NodeContent::Object(members) => {
                let members = members.into_iter().map(|member| {
                    let pointer = pointer::member(pointer, &member.name);
                    notes.places.insert(pointer.clone(), member.name_place);
                    (member.name, member.value.into_value(&pointer, notes))
                });
                Value::Object(members.collect::<Object>())
            }
        }
    }
}

/// Notes about the values of a document, by JSON pointer (RFC 6901).
#[derive(Debug, Default)]
pub(crate) struct Notes {
    pub(crate) places: HashMap<String, Position>,
    pub(crate) substitutes: Vec<String>,
    /// The strings that something was inserted into, as they are written.
    pub(crate) written: Vec<(String, Bytes)>,
}
