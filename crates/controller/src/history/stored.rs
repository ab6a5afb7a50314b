//! An entry of the history as bytes: one JSON object, with the configuration as its last member.

use corral_config::json::{self, Value};

use super::{HistoryEntry, changed};
use crate::conditions;
use crate::reply::object;

/// The file's content.
pub(super) fn encode(entry: &HistoryEntry) -> Vec<u8> {
    let text = |text: &String| Value::from(text.as_str());
    let texts = |texts: &[String]| Value::Array(texts.iter().map(text).collect());
    let members = [
        ("id", Value::from(u64::from(entry.id))),
        ("time", text(&entry.time)),
        ("author", text(&entry.author)),
        ("changed", texts(&entry.changed)),
    ];
    let comment = entry.comment.as_ref().map(|comment| ("comment", text(comment)));
    let inserted = Some(&entry.inserted).filter(|inserted| !inserted.is_empty());
    let inserted = inserted.map(|inserted| ("inserted", texts(inserted)));
    let mut bytes = object(members.into_iter().chain(comment).chain(inserted)).compact();
    // The configuration is text already.
    bytes.pop();
    bytes.extend_from_slice(b",\"config\":");
    bytes.extend_from_slice(&entry.document);
    bytes.push(b'}');
    bytes
}

/// The entry that a file's content is; none if the file is not what `encode` makes.
pub(super) fn decode(id: u32, bytes: &[u8]) -> Option<HistoryEntry> {
    let value = json::parse(bytes).ok()?;
    let text = |name: &str| value.member(name).and_then(short_text);
    if value.member("id")?.as_number()?.as_i64() != i64::from(id) {
        return None;
    }
    let texts = |value: &Value| value.as_array()?.iter().map(short_text).collect::<Option<Vec<_>>>();
    let mut changed = texts(value.member("changed")?)?;
    changed.truncate(changed::MOST);
    let document = value.member("config")?.compact();
    Some(HistoryEntry {
        id,
        time: text("time")?,
        author: text("author")?,
        comment: text("comment"),
        changed,
        inserted: value.member("inserted").map_or(Some(Vec::new()), texts)?,
        tag: conditions::tag(&document),
        document,
        n_stored: bytes.len(),
    })
}

fn short_text(value: &Value) -> Option<String> {
    let text = value.as_bytes()?.to_string_lossy();
    (text.len() <= LONGEST).then(|| text.into_owned())
}

/// Bytes of a text about a configuration. The names of a pointer may be long.
const LONGEST: usize = 64 * 1024;

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(comment: Option<&str>, document: &str) -> HistoryEntry {
        let mut entry = HistoryEntry {
            id: 12,
            time: "2026-11-27T02:00:00Z".to_owned(),
            author: "a \"user\", by the control socket".to_owned(),
            comment: comment.map(str::to_owned),
            changed: vec!["/routes/0".to_owned(), "/a~1b".to_owned()],
            tag: conditions::tag(document.as_bytes()),
            document: document.into(),
            inserted: Vec::new(),
            n_stored: 0,
        };
        entry.n_stored = encode(&entry).len();
        entry
    }

    #[test]
    fn an_entry_is_read_as_it_was_written() {
        for entry in [entry(None, "{}"), entry(Some("why \n"), r#"{"a":[1e1,"\u0001"]}"#)] {
            assert_eq!(decode(12, &encode(&entry)), Some(entry));
        }
        let mut entry = entry(None, "{}");
        entry.inserted = vec!["/a".to_owned(), "/b~1c".to_owned()];
        entry.n_stored = encode(&entry).len();
        assert_eq!(decode(12, &encode(&entry)), Some(entry));
    }

    #[test]
    fn what_is_broken_is_not_an_entry() {
        let whole = encode(&entry(Some("why"), r#"{"a":1}"#));
        assert!(decode(13, &whole).is_none(), "another number");
        for len in 0..whole.len() {
            assert!(decode(12, &whole[..len]).is_none(), "{len}");
        }
        let text = String::from_utf8(whole).unwrap();
        for (part, other) in [
            ("\"time\":", "\"tome\":"),
            ("\"author\":\"a", "\"author\":{\"a\":1},\"b\":\"a"),
            ("[\"/routes/0\"", "[1"),
            ("\"config\":", "\"conf\":"),
            ("\"id\":12", "\"id\":\"12\""),
        ] {
            let broken = text.replace(part, other);
            assert!(broken != text && decode(12, broken.as_bytes()).is_none(), "{broken}");
        }
        let long = text.replace("\"a \\\"user", &format!("\"{}", "a".repeat(LONGEST)));
        assert!(long != text && decode(12, long.as_bytes()).is_none());
    }
}
