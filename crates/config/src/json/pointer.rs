//! JSON pointers (RFC 6901): how a name becomes a step of one, and back.

use std::fmt::Write as _;

use super::Bytes;

/// The names and indices on the way that a pointer describes; empty for the whole document.
#[must_use]
pub fn steps(pointer: &str) -> Vec<Bytes> {
    pointer.split('/').skip(1).map(|step| Bytes::from(unescape(step).as_str())).collect()
}

/// Leads one member further. What of the name is not UTF-8 is replaced as it is for readers.
pub fn push_name(pointer: &mut String, name: &[u8]) {
    pointer.push('/');
    for character in String::from_utf8_lossy(name).chars() {
        match character {
            '~' => pointer.push_str("~0"),
            '/' => pointer.push_str("~1"),
            other => pointer.push(other),
        }
    }
}

/// Leads one element further.
pub fn push_index(pointer: &mut String, idx: usize) {
    write!(pointer, "/{idx}").expect("writing to a String cannot fail");
}

/// The pointer to a member of what `pointer` leads to.
#[must_use]
pub fn member(pointer: &str, name: &[u8]) -> String {
    let mut member = pointer.to_owned();
    push_name(&mut member, name);
    member
}

/// The pointer to an element of what `pointer` leads to.
#[must_use]
pub fn element(pointer: &str, idx: usize) -> String {
    let mut element = pointer.to_owned();
    push_index(&mut element, idx);
    element
}

/// In this order: `~01` is `~1`, and no slash.
fn unescape(step: &str) -> String {
    step.replace("~1", "/").replace("~0", "~")
}

#[cfg(test)]
mod tests {
    use super::{element, member, steps};
    use crate::json::Bytes;

    #[track_caller]
    fn check(names: &[&str], pointer: &str) {
        let made = names.iter().fold(String::new(), |pointer, name| member(&pointer, name.as_bytes()));
        assert_eq!(made, pointer);
        let names: Vec<_> = names.iter().map(|name| Bytes::from(*name)).collect();
        assert_eq!(steps(pointer), names, "{pointer}");
    }

    #[test]
    fn names_and_pointers_lead_to_each_other() {
        check(&[], "");
        check(&[""], "/");
        check(&["listeners", "*:80"], "/listeners/*:80");
        check(&["a/b", "~", "~1", "~0/"], "/a~1b/~0/~01/~00~1");
        check(&["a", "", "b"], "/a//b");
    }

    #[test]
    fn elements_are_their_indices() {
        assert_eq!(element("/routes", 12), "/routes/12");
        assert_eq!(steps("/routes/12"), ["routes", "12"].map(Bytes::from));
    }

    #[test]
    fn what_is_no_utf_8_is_replaced() {
        assert_eq!(member("", b"a\xff/"), "/a\u{fffd}~1");
    }
}
