//! Values that configuration files insert (`${env:…}`, `${file:…}`) may be secrets: readers see how they are written,
//! and what they send back means the same again.

use corral_config::json::{self, Bytes, Value, edit, pointer};
use corral_config::{Problem, Stage};
use corral_ipc::message::{ConfigFiles, Inserted};

/// The values of a document that something was inserted into.
#[derive(Debug)]
pub(crate) struct Insertions {
    all: Vec<Insertion>,
    /// The control API changes the document, and may have moved or copied values.
    is_writable: bool,
}

/// A document as readers see it.
#[derive(Debug)]
pub(crate) struct ShownDocument {
    pub(crate) value: Value,
    /// JSON pointers to the strings that stand for values, in their order as text.
    pub(crate) inserted: Vec<String>,
}

struct Insertion {
    pointer: String,
    path: Vec<Bytes>,
    value: Value,
    /// The string in its file.
    written: Bytes,
}

/// Without the value.
impl std::fmt::Debug for Insertion {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?} at {:?}", self.written, self.path)
    }
}

impl Insertions {
    /// The insertions of the configuration files as they were read last.
    pub(crate) fn of_files(files: Option<&ConfigFiles>, inserted: Option<Vec<Inserted>>) -> Self {
        let inserted = inserted.or_else(|| files.map(|files| files.inserted.clone()));
        Self::new(inserted.unwrap_or_default(), files.is_some_and(|files| files.is_writable))
    }

    fn new(inserted: Vec<Inserted>, is_writable: bool) -> Self {
        let insertions = inserted.into_iter().filter_map(|inserted| {
            let value = json::parse(&inserted.value).ok()?;
            let written = Bytes::from(inserted.written);
            let path = pointer::steps(&inserted.pointer);
            Some(Insertion { pointer: inserted.pointer, path, value, written })
        });
        Self { all: insertions.collect(), is_writable }
    }

    /// The document with these values as they are written.
    pub(crate) fn show(&self, document: &Value) -> ShownDocument {
        let (mut shown, mut inserted) = (document.clone(), Vec::new());
        for insertion in &self.all {
            if edit::get(document, &insertion.path) == Ok(&insertion.value) {
                let written = Value::String(insertion.written.clone());
                // It is there, so that it can be replaced.
                let _ = edit::put(&mut shown, &insertion.path, written);
                inserted.push(insertion.pointer.clone());
            }
        }
        if self.is_writable && !self.all.is_empty() {
            for_each_string(&mut shown, "", &mut |place, value| {
                if let Some(insertion) = self.all.iter().find(|insertion| insertion.value == *value) {
                    *value = Value::String(insertion.written.clone());
                    inserted.push(place.to_owned());
                }
            });
        }
        inserted.sort();
        inserted.dedup();
        ShownDocument { value: shown, inserted }
    }

    /// Puts the values in the place of strings as they are written, which a reader has sent back.
    pub(crate) fn restore(&self, document: &mut Value) {
        for insertion in &self.all {
            if edit::get(document, &insertion.path) == Ok(&Value::String(insertion.written.clone())) {
                // It is there, so that it can be replaced.
                let _ = edit::put(document, &insertion.path, insertion.value.clone());
            }
        }
        if self.all.is_empty() {
            return;
        }
        for_each_string(document, "", &mut |_, value| {
            let is_meant = |insertion: &&Insertion| value.as_bytes() == Some(&insertion.written);
            if let Some(insertion) = self.all.iter().find(is_meant) {
                *value = insertion.value.clone();
            }
        });
    }

    /// Puts the values of now in these places of a document that was shown before. Returns the places whose strings
    /// stand for nothing any more: as they are written, they would mean something else.
    pub(crate) fn restore_at(&self, document: &mut Value, places: &[String]) -> Vec<Problem> {
        let mut lost = Vec::new();
        for place in places {
            let path = pointer::steps(place);
            let Some(written) = edit::get(document, &path).ok().and_then(Value::as_bytes) else { continue };
            match self.find(place, written) {
                // It is there, so that it can be replaced.
                Some(value) => drop(edit::put(document, &path, value.clone())),
                None => lost.push(lost_insertion(place, written)),
            }
        }
        lost
    }

    /// The value that a string stands for, rather in this place than in another one.
    fn find(&self, place: &str, written: &Bytes) -> Option<&Value> {
        let matching = || self.all.iter().filter(|insertion| insertion.written == *written);
        let found = matching().find(|insertion| insertion.pointer == place).or_else(|| matching().next());
        found.map(|insertion| &insertion.value)
    }

    pub(crate) fn conceal_problems(&self, mut problems: Vec<Problem>) -> Vec<Problem> {
        for problem in &mut problems {
            problem.detail = self.conceal(&problem.detail);
            problem.advice = self.conceal(&problem.advice);
        }
        problems
    }

