//! Which options the tests say that they prove: lines `Options: a.b, c.d` in their documentation.

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::sources::{repository, sources, text};

/// Options as the tests spell them, made one spelling, with the files that name them.
pub(crate) fn claims() -> BTreeMap<String, PathBuf> {
    let mut found = BTreeMap::new();
    let all = sources(&repository().join("crates/testkit/tests"));
    // Rules prove nothing.
    for path in all.into_iter().filter(|path| !path.to_string_lossy().contains("/house_rules/")) {
        found.extend(claims_in(&text(&path)).into_iter().map(|option| (option, path.clone())));
    }
    found
}

/// All options that a source names. A list goes on in the next line when a line ends with a comma.
fn claims_in(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut goes_on = false;
    for line in text.lines() {
        let Some(comment) = line.trim().strip_prefix("///") else {
            goes_on = false;
            continue;
        };
        let comment = comment.trim();
        let list = match comment.strip_prefix("Options:") {
            Some(list) => list,
            None if goes_on => comment,
            None => continue,
        };
        goes_on = list.ends_with(',');
        found.extend(split(list).iter().flat_map(|name| expand(name)));
    }
    found
}

/// At commas that are not in braces.
fn split(list: &str) -> Vec<String> {
    let mut depth = 0_usize;
    let mut names = vec![String::new()];
    for character in list.chars() {
        match character {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                names.push(String::new());
                continue;
            }
            _ => {}
        }
        names.last_mut().expect("there is one from the start").push(character);
    }
    let names = names.iter().map(|name| name.trim().trim_matches('`').trim_end_matches('.'));
    names.filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

/// Names with `{a,b}` in them are several, and what is short for steps is written out.
fn expand(name: &str) -> Vec<String> {
    let groups = name.match_indices('{').filter_map(|(at, _)| Some((at, at + name[at..].find('}')?)));
    if let Some((from, to)) = groups.into_iter().find(|&(from, to)| name[from..to].contains(',')) {
        let words = name[from + 1..to].split(',');
        return words
            .flat_map(|word| expand(&format!("{}{}{}", &name[..from], word.trim(), &name[to + 1..])))
            .collect();
    }
    if name == "routes.{N}[]" {
        return vec!["routes.{N}".to_owned()];
    }
    let name = name.replace("routes.{N}[]", "routes[]");
    vec![match name.strip_prefix('…') {
        Some(rest) => format!("routes[].{}", rest.trim_start_matches('.')),
        None => name,
    }]
}

#[test]
fn lists_are_read_as_they_are_written() {
    let text = "
    /// Words.
    /// Options: a.b, `c.{N}.{x,y}.d`,
    ///   …match.uri, routes.{N}[].action, routes.{N}[].
    /// More words, with commas,
    fn test() {}
    // Options: no.documentation
    ";
    let expected = ["a.b", "c.{N}.x.d", "c.{N}.y.d", "routes[].match.uri", "routes[].action", "routes.{N}"];
    assert_eq!(claims_in(text), expected);
}
