//! Laravel and Lumen: a small application each, run from `public/index.php`.

use corral_testkit::{Browser, Daemon, Request, Site, serve_recipe, serve_recipe_with, site};
use serde_json::json;

use super::{fixture, with_front_controller};

/// The application's folder, with the places that it writes to.
pub(super) fn laravel_site() -> Site {
    let folders = ["framework/sessions", "framework/views", "logs"];
    let site = site()
        .copy_of(&fixture("laravel"))
        .writable_folder("bootstrap/cache")
        .writable_folder("resources/views");
    folders.iter().fold(site, |site, folder| site.writable_folder(&format!("storage/{folder}")))
}

fn laravel() -> (Site, Daemon) {
    let site = laravel_site();
    let server = serve_recipe("laravel", "/srv/laravel", &site);
    (site, server)
}

fn post_json(target: &str, body: &serde_json::Value) -> Request {
    let request = Request::post(target).field("Content-Type", "application/json");
    request.field("Accept", "application/json").body(body.to_string())
}

#[test]
fn laravel_routes_answer() {
    let (_site, server) = laravel();
    server.get("/").expect(200).expect_body("A small application");
    let request = Request::get("/api/greeting/Ann%20Lee?wants=x%26y").field("Host", "example.com:8080");
    let found = server.send(&request).expect(200).expect_field("Content-Type", "application/json").json();
    assert_eq!(found["greeting"], "Hello, Ann Lee");
    assert_eq!(found["url"], "http://example.com:8080/api/greeting/Ann%20Lee?wants=x%26y");
    assert_eq!(found["wants"], "x&y");
    assert!(found["ip"].as_str().is_some_and(|ip| ip.starts_with("127.")), "{found}");
}

#[test]
fn laravel_reads_json_and_refuses_what_is_wrong() {
    let (_site, server) = laravel();
    let mut client = server.connect();
    let sum = client.send(&post_json("/api/sum", &json!({ "numbers": [1, 2, 3.5] }))).expect(200).json();
    assert_eq!(sum, json!({ "sum": 6.5 }));
    let refused = client.send(&post_json("/api/sum", &json!({ "numbers": "many" }))).expect(422).json();
    assert!(refused["errors"]["numbers"].is_array(), "{refused}");
    client.get("/nope").expect(404).expect_text("Not Found");
    client.get("/api/sum").expect(405);
}

#[test]
fn laravel_keeps_sessions_and_survives_its_failures() {
    let (_site, server) = laravel();
    let mut visitor = Browser::new(server.address().socket());
    for n in 1..=8 {
        assert_eq!(visitor.open("/visits").expect(200).json(), json!({ "visits": n }));
    }
    visitor.open("/fails").expect(500).expect_text("Server Error");
    server.expect_log("a failure in the application");
    assert_eq!(visitor.open("/visits").expect(200).json(), json!({ "visits": 9 }));
}

#[test]
fn lumen_routes_answer() {
    let site = site().copy_of(&fixture("lumen")).writable_folder("storage/logs");
    let server = with_front_controller(&site, "public").start();
    let mut client = server.connect();
    client.get("/").expect(200).expect_body("A small service");
    let found = client.get("/api/greeting/Ann?wants=x").expect(200).json();
    assert_eq!(found["greeting"], "Hello, Ann");
    assert_eq!(found["wants"], "x");
    let sum = client.send(&post_json("/api/sum", &json!({ "numbers": [1, 2, 3.5] }))).expect(200).json();
    assert_eq!(sum, json!({ "sum": 6.5 }));
    client.get("/nope").expect(404);
}

#[test]
fn symfony_routes_answer() {
    let site = site().copy_of(&fixture("symfony")).writable_folder("var").file("public/robots.txt", "robots");
    let server = serve_recipe_with("symfony", "/srv/symfony", &site, |config| {
        config["applications"]["symfony"]["environment"]["APP_DEBUG"] = json!("0");
    });
    let mut client = server.connect();
    let found = client.get("/greeting/Ann?wants=x%26y").expect(200).json();
    assert_eq!((&found["greeting"], &found["wants"]), (&json!("Hello, Ann"), &json!("x&y")));
    client.get("/stream").expect(200).expect_body("abc");
    client.get("/robots.txt").expect(200).expect_body("robots");
    client.get("/index.php").expect(404);
    client.get("/nope").expect(404);
    client.get("/fails").expect(500);
    let mut visitor = Browser::new(server.address().socket());
    for n in 1..=3 {
        assert_eq!(visitor.open("/visits").expect(200).json(), json!({ "visits": n }));
    }
}
