//! Applications on frameworks of Node.js, which the npm registry has.

use corral_testkit::{Load, Request, Site, examples, serve_recipe, site};
use serde_json::{Value, json};

use crate::packages::packages;
use crate::{merge, program, with_app};

fn site_of(name: &str) -> Site {
    program(name).copy_parts_of(&packages(), &["node_modules"])
}

#[track_caller]
fn check(name: &str, greeting: &str, members: Value) {
    let site = site_of(name);
    let mut app = json!({
        "type": "http", "executable": "node", "arguments": [name], "working_directory": site.root(),
        "environment": { "NODE_ENV": "production" }, "processes": 2
    });
    merge(&mut app, members);
    let server = with_app(&app).start();
    server.get("/").expect(200).expect_body(greeting);
    let client = server.send(&Request::get("/client").field("Host", "shop.example")).expect(200).json();
    assert_eq!(client, json!({ "address": "127.0.0.1", "protocol": "http", "host": "shop.example" }));
    let order = Request::post("/json").field("Content-Type", "application/json").body(r#"{"n": [1, 2]}"#);
    assert_eq!(server.send(&order).expect(201).json(), json!({ "got": { "n": [1, 2] } }));
    server.get("/error").expect(500);
    server.get("/no/such/page").expect(404);
    let load = Load::start(server.address().socket(), "/", 4);
    load.await_more(50);
    server.control().get("/control/applications/app/restart").0.expect(200);
    load.await_more(50);
    let tally = load.stop();
    assert!(tally.failures.is_empty(), "{name}: {} good, but {:?}", tally.n_good, tally.failures);
}

#[test]
fn express_and_fastify_serve_as_they_are() {
    check("express.js", "hello from Express", json!({ "socket": "port" }));
    check("fastify.js", "hello from Fastify", json!({ "socket": "unix" }));
}

#[test]
fn the_recipe_for_express_serves_it() {
    let source = examples().join("express/srv/express");
    let site = site().copy_of(&source).copy_parts_of(&packages(), &["node_modules"]);
    let server = serve_recipe("express", "/srv/express", &site);
    server.get("/").expect(200).expect_body("hello 127.0.0.1 by http\n");
    server.get("/robots.txt").expect(200).expect_text("User-agent");
    server.get("/no/such/page").expect(404).expect_text("Cannot GET");
}
