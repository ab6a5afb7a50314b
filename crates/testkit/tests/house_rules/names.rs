//! A type's name says one thing: none is defined twice in a crate, and few are in several crates.

use std::collections::{BTreeMap, BTreeSet};

use crate::sources::{crate_folders, sources, text};

/// The percentage of names that may be defined in more than one crate.
const MOST_SHARED: usize = 12;

/// The same type in two builds: as it is, and as loom checks it.
const TWO_BUILDS: &[&str] = &["FutexWord"];

#[test]
fn no_type_name_is_defined_twice_in_a_crate() {
    let mut twice = Vec::new();
    for (name, crates) in definitions() {
        let counted =
            crates.iter().map(|found| (found, crates.iter().filter(|other| *other == found).count()));
        let repeated: BTreeSet<_> =
            counted.filter(|(_, n)| *n > 1).map(|(found, _)| found.as_str()).collect();
        if !TWO_BUILDS.contains(&&*name) {
            twice.extend(repeated.into_iter().map(|found| format!("{name} in {found}")));
        }
    }
    assert!(twice.is_empty(), "say what each of these is:\n{}", twice.join("\n"));
}

#[test]
fn few_type_names_are_defined_in_several_crates() {
    let all = definitions();
    let shared: Vec<_> =
        all.iter().filter(|(_, crates)| crates.len() > 1).map(|(name, _)| name.as_str()).collect();
    let most = all.len() * MOST_SHARED / 100;
    assert!(shared.len() <= most, "{} of {}, {most} may be: {}", shared.len(), all.len(), shared.join(", "));
}

/// Names of types outside of tests, each with the crate of every definition.
fn definitions() -> BTreeMap<String, Vec<String>> {
    let mut found: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (name, folder) in crate_folders() {
        for path in sources(&folder.join("src")) {
            let is_test = path.with_extension("").iter().any(|part| part == "tests");
            let text = text(&path);
            let code = text.split("\n#[cfg(test)]\n").next().unwrap_or_default();
            for defined in code.lines().filter_map(definition).filter(|_| !is_test) {
                found.entry(defined.to_owned()).or_default().push(name.clone());
            }
        }
    }
    found
}

/// The name of the type that a line defines. An associated type has that of its trait.
fn definition(line: &str) -> Option<&str> {
    let words: Vec<_> =
        line.split_whitespace().skip_while(|word| word.starts_with("pub") || word.ends_with(')')).collect();
    let name = match words.as_slice() {
        ["struct" | "enum" | "trait" | "union", name, ..] => name,
        ["unsafe", "trait", name, ..] => name,
        ["type", name, ..] if !line.starts_with(' ') => name,
        _ => return None,
    };
    let end = name.find(|character: char| !character.is_alphanumeric()).unwrap_or(name.len());
    Some(&name[..end])
}

#[test]
fn definitions_are_found() {
    assert_eq!(definition("pub(in crate::a) struct X<'a> {"), Some("X"));
    assert_eq!(definition("    pub enum Y;"), Some("Y"));
    assert_eq!(definition("pub type Z = u8;"), Some("Z"));
    assert_eq!(definition("    type Target = u8;"), None);
    assert_eq!(definition("    structure(x)"), None);
}
