//! FastAPI on Starlette from Debian's packages: routes, validation, streams, uploads, background work, files, rooms of
//! a chat by WebSocket; on uvloop and on asyncio's own loop.

use corral_testkit::{Daemon, Request, Site, WebSocket, daemon, site};
use serde_json::json;

use super::fixture;

/// Both loops serve it alike.
fn each_loop(test: impl Fn(&Site, &Daemon)) {
    for is_own in [false, true] {
        let mut site = site().copy_of(&fixture("fastapi")).writable_folder("files");
        if is_own {
            site = site.file("uvloop.py", "raise ImportError('not here')");
        }
        let server = daemon()
            .config(json!({ "applications": { "shop": {
                "type": "python", "path": site.root(), "module": "shop", "callable": "app"
            } } }))
            .start();
        let found = server.get("/shop/loop").expect(200).json();
        assert_eq!(found["loop"], if is_own { "asyncio" } else { "uvloop" });
        test(&site, &server);
    }
}

#[test]
fn requests_are_checked_and_answered() {
    each_loop(|_site, server| {
        let mut client = server.connect();
        let item = Request::post("/shop/items").field("Content-Type", "application/json");
        let made = client.send(&item.clone().body(r#"{"name": "saddle", "price": 99.5}"#)).expect(201);
        assert_eq!(made.json(), json!({ "id": 1, "name": "saddle", "price": 99.5 }));
        assert_eq!(client.get("/shop/items/1").expect(200).json()["name"], "saddle");
        let refused = client.send(&item.body(r#"{"name": "saddle", "price": "much"}"#)).expect(422);
        assert_eq!(refused.json()["detail"][0]["loc"], json!(["body", "price"]));
        client.get("/shop/items/7").expect(404).expect_body(r#"{"detail":"no such item"}"#);
        client.get("/shop/nowhere").expect(404);
    });
}

#[test]
fn streams_files_and_work_behind_the_response() {
    each_loop(|site, server| {
        let mut client = server.connect();
        client.get("/shop/count").expect(200).expect_body("0 1 2 3 4 5 6 7 8 9 ");
        let content: Vec<u8> = (0..=250).cycle().take(300_000).collect();
        client.send(&Request::new("PUT", "/shop/files/a").body(&content)).expect(200).expect_body("300000");
        let file = client.get("/shop/files/a").expect(200).expect_field("Content-Length", "300000");
        assert!(file.body == content);
        client.get("/shop/order").expect(200).expect_body("\"ordered\"");
        corral_testkit::eventually("the work behind it is done", || {
            site.path("files/ordered").exists().then_some(())
        });
        client.get("/shop/fail").expect(500);
        server.expect_log("GET /shop/fail: Traceback");
    });
}

#[test]
fn a_chat_has_rooms() {
    each_loop(|_site, server| {
        let open = |room: &str| {
            WebSocket::open(server.connect(), &WebSocket::request(&format!("/shop/chat/{room}")))
        };
        let (mut ann, mut ben, mut other) = (open("a"), open("a"), open("b"));
        ann.expect_text("1 here");
        ben.expect_text("2 here");
        other.expect_text("1 here");
        ann.send_text("hello");
        ann.expect_text("a: hello");
        ben.expect_text("a: hello");
        drop(ben);
        other.send_text("nobody else");
        other.expect_text("b: nobody else");
        server.connect().send(&WebSocket::request("/shop/chat/secret")).expect(403);
    });
}
