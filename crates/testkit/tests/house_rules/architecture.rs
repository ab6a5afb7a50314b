//! ARCHITECTURE.md is short, complete, and names what exists.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::sync::OnceLock;

use crate::sources::{files, repository, sources, text};
use crate::tidy::WITH_UNSAFE;

const MOST_WORDS: usize = 2_500;
const MOST_TERMS: usize = 60;

fn document() -> String {
    text(&repository().join("ARCHITECTURE.md"))
}

/// The text below a heading of the second level.
fn section(heading: &str) -> String {
    let document = document();
    let (_, behind) = document.split_once(&format!("\n## {heading}\n")).expect("the section exists");
    behind.split("\n## ").next().unwrap_or_default().to_owned()
}

/// The pieces of a text that stand between two marks. Blocks of code have none.
fn marked(text: &str, mark: char) -> Vec<String> {
    let prose = text.split("```").step_by(2).collect::<String>();
    prose.split(mark).skip(1).step_by(2).map(str::to_owned).collect()
}

/// Subfolders that have this file.
fn folders_with(parent: &Path, file: &str) -> BTreeSet<String> {
    let entries =
        fs::read_dir(parent).expect("the folder is there").map(|entry| entry.expect("read the folder"));
    let named = entries.filter(|entry| entry.path().join(file).is_file());
    named.map(|entry| entry.file_name().into_string().expect("folders have names")).collect()
}

#[test]
fn it_is_short() {
    let n_words = document().split_whitespace().count();
    assert!(
        n_words <= MOST_WORDS,
        "{n_words} words, {MOST_WORDS} may be: details go into the documentation of modules"
    );
    let n_terms = marked(&section("Glossary"), '*').len();
    assert!(n_terms <= MOST_TERMS, "{n_terms} terms, {MOST_TERMS} may be: find words that need no entry");
}

#[test]
fn every_crate_has_a_line() {
    let named: BTreeSet<_> = marked(&section("Crates"), '`').into_iter().collect();
    for name in folders_with(&repository().join("crates"), "Cargo.toml") {
        assert!(named.contains(&format!("crates/{name}")), "Crates does not have {name}");
    }
}

#[test]
fn every_test_binary_is_named() {
    let named: BTreeSet<_> = marked(&section("Tests"), '`').into_iter().collect();
    for name in folders_with(&repository().join("crates/testkit/tests"), "main.rs") {
        assert!(named.contains(&name), "Tests does not have {name}");
    }
}

#[test]
fn unsafe_code_is_where_it_is_said_to_be() {
    let invariants = section("Invariants");
    let line =
        invariants.lines().find(|line| line.contains("**Unsafe code**")).expect("the invariant is there");
    assert_eq!(marked(line, '`'), WITH_UNSAFE);
}

#[test]
fn what_it_names_exists() {
    let missing: Vec<_> = marked(&document(), '`').into_iter().filter(|name| !exists(name)).collect();
    assert!(missing.is_empty(), "ARCHITECTURE.md names {missing:?}");
}

/// A path of this repository, a suite of tests, a symbol of its sources, or words that they or the manual use.
fn exists(name: &str) -> bool {
    if repository().join("crates/testkit/tests").join(name).is_dir() {
        return true;
    }
    if name.contains('/') && !name.starts_with("//") {
        return repository().join(name).exists();
    }
    match name.rsplit_once("::") {
        Some((place, name)) => all_sources().iter().any(|source| source.is_of(place) && source.defines(name)),
        None if is_type(name) => all_sources().iter().any(|source| source.defines(name)),
        None => all_sources().iter().any(|source| source.text.contains(name)) || manual().contains(name),
    }
}

fn is_type(name: &str) -> bool {
    name.starts_with(char::is_uppercase) && name.contains(char::is_lowercase)
}

/// A source, and its crate as paths name it (`corral_config`).
struct Source {
    crate_name: String,
    text: String,
}

impl Source {
    /// The source belongs to this crate, or names this type.
    fn is_of(&self, place: &str) -> bool {
        match place.split("::").next() {
            Some(first) if first.starts_with("corral_") => self.crate_name == first,
            _ => words(&self.text).any(|word| word == place),
        }
    }

    fn defines(&self, name: &str) -> bool {
        let is_variant = |line: &str| {
            line.strip_prefix(name).is_some_and(|rest| rest.starts_with([',', '(']) || rest == " {")
        };
        let defined = |word| self.text.contains(&format!("{word} {name}"));
        let is_item = DEFINITIONS.iter().any(defined) && words(&self.text).any(|word| word == name);
        is_item || self.text.lines().any(|line| is_variant(line.trim()))
    }
}

const DEFINITIONS: &[&str] = &["fn", "struct", "enum", "trait", "type", "mod", "const", "static"];

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|character: char| !character.is_alphanumeric() && character != '_')
        .filter(|word| !word.is_empty())
}

/// Sources of the crates; not the tests of the whole server, which may quote what is gone.
fn all_sources() -> &'static [Source] {
    static SOURCES: OnceLock<Vec<Source>> = OnceLock::new();
    SOURCES.get_or_init(|| {
        let crates = repository().join("crates");
        let names = folders_with(&crates, "Cargo.toml").into_iter();
        let sources = names.flat_map(|name| {
            let crate_name = format!("corral_{name}");
            sources(&crates.join(name).join("src")).into_iter().map(move |path| (crate_name.clone(), path))
        });
        sources.map(|(crate_name, path)| Source { crate_name, text: text(&path) }).collect()
    })
}

fn manual() -> String {
    let pages = files(&repository().join("docs"), "md");
    pages.iter().map(|page| text(page)).chain([text(&repository().join("CONTRIBUTING.md"))]).collect()
}

#[test]
fn a_name_that_is_gone_is_found() {
    for name in ["corral_config::validate", "Plan", "Pool", "crates/http", "--config", "Apply"] {
        assert!(exists(name), "{name}");
    }
    for name in
        ["EventLoop::before_sleep", "corral_http::validate", "NoSuchType", "crates/nothing", "--no-such"]
    {
        assert!(!exists(name), "{name}");
    }
}
