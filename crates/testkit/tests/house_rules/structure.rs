//! Imports inside each crate: circles stay small, so that there is an order in which its files can be read.

mod circles;
mod imports;
mod router;

use std::fs;

use self::circles::{circles, way_around};
use self::imports::imports;
use crate::sources::repository;

/// The number of files that may import each other in a circle.
const MOST: usize = 6;

#[test]
fn few_files_import_each_other_in_a_circle() {
    let problems: Vec<String> = crates().iter().filter_map(|name| problem(name)).collect();
    assert!(problems.is_empty(), "{}", problems.join("\n\n"));
}

fn crates() -> Vec<String> {
    let entries = fs::read_dir(repository().join("crates")).expect("the folder is there");
    let names = entries.map(|entry| entry.expect("read the folder").file_name());
    let mut names: Vec<_> = names.map(|name| name.into_string().expect("crates have names")).collect();
    names.sort();
    names
}

/// The largest circle of a crate in words, if it is larger than it may be.
fn problem(name: &str) -> Option<String> {
    let graph = imports(&repository().join("crates").join(name).join("src"));
    let largest = circles(&graph).into_iter().next().unwrap_or_default();
    let size = largest.len();
    (size > MOST).then(|| {
        let way = way_around(&graph, &largest).join(" → ");
        let members = Vec::from_iter(largest).join(", ");
        format!(
            "crates/{name}: {size} files import each other, {MOST} may.\n\
             The shortest way around: {way}\n\
             All of them: {members}\n\
             Move what both sides need into a file that imports neither, or let the upper one hand it down."
        )
    })
}
