//! Which script a path means (contract 22.1). Pure: looks at no file.
//!
//! Byte for byte: an extension is compared as it is written, so that no two ways to write a character are the same one.

/// The meaning of a path.
#[derive(Debug, PartialEq, Eq)]
pub enum Meaning<'a> {
    /// A script, with what follows it.
    Script {
        /// From the leading slash to the end of the extension.
        name: &'a [u8],
        /// Empty or starting with a slash.
        path_info: &'a [u8],
    },
    /// The index of the folder that the path names with a slash at its end.
    Index,
    /// Something that can only be a folder whose slash is missing.
    Other,
}

/// Takes a decoded, normalised path apart, behind the first segment that ends in one of the extensions.
pub fn meaning<'a>(path: &'a [u8], extensions: &[impl AsRef<[u8]>]) -> Meaning<'a> {
    let is_script = |name: &[u8]| extensions.iter().any(|extension| name.ends_with(extension.as_ref()));
    if let Some(at) = memchr::memchr_iter(b'/', path).find(|&at| is_script(&path[..at])) {
        let (name, path_info) = path.split_at(at);
        return Meaning::Script { name, path_info };
    }
    if path.ends_with(b"/") {
        return Meaning::Index;
    }
    if is_script(path) {
        return Meaning::Script { name: path, path_info: b"" };
    }
    Meaning::Other
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(path: &str, expected: &str) {
        check_with(path, &[".php"], expected);
    }

    #[track_caller]
    fn check_with(path: &str, extensions: &[&str], expected: &str) {
        let found = match meaning(path.as_bytes(), extensions) {
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

    #[test]
    fn extensions_are_compared_byte_for_byte() {
        check("/a.PHP/x.php", "/a.PHP/x.php + ");
        check("/a.p\u{212a}p/x", "other");
        check("/\u{23a}\u{23a}.php/.php", "/\u{23a}\u{23a}.php + /.php");
        check("/a.php\n/x", "other");
        check("/a.php%00/x", "other");
    }

    #[test]
    fn the_first_script_of_any_extension_counts() {
        check_with("/a.phtml/b.php", &[".php", ".phtml"], "/a.phtml + /b.php");
        check_with("/a.php/b.phtml", &[".php", ".phtml"], "/a.php + /b.phtml");
        check_with("/a.cgi", &[".php", ".phtml"], "other");
        check_with("/a.php", &[], "other");
        check_with("/a/", &[], "index");
    }
}
