//! The rows of the tables, gathered by the place of their objects in a document.

use indexmap::IndexMap;

use super::label::Label;
use super::types::{OBJECT, Types};
use crate::json::{Bytes, pointer};

/// The findings so far.
#[derive(Debug, Default)]
pub(super) struct Recorder {
    root: RecordedNode,
}

/// One value of the document.
#[derive(Debug, Default)]
pub(super) struct RecordedNode {
    pub(super) types: Types,
    /// How often it was seen as an object with a table of members.
    pub(super) n_visits: u32,
    pub(super) properties: IndexMap<&'static str, Property>,
    /// Members with free names.
    pub(super) any: Option<Box<RecordedNode>>,
    /// Elements.
    pub(super) items: Option<Box<RecordedNode>>,
}

/// A member that a row describes.
#[derive(Debug)]
pub(super) struct Property {
    pub(super) node: RecordedNode,
    /// As the first row has it.
    pub(super) label: Label,
    /// Which of the object's parts that row belongs to.
    pub(super) part: usize,
    pub(super) n_required: u32,
    /// Rows that document the member differently, and whose they are.
    pub(super) voices: Vec<Voice>,
}

/// One documentation of a member.
#[derive(Debug)]
pub(super) struct Voice {
    pub(super) label: Label,
    /// The second steps of the pointers to the objects: the seeds call an application by its type.
    pub(super) owners: Vec<String>,
}

impl Recorder {
    /// Notes the rows of an object, each with the part that it belongs to.
    pub(super) fn note(&mut self, pointer: &str, rows: &[(usize, Label)]) {
        let owner = pointer::steps(pointer).get(1).map_or_else(String::new, Bytes::to_string);
        let node = self.root.at(pointer);
        node.n_visits += 1;
        node.types = node.types.or(OBJECT);
        for &(part, label) in rows {
            let property = node.properties.entry(label.name).or_insert_with(|| Property::new(part, label));
            property.node.types = property.node.types.or(label.accepted());
            property.n_required += u32::from(label.is_required);
            property.hear(label, &owner);
        }
    }

    /// The whole document.
    pub(super) fn root(&self) -> &RecordedNode {
        &self.root
    }

    /// The finding at a pointer.
    pub(super) fn at(&mut self, pointer: &str) -> &RecordedNode {
        self.root.at(pointer)
    }
}

impl Property {
    fn new(part: usize, label: Label) -> Self {
        Self { node: RecordedNode::default(), label, part, n_required: 0, voices: Vec::new() }
    }

    fn hear(&mut self, label: Label, owner: &str) {
        let same = |voice: &&mut Voice| voice.label.says_the_same_as(&label);
        match self.voices.iter_mut().find(same) {
            Some(voice) if voice.owners.iter().any(|known| known == owner) => {}
            Some(voice) => voice.owners.push(owner.to_owned()),
            None => self.voices.push(Voice { label, owners: vec![owner.to_owned()] }),
        }
    }
}

impl RecordedNode {
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
}

fn is_index(step: &str) -> bool {
    !step.is_empty() && step.bytes().all(|byte| byte.is_ascii_digit())
}
