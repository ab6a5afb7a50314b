//! The part of a path that leads to an application.

/// Divides a path that begins with the prefix, where a segment ends.
pub(crate) fn strip_prefix<'a>(path: &'a [u8], prefix: Option<&'a str>) -> Option<(&'a [u8], &'a [u8])> {
    let prefix = prefix?.as_bytes();
    let rest = path.strip_prefix(prefix)?;
    (rest.is_empty() || rest[0] == b'/').then_some((prefix, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(path: &str, prefix: &str, expect: Option<(&str, &str)>) {
        let found = strip_prefix(path.as_bytes(), Some(prefix));
        assert_eq!(found, expect.map(|(prefix, rest)| (prefix.as_bytes(), rest.as_bytes())));
    }

    #[test]
    fn a_prefix_ends_where_a_segment_does() {
        check("/app/x", "/app", Some(("/app", "/x")));
        check("/app", "/app", Some(("/app", "")));
        check("/app/", "/app", Some(("/app", "/")));
        check("/apple", "/app", None);
        check("/", "/app", None);
    }
}
