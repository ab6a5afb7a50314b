//! Folders and files that an `.htaccess` keeps from visitors: `Require all denied` and `Deny from all`, for the folder,
//! all that is below it, and the names of `<Files>` and `<FilesMatch>`. Other directives are not read here. A folder
//! whose denials are not understood is denied as a whole.

mod expression;

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::folder::{OF_THE_MACHINE, entries, read as read_file};

/// Denied paths.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Denied {
    /// Patterns that requests are compared with.
    pub(crate) patterns: Vec<String>,
    /// Sections that are not understood, as they are written, with the file that they are in.
    pub(crate) unclear: Vec<(PathBuf, String)>,
}

/// A file that is longer says other things.
const LONGEST: u64 = 256 * 1024;

/// Folders that are looked at, and how deep they lie.
const MOST_FOLDERS: usize = 20_000;
const DEEPEST: usize = 16;

/// Looks at a folder and all below it. What a folder below grants stays denied.
pub(super) fn look(root: &Path) -> Denied {
    let mut found = Denied::default();
    let mut waiting = vec![(root.to_owned(), 0)];
    let mut n_folders = 0;
    while let Some((folder, depth)) = waiting.pop() {
        n_folders += 1;
        read_folder(root, &folder, &mut found);
        if n_folders + waiting.len() < MOST_FOLDERS && depth < DEEPEST {
            waiting.extend(below(&folder).map(|folder| (folder, depth + 1)));
        }
    }
    found.patterns.sort();
    found.patterns.dedup();
    found
}

/// Links are not followed, and folders that are hidden are not served anyway.
fn below(folder: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    entries(folder).into_iter().filter(|path| {
        let is_hidden = path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
        let is_machine = OF_THE_MACHINE.iter().any(|folder| path == Path::new(folder));
        !is_hidden && !is_machine && path.symlink_metadata().is_ok_and(|data| data.is_dir())
    })
}

fn read_folder(root: &Path, folder: &Path, found: &mut Denied) {
    let path = folder.join(".htaccess");
    if !path.metadata().is_ok_and(|data| data.is_file() && data.len() <= LONGEST) {
        return;
    }
    let text = read_file(&path).unwrap_or_default();
    let Ok(below) = folder.strip_prefix(root) else { return };
    let prefix = match below.as_os_str().as_bytes() {
        b"" => b"/".to_vec(),
        below => [b"/", below, b"/"].concat(),
    };
    let (patterns, unclear) = read(&literal(&prefix), &String::from_utf8_lossy(&text));
    found.patterns.extend(patterns);
    found.unclear.extend(unclear.into_iter().map(|section| (path.clone(), section)));
}

/// The denials that a file says about the folder with this path, and the sections with denials that are not understood.
fn read(folder: &str, text: &str) -> (Vec<String>, Vec<String>) {
    let (mut sections, mut found, mut unclear) = (Vec::new(), Vec::new(), Vec::new());
    // A line goes on behind a backslash at its end.
    let text = text.replace("\\\r\n", "").replace("\\\n", "");
    for line in text.lines().map(str::trim) {
        if line.starts_with("</") {
            sections.pop();
        } else if let Some(section) = line.strip_prefix('<') {
            sections.push(Section::of(section));
        } else if denies(line) && !sections.contains(&Section::Other) {
            found.push(Section::denied(&sections, folder));
            unclear.extend(Section::unclear(&sections).map(str::to_owned));
        }
    }
    (found, unclear)
}

/// Whether a line denies everything to all visitors.
fn denies(line: &str) -> bool {
    let line = line.to_ascii_lowercase();
    let words: Vec<_> = line.split_whitespace().collect();
    matches!(words[..], ["require", "all", "denied"] | ["deny", "from", "all"])
}

/// The lines between `<NAME ARGUMENT>` and its end.
#[derive(Debug, PartialEq, Eq)]
enum Section {
    /// Applies to what is around it: conditions of modules and versions.
    Transparent,
    /// Applies to files whose paths below the folder match this expression.
    Files(String),
    /// Applies to some files, and is written like this.
    Unclear(String),
    /// Something else.
    Other,
}

impl Section {
    fn of(section: &str) -> Self {
        let text = section.strip_suffix('>').unwrap_or(section).trim_end();
        let (name, argument) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
        let argument = argument.trim();
        // As in Apache, a name may begin with `~`.
        let searched = argument.strip_prefix("~").filter(|text| text.starts_with(char::is_whitespace));
        match (name.to_ascii_lowercase().as_str(), searched) {
            ("ifmodule" | "ifdefine" | "ifversion" | "requireall" | "requireany", _) => Self::Transparent,
            ("files" | "filesmatch", _) if section.contains(char::REPLACEMENT_CHARACTER) => {
                Self::Unclear(section.to_owned())
            }
            ("files", None) => Self::Files(format!("(?s:.*/)?{}(?:/|$)", wildcard(unquoted(argument)))),
            ("files", Some(expression)) => Self::matching(section, expression.trim_start()),
            ("filesmatch", _) => Self::matching(section, argument),
            _ => Self::Other,
        }
    }

