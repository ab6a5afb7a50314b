//! The index of options: their paths, their types, and a value of each in a document that it fits.

use serde_json::{Map, Value, json};

/// A row of a table: a path, its columns, and the document that its value is put into.
#[derive(Debug, Clone)]
pub struct Row {
    /// The option's place, `listeners.{addr}.pass` for one.
    pub path: &'static str,
    /// The types, a value, and words about wrong types if those are not as usual.
    pub columns: Vec<&'static str>,
    frame: &'static str,
}

/// Names in braces, and the values that they stand for.
pub type Names = [(&'static str, String)];

/// All options.
pub fn options() -> Vec<Row> {
    read(include_str!("options/options.txt"))
}

/// Values that are refused as ones of a later version.
pub fn later() -> Vec<Row> {
    read(include_str!("options/later.txt"))
}

fn read(text: &'static str) -> Vec<Row> {
    let mut rows = Vec::new();
    let mut frame = "{}";
    for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        if let Some(document) = line.strip_prefix("frame ") {
            frame = document;
            continue;
        }
        let mut columns = line.split(" | ");
        let path = columns.next().expect("a line has a path");
        let columns: Vec<_> = columns.collect();
        assert!(columns.len() >= 2, "columns are missing: {line}");
        rows.push(Row { path, columns, frame });
    }
    rows
}

impl Row {
    /// The frame with a value at the path.
    pub fn document(&self, value: Value, names: &Names) -> Value {
        let mut document = parse(self.frame, names);
        put(&mut document, &segments(self.path, names), value);
        document
    }

    /// The last name of the path, as it is in documents.
    pub fn name(&self, names: &Names) -> String {
        segments(self.path, names).into_iter().rev().find(|name| name != "[]").expect("a path has a name")
    }
}

/// JSON with the names in braces replaced.
pub fn parse(text: &str, names: &Names) -> Value {
    let text = names.iter().fold(text.to_owned(), |text, (name, value)| text.replace(name, value));
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// `routes[].action` into `routes`, `[]`, `action`.
fn segments(path: &str, names: &Names) -> Vec<String> {
    let mut found = Vec::new();
    for name in path.split('.') {
        let (name, is_array) = name.strip_suffix("[]").map_or((name, false), |name| (name, true));
        let known = names.iter().find(|(known, _)| *known == name);
        found.push(known.map_or(name, |(_, value)| value.as_str()).to_owned());
        if is_array {
            found.push("[]".to_owned());
        }
    }
    found
}

fn put(at: &mut Value, path: &[String], value: Value) {
    let Some((name, rest)) = path.split_first() else {
        *at = value;
        return;
    };
    if name == "[]" {
        if !at.is_array() {
            *at = json!([null]);
        }
        return put(&mut at[0], rest, value);
    }
    if !at.is_object() {
        *at = Value::Object(Map::new());
    }
    put(&mut at[name.as_str()], rest, value);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_put_where_paths_say() {
        let names = [("{N}", "n".to_owned())];
        let row = |path| Row { path, columns: vec![], frame: r#"{"a": {"n": {"b": 1}}}"# };
        let check = |path, expected| assert_eq!(row(path).document(json!(true), &names), expected);
        check("a.{N}.c", json!({ "a": { "n": { "b": 1, "c": true } } }));
        check("a.{N}", json!({ "a": { "n": true } }));
        check("r[].x[]", json!({ "a": { "n": { "b": 1 } }, "r": [{ "x": [true] }] }));
        assert_eq!(row("r[].{N}[]").name(&names), "n");
    }
}
