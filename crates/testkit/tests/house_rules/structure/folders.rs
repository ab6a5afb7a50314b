//! Which folder of the router may know which. A new edge is a reviewed line in the table below.

use std::collections::BTreeMap;

use super::imports::imports;
use crate::sources::repository;

/// The router's folders from top to bottom, each with those below it that it may know.
const ALLOWED: &[(&str, &[&str])] = &[
    (
        "control",
        &[
            "event_loop",
            "answer",
            "services",
            "generation",
            "instance",
            "upstream",
            "observe",
            "variables",
            "tls",
            "dev_reload",
            "control_waker",
            "main_link",
            "limits",
            "mirrors",
            "authentication",
            "storage",
        ],
    ),
    ("fuzz", &["client", "tls"]),
    (
        "event_loop",
        &["client", "services", "generation", "instance", "counters", "clock", "files", "storage"],
    ),
    (
        "client",
        &[
            "dispatch",
            "exchange",
            "services",
            "generation",
            "reply",
            "request",
            "io",
            "tls",
            "clock",
            "dev_reload",
            "storage",
        ],
    ),
    ("dispatch", &["answer", "exchange", "observe", "request"]),
    (
        "answer",
        &[
            "exchange",
            "authentication",
            "tls",
            "instance",
            "upstream",
            "observe",
            "variables",
            "reply",
            "request",
            "io",
            "clock",
            "dev_reload",
            "files",
            "mirrors",
            "storage",
        ],
    ),
    (
        "exchange",
        &[
            "services",
            "generation",
            "observe",
            "variables",
            "reply",
            "request",
            "io",
            "tls",
            "clock",
            "dev_reload",
            "storage",
            "limits",
        ],
    ),
    (
        "services",
        &["generation", "upstream", "tls", "mirrors", "io", "counters", "log_throttle", "clock", "main_link"],
    ),
    (
        "generation",
        &["authentication", "instance", "upstream", "observe", "reply", "tls", "limits", "mirrors"],
    ),
    ("authentication", &["upstream", "request", "log_throttle", "files"]),
    ("instance", &["upstream", "reply", "request", "control_waker", "main_link", "storage"]),
    ("upstream", &["io", "tls", "counters", "log_throttle", "clock"]),
    ("observe", &["variables", "request", "control_waker", "storage"]),
    ("variables", &["reply", "request", "tls", "clock"]),
    ("reply", &["request", "limits", "dev_reload", "files", "storage"]),
    ("request", &["limits", "storage"]),
    ("io", &["tls", "storage"]),
    ("tls", &[]),
    ("mirrors", &["counters", "log_throttle"]),
    ("counters", &[]),
    ("limits", &["log_throttle", "clock"]),
    ("log_throttle", &["clock"]),
    ("clock", &[]),
    ("dev_reload", &["main_link"]),
    ("control_waker", &[]),
    ("main_link", &[]),
    ("files", &[]),
    ("storage", &[]),
];

#[test]
fn folders_know_those_that_the_tables_say() {
    let edges = edges();
    let known: Vec<_> = allowed().collect();
    let new = edges.iter().filter(|(edge, _)| !known.contains(&(&*edge.0, &*edge.1)));
    let new = new.map(|((from, to), example)| format!("{from} must not know {to}: {example}"));
    let gone = known.iter().filter(|(from, to)| !edges.contains_key(&((*from).to_owned(), (*to).to_owned())));
    let gone = gone.map(|(from, to)| format!("{from} does not need {to} any more: remove it from the table"));
    let problems: Vec<String> = new.chain(gone).collect();
    assert!(problems.is_empty(), "{}\n{REMEDY}", problems.join("\n"));
}

const REMEDY: &str = "Move what both folders need into one below them, or let the upper one hand it down.";

/// So there is no circle of folders.
#[test]
fn allowed_edges_point_down() {
    let place = |folder: &str| ALLOWED.iter().position(|(name, _)| *name == folder);
    for (from, to) in allowed() {
        assert!(place(from) < place(to), "{from} stands below {to}");
    }
}

fn allowed() -> impl Iterator<Item = (&'static str, &'static str)> {
    ALLOWED.iter().flat_map(|(from, below)| below.iter().map(|to| (*from, *to)))
}

/// Pairs of folders, the first of which knows the second, each with an import that shows it.
fn edges() -> BTreeMap<(String, String), String> {
    let mut found = BTreeMap::new();
    for (module, named) in imports(&repository().join("crates/router/src")) {
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
