//! The programs of the manual, with the configurations that stand beside them there.

use std::process::Command;

use corral_testkit::{Load, Site, daemon, site};
use serde_json::{Value, json};

use crate::packages::{own_folder, packages};

const HTTP: &str = include_str!("../../../../docs/src/configuration/http.md");
const GO: &str = include_str!("../../../../docs/src/configuration/go.md");
const NODE: &str = include_str!("../../../../docs/src/configuration/nodejs.md");

/// Where the manual's programs are.
const FOLDER: &str = "/srv/app";

/// The files of a section, and its configuration.
struct Example {
    files: Vec<(String, String)>,
    document: Value,
}

impl Example {
    /// The example under a heading: files behind a line with their name, and one document in JSON.
    fn find(page: &str, title: &str) -> Self {
        let section = page.split("\n## ").find(|section| section.lines().next() == Some(title));
        let section = section.unwrap_or_else(|| panic!("the page has no section {title:?}"));
        let pieces: Vec<&str> = section.split("```").collect();
        let mut example = Self { files: Vec::new(), document: Value::Null };
        for pair in pieces.chunks_exact(2) {
            let [text, block] = pair else { unreachable!("chunks are pairs") };
            let (language, content) = block.split_once('\n').expect("a block has lines");
            let name = text.trim_end().rsplit('\n').next().and_then(|line| line.strip_suffix("`:"));
            match name {
                Some(name) => {
                    example.files.push((name.trim_start_matches('`').to_owned(), content.to_owned()));
                }
                None if language == "json" => {
                    example.document = serde_json::from_str(content).expect("the manual's JSON is right");
                }
                None => panic!("{title}: a block is neither a file nor a configuration:\n{content}"),
            }
        }
        example
    }

    fn site(&self) -> Site {
        self.files.iter().fold(site(), |site, (name, content)| site.file(name, content))
    }
}

/// Runs an example and asks it something, also while it is restarted.
#[track_caller]
fn check(page: &str, title: &str, expected: &str, prepare: impl FnOnce(Site) -> Site) {
    let example = Example::find(page, title);
    let site = prepare(example.site());
    let document = example.document.to_string().replace(FOLDER, &site.root());
    let mut document: Value = serde_json::from_str(&document).expect("a path needs no escapes");
    let name =
        document["applications"].as_object().and_then(|apps| apps.keys().next()).expect("there is one");
    assert_eq!(document["listeners"], json!({ "*:8080": { "pass": format!("applications/{name}") } }));
    let restart = format!("/control/applications/{name}/restart");
    document.as_object_mut().expect("it is an object").remove("listeners");
    let server = daemon().config(document).start();
    server.get("/").expect(200).expect_body(expected);
    let load = Load::start(server.address().socket(), "/", 4);
    load.await_more(20);
    server.control().get(&restart).0.expect(200);
    load.await_more(20);
    let tally = load.stop();
    assert!(tally.failures.is_empty(), "{title}: {} good, but {:?}", tally.n_good, tally.failures);
}

#[test]
fn node() {
    check(HTTP, "Node.js", "hello from Node.js\n", |site| site);
}

#[test]
fn go() {
    check(HTTP, "Go", "hello from Go\n", |site| {
        build_go(&site, &["-o", "api", "main.go"]);
        site
    });
}

#[test]
fn mojolicious() {
    check(HTTP, "Mojolicious", "hello from Mojolicious\n", |site| site);
}

#[test]
fn gunicorn() {
    check(HTTP, "gunicorn", "hello from gunicorn\n", |site| site);
}

#[test]
fn puma() {
    check(HTTP, "Puma", "hello from Puma\n", |site| site);
}

#[test]
fn jetty() {
    check(HTTP, "Java", "hello from Jetty\n", |site| site);
}

#[test]
fn node_for_unit() {
    let prepare = |site: Site| site.copy_parts_of(&packages(), &["node_modules"]);
    check(NODE, "A first application", "hello from unit-http\n", prepare);
    check(NODE, "Without changing the code", "hello from Express\n", prepare);
    check(NODE, "WebSocket", "hello from the chat\n", prepare);
}

/// With the package of the repository, in the place that the manual names.
#[test]
fn go_for_unit() {
    check(GO, "A first application", "hello from unit.nginx.org/go\n", |site| {
        let list = site.read("go.mod");
        assert!(list.contains(GO_PACKAGE), "{list}");
        site.write("go.mod", list.replace(GO_PACKAGE, &own_folder("go").display().to_string()));
        build_go(&site, &["-o", "bin/app"]);
        site
    });
}

const GO_PACKAGE: &str = "/usr/local/share/corral/go";

fn build_go(site: &Site, arguments: &[&str]) {
    let mut go = Command::new("go");
    go.arg("build").args(arguments).current_dir(site.path("")).env("CGO_ENABLED", "0");
    let status = go.status().expect("go is installed: scripts/setup test");
    assert!(status.success(), "go build: {status}");
}
