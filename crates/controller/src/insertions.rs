//! Values that configuration files insert (`${env:…}`, `${file:…}`) may be secrets: readers see how they are written,
//! and what they send back means the same again.

use corral_config::Problem;
use corral_config::json::{self, Bytes, Value, edit, pointer};
use corral_ipc::message::{ConfigFiles, Inserted};

/// The values of a document that something was inserted into.
#[derive(Debug)]
pub(crate) struct Insertions {
    all: Vec<Insertion>,
    /// The control API changes the document, and may have moved or copied values.
    is_writable: bool,
}

struct Insertion {
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
            Some(Insertion { path: pointer::steps(&inserted.pointer), value, written })
        });
        Self { all: insertions.collect(), is_writable }
    }

    /// The document with these values as they are written.
    pub(crate) fn show(&self, document: &Value) -> Value {
        let mut shown = document.clone();
        for insertion in &self.all {
            if edit::get(document, &insertion.path) == Ok(&insertion.value) {
                let written = Value::String(insertion.written.clone());
                // It is there, so that it can be replaced.
                let _ = edit::put(&mut shown, &insertion.path, written);
            }
        }
        if self.is_writable {
            for_each_string(&mut shown, &mut |value| {
                if let Some(insertion) = self.all.iter().find(|insertion| insertion.value == *value) {
                    *value = Value::String(insertion.written.clone());
                }
            });
        }
        shown
    }

    /// Puts the values in the place of strings as they are written, which a reader has sent back.
    pub(crate) fn restore(&self, document: &mut Value) {
        for insertion in &self.all {
            if edit::get(document, &insertion.path) == Ok(&Value::String(insertion.written.clone())) {
                // It is there, so that it can be replaced.
                let _ = edit::put(document, &insertion.path, insertion.value.clone());
            }
        }
        for_each_string(document, &mut |value| {
            let is_meant = |insertion: &&Insertion| value.as_bytes() == Some(&insertion.written);
            if let Some(insertion) = self.all.iter().find(is_meant) {
                *value = insertion.value.clone();
            }
        });
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

fn for_each_string(value: &mut Value, change: &mut impl FnMut(&mut Value)) {
    match value {
        Value::String(_) => change(value),
        Value::Array(elements) => elements.iter_mut().for_each(|element| for_each_string(element, change)),
        Value::Object(members) => members.values_mut().for_each(|member| for_each_string(member, change)),
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
        let shown = insertions(is_writable).show(&document);
        assert_eq!(shown, json::parse(expect.as_bytes()).unwrap());
        let mut restored = shown;
        insertions(is_writable).restore(&mut restored);
        assert_eq!(restored, document, "what was read can be sent back");
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
