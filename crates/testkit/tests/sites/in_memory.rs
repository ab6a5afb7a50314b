//! Laravel, Lumen and Symfony in memory: a loop around each, written as their drivers for FrankenPHP are.

use std::collections::BTreeSet;

use corral_testkit::{Browser, Daemon, Load, Site, daemon, php_app, site};
use serde_json::{Value, json};

use super::fixture;
use super::frameworks::laravel_site;

/// Serves `public` of a site by a worker's script in it.
fn serve(site: &Site, worker: Value, n_processes: u32) -> Daemon {
    let app = php_app(site).with("root", json!(site.path("public"))).with("worker", worker);
    daemon().application(app.processes(n_processes)).start()
}

fn laravel(n_processes: u32) -> (Site, Daemon) {
    let site = laravel_site();
    let server = serve(&site, json!({ "script": "worker.php" }), n_processes);
    (site, server)
}

#[test]
fn laravel_answers_from_memory() {
    let (_site, server) = laravel(1);
    server.get("/").expect(200).expect_body("A small application");
    for name in ["Ann", "Bob", "Cleo"] {
        let found = server.get(&format!("/api/greeting/{name}?wants={name}")).expect(200).json();
        assert_eq!((&found["greeting"], &found["wants"]), (&json!(format!("Hello, {name}")), &json!(name)));
    }
    server.get("/nope").expect(404);
    server.get("/fails").expect(500);
    server.get("/").expect(200);
    server.expect_processes("\"php\" worker", 1);
}

#[test]
fn visitors_of_laravel_have_their_own_sessions() {
    let (_site, server) = laravel(2);
    let address = server.address().socket();
    let mut visitors: Vec<_> = (0..3).map(|_| Browser::new(address)).collect();
    for n in 1..=8 {
        for visitor in &mut visitors {
            assert_eq!(visitor.open("/visits").expect(200).json(), json!({ "visits": n }));
        }
    }
}

#[test]
fn laravel_loses_nothing_in_restarts() {
    let (_site, server) = laravel(2);
    let load = Load::start(server.address().socket(), "/api/greeting/Ann", 4);
    for _ in 0..3 {
        load.await_more(20);
        server.control().get("/control/applications/php/restart").0.expect(200);
    }
    assert_eq!(load.stop().failures, Vec::<String>::new());
}

#[test]
fn lumen_answers_from_memory() {
    let site = site().copy_of(&fixture("lumen")).writable_folder("storage/logs");
    let server = serve(&site, json!({ "script": "worker.php" }), 1);
    for name in ["Ann", "Bob"] {
        let found = server.get(&format!("/api/greeting/{name}?wants={name}")).expect(200).json();
        assert_eq!((&found["greeting"], &found["wants"]), (&json!(format!("Hello, {name}")), &json!(name)));
    }
    server.get("/nope").expect(404);
}

fn symfony(env: &Value, n_processes: u32) -> (Site, Daemon) {
    let site = site().copy_of(&fixture("symfony")).writable_folder("var");
    let worker = json!({ "script": "index.php", "env": env });
    let server = serve(&site, worker, n_processes);
    (site, server)
}

fn in_memory(more: &Value) -> Value {
    let mut env = json!({ "APP_RUNTIME": "App\\InMemory", "APP_ENV": "prod", "APP_DEBUG": "0" });
    env.as_object_mut().expect("an object").extend(more.as_object().cloned().unwrap_or_default());
    env
}

#[test]
fn symfonys_runtime_answers_from_memory() {
    let (_site, server) = symfony(&in_memory(&json!({})), 1);
    for n in 1..=4 {
        let found = server.get(&format!("/greeting/Ann?wants={n}")).expect(200).json();
        assert_eq!(
            (&found["greeting"], &found["wants"], &found["served"]),
            (&json!("Hello, Ann"), &json!(n.to_string()), &json!(n))
        );
    }
    server.get("/stream").expect(200).expect_body("abc");
    server.get("/nope").expect(404);
    server.get("/fails").expect(500);
    assert_eq!(server.get("/greeting/Ann").expect(200).json()["served"], 5);
    let mut visitors = [Browser::new(server.address().socket()), Browser::new(server.address().socket())];
    for n in 1..=3 {
        for visitor in &mut visitors {
            assert_eq!(visitor.open("/visits").expect(200).json(), json!({ "visits": n }));
        }
    }
}

#[test]
fn symfonys_loop_has_an_end() {
    let (_site, server) = symfony(&in_memory(&json!({ "FRANKENPHP_LOOP_MAX": "2" })), 1);
    let pids: Vec<_> =
        (0..6).map(|_| server.get("/greeting/Ann").expect(200).json()["pid"].to_string()).collect();
    assert_eq!(pids.iter().collect::<BTreeSet<_>>().len(), 3, "{pids:?}");
}

/// The script of a classic front controller has no loop.
#[test]
fn symfony_without_a_loop_is_refused_with_the_reason() {
    let site = site().copy_of(&fixture("symfony")).writable_folder("var");
    let env = json!({ "APP_ENV": "prod", "APP_DEBUG": "0" });
    let app = php_app(&site).with("root", json!(site.path("public")));
    let app = app.with("worker", json!({ "script": "index.php", "env": env })).value();
    let detail = daemon().start_unconfigured().expect_refused(&app);
    assert!(detail.contains("before it called corral_handle_request()"), "{detail}");
}
