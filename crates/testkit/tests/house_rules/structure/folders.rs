//! Which folder of a crate may know which. A new edge is a reviewed line in the table of that crate.

mod config;
mod corral;
mod router;
mod supervisor;
mod worker;

use std::collections::BTreeMap;

use super::imports::imports;
use crate::sources::repository;

/// Folders, and files beside them, from top to bottom, each with those below it that it may know.
type Table = &'static [(&'static str, &'static [&'static str])];

/// The crates that have a table.
const TABLES: &[(&str, Table)] = &[
    ("config", config::ALLOWED),
    ("corral", corral::ALLOWED),
    ("router", router::ALLOWED),
    ("supervisor", supervisor::ALLOWED),
    ("worker", worker::ALLOWED),
];

#[test]
fn folders_know_those_that_the_tables_say() {
    let problems: Vec<String> = TABLES.iter().flat_map(|(name, table)| problems(name, table)).collect();
    assert!(problems.is_empty(), "{}\n{REMEDY}", problems.join("\n"));
}

fn problems(name: &str, table: Table) -> Vec<String> {
    let edges = edges(name);
    let known: Vec<_> = allowed(table).collect();
    let new = edges.iter().filter(|(edge, _)| !known.contains(&(&*edge.0, &*edge.1)));
    let new = new.map(|((from, to), example)| format!("{name}: {from} must not know {to}: {example}"));
    let gone = known.iter().filter(|(from, to)| !edges.contains_key(&((*from).to_owned(), (*to).to_owned())));
    let gone = gone
        .map(|(from, to)| format!("{name}: {from} does not need {to} any more: remove it from the table"));
    new.chain(gone).collect()
}

const REMEDY: &str = "Move what both folders need into one below them, or let the upper one hand it down.";

/// So there is no circle of folders.
#[test]
fn allowed_edges_point_down() {
    for (name, table) in TABLES {
        let place = |folder: &str| table.iter().position(|(name, _)| *name == folder);
        for (from, to) in allowed(table) {
            assert!(place(from) < place(to), "{name}: {from} stands below {to}");
        }
    }
}

fn allowed(table: Table) -> impl Iterator<Item = (&'static str, &'static str)> {
    table.iter().flat_map(|(from, below)| below.iter().map(|to| (*from, *to)))
}

/// Pairs of folders of a crate, the first of which knows the second, each with an import that shows it.
fn edges(name: &str) -> BTreeMap<(String, String), String> {
    let mut found = BTreeMap::new();
    for (module, named) in imports(&repository().join("crates").join(name).join("src")) {
        for other in named {
            if let (Some(from), Some(to)) = (folder(&module), folder(&other))
                && from != to
            {
                let edge = (from.to_owned(), to.to_owned());
                found.entry(edge).or_insert_with(|| format!("{module} names {other}"));
            }
        }
    }
    found
}

/// `answer` of `crate::answer::proxy`; the root of the crate has none.
fn folder(module: &str) -> Option<&str> {
    module.split("::").nth(1)
}
