//! A server in Go on descriptor 3, compiled for the test.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use corral_testkit::{Request, Site, build_go, site};
use serde_json::json;

use crate::{number_after, with_app};

/// The executable; compiled once in this target folder, if it has changed.
fn executable() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("server-go");
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/programs");
        build_go(&source, "server.go", &path);
        path
    })
}

pub(crate) fn server_in(site: &Site) -> PathBuf {
    let path = site.path("server");
    std::fs::copy(executable(), &path).expect("copy the executable");
    path
}

#[test]
fn net_http_serves_on_descriptor_3() {
    let site = site();
    let app = json!({
        "type": "http", "executable": "./server", "working_directory": site.root(), "processes": 2
    });
    server_in(&site);
    let server = with_app(&app).start();
    let text = server.get("/").expect(200).text();
    assert!(server.named("server").contains(&number_after(&text, "hello from ")), "{text}");
    assert!(text.ends_with("descriptor http"), "{text}");
    let body = vec![b'x'; 3_000_000];
    let settings = json!({ "http": { "max_body_size": 5_000_000 } });
    server.control().put("/config/settings", &settings).expect_done();
    assert!(server.send(&Request::post("/echo").body(&body)).expect(200).body == body);
    server.get("/flush").expect(200).expect_body("piece 0\npiece 1\npiece 2\n");
}
