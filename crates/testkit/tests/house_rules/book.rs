//! The manual is a book: each page is in its contents once, and each link leads to a page and a heading.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};

use crate::sources::{files, repository, text};

fn manual() -> PathBuf {
    repository().join("docs/src")
}

/// The links of a document, with their texts; not those in code.
pub(crate) fn links(page: &str) -> Vec<(String, String)> {
    let mut is_code = false;
    let mut found = Vec::new();
    for line in page.lines() {
        if line.trim_start().starts_with("```") {
            is_code = !is_code;
        }
        if is_code {
            continue;
        }
        let mut rest = line;
        while let Some((before, behind)) = rest.split_once("](") {
            let title = before.rsplit('[').next().unwrap_or_default();
            let (target, behind) = behind.split_once(')').unwrap_or((behind, ""));
            found.push((title.to_owned(), target.to_owned()));
            rest = behind;
        }
    }
    found
}

/// The identifiers of a page's headings, as mdBook and GitHub make them.
pub(crate) fn anchors(page: &str) -> BTreeSet<String> {
    let mut is_code = false;
    let mut counts = BTreeMap::<String, usize>::new();
    let mut found = BTreeSet::new();
    for line in page.lines() {
        is_code ^= line.trim_start().starts_with("```");
        let Some(heading) = line.strip_prefix('#').filter(|_| !is_code) else { continue };
        let anchor = anchor(heading.trim_start_matches('#').trim());
        let n_before = counts.entry(anchor.clone()).or_default();
        found.insert(if *n_before == 0 { anchor } else { format!("{anchor}-{n_before}") });
        *n_before += 1;
    }
    found
}

/// A heading's text in lower case, with hyphens for spaces and without punctuation; of a link, its text.
fn anchor(heading: &str) -> String {
    let mut shown = heading.to_owned();
    while let (Some(middle), true) = (shown.find("]("), shown.contains('[')) {
        let end = shown[middle..].find(')').map_or(shown.len(), |at| middle + at + 1);
        shown.replace_range(middle..end, "");
        shown = shown.replacen('[', "", 1);
    }
    let kept = shown.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.map(|c| if c == ' ' { '-' } else { c.to_ascii_lowercase() }).collect()
}

/// The path without `.` and `..`.
fn plain(path: &Path) -> PathBuf {
    path.components().fold(PathBuf::new(), |mut plain, part| {
        match part {
            Component::ParentDir => drop(plain.pop()),
            Component::CurDir => {}
            part => plain.push(part),
        }
        plain
    })
}

#[test]
fn links_of_the_manual_lead_to_pages_and_headings() {
    let manual = manual().canonicalize().expect("the manual is there");
    let mut wrong = Vec::new();
    let mut n_links = 0;
    for page in files(&manual, "md") {
        for (_, target) in links(&text(&page)).iter().filter(|(_, target)| !target.contains("://")) {
            n_links += 1;
            let (path, anchor) = target.split_once('#').unwrap_or((target, ""));
            let folder = page.parent().expect("a page lies in a folder");
            let linked = if path.is_empty() { page.clone() } else { plain(&folder.join(path)) };
            let is_page = linked.starts_with(&manual) && linked.is_file();
            if !is_page || !anchor.is_empty() && !anchors(&text(&linked)).contains(anchor) {
                wrong.push(format!("{}: {target}", page.display()));
            }
        }
    }
    assert!(n_links > 300, "only {n_links} links were found");
    assert!(wrong.is_empty(), "these links lead nowhere:\n{}", wrong.join("\n"));
}

/// A page about another server is called by that server's name there.
#[test]
fn each_page_is_in_the_contents_once_by_its_title() {
    let manual = manual();
    let mut left: BTreeSet<_> = files(&manual, "md").into_iter().collect();
    left.remove(&manual.join("SUMMARY.md"));
    for (title, target) in links(&text(&manual.join("SUMMARY.md"))) {
        let page = manual.join(&target);
        assert!(left.remove(&page), "SUMMARY.md has {target} twice, or it does not exist");
        let text = text(&page);
        let heading = text.lines().next().and_then(|line| line.strip_prefix("# ")).unwrap_or_default();
        let is_named = heading == title || heading.strip_prefix("Coming from ") == Some(&title);
        assert!(is_named, "{target} is called {heading:?}, and {title:?} in SUMMARY.md");
    }
    assert!(left.is_empty(), "not in SUMMARY.md: {left:?}");
}

