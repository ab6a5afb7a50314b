//! Errors without a body: the server's own have a page always, those of applications for browsers alone.

use corral_testkit::{Daemon, Request, Response, daemon, php_app, site};
use serde_json::json;

const HTML: &str = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";

const SCRIPT: &str = "<?php http_response_code((int) $_GET['s']); header('X-Own: kept');
    if (isset($_GET['type'])) header('Content-Type: ' . $_GET['type']);
    if (isset($_GET['encoding'])) header('Content-Encoding: gzip');
    if (isset($_GET['body'])) echo 'own words';";

fn start(format: &str) -> (corral_testkit::Site, Daemon) {
    let files =
        site().file("app.php", SCRIPT).file("dies.php", "<?php ini_set('display_errors', '0'); no();");
    let server = daemon().http(json!({ "error_format": format })).application(php_app(&files)).start();
    (files, server)
}

fn ask(server: &Daemon, target: &str, accept: &str) -> Response {
    server.send(&Request::get(target).field("Accept", accept))
}

#[test]
fn a_script_that_is_missing_has_a_page() {
    let (_files, server) = start("html");
    for accept in [HTML, "*/*", "application/json"] {
        let reply = ask(&server, "/none.php", accept).expect(404);
        reply.expect_text("Error 404").expect_field("Content-Type", "text/html");
    }
    let mut client = server.connect();
    let head = client.send(&Request::new("HEAD", "/none.php")).expect(404);
    head.expect_field("Content-Length", "54").expect_body("");
    let (_files, server) = start("negotiated");
    let reply = ask(&server, "/none.php", "application/json").expect(404);
    reply.expect_field("Content-Type", "application/problem+json");
}

#[test]
fn a_script_that_is_missing_leads_to_the_action_for_errors() {
    let files = site().file("a.php", "").file("404.html", "not here");
    let errors = json!({ "404": { "share": files.path("404.html") } });
    let server = daemon()
        .routes(json!([{ "action": { "pass": "applications/php", "errors": errors } }]))
        .application(php_app(&files))
        .start();
    server.get("/none.php").expect(404).expect_body("not here");
}

#[test]
fn browsers_get_a_page_for_an_empty_error_of_an_application() {
    let (_files, server) = start("html");
    for status in [400, 404, 418, 500, 503] {
        let page = ask(&server, &format!("/app.php?s={status}"), HTML).expect(status);
        page.expect_text(&format!("Error {status}"))
            .expect_field("X-Own", "kept")
            .expect_field("Content-Type", "text/html")
            .expect_field("Vary", "Accept");
    }
    ask(&server, "/dies.php", HTML).expect(500).expect_text("Error 500");
}

#[test]
fn programs_get_the_empty_body() {
    let (_files, server) = start("html");
    for accept in ["*/*", "application/json", "text/*", "application/json, text/html;q=0", ""] {
        let reply = ask(&server, "/app.php?s=404", accept).expect(404).expect_body("");
        reply.expect_field("X-Own", "kept").expect_no_field("Vary");
    }
    server.get("/app.php?s=404").expect(404).expect_body("");
}

#[test]
fn what_an_application_says_stays() {
    let (_files, server) = start("html");
    ask(&server, "/app.php?s=404&body", HTML).expect(404).expect_body("own words");
    ask(&server, "/app.php?s=404&type=application/json", HTML).expect(404).expect_body("");
    ask(&server, "/app.php?s=404&encoding", HTML).expect(404).expect_body("");
    ask(&server, "/app.php?s=204", HTML).expect(204);
    ask(&server, "/app.php?s=302", HTML).expect(302).expect_body("");
}

#[test]
fn problems_are_for_those_who_are_offered_them() {
    let (_files, server) = start("negotiated");
    let reply = ask(&server, "/app.php?s=404", "application/json").expect(404);
    reply
        .expect_field("Content-Type", "application/problem+json")
        .expect_field("Vary", "Accept")
        .expect_body(r#"{"status":404,"title":"Not Found"}"#);
    ask(&server, "/app.php?s=404", HTML).expect(404).expect_text("Error 404");
    ask(&server, "/app.php?s=404", "*/*").expect(404).expect_body("");
}
