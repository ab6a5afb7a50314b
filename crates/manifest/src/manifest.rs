//! One document made of files, which can say where its problems are.

use corral_config::json::{self, Bytes, Value, edit, pointer};
use corral_config::{Config, Known, Problem, validate};

use crate::fault::Fault;
use crate::node::{Node, Notes};

/// A value that something was inserted into.
#[derive(Debug, Clone, Copy)]
pub struct Insertion<'m> {
    /// Where it is in the document, as a JSON pointer.
    pub pointer: &'m str,
    /// The string as it is written in its file.
    pub written: &'m Bytes,
    /// The value in the document.
    pub value: &'m Value,
}

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

    /// The values that something was inserted into.
    pub fn inserted(&self) -> impl Iterator<Item = Insertion<'_>> {
        self.notes.written.iter().filter_map(|(pointer, written)| {
            Some(Insertion { pointer, written, value: find(&self.document, pointer)? })
        })
    }

    /// The document with values as they are written wherever `running` has them like that, as a daemon shows them.
    #[must_use]
    pub fn as_shown_in(&self, running: &Value) -> Value {
        let mut shown = self.document.clone();
        for (pointer, written) in &self.notes.written {
            let written = Value::String(written.clone());
            if find(running, pointer) == Some(&written)
                && let Some(value) = find_mut(&mut shown, pointer)
            {
                *value = written;
            }
        }
        shown
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
        Fault { place: place.clone(), message: self.conceal(problem.to_string()) }
    }

    /// A message as it may be shown: what was inserted may be a secret.
    fn conceal(&self, message: String) -> String {
        let values =
            self.inserted().filter_map(|inserted| Some((inserted.written, inserted.value.as_bytes()?)));
        values.fold(message, |message, (written, value)| {
            json::conceal(&message, &value.to_string_lossy(), &written.to_string_lossy())
        })
    }

    /// Whether anything was converted.
    fn convert_substitutes(&mut self, problems: &[Problem]) -> bool {
        let mut any = false;
        for pointer in &self.notes.substitutes {
            if problems.iter().any(|problem| problem.pointer == *pointer)
                && let Some(value) = find_mut(&mut self.document, pointer)
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

fn find<'a>(root: &'a Value, pointer: &str) -> Option<&'a Value> {
    edit::get(root, &pointer::steps(pointer)).ok()
}

fn find_mut<'a>(root: &'a mut Value, pointer: &str) -> Option<&'a mut Value> {
    pointer::steps(pointer).iter().try_fold(root, |value, step| match value {
        Value::Array(elements) => elements.get_mut(step.to_str()?.parse::<usize>().ok()?),
        Value::Object(members) => members.get_mut(&**step),
        _ => None,
    })
}
