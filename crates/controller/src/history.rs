//! The configurations that came into force, the last hundred: each with its time, its author and the places that
//! differ from the one before. Values that files have inserted are kept as they are written there, as readers see them.
//!
//! Main stores each as bytes. What is here decides what is kept and told.

mod changed;
mod stored;

use std::sync::Arc;

use corral_config::json::{self, Bytes, Object, Value};
use corral_ipc::history::{MOST_BYTES, StoredConfiguration, surplus};

use crate::conditions;
use crate::insertions::ShownDocument;

/// The notes about a change besides its content.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ChangeNote<'a> {
    /// Words for the side that has made it.
    pub(crate) author: &'a str,
    pub(crate) comment: Option<&'a str>,
}

impl ChangeNote<'static> {
    /// The configuration that was stored when the daemon started.
    pub(crate) const STORED: Self = Self { author: "stored at the start", comment: None };
    /// The configuration that configuration files say.
    pub(crate) const FILES: Self = Self { author: "configuration files", comment: None };
    /// A configuration that an earlier controller put in force and did not tell of.
    pub(crate) const TAKEN_OVER: Self =
        Self { author: "not known, before the controller was started again", comment: None };
}

/// One configuration that was in force.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct HistoryEntry {
    pub(crate) id: u32,
    /// RFC 3339, in UTC.
    time: String,
    author: String,
    comment: Option<String>,
    /// JSON pointers.
    changed: Vec<String>,
    /// The entity tag of the configuration.
    pub(crate) tag: String,
    /// Compact JSON.
    document: Vec<u8>,
    /// JSON pointers to strings of it that stand for values of files.
    pub(crate) inserted: Vec<String>,
    /// Bytes that it has in the state directory.
    n_stored: usize,
}

/// All that are kept.
#[derive(Debug, Default)]
pub(crate) struct History {
    /// Oldest first.
    entries: Vec<Arc<HistoryEntry>>,
    in_force: Option<u32>,
    /// The highest number that was given, also to an entry that could not be read.
    last: u32,
}

/// Why a configuration is not in the history.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum HistoryError {
    #[error("a configuration of {0} bytes is too large for the history, which has {MOST_BYTES}")]
    TooLarge(usize),
    #[error("the history has no numbers left; remove the folder \"history\" of the state directory")]
    NoNumber,
}

impl History {
    /// Takes over what the state directory holds, but for what cannot be understood.
    pub(crate) fn read(stored: Vec<StoredConfiguration>) -> Self {
        let mut history = Self::default();
        for StoredConfiguration { id, bytes } in stored {
            history.last = history.last.max(id);
            match stored::decode(id, &bytes) {
                Some(entry) => history.entries.push(Arc::new(entry)),
                None => tracing::error!("configuration {id} of the history is skipped: its file is broken"),
            }
        }
        history
    }

    /// Takes note that a configuration with this tag is in force. True if it is the newest one, which needs no other
    /// entry.
    fn note_in_force(&mut self, tag: &str, inserted: &[String]) -> bool {
        let is_same = |newest: &&Arc<HistoryEntry>| newest.tag == tag && newest.inserted == inserted;
        self.in_force = self.entries.last().filter(is_same).map(|newest| newest.id);
        self.in_force.is_some()
    }

