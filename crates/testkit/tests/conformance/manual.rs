//! The manual's configurations: each block of JSON is a configuration, or a part of one at one of its usual places.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use corral_testkit::{Daemon, Run, daemon};
use serde_json::Value;

/// Where a part may belong; `@` stands for it.
const PLACES: &[&str] = &[
    "@",
    "{@}",
    r#"{"settings": {@}}"#,
    r#"{"settings": {"http": {@}}}"#,
    r#"{"listeners": {"*:80": {"pass": "routes", @}}, "routes": []}"#,
    r#"{"routes": [@]}"#,
    r#"{"routes": [{@}]}"#,
    r#"{"routes": [{"action": @}]}"#,
    r#"{"routes": [{"action": {"return": 200, @}}]}"#,
    r#"{"routes": [{"action": {"share": "/x$uri", @}}]}"#,
    r#"{"routes": [{"action": {"proxy": "http://a:80", @}}]}"#,
    r#"{"applications": {"a": @}}"#,
    r#"{"applications": {"a": {"type": "php", "root": "/", @}}}"#,
    r#"{"applications": {"a": {"type": "http", "executable": "a", @}}}"#,
    r#"{"applications": {"a": {"type": "process", "command": "a", @}}}"#,
    r#"{"applications": {"a": {"type": "java", "webapp": "a", @}}}"#,
    r#"{"applications": {"a": {"type": "wasm-wasi-component", "component": "a", @}}}"#,
    r#"{"applications": {"a": {"type": "php", "root": "/", "isolation": {@}}}}"#,
    r#"{"upstreams": {"a": {"servers": {}, @}}}"#,
];

/// Beginnings of complaints about things that a part of a configuration may lack.
const LACKS: &[&str] =
    &["Certificate \"", "The file \"", "JS module \"", "Request \"pass\" points to invalid location"];

#[test]
fn every_configuration_of_the_manual_is_one() {
    let manual = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/src");
    let server = daemon().start_unconfigured();
    let mut n_blocks = 0;
    let mut wrong = Vec::new();
    for page in pages(&manual) {
        let text = fs::read_to_string(&page).expect("a page is text");
        // Figures of the status are not a configuration.
        for block in blocks(&text).filter(|block| !block.contains("\"total\":")) {
            n_blocks += 1;
            if !PLACES.iter().any(|place| is_accepted(&server, &place.replace('@', block))) {
                wrong.push(format!("{}: {block}", page.display()));
            }
        }
    }
    assert!(n_blocks > 40, "only {n_blocks} blocks were found");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

pub(crate) fn pages(folder: &Path) -> Vec<PathBuf> {
    let entries =
        fs::read_dir(folder).expect("the manual is there").map(|entry| entry.expect("it is there").path());
    let pages = entries.flat_map(|path| if path.is_dir() { pages(&path) } else { vec![path] });
    pages.filter(|path| path.extension().is_some_and(|extension| extension == "md")).collect()
}

pub(crate) fn blocks(text: &str) -> impl Iterator<Item = &str> {
    text.split("```json\n").skip(1).filter_map(|rest| rest.split("```").next()).map(str::trim)
}

fn is_accepted(server: &Daemon, document: &str) -> bool {
    let reply = server.control().put_text("/config?dry_run=true", document).json();
    let problems = reply["errors"].as_array().cloned().unwrap_or_else(|| vec![reply.clone()]);
    let is_lacking = |problem: &Value| {
        problem["detail"].as_str().is_some_and(|detail| LACKS.iter().any(|lack| detail.starts_with(lack)))
    };
    reply.get("success").is_some() || problems.iter().all(is_lacking)
}

/// Commands whose options are Unit's, and are told by `--help`.
const OF_UNIT: &[&str] = &["unitc", "unitctl"];

/// Options of the command line and options in the manual are the same.
#[test]
fn every_option_of_the_command_line_is_in_the_manual() {
    let folder = tempfile::tempdir().expect("make a folder");
    Run::to_end(&["man", folder.path().to_str().expect("text")]).expect_success();
    let manual = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/src");
    let page = fs::read_to_string(manual.join("command-line.md")).expect("a page is text");
    let said = options(&page);
    let mut known = BTreeSet::new();
    for entry in fs::read_dir(&folder).expect("the manual pages") {
        let path = entry.expect("it is there").path();
        let name = path.file_stem().expect("it has a name").to_string_lossy().into_owned();
        let text = fs::read_to_string(&path).expect("a page is text").replace("\\-", "-");
        let found = options(&text);
        if OF_UNIT.iter().all(|tool| !name.starts_with(&format!("corral-{tool}"))) {
            let missing: Vec<_> = found.difference(&said).filter(|name| *name != "--help").collect();
            assert!(missing.is_empty(), "{name} has {missing:?}, of which command-line.md says nothing");
        }
        known.extend(found);
    }
    assert!(known.len() > 30, "{known:?}");
    for page in pages(&manual) {
        let text = fs::read_to_string(&page).expect("a page is text");
        for command in text.lines().filter_map(|line| line.split("corral ").nth(1)) {
            let command = command.split(['#', '`', '|']).next().unwrap_or_default();
            let unknown: Vec<_> = options(command).difference(&known).cloned().collect();
            assert!(unknown.is_empty(), "{}: {unknown:?} in \"corral {command}\"", page.display());
        }
    }
}

/// All words of a text that are options.
fn options(text: &str) -> BTreeSet<String> {
    let words = text.split(|c: char| !c.is_ascii_lowercase() && c != '-');
    words
        .filter(|word| word.len() > 3 && word.starts_with("--") && !word.starts_with("---"))
        .map(str::to_owned)
        .collect()
}