    /// A message as it may be shown.
    pub(crate) fn conceal(&self, message: &str) -> String {
        self.all.iter().fold(message.to_owned(), |message, insertion| match insertion.value.as_bytes() {
            Some(value) => {
                json::conceal(&message, &value.to_string_lossy(), &insertion.written.to_string_lossy())
            }
            None => message,
        })
    }
}

fn lost_insertion(place: &str, written: &Bytes) -> Problem {
    Problem {
        pointer: place.to_owned(),
        detail: format!("\"{written}\" stood for a value that configuration files do not insert any more."),
        advice: "Read this configuration, write the value itself in this place, and put that in force."
            .to_owned(),
        suggestion: None,
        stage: Stage::Validation,
    }
}

/// Hands out each string with the pointer to it.
fn for_each_string(value: &mut Value, place: &str, change: &mut impl FnMut(&str, &mut Value)) {
    match value {
        Value::String(_) => change(place, value),
        Value::Array(elements) => {
            for (idx, element) in elements.iter_mut().enumerate() {
                for_each_string(element, &pointer::element(place, idx), change);
            }
        }
        Value::Object(members) => {
            for (name, member) in members {
                for_each_string(member, &pointer::member(place, name), change);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn insertions(is_writable: bool) -> Insertions {
        let inserted = |pointer: &str, value: &str, written: &str| Inserted {
            pointer: pointer.to_owned(),
            value: value.into(),
            written: written.into(),
        };
        let all = vec![
            inserted("/a/0/key", "\"s3cret\"", "${file:/run/key}"),
            inserted("/b~1c", "8", "${env:N}"),
            inserted("/same", "\"s3cret\"", "${env:KEY}"),
        ];
        Insertions::new(all, is_writable)
    }

    #[track_caller]
    fn check_shown(is_writable: bool, document: &str, expect: &str) {
        let document = json::parse(document.as_bytes()).unwrap();
        let ShownDocument { value: mut shown, inserted } = insertions(is_writable).show(&document);
        assert_eq!(shown, json::parse(expect.as_bytes()).unwrap());
        let mut restored = shown.clone();
        insertions(is_writable).restore(&mut restored);
        assert_eq!(restored, document, "what was read can be sent back");
        let mut again = shown.clone();
        assert_eq!(insertions(is_writable).restore_at(&mut again, &inserted), []);
        assert_eq!(again, document, "what was in force can be again");
        let lost = Insertions::new(Vec::new(), is_writable).restore_at(&mut shown, &inserted);
        assert_eq!(lost.into_iter().map(|problem| problem.pointer).collect::<Vec<_>>(), inserted);
    }

    #[test]
    fn only_what_was_inserted_is_looked_for() {
        let document = json::parse(br#"{"a": "${env:N}", "b/c": "${env:GONE}"}"#).unwrap();
        let mut restored = document.clone();
        assert_eq!(insertions(true).restore_at(&mut restored, &[]), []);
        assert_eq!(restored, document, "these are texts of the document itself");
        let [lost] = insertions(true).restore_at(&mut restored, &["/b~1c".to_owned()]).try_into().unwrap();
        assert_eq!((lost.pointer.as_str(), lost.detail.contains("\"${env:GONE}\"")), ("/b~1c", true));
        insertions(true).restore_at(&mut restored, &["/a".to_owned(), "/nothing".to_owned()]);
        assert_eq!(restored, json::parse(br#"{"a": 8, "b/c": "${env:GONE}"}"#).unwrap());
    }

    #[test]
    fn values_are_shown_as_they_are_written() {
        for is_writable in [true, false] {
            check_shown(
                is_writable,
                r#"{"a": [{"key": "s3cret"}], "b/c": 8, "same": "s3cret", "d": "$uri"}"#,
                r#"{"a": [{"key": "${file:/run/key}"}], "b/c": "${env:N}", "same": "${env:KEY}", "d": "$uri"}"#,
            );
            check_shown(is_writable, r#"{"b/c": 9, "d": 8}"#, r#"{"b/c": 9, "d": 8}"#);
        }
    }

    #[test]
    fn values_that_were_moved_or_copied_are_not_shown() {
        check_shown(
            true,
            r#"{"a": [{}, {"key": "s3cret"}], "b/c": 8, "e": ["s3cret"]}"#,
            r#"{"a": [{}, {"key": "${file:/run/key}"}], "b/c": "${env:N}", "e": ["${file:/run/key}"]}"#,
        );
        // Without a move, an equal value is another value.
        check_shown(false, r#"{"e": "s3cret"}"#, r#"{"e": "s3cret"}"#);
    }

    #[test]
    fn messages_tell_no_values() {
        let insertions = insertions(false);
        assert_eq!(insertions.conceal("No \"s3cret\" here."), "No \"${file:/run/key}\" here.");
        assert!(!format!("{insertions:?}").contains("s3cret"));
    }
}
