//! Which crate may know which. A new edge is a reviewed line in the table below.

use std::collections::BTreeSet;
use std::process::Command;

use serde_json::Value;

/// Crate, and the crates of this workspace that it may depend on; testing aside. Edges point down.
const ALLOWED: &[(&str, &[&str])] = &[
    (
        "corral",
        &[
            "corral-auth",
            "corral-config",
            "corral-controller",
            "corral-ipc",
            "corral-manifest",
            "corral-memory",
            "corral-program",
            "corral-router",
            "corral-supervisor",
            "corral-syntax",
            "corral-sys",
        ],
    ),
    ("corral-embed", &["corral-channel", "corral-worker"]),
    ("corral-perl", &["corral-channel", "corral-config", "corral-embed", "corral-worker"]),
    ("corral-ruby", &["corral-channel", "corral-config", "corral-embed", "corral-worker"]),
    ("corral-php", &["corral-cgi", "corral-channel", "corral-config", "corral-embed", "corral-worker"]),
    ("corral-python", &["corral-channel", "corral-config", "corral-worker"]),
    ("corral-wasm", &["corral-channel", "corral-config", "corral-sys", "corral-worker"]),
    (
        "corral-router",
        &[
            "corral-auth",
            "corral-cgi",
            "corral-channel",
            "corral-config",
            "corral-http",
            "corral-ipc",
            "corral-script",
            "corral-syntax",
            "corral-sys",
        ],
    ),
    (
        "corral-controller",
        &[
            "corral-acme",
            "corral-auth",
            "corral-config",
            "corral-dashboard",
            "corral-http",
            "corral-ipc",
            "corral-metrics",
            "corral-script",
            "corral-sys",
        ],
    ),
    ("corral-acme", &["corral-config", "corral-ipc", "corral-syntax"]),
    ("corral-supervisor", &["corral-config", "corral-ipc", "corral-sys"]),
    ("corral-program", &["corral-cgi", "corral-config", "corral-ipc", "corral-sys", "corral-worker"]),
    ("corral-worker", &["corral-cgi", "corral-channel", "corral-config", "corral-ipc", "corral-sys"]),
    ("corral-ipc", &["corral-config", "corral-sys"]),
    ("corral-cgi", &["corral-channel", "corral-http"]),
    ("corral-channel", &["corral-sys"]),
    ("corral-manifest", &["corral-config"]),
    ("corral-dashboard", &[]),
    ("corral-memory", &[]),
    ("corral-metrics", &[]),
    ("corral-auth", &["corral-config"]),
    ("corral-config", &["corral-syntax"]),
    ("corral-http", &["corral-syntax"]),
    ("corral-script", &[]),
    ("corral-syntax", &[]),
    ("corral-sys", &[]),
    ("corral-tank", &[]),
    ("corral-testkit", &["corral-channel", "corral-http", "corral-ipc", "corral-sys"]),
];

#[test]
fn only_the_allowed_edges_exist() {
    for package in packages() {
        let name = package["name"].as_str().expect("a package has a name");
        let allowed = ALLOWED.iter().find(|(crate_name, _)| *crate_name == name);
        let (_, allowed) = allowed.unwrap_or_else(|| panic!("{name} is not in the table"));
        for edge in edges(&package) {
            assert!(allowed.contains(&edge.as_str()), "{name} must not know {edge}");
        }
    }
}

#[test]
fn the_table_names_no_edge_that_is_gone() {
    let packages = packages();
    for (name, allowed) in ALLOWED {
        let package = packages.iter().find(|package| package["name"] == *name);
        let found = edges(package.unwrap_or_else(|| panic!("{name} is gone")));
        for edge in *allowed {
            assert!(found.contains(*edge), "{name} does not need {edge} any more");
        }
    }
}

/// The other crates of the workspace that a package is built from.
fn edges(package: &Value) -> BTreeSet<String> {
    let dependencies = package["dependencies"].as_array().expect("a list");
    let names =
        dependencies.iter().filter(|dependency| dependency["kind"] != "dev" && !dependency["path"].is_null());
    names.filter_map(|dependency| dependency["name"].as_str().map(str::to_owned)).collect()
}

fn packages() -> Vec<Value> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--offline", "--format-version", "1"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("cargo runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("cargo prints JSON");
    metadata["packages"].as_array().expect("a list").clone()
}
