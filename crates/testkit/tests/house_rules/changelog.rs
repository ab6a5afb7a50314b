//! The changelog can be skimmed: an entry is one line of few words below a heading, and its links lead somewhere.

use crate::book::{anchors, links};
use crate::sources::{repository, text};

const MAX_WORDS: usize = 25;

/// The lines from the first version on.
fn versions(changelog: &str) -> impl Iterator<Item = &str> {
    changelog.lines().skip_while(|line| !line.starts_with("## [")).filter(|line| !line.is_empty())
}

#[test]
fn an_entry_of_the_changelog_is_one_line_of_few_words() {
    let changelog = text(&repository().join("CHANGELOG.md"));
    let mut is_below_heading = false;
    let mut n_entries = 0;
    for line in versions(&changelog) {
        if line.starts_with("## [") {
            is_below_heading = false;
        } else if line.starts_with("### ") {
            is_below_heading = true;
        } else {
            let entry =
                line.strip_prefix("- ").unwrap_or_else(|| panic!("neither heading nor entry: {line}"));
            assert!(is_below_heading, "an entry needs a heading of its subject: {line}");
            let n_words = entry.split_whitespace().count();
            assert!(
                n_words <= MAX_WORDS,
                "{n_words} words, at most {MAX_WORDS}; the manual has the rest: {line}"
            );
            assert!(entry.ends_with('.'), "an entry ends with a full stop: {line}");
            n_entries += 1;
        }
    }
    assert!(n_entries > 100, "only {n_entries} entries were found");
}

#[test]
fn an_entry_of_the_changelog_stands_there_once() {
    let changelog = text(&repository().join("CHANGELOG.md"));
    let mut seen = std::collections::BTreeSet::new();
    for line in versions(&changelog).filter(|line| line.starts_with("- ")) {
        assert!(seen.insert(line), "twice: {line}");
    }
}

#[test]
fn links_of_the_changelog_lead_to_pages_and_headings() {
    let changelog = text(&repository().join("CHANGELOG.md"));
    for (_, target) in links(&changelog).iter().filter(|(_, target)| !target.contains("://")) {
        let (path, anchor) = target.split_once('#').unwrap_or((target, ""));
        let page = repository().join(path);
        assert!(page.is_file(), "CHANGELOG.md links to {target}");
        assert!(anchor.is_empty() || anchors(&text(&page)).contains(anchor), "no such heading: {target}");
    }
}
