//! The places at which two documents differ.

use corral_config::json::{Object, Value, pointer};

/// Most places that are told.
pub(super) const MOST: usize = 20;

/// JSON pointers to what is not the same, at most [`MOST`]. A member or element that only one of them has is one place,
/// whatever is in it. The empty pointer is the whole document.
pub(super) fn pointers(before: &Value, after: &Value) -> Vec<String> {
    let mut found = Vec::new();
    compare(before, after, "", &mut found);
    found
}

fn compare(before: &Value, after: &Value, place: &str, found: &mut Vec<String>) {
    if found.len() == MOST || before == after {
        return;
    }
    match (before, after) {
        (Value::Object(before), Value::Object(after)) => compare_members(before, after, place, found),
        (Value::Array(before), Value::Array(after)) => compare_elements(before, after, place, found),
        _ => found.push(place.to_owned()),
    }
}

fn compare_members(before: &Object, after: &Object, place: &str, found: &mut Vec<String>) {
    let added = after.keys().filter(|name| !before.contains_key(*name));
    for name in before.keys().chain(added) {
        let place = pointer::member(place, name);
        match (before.get(name), after.get(name)) {
            (Some(before), Some(after)) => compare(before, after, &place, found),
            _ => add(place, found),
        }
    }
}

/// Elements that were added or removed in the middle do not make all behind them differ.
fn compare_elements(before: &[Value], after: &[Value], place: &str, found: &mut Vec<String>) {
    let begin = before.iter().zip(after).take_while(|(before, after)| before == after).count();
    let (old, new) = (&before[begin..], &after[begin..]);
    let end = old.iter().rev().zip(new.iter().rev()).take_while(|(old, new)| old == new).count();
    let (old, new) = (&old[..old.len() - end], &new[..new.len() - end]);
    for idx in 0..old.len().max(new.len()) {
        let place = pointer::element(place, begin + idx);
        match (old.get(idx), new.get(idx)) {
            (Some(old), Some(new)) => compare(old, new, &place, found),
            _ => add(place, found),
        }
        if found.len() == MOST {
            return;
        }
    }
}

fn add(place: String, found: &mut Vec<String>) {
    if found.len() < MOST {
        found.push(place);
    }
}

#[cfg(test)]
mod tests {
    use corral_config::json;

    use super::*;

    #[track_caller]
    fn check(before: &str, after: &str, expected: &[&str]) {
        let [old, new] = [before, after].map(|text| json::parse(text.as_bytes()).unwrap());
        assert_eq!(pointers(&old, &new), expected, "{before} and {after}");
        assert_eq!(pointers(&new, &old).len(), expected.len(), "{after} and {before}");
    }

    #[test]
    fn equal_documents_differ_nowhere() {
        check("{}", "{}", &[]);
        check(r#"{"a": 1, "b": 2}"#, r#"{"b": 2, "a": 1}"#, &[]);
    }

    #[test]
    fn members_are_compared_by_name() {
        check(r#"{"a": 1}"#, r#"{"a": 2}"#, &["/a"]);
        check(r#"{"a": {"b": 1, "c": 1}}"#, r#"{"a": {"b": 2, "d": 1}}"#, &["/a/b", "/a/c", "/a/d"]);
        check(r#"{"a/b": {"~": 1}}"#, r#"{"a/b": {"~": {}}}"#, &["/a~1b/~0"]);
        check(r#"{"a": {"b": 1}}"#, r#"{"a": [1]}"#, &["/a"]);
        check("{}", r#"{"a": {"b": {"c": 1}}}"#, &["/a"]);
        check("[]", "{}", &[""]);
    }

    #[test]
    fn elements_that_move_are_not_told() {
        check("[1, 2, 3]", "[1, 4, 3]", &["/1"]);
        check("[1, 2, 3]", "[1, 3]", &["/1"]);
        check("[1, 2, 3]", "[0, 1, 2, 3]", &["/0"]);
        check("[]", "[1, 2]", &["/0", "/1"]);
        check("[1, 1, 1]", "[1, 1]", &["/2"]);
        check(r#"[{"a": 1}, 2]"#, r#"[{"a": 2}, 2]"#, &["/0/a"]);
        check("[1, 2, 3, 4]", "[1, 5, 4]", &["/1", "/2"]);
    }

    #[test]
    fn there_is_an_end() {
        let many = |from: usize| {
            let members = (from..from + 100).map(|n| format!("\"{n}\": {from}"));
            format!("{{{}}}", members.collect::<Vec<_>>().join(","))
        };
        let count = |before: &str, after: &str| {
            let [before, after] = [before, after].map(|text| json::parse(text.as_bytes()).unwrap());
            pointers(&before, &after).len()
        };
        assert_eq!(count(&many(0), &many(1000)), MOST);
        assert_eq!(count(&many(0), &many(50)), MOST);
        let long = format!("[{}]", vec!["1"; 1000].join(","));
        assert_eq!(count("[]", &long), MOST);
        let deep = |inner: &str| format!("{}{inner}{}", "[".repeat(90), "]".repeat(90));
        assert_eq!(count(&deep("1"), &deep("2")), 1);
    }
}
