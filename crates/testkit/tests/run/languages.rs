//! Programs and web applications of each language, found by what lies in their folder.

use std::path::Path;
use std::time::Duration;

use corral_testkit::{component, site};

use crate::{serve, serve_within};

#[test]
fn a_program_with_a_start_script_is_served() {
    let server = include_str!("../fixtures/programs/server.js");
    let package = r#"{"scripts": {"start": "node server.js"}}"#;
    let site = site().file("server.js", server).file("package.json", package);
    let (mut run, mut client) = serve(&site, &["--workers", "2"]);
    run.expect_output("started by \"node server.js\"");
    assert!(client.get("/").expect(200).text().starts_with("hello from "));
    let environment = client.get("/environment").expect(200).json();
    let path = environment["PATH"].as_str().expect("it has one");
    assert!(
        path.starts_with(&format!("{}/node_modules/.bin:", site.path("").canonicalize().unwrap().display())),
        "{path}"
    );
    assert!(run.interrupt().status.success());
}

/// A Go program is compiled, gets the socket that its package wants, and leaves nothing in the folder.
#[test]
fn a_go_program_is_served() {
    let page = include_str!("../../../../docs/src/configuration/go.md");
    let code = page.split("```go\n").nth(1).and_then(|rest| rest.split("```").next()).expect("an example");
    let list =
        "module app\n\ngo 1.21\n\nrequire unit.nginx.org/go v0.0.0\n\nreplace unit.nginx.org/go => ./unit\n";
    let mut site = site().file("app.go", code).file("go.mod", list);
    // Where any user may read it.
    for name in ["go.mod", "body.go", "client.go", "response.go", "unit.go"] {
        let package = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../sdk/go");
        let text = std::fs::read(package.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
        site = site.file(&format!("unit/{name}"), text);
    }
    let (mut run, mut client) = serve_within(Duration::from_secs(240), &site, &["--workers", "1"]);
    run.expect_output("Go program in ");
    client.get("/").expect(200).expect_body("hello from unit.nginx.org/go\n");
    assert!(run.interrupt().status.success());
    assert_eq!(std::fs::read_dir(site.path("")).expect("the site is there").count(), 3);
}

#[test]
fn a_java_web_application_is_served() {
    let site = site().file("WEB-INF/web.xml", "<web-app/>").file("index.jsp", "<%= 6 * 7 %>");
    let (mut run, mut client) = serve(&site, &["--workers", "1"]);
    run.expect_output("Java web application ");
    run.expect_output("Java on Tomcat 9.");
    client.get("/").expect(200).expect_body("42");
    client.get("/WEB-INF/web.xml").expect(404);
    assert!(run.interrupt().status.success());
}

/// Without them being given away as text.
#[test]
fn pages_of_java_alone_are_served() {
    let site = site().file("index.jsp", "<%= 6 * 7 %>");
    let (mut run, mut client) = serve(&site, &["--workers", "1"]);
    run.expect_output("Java web application ");
    client.get("/").expect(200).expect_body("42");
    client.get("/index.jsp").expect(200).expect_body("42");
    assert!(run.interrupt().status.success());
}

#[test]
fn a_component_is_served() {
    let content = std::fs::read(component("older")).expect("the component");
    let site = site().file("app.wasm", content);
    let (mut run, mut client) = serve(&site, &["--workers", "2"]);
    run.expect_output("app.wasm; WebAssembly 0.2, 2 workers");
    client.get("/").expect(200).expect_body("Hello from WASI 0.2.0\n");
    assert!(run.interrupt().status.success());
}
