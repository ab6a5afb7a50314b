//! Pages of real folders.

use super::*;

struct Folder(tempfile::TempDir);

impl Folder {
    fn with(names: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        for name in names {
            match name.strip_suffix('/') {
                Some(name) => std::fs::create_dir(folder.path().join(name)).unwrap(),
                None => std::fs::write(folder.path().join(name), name).unwrap(),
            }
        }
        Self(folder)
    }

    fn page(&self, selection: &ListingFilter) -> ListingPage {
        read(&File::open(self.0.path()).unwrap(), selection).unwrap()
    }
}

fn all() -> ListingFilter {
    ListingFilter { hidden: false, follow_links: true, show_links: true, page_size: 100, after: Vec::new() }
}

fn shown(page: &ListingPage) -> Vec<&str> {
    page.entries.iter().map(|(name, _)| std::str::from_utf8(name).unwrap()).collect()
}

#[test]
fn entries_are_sorted_and_dot_files_are_hidden() {
    let folder = Folder::with(&["b", "a", "C/", ".secret"]);
    assert_eq!(shown(&folder.page(&all())), ["C", "a", "b"]);
    assert_eq!(shown(&folder.page(&ListingFilter { hidden: true, ..all() })), [".secret", "C", "a", "b"]);
}

#[test]
fn a_large_folder_comes_in_pages() {
    let names: Vec<String> = (0..25).map(|number| format!("f{number:02}")).collect();
    let folder = Folder::with(&names.iter().map(String::as_str).collect::<Vec<_>>());
    let mut seen = Vec::new();
    let mut after = Vec::new();
    loop {
        let page = folder.page(&ListingFilter { page_size: 10, after, ..all() });
        seen.extend(shown(&page).into_iter().map(str::to_owned));
        match page.next {
            Some(next) => after = next,
            None => break,
        }
    }
    assert_eq!(seen, names);
}

#[test]
fn links_are_shown_as_far_as_they_may_be_followed() {
    let folder = Folder::with(&["a"]);
    std::os::unix::fs::symlink("a", folder.0.path().join("link")).unwrap();
    std::os::unix::fs::symlink("nowhere", folder.0.path().join("dangling")).unwrap();
    let kinds = |selection: &ListingFilter| -> Vec<EntryKind> {
        folder.page(selection).entries.iter().map(|(_, entry)| entry.kind).collect()
    };
    assert_eq!(kinds(&all()), [EntryKind::File, EntryKind::File]);
    let unfollowed = ListingFilter { follow_links: false, ..all() };
    assert_eq!(kinds(&unfollowed), [EntryKind::File, EntryKind::Link, EntryKind::Link]);
    assert_eq!(kinds(&ListingFilter { show_links: false, ..unfollowed }), [EntryKind::File]);
}

#[test]
fn names_are_escaped_wherever_they_stand() {
    let folder = Folder::with(&["<b>&\"'.txt", "a b%?#.txt", "x\\\u{1}y"]);
    let page = folder.page(&all());
    let html = String::from_utf8(page::html(b"/<i>/", &page)).unwrap();
    assert!(!html.contains("<b>") && !html.contains("<i>"), "{html}");
    assert!(html.contains("href=\"/%3Ci%3E/a%20b%25%3F%23.txt\""), "{html}");
    let json: serde_json::Value = serde_json::from_slice(&page::json(b"/\"x\"/", &page)).unwrap();
    assert_eq!(json["path"], "/\"x\"/");
    assert_eq!(json["entries"][0]["name"], "<b>&\"'.txt");
    assert_eq!(json["entries"][2]["name"], "x\\\u{1}y");
    assert_eq!(json["entries"][0]["size"], 10);
    assert_eq!(json["next"], serde_json::Value::Null);
}
