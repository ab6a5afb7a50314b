//! A root and a path below it: the one way in which the two are put together.

/// Appends a path to the root that `out` ends with. A slash stands between the two whatever the path begins with, so
/// that it leads below the root, and never to a neighbour whose name begins as the root's does.
pub fn append_below(path: &[u8], out: &mut Vec<u8>) {
    if !path.starts_with(b"/") && !out.ends_with(b"/") {
        out.push(b'/');
    }
    out.extend_from_slice(path);
}

/// The path below the root.
#[must_use]
pub fn join(root: &[u8], path: &[u8]) -> Vec<u8> {
    let root = root.strip_suffix(b"/").unwrap_or(root);
    let mut joined = Vec::with_capacity(root.len() + 1 + path.len());
    joined.extend_from_slice(root);
    append_below(path, &mut joined);
    joined
}

#[cfg(test)]
mod tests {
    use super::join;

    #[track_caller]
    fn check(root: &str, path: &str, expect: &str) {
        assert_eq!(String::from_utf8_lossy(&join(root.as_bytes(), path.as_bytes())), expect);
    }

    #[test]
    fn a_path_leads_below_the_root() {
        check("/srv", "/a", "/srv/a");
        check("/srv/", "/a", "/srv/a");
        check("/srv", "a", "/srv/a");
        check("/srv/", "a", "/srv/a");
        check("/srv", "-other/a", "/srv/-other/a");
        check("/srv", ".bak", "/srv/.bak");
        check("/srv", "", "/srv/");
        check("/", "/a", "/a");
        check("/", "a", "/a");
        check("", "/a", "/a");
    }
}
