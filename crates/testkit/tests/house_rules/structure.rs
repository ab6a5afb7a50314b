//! Imports inside each crate: circles stay small, so that there is an order in which its files can be read.

mod circles;
mod folders;
mod imports;

use std::collections::BTreeSet;
use std::path::Path;

use self::circles::{circles, way_around};
use self::imports::{graph, imports};
use crate::sources::crate_folders;

/// The number of files that may import each other in a circle.
const MOST: usize = 4;

#[test]
fn few_files_import_each_other_in_a_circle() {
    let crates = crate_folders();
    let problems: Vec<String> = crates.iter().flat_map(|(name, folder)| problems(name, folder)).collect();
    assert!(problems.is_empty(), "{}", problems.join("\n\n"));
}

/// The circles of a crate that are larger than they may be, in words.
fn problems(name: &str, folder: &Path) -> Vec<String> {
    let graph = imports(&folder.join("src"));
    let large = circles(&graph).into_iter().filter(|circle| circle.len() > MOST);
    let in_words = |circle: BTreeSet<&str>| {
        let size = circle.len();
        let way = way_around(&graph, &circle).join(" → ");
        let members = Vec::from_iter(circle).join(", ");
        format!(
            "{name}: {size} files import each other, {MOST} may.\n\
             The shortest way around: {way}\n\
             All of them: {members}\n\
             Move what both sides need into a file that imports neither, or let the upper one hand it down."
        )
    };
    large.map(in_words).collect()
}

/// Modules with their texts, and the circle that they make.
#[track_caller]
fn check(modules: &[(&str, &str)], expected: &[&str]) {
    let texts = modules.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned()));
    let graph = graph(&texts.collect());
    let found = circles(&graph).into_iter().flatten().collect::<Vec<_>>();
    assert_eq!(found, expected, "{modules:?}");
}

#[test]
fn circles_by_paths_are_seen() {
    check(
        &[("crate::a", "use crate::b::X;"), ("crate::b", "fn f(x: super::a::Y) {}")],
        &["crate::a", "crate::b"],
    );
}

#[test]
fn circles_by_children_are_seen() {
    check(
        &[("crate::a", "mod b;\nfn f() { b::g() }"), ("crate::a::b", "use super::X;")],
        &["crate::a", "crate::a::b"],
    );
}

#[test]
fn circles_by_exports_are_seen() {
    let facade = ("crate::a", "mod b;\nmod c;\npub use b::X;\npub(crate) use c::Y;");
    let modules = [facade, ("crate::a::b", "use super::Y;"), ("crate::a::c", "use crate::a::X;")];
    check(&modules, &["crate::a::b", "crate::a::c"]);
}