#[test]
fn headings_become_anchors() {
    let page = "# A `corral check`, [for](x.md) all\n```sh\n# no heading\n```\n## HTTP/2\n## HTTP/2\n";
    let expected = ["a-corral-check-for-all", "http2", "http2-1"];
    assert_eq!(anchors(page), expected.map(str::to_owned).into());
    let found = links("see [a](b.md#c), `d`[e](f)\n```\n[g](h)\n```");
    assert_eq!(found, [("a".to_owned(), "b.md#c".to_owned()), ("e".to_owned(), "f".to_owned())]);
}

const RECIPE: &str = "<!-- recipe: ";
const END: &str = "<!-- end of recipe -->";

/// `UPDATE_MANUAL=1` writes the configurations into the pages anew.
#[test]
fn the_manual_shows_recipes_as_they_are() {
    let examples = repository().join("examples");
    let mut hidden: BTreeSet<_> = files(&examples, "json")
        .into_iter()
        .filter(|file| file.ends_with("corral.json"))
        .map(|file| file.parent().expect("it lies in a folder").to_owned())
        .collect();
    let mut stale = Vec::new();
    for page in files(&manual(), "md") {
        let shown = text(&page);
        let mut renewed = String::new();
        let mut rest = &*shown;
        while let Some((before, behind)) = rest.split_once(RECIPE) {
            let (name, behind) = behind.split_once(" -->\n").expect("the line of a recipe is complete");
            let (_, behind) = behind.split_once(END).expect("a recipe has an end");
            let folder = examples.join(name);
            let configuration = text(&folder.join("corral.json"));
            renewed +=
                &format!("{before}{RECIPE}{name} -->\n\n```json\n{}\n```\n\n{END}", configuration.trim());
            hidden.remove(&folder);
            rest = behind;
        }
        renewed += rest;
        if renewed != shown && std::env::var_os("UPDATE_MANUAL").is_some() {
            std::fs::write(&page, &renewed).expect("a page can be written");
        } else if renewed != shown {
            stale.push(page);
        }
    }
    assert!(stale.is_empty(), "UPDATE_MANUAL=1 writes the recipes of these pages anew: {stale:?}");
    assert!(hidden.is_empty(), "no page shows these recipes: {hidden:?}");
}

/// Sources of what the log, a reply of the API or `corral` says of a failure.
const FAILURES: &[&str] = &[
    "controller/src/bundle.rs",
    "controller/src/pem.rs",
    "router/src/authentication/no_keys.rs",
    "router/src/client/http1/head.rs",
    "router/src/instance/failure.rs",
    "router/src/request/body.rs",
    "router/src/services/admission/bound.rs",
    "router/src/upstream/failure.rs",
    "router/src/upstream/gateway.rs",
    "router/src/upstream/tls.rs",
    "supervisor/src/decide/capacity.rs",
    "supervisor/src/decide/descriptors.rs",
    "supervisor/src/launch.rs",
    "supervisor/src/launch/cgroup.rs",
    "supervisor/src/launch/maps.rs",
    "supervisor/src/launch/rootfs.rs",
    "supervisor/src/listeners.rs",
    "supervisor/src/store.rs",
];

/// Messages that consist of another one, or of too little to be searched for.
const APART: &[&str] = &["process {pid}: {failure}", "HTTP/2: {0}", "the thread has ended"];

/// The texts of the errors that a source has.
fn messages(source: &str) -> Vec<String> {
    let literals = source.split("#[error(").skip(1).filter_map(|rest| rest.trim_start().strip_prefix('"'));
    literals
        .map(|rest| {
            let end = rest.match_indices('"').find(|(at, _)| !rest[..*at].ends_with('\\')).expect("it ends");
            let lines = rest[..end.0].split("\\\n").map(str::trim_start);
            lines.collect::<String>().replace("\\\"", "\"")
        })
        .collect()
}

/// One piece of each message that does not change has to be quoted.
#[test]
fn each_failure_can_be_found_by_its_words() {
    let page = text(&manual().join("operating/troubleshooting.md"));
    let quoted: Vec<&str> = page.split('`').skip(1).step_by(2).collect();
    let mut missing = Vec::new();
    let mut n_messages = 0;
    for source in FAILURES {
        for message in messages(&text(&repository().join("crates").join(source))) {
            let is_fixed = message.chars().filter(|c| c.is_alphabetic()).count() > 8;
            if !is_fixed || APART.contains(&&*message) {
                continue;
            }
            n_messages += 1;
            let is_quoted = |words: &&str| match words.len() {
                ..8 => message.starts_with(*words),
                _ => message.contains(*words),
            };
            if !quoted.iter().any(is_quoted) {
                missing.push(format!("{source}: {message}"));
            }
        }
    }
    assert!(n_messages > 70, "only {n_messages} messages were found");
    assert!(missing.is_empty(), "troubleshooting.md does not have\n{}", missing.join("\n"));
}
