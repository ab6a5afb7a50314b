//! Folders and files that an `.htaccess` keeps from visitors: `Require all denied` and `Deny from all`, for the folder, all
//! that is below it, and the names of `<Files>`. Other directives are not read here.

use std::fs;
use std::path::{Path, PathBuf};

use super::folder::entries;

/// A file that is longer says other things.
const LONGEST: u64 = 256 * 1024;

/// Folders that are looked at, and how deep they lie.
const MOST_FOLDERS: usize = 20_000;
const DEEPEST: usize = 16;

/// The denied paths, as patterns that requests are compared with. What a folder below grants stays denied.
pub(crate) fn patterns(root: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut waiting = vec![(root.to_owned(), 0)];
    let mut n_folders = 0;
    while let Some((folder, depth)) = waiting.pop() {
        n_folders += 1;
        found.extend(of_folder(root, &folder));
        if n_folders + waiting.len() < MOST_FOLDERS && depth < DEEPEST {
            waiting.extend(below(&folder).map(|folder| (folder, depth + 1)));
        }
    }
    found.sort();
    found.dedup();
    found
}

/// Links are not followed, and folders that are hidden are not served anyway.
fn below(folder: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    entries(folder).into_iter().filter(|path| {
        let is_hidden = path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
        !is_hidden && path.symlink_metadata().is_ok_and(|data| data.is_dir())
    })
}

fn of_folder(root: &Path, folder: &Path) -> Vec<String> {
    let path = folder.join(".htaccess");
    if !path.metadata().is_ok_and(|data| data.is_file() && data.len() <= LONGEST) {
        return Vec::new();
    }
    let text = fs::read(&path).unwrap_or_default();
    let Some(prefix) = folder.strip_prefix(root).ok().and_then(Path::to_str) else { return Vec::new() };
    let prefix = if prefix.is_empty() { "/".to_owned() } else { format!("/{prefix}/") };
    read(&prefix, &String::from_utf8_lossy(&text))
}

/// The denials that a file says about the folder with this path.
fn read(folder: &str, text: &str) -> Vec<String> {
    let (mut sections, mut found) = (Vec::new(), Vec::new());
    for line in text.lines().map(str::trim) {
        if line.starts_with("</") {
            sections.pop();
        } else if let Some(section) = line.strip_prefix('<') {
            sections.push(Section::of(section));
        } else if denies(line) {
            found.extend(Section::denied(&sections, folder));
        }
    }
    found
}

/// Whether a line denies everything to everybody.
fn denies(line: &str) -> bool {
    let line = line.to_ascii_lowercase();
    let words: Vec<_> = line.split_whitespace().collect();
    matches!(words[..], ["require", "all", "denied"] | ["deny", "from", "all"])
}

/// The lines between `<NAME ARGUMENT>` and its end.
enum Section {
    /// Applies to what is around it: conditions of modules and versions.
    Transparent,
    /// Applies to files of this name, in which `*` stands for anything.
    Files(String),
    /// Something else.
    Other,
}

impl Section {
    fn of(text: &str) -> Self {
        let text = text.trim_end_matches('>');
        let (name, argument) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
        let argument = argument.trim().trim_matches(['"', '\'']);
        match name.to_ascii_lowercase().as_str() {
            "ifmodule" | "ifdefine" | "ifversion" | "requireall" | "requireany" => Self::Transparent,
            "files" if !argument.starts_with('~') => Self::Files(argument.to_owned()),
            _ => Self::Other,
        }
    }

    /// The denial of a line that is inside of all of these.
    fn denied(sections: &[Self], folder: &str) -> Vec<String> {
        let mut name = None;
        for section in sections {
            match section {
                Self::Transparent => {}
                Self::Files(files) if name.is_none() => name = Some(files),
                Self::Files(_) | Self::Other => return Vec::new(),
            }
        }
        let folder = literal(folder);
        match name {
            None => vec![format!("~^{folder}")],
            Some(name) => vec![format!("~^{folder}(.*/)?{}(/|$)", wildcard(name))],
        }
    }
}

/// Names are compared as they are, with what a pattern takes for more than itself escaped.
fn literal(text: &str) -> String {
    let escape =
        |c: char| if c.is_ascii_punctuation() && c != '/' { format!("\\{c}") } else { c.to_string() };
    text.chars().map(escape).collect()
}

/// A name of a file with the wildcards of Apache.
fn wildcard(name: &str) -> String {
    let piece = |c: char| match c {
        '*' => "[^/]*".to_owned(),
        '?' => "[^/]".to_owned(),
        other => literal(other.encode_utf8(&mut [0; 4])),
    };
    name.chars().map(piece).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOTH: &str = "<IfModule mod_authz_core.c>\n    Require all denied\n</IfModule>\n\
                        <IfModule !mod_authz_core.c>\n    Order allow,deny\n    Deny from all\n</IfModule>\n";

    #[test]
    fn a_folder_and_all_below_it_are_denied() {
        for text in ["Deny from all", "order deny,allow\ndeny from all\n", "  Require all denied"] {
            assert_eq!(read("/data/", text), ["~^/data/"], "{text}");
        }
        assert_eq!(read("/a.b/", BOTH), ["~^/a\\.b/", "~^/a\\.b/"]);
        assert!(read("/", "Require all granted\nOptions -Indexes\n# Deny from all\n").is_empty());
    }

    #[test]
    fn files_are_denied_by_their_names() {
        let text = "<Files \"*.tpl.html\">\nRequire all denied\n</Files>\nOptions -Indexes";
        assert_eq!(read("/", text), ["~^/(.*/)?[^/]*\\.tpl\\.html(/|$)"]);
        let of_a_method = "<Limit GET>\nDeny from all\n</Limit>";
        assert!(read("/", of_a_method).is_empty());
    }

    #[test]
    fn all_folders_are_looked_at() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("a/data/deep")).unwrap();
        fs::write(folder.path().join("a/data/.htaccess"), BOTH).unwrap();
        assert_eq!(patterns(folder.path()), ["~^/a/data/"]);
        fs::remove_file(folder.path().join("a/data/.htaccess")).unwrap();
        assert!(patterns(folder.path()).is_empty());
    }
}
