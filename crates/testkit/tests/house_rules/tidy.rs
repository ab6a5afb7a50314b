//! Sources begin with what they are for, and links of documents lead somewhere.

use std::path::PathBuf;

use crate::sources::{crate_folders, files, repository, sources_of_crates, text};

/// The only crates that may hold `unsafe`; all others forbid it.
pub(crate) const WITH_UNSAFE: &[&str] =
    &["sys", "memory", "channel", "worker", "embed", "perl", "php", "python", "ruby", "wasm"];

#[test]
fn every_source_file_says_what_it_is_for() {
    for path in sources_of_crates() {
        let text = text(&path);
        assert!(text.starts_with("//! "), "{} has no `//!` first line", path.display());
    }
}

#[test]
fn unsafe_is_forbidden_where_it_is_not_needed() {
    for (name, folder) in crate_folders() {
        if WITH_UNSAFE.contains(&&*name) {
            continue;
        }
        let roots = ["src/lib.rs", "src/main.rs"].map(|root| folder.join(root));
        for root in roots.iter().filter(|root| root.exists()) {
            let text = text(root);
            assert!(text.contains("#![forbid(unsafe_code)]"), "{}", root.display());
        }
    }
}

#[test]
fn modules_are_named_after_their_file() {
    for path in sources_of_crates() {
        assert!(!path.ends_with("mod.rs"), "{}: use foo.rs beside foo/", path.display());
    }
}

/// Columns of a line of code. Text of other languages within tests may be wider.
const COLUMNS: usize = 120;

#[test]
fn lines_of_code_are_narrow() {
    let is_code =
        |path: &PathBuf| !path.iter().any(|name| name == "tests" || name == "tests.rs" || name == "benches");
    let mut wide = Vec::new();
    for path in sources_of_crates().into_iter().filter(is_code) {
        let text = text(&path);
        let code = text.split("\n#[cfg(test)]\n").next().unwrap_or_default();
        let lines = code.lines().zip(1..).filter(|(line, _)| line.chars().count() > COLUMNS);
        wide.extend(lines.map(|(_, number)| format!("{}:{number}", path.display())));
    }
    assert!(wide.is_empty(), "break these lines at {COLUMNS} columns:\n{}", wide.join("\n"));
}

#[test]
fn a_test_that_is_ignored_says_why_and_none_may_panic_by_design() {
    // Split, so that this file does not find itself.
    for word in [concat!("#[should", "_panic"), concat!("#[ign", "ore]")] {
        for path in sources_of_crates() {
            let text = text(&path);
            assert!(!text.contains(word), "{word} in {}", path.display());
        }
    }
}

#[test]
fn links_between_documents_lead_somewhere() {
    let mut documents =
        ["README.md", "CONTRIBUTING.md", "ARCHITECTURE.md"].map(|name| repository().join(name)).to_vec();
    documents.extend(files(&repository().join("docs"), "md"));
    for document in documents {
        let text = text(&document);
        for target in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let path = target.split('#').next().unwrap_or_default();
            let is_local = !path.is_empty() && !path.contains("://");
            let found = document.parent().expect("a file lies in a folder").join(path);
            assert!(!is_local || found.exists(), "{} links to {target}", document.display());
        }
    }
}
