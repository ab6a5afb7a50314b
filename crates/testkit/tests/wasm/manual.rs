//! The example of the manual's page about WebAssembly.

use corral_testkit::{component, daemon};
use serde_json::Value;

const PAGE: &str = include_str!("../../../../docs/src/configuration/webassembly.md");

/// The component is built from the page, too.
#[test]
fn the_example_of_the_page_runs() {
    let (_, rest) = PAGE.split_once("```json\n").expect("the page has a configuration");
    let (text, _) = rest.split_once("```").expect("which has an end");
    let text = text.replace("/srv/site/site.wasm", &component("manual").display().to_string());
    let mut document: Value = serde_json::from_str(&text).expect("the manual's JSON is right");
    document.as_object_mut().expect("it is an object").remove("listeners").expect("it has listeners");
    let server = daemon().config(document).start();
    server.get("/a/b?c").expect(200).expect_body("Hello from /a/b\n");
    server.expect_processes("\"site\" worker", 4);
}
