//! Which script a path means (contract 22.1). Pure: looks at no file.

use memchr::memmem;

/// What a path asks for.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Meaning<'a> {
    /// A script, with what follows it.
    Script {
        /// From the leading slash to the end of `.php`.
        name: &'a [u8],
        /// Empty or starting with a slash.
        path_info: &'a [u8],
    },
    /// The index of the folder that the path names with a slash at its end.
    Index,
    /// Something that can only be a folder whose slash is missing.
    Other,
}

/// Takes a decoded, normalised path apart.
pub(crate) fn meaning(path: &[u8]) -> Meaning<'_> {
    const EXTENSION: &[u8] = b".php";
    if let Some(at) = memmem::find(path, b".php/") {
        let (name, path_info) = path.split_at(at + EXTENSION.len());
        return Meaning::Script { name, path_info };
    }
    if path.ends_with(b"/") {
        return Meaning::Index;
    }
    if path.ends_with(EXTENSION) {
        return Meaning::Script { name: path, path_info: b"" };
    }
    Meaning::Other
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(path: &str, expected: &str) {
        let found = match meaning(path.as_bytes()) {
            Meaning::Script { name, path_info } => {
                format!("{} + {}", String::from_utf8_lossy(name), String::from_utf8_lossy(path_info))
            }
            Meaning::Index => "index".to_owned(),
            Meaning::Other => "other".to_owned(),
        };
        assert_eq!(found, expected, "{path}");
    }

    #[test]
    fn scripts_with_and_without_path_info() {
        check("/a.php", "/a.php + ");
        check("/a/b.php", "/a/b.php + ");
        check("/a.php/", "/a.php + /");
        check("/a.php/x/y", "/a.php + /x/y");
        check("/a.php/b.php", "/a.php + /b.php");
        check("/.php", "/.php + ");
        check("/a.php.php", "/a.php.php + ");
    }

    #[test]
    fn folders() {
        check("/", "index");
        check("/a/", "index");
        check("/a.phpx/", "index");
    }

    #[test]
    fn everything_else() {
        check("/a", "other");
        check("/a.PHP", "other");
        check("/a.php7", "other");
        check("/a.phtml", "other");
        check("php", "other");
        check("", "other");
    }
}