    /// Adds a configuration that is in force now, in place of `before`, unless both are the same. Returns the bytes
    /// that are to be stored.
    pub(crate) fn add(
        &mut self,
        note: ChangeNote<'_>,
        time: String,
        before: &Value,
        shown: &ShownDocument,
    ) -> Result<Option<StoredConfiguration>, HistoryError> {
        // After a start, the newest one is what was in force before.
        let newest = self.entries.last().filter(|_| self.in_force.is_none());
        let newest = newest.and_then(|newest| json::parse(&newest.document).ok());
        let ShownDocument { value: document, inserted } = shown;
        let text = document.compact();
        let tag = conditions::tag(&text);
        if self.note_in_force(&tag, inserted) {
            return Ok(None);
        }
        let mut entry = HistoryEntry {
            id: self.last.checked_add(1).ok_or(HistoryError::NoNumber)?,
            time,
            author: note.author.to_owned(),
            comment: note.comment.map(ToOwned::to_owned),
            changed: changed::pointers(newest.as_ref().unwrap_or(before), document),
            tag,
            document: text,
            inserted: inserted.clone(),
            n_stored: 0,
        };
        let bytes = stored::encode(&entry);
        entry.n_stored = bytes.len();
        if bytes.len() > MOST_BYTES {
            return Err(HistoryError::TooLarge(bytes.len()));
        }
        let id = entry.id;
        (self.last, self.in_force) = (id, Some(id));
        self.entries.push(Arc::new(entry));
        let sizes: Vec<_> = self.entries.iter().map(|entry| entry.n_stored).collect();
        self.entries.drain(..surplus(&sizes));
        Ok(Some(StoredConfiguration { id, bytes }))
    }

    pub(crate) fn find(&self, id: u32) -> Option<Arc<HistoryEntry>> {
        self.entries.iter().find(|entry| entry.id == id).cloned()
    }

    /// The number of the configuration in force, if it is among them.
    pub(crate) fn in_force(&self) -> Option<u32> {
        self.in_force
    }

    /// All, newest first.
    pub(crate) fn list(&self) -> Value {
        Value::Array(self.entries.iter().rev().map(|entry| self.described(entry)).collect())
    }

    /// The newest change, as it is in the list.
    pub(crate) fn newest(&self) -> Option<Value> {
        self.entries.last().map(|entry| self.described(entry))
    }

    /// The description of an entry, without its configuration.
    fn described(&self, entry: &HistoryEntry) -> Value {
        Value::Object(self.describe(entry))
    }

    pub(crate) fn describe(&self, entry: &HistoryEntry) -> Object {
        let text = |text: &String| Value::from(text.as_str());
        let comment = entry.comment.as_ref().map(|comment| ("comment", text(comment)));
        let members = [("id", Value::from(u64::from(entry.id))), ("time", text(&entry.time))];
        let members = members.into_iter().chain([("author", text(&entry.author))]).chain(comment);
        let members = members.chain([
            ("changed", Value::Array(entry.changed.iter().map(text).collect())),
            ("tag", text(&entry.tag)),
            ("in_force", Value::Bool(self.in_force == Some(entry.id))),
            ("bytes", Value::from(entry.document.len() as u64)),
        ]);
        members.map(|(name, value)| (Bytes::from(name), value)).collect()
    }
}

impl HistoryEntry {
    /// The configuration as readers saw it.
    pub(crate) fn configuration(&self) -> Option<Value> {
        json::parse(&self.document).ok()
    }
}

/// This moment in the form of RFC 3339.
pub(crate) fn now() -> String {
    let now = jiff::Timestamp::now();
    jiff::Timestamp::from_second(now.as_second()).unwrap_or(now).to_string()
}

#[cfg(test)]
mod tests {
    use corral_ipc::history::MOST_CONFIGURATIONS;

    use super::*;

    fn value(text: &str) -> Value {
        json::parse(text.as_bytes()).unwrap()
    }

    fn shown(text: &str) -> ShownDocument {
        ShownDocument { value: value(text), inserted: Vec::new() }
    }

