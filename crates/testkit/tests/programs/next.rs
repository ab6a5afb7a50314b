//! A site on Next.js, built for production and run as it is meant to be.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;

use corral_testkit::{Load, Request, Site, serve_recipe, site};
use serde_json::json;

use crate::packages::npm;

const FILES: [&str; 8] = [
    "package.json",
    "next.config.js",
    "app/layout.js",
    "app/page.js",
    "app/counter.js",
    "app/slow/page.js",
    "app/api/order/route.js",
    "public/robots.txt",
];

/// The folder of the built site; built once in this target folder for what its files say.
fn built() -> PathBuf {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/next");
    let mut hasher = DefaultHasher::new();
    FILES.iter().for_each(|name| std::fs::read(source.join(name)).expect("it is there").hash(&mut hasher));
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("next-{:x}", hasher.finish()));
    let is_built = folder.join("is-built");
    if !is_built.exists() {
        for name in FILES {
            let to = folder.join(name);
            std::fs::create_dir_all(to.parent().expect("a file lies in a folder")).expect("make the folder");
            std::fs::copy(source.join(name), to).expect("copy a file");
        }
        npm(&folder, &[]);
        let mut next = Command::new("node");
        next.args(["node_modules/next/dist/bin/next", "build"]).env("NEXT_TELEMETRY_DISABLED", "1");
        let output = next.current_dir(&folder).output().expect("node is installed: scripts/setup test");
        assert!(output.status.success(), "next build: {output:?}");
        std::fs::write(is_built, "").expect("note that it is built");
    }
    folder
}

/// A deployment: the server with all that it needs, and in `public` the files for browsers.
fn deployed() -> Site {
    let built = built();
    let site = site().copy_of(&built.join(".next/standalone")).copy_parts_of(&built, &["public"]);
    std::fs::create_dir(site.path("public/_next")).expect("make the folder");
    let (from, to) = (built.join(".next/static"), site.path("public/_next/static"));
    let copied = Command::new("cp").arg("-r").args([from, to]).status();
    assert!(copied.expect("cp(1) is there").success(), "copy the files for browsers");
    site
}

#[test]
fn next_serves_pages_routes_and_files() {
    let site = deployed();
    let server = serve_recipe("nextjs", "/srv/nextjs", &site);
    let page = server.get("/?name=Ann").expect(200).expect_text("Hello, <!-- -->Ann");
    let page = page.expect_text("127.0.0.1").expect_text("pressed 0 times");
    let script = page.between("<script src=\"", "\"");
    let script = server.get(&script).expect(200).expect_text("webpack");
    script.expect_field("Cache-Control", "public, max-age=31536000, immutable");
    server.get("/robots.txt").expect(200).expect_text("User-agent");
    let order = Request::post("/api/order").field("Content-Type", "application/json");
    assert_eq!(
        server.send(&order.body(r#"{"prices": [1, 2.5]}"#)).expect(201).json(),
        json!({ "total": 3.5 })
    );
    server.get("/api/order").expect(500);
    server.expect_log("an error of the route");
    server.get("/no/such/page").expect(404).expect_text("could not be found");

    let mut client = server.connect();
    client.write(Request::get("/slow").encode());
    let begin = client.read_until_text("the early part");
    assert!(!begin.contains("the late part"), "{begin}");
    client.read_until_text("the late part");

    let load = Load::start(server.address().socket(), "/?name=many", 4);
    load.await_more(20);
    server.control().get("/control/applications/nextjs/restart").0.expect(200);
    load.await_more(20);
    let tally = load.stop();
    assert!(tally.failures.is_empty(), "{} good, but {:?}", tally.n_good, tally.failures);
}
