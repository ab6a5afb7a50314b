//! The manual's example.

use corral_testkit::{daemon, site};
use serde_json::Value;

use crate::{Level, compile};

const PAGE: &str = include_str!("../../../../docs/src/configuration/java.md");

/// The text of the block behind a line, of this language.
#[track_caller]
fn block(line: &str, language: &str) -> &'static str {
    let rest = PAGE.split(line).nth(1).unwrap_or_else(|| panic!("the page has no {line:?}"));
    let block = rest.split(&format!("```{language}\n")).nth(1).expect("it has a block");
    block.split("```").next().expect("it ends")
}

#[test]
fn a_first_application() {
    let site = site()
        .file("Hello.java", block("`Hello.java`:", "java"))
        .file("app/index.jsp", block("`app/index.jsp`:", "jsp"));
    compile(&site, Level::Javax, &["Hello.java"], "app/WEB-INF/classes");
    let document = block("## A first application", "json").replace("/srv/shop", &site.root());
    let mut document: Value = serde_json::from_str(&document).expect("the manual's JSON is right");
    document.as_object_mut().expect("it is an object").remove("listeners");
    let server = daemon().config(document).start();
    server.get("/hello").expect(200).expect_body("hello from a servlet\n");
    let page = server.get("/").expect(200).text();
    assert!(page.contains("hello from a page"), "{page}");
}