    fn matching(section: &str, expression: &str) -> Self {
        match expression::of_segments(unquoted(expression)) {
            Some(expression) => Self::Files(format!("(?s:.*){expression}")),
            None => Self::Unclear(section.to_owned()),
        }
    }

    /// The pattern of a denial inside of all of these. Names in names, and what is not understood, stand for the
    /// folder.
    fn denied(sections: &[Self], folder: &str) -> String {
        let mut names = sections.iter().filter(|section| **section != Self::Transparent);
        match (names.next(), names.next()) {
            (Some(Self::Files(below)), None) => format!("~^{folder}{below}"),
            _ => format!("~^{folder}"),
        }
    }

    fn unclear(sections: &[Self]) -> impl Iterator<Item = &str> {
        sections.iter().filter_map(|section| match section {
            Self::Unclear(text) => Some(text.as_str()),
            _ => None,
        })
    }
}

/// Quotes stand on both sides, or are part of the text.
fn unquoted(text: &str) -> &str {
    let quoted = |quote| text.strip_prefix(quote).and_then(|text| text.strip_suffix(quote));
    quoted('"').or_else(|| quoted('\'')).unwrap_or(text)
}

/// Names are compared as they are, with what a pattern takes for more than itself escaped. A percent sign would begin
/// an escape of the configuration's.
fn literal(text: &[u8]) -> String {
    let escape = |byte: &u8| match byte {
        b'%' | 0..b' ' | 0x7f.. => format!("\\x{byte:02x}"),
        byte if byte.is_ascii_punctuation() && *byte != b'/' => format!("\\{}", char::from(*byte)),
        byte => char::from(*byte).to_string(),
    };
    text.iter().map(escape).collect()
}

/// A name of a file with the wildcards of Apache.
fn wildcard(name: &str) -> String {
    let piece = |c: char| match c {
        '*' => "[^/]*".to_owned(),
        '?' => "[^/]".to_owned(),
        other => literal(other.encode_utf8(&mut [0; 4]).as_bytes()),
    };
    name.chars().map(piece).collect()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    const BOTH: &str = "<IfModule mod_authz_core.c>\n    Require all denied\n</IfModule>\n\
                        <IfModule !mod_authz_core.c>\n    Order allow,deny\n    Deny from all\n</IfModule>\n";

    #[track_caller]
    fn check(folder: &str, text: &str, expect: &[&str]) {
        assert_eq!(read(&literal(folder.as_bytes()), text).0, expect, "{text}");
    }

    #[test]
    fn a_folder_and_all_below_it_are_denied() {
        for text in ["Deny from all", "order deny,allow\ndeny from all\n", "  Require all \\\n denied"] {
            check("/data/", text, &["~^/data/"]);
        }
        check("/a.b/", BOTH, &["~^/a\\.b/", "~^/a\\.b/"]);
        check("/", "Require all granted\nOptions -Indexes\n# Deny from all\n", &[]);
        check("/100% ü/", "Deny from all", &["~^/100\\x25 \\xc3\\xbc/"]);
    }

    #[test]
    fn files_are_denied_by_their_names() {
        let text = "<Files \"*.tpl.html\">\nRequire all denied\n</Files>\nOptions -Indexes";
        check("/", text, &["~^/(?s:.*/)?[^/]*\\.tpl\\.html(?:/|$)"]);
        check("/", "<Limit GET>\nDeny from all\n</Limit>", &[]);
    }

    #[test]
    fn files_are_denied_by_expressions() {
        let begin = "(?<![^/])";
        for section in ["FilesMatch \"^x\"", "filesmatch ^x ", "Files ~ \"^x\"", "Files ~ '^x'"] {
            let text = format!("<{section}>\n<IfModule x>\nDeny from all\n</IfModule>\n</FilesMatch>\n");
            check("/a/", &text, &[&format!("~^/a/(?s:.*)(?:{begin}x)")]);
        }
        check("/", "<FilesMatch ~$>\nDeny from all", &["~^/(?s:.*)(?:~(?![^/]))"]);
        check("/", "<Files ~x>\nDeny from all", &["~^/(?s:.*/)?\\~x(?:/|$)"]);
    }

    #[test]
    fn what_is_not_understood_denies_its_folder_and_is_told() {
        for section in ["FilesMatch \"(?x) a\">", "Files ~ \"(\">", "FilesMatch \u{fffd}>"] {
            let text = format!("<{section}\nRequire all denied\n</FilesMatch>\n");
            assert_eq!(read("/", &text), (vec!["~^/".to_owned()], vec![section.to_owned()]));
            let granted = text.replace("denied", "granted");
            assert_eq!(read("/", &granted), (vec![], vec![]));
        }
    }

    #[test]
    fn all_folders_are_looked_at() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("a/data/deep")).unwrap();
        fs::write(folder.path().join("a/data/.htaccess"), BOTH).unwrap();
        assert_eq!(look(folder.path()).patterns, ["~^/a/data/"]);
        fs::remove_file(folder.path().join("a/data/.htaccess")).unwrap();
        assert_eq!(look(folder.path()), Denied::default());
    }
}
