//! One document made of files, which can say where its problems are.

use corral_config::json::{self, Value};
use corral_config::{Config, Known, Problem, validate};

use crate::fault::Fault;
use crate::node::{Node, Notes};

/// A document and the places of its values.
#[derive(Debug)]
pub struct Manifest {
    document: Value,
    notes: Notes,
}

impl Manifest {
    pub(crate) fn new(root: Node) -> Self {
        let mut notes = Notes::default();
        let document = root.into_value("", &mut notes);
        Self { document, notes }
    }

    /// The document itself.
    #[must_use]
    pub fn document(&self) -> &Value {
        &self.document
    }

    /// Reads the document as a configuration. A string that is nothing but one substitution becomes
    /// the number or boolean that it spells where no string is accepted.
    ///
    /// # Errors
    ///
    /// With every problem, each at its place in its file.
    pub fn validate(&mut self, known: &Known) -> Result<Config, Vec<Fault>> {
        let problems = match validate(&self.document, known) {
            Ok(config) => return Ok(config),
            Err(problems) => problems,
        };
        if !self.convert_substitutes(&problems) {
            return Err(self.locate(&problems));
        }
        validate(&self.document, known).map_err(|problems| self.locate(&problems))
    }

    /// The problems of the document as faults of its files.
    #[must_use]
    pub fn locate(&self, problems: &[Problem]) -> Vec<Fault> {
        problems.iter().map(|problem| self.fault(problem)).collect()
    }

    fn fault(&self, problem: &Problem) -> Fault {
        let mut pointer = problem.pointer.as_str();
        // A problem of something that is not there is one of what it should be in.
        let place = loop {
            if let Some(place) = self.notes.places.get(pointer) {
                break place;
            }
            pointer = pointer.rfind('/').map_or("", |end| &pointer[..end]);
        };
        Fault { place: place.clone(), message: problem.to_string() }
    }

    /// Whether anything was converted.
    fn convert_substitutes(&mut self, problems: &[Problem]) -> bool {
        let mut any = false;
        for pointer in &self.notes.substitutes {
            if problems.iter().any(|problem| problem.pointer == *pointer)
                && let Some(value) = find(&mut self.document, pointer)
                && let Some(scalar) = value.as_bytes().and_then(|text| number_or_boolean(text))
            {
                *value = scalar;
                any = true;
            }
        }
        any
    }
}

fn number_or_boolean(text: &[u8]) -> Option<Value> {
    json::parse(text).ok().filter(|value| matches!(value, Value::Number(_) | Value::Bool(_)))
}

fn find<'a>(root: &'a mut Value, pointer: &str) -> Option<&'a mut Value> {
    pointer.split('/').skip(1).try_fold(root, |value, segment| match value {
        Value::Array(elements) => elements.get_mut(segment.parse::<usize>().ok()?),
        Value::Object(members) => {
            let name = segment.replace("~1", "/").replace("~0", "~");
            members.get_mut(name.as_bytes())
        }
        _ => None,
    })
}