    fn note(author: &str) -> ChangeNote<'_> {
        ChangeNote { author, comment: None }
    }

    /// Adds a configuration that differs from all others.
    fn add(history: &mut History, before: usize, number: usize) -> Option<StoredConfiguration> {
        let text = |number: usize| format!(r#"{{"routes": [{{"action": {{"return": {number}}}}}]}}"#);
        history.add(note("root"), "now".to_owned(), &value(&text(before)), &shown(&text(number))).unwrap()
    }

    fn ids(history: &History) -> Vec<u32> {
        history.entries.iter().map(|entry| entry.id).collect()
    }

    #[test]
    fn the_last_hundred_are_kept_with_growing_numbers() {
        let mut history = History::default();
        for number in 1..=MOST_CONFIGURATIONS + 5 {
            add(&mut history, number - 1, number).unwrap();
        }
        assert_eq!(ids(&history), (6..=105).collect::<Vec<_>>());
        assert_eq!(history.in_force(), Some(105));
        let list = history.list();
        let first = &list.as_array().unwrap()[0];
        assert_eq!(first.member("in_force"), Some(&Value::Bool(true)));
        assert_eq!(first.member("changed").unwrap().compact(), br#"["/routes/0/action/return"]"#);
        assert_eq!(history.newest().as_ref(), Some(first));
    }

    #[test]
    fn the_same_configuration_is_not_another_one() {
        let mut history = History::default();
        assert!(add(&mut history, 0, 1).is_some());
        assert!(add(&mut history, 1, 1).is_none());
        assert_eq!((ids(&history), history.in_force()), (vec![1], Some(1)));
    }

    #[test]
    fn what_was_stored_is_read_again_and_what_is_broken_is_left_out() {
        let mut history = History::default();
        let mut stored: Vec<_> =
            (1..=3).map(|number| add(&mut history, number - 1, number).unwrap()).collect();
        stored[1].bytes.truncate(20);
        stored.push(StoredConfiguration { id: 9, bytes: b"[]".to_vec() });
        let mut read = History::read(stored);
        assert_eq!(ids(&read), [1, 3]);
        assert_eq!(read.find(3).unwrap(), history.find(3).unwrap());
        assert_eq!(read.in_force(), None);
        let tag = &history.find(3).unwrap().tag;
        assert!(read.note_in_force(tag, &[]) && read.in_force() == Some(3));
        assert!(!read.note_in_force(tag, &["/a".to_owned()]) && read.in_force().is_none());
        assert!(!read.note_in_force("\"another\"", &[]) && read.in_force().is_none());
        // The number of a broken one is not given again, and the change is told against the newest one.
        let added = add(&mut read, 0, 3 + 1).unwrap();
        assert_eq!(added.id, 10);
        assert_eq!(read.find(10).unwrap().changed, ["/routes/0/action/return"]);
    }

    #[test]
    fn what_does_not_fit_is_said() {
        let mut history = History { last: u32::MAX, ..History::default() };
        let add = |history: &mut History, text: &str| {
            history.add(note("root"), String::new(), &value("{}"), &shown(text))
        };
        assert_eq!(add(&mut history, "{\"a\": 1}"), Err(HistoryError::NoNumber));
        let mut history = History::default();
        add(&mut history, "{}").unwrap();
        let large = format!("{{\"a\": \"{}\"}}", "x".repeat(MOST_BYTES));
        assert!(matches!(add(&mut history, &large), Err(HistoryError::TooLarge(_))));
        assert_eq!((ids(&history), history.in_force()), (vec![1], None));
    }

    #[test]
    fn a_description_has_no_more_than_is_known() {
        let mut history = History::default();
        let note = ChangeNote { author: "root", comment: Some("why") };
        history.add(note, "2026-11-27T02:00:00Z".to_owned(), &value("{}"), &shown("{\"a\": 1}")).unwrap();
        let text = String::from_utf8(history.list().compact()).unwrap();
        let tag = conditions::tag(b"{\"a\":1}").replace('"', "\\\"");
        let expected = format!(
            r#"[{{"id":1,"time":"2026-11-27T02:00:00Z","author":"root","comment":"why","changed":["/a"],"tag":"{tag}","in_force":true,"bytes":7}}]"#
        );
        assert_eq!(text, expected);
        assert_eq!(history.find(1).unwrap().configuration(), Some(value("{\"a\": 1}")));
        assert!(now().ends_with('Z') && now().len() == "2026-11-27T02:00:00Z".len(), "{}", now());
    }
}
