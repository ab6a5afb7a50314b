//! Surroundings of a component: files, the environment, the log, other servers.

use corral_testkit::{Authority, Origin, daemon, site};
use serde_json::json;

use super::{probe, serve};

/// Options: applications.{N}.access.filesystem
#[test]
fn folders_are_reached_where_they_are() {
    let site =
        site().file("data/a.txt", "from the file").file("other/b.txt", "secret").writable_folder("out");
    let mut app = probe();
    app["access"] = json!({ "filesystem": [site.path("data"), site.path("out")] });
    let server = serve(&app);
    let get = |target: String| server.get(&target).expect(200).text();
    let root = site.root();
    assert_eq!(get(format!("/read?path={root}/data/a.txt")), "from the file");
    assert_eq!(get(format!("/write?path={root}/out/c.txt&text=hello")), "written");
    assert_eq!(site.read("out/c.txt"), "hello");
    for path in ["other/b.txt", "data/../other/b.txt", "data/nothing.txt"] {
        let text = get(format!("/read?path={root}/{path}"));
        assert!(text.starts_with("failed: "), "{path}: {text}");
    }
}

#[test]
fn without_folders_there_are_no_files() {
    let site = site().file("a.txt", "secret");
    let server = serve(&probe());
    let text = server.get(&format!("/read?path={}/a.txt", site.root())).expect(200).text();
    assert!(text.starts_with("failed: "), "{text}");
}

/// A link in a folder leads nowhere else.
#[test]
fn links_do_not_lead_out() {
    let site = site().file("data/a.txt", "inside").file("secret.txt", "outside");
    std::os::unix::fs::symlink("../secret.txt", site.path("data/link")).expect("a link");
    std::os::unix::fs::symlink("a.txt", site.path("data/inner")).expect("a link");
    let mut app = probe();
    app["access"] = json!({ "filesystem": [site.path("data")] });
    let server = serve(&app);
    let get = |name: &str| server.get(&format!("/read?path={}/data/{name}", site.root())).expect(200).text();
    assert_eq!(get("inner"), "inside");
    assert!(get("link").starts_with("failed: "));
}

/// The bounds of the process are there besides.
#[test]
fn a_confined_process_runs_components() {
    let site = site().file("in/a.txt", "from the file").writable_folder("out");
    let mut app = probe();
    app["access"] = json!({ "filesystem": [site.path("in"), site.path("out")] });
    app["isolation"] = json!({
        "seccomp": "default",
        "filesystem": { "read": [site.path("in")], "write": [site.path("out")] }
    });
    let server = daemon().start_unconfigured();
    let config = server.with_listener(json!({ "applications": { "app": app } }));
    let reply = server.control().put("/config", &config);
    if reply.0.text().contains("this kernel has no Landlock") {
        eprintln!("skipped: this kernel has no Landlock");
        return;
    }
    reply.expect_done();
    let get = |target: String| server.get(&target).expect(200).text();
    let root = site.root();
    assert_eq!(get(format!("/read?path={root}/in/a.txt")), "from the file");
    assert_eq!(get(format!("/write?path={root}/out/c.txt&text=hello")), "written");
    assert!(get(format!("/write?path={root}/in/c.txt&text=hello")).starts_with("failed: "));
    server.get("/grow?mib=50").expect(200);
    assert_eq!(get("/dirty?mib=50".to_owned()), "0 bytes of somebody else");
    server.get("/trap").expect(500);
    server.get("/hello").expect(200);
}

#[test]
fn the_environment_is_the_application_s() {
    let mut app = probe();
    app["environment"] = json!({ "GREETING": "good day" });
    let server = serve(&app);
    server.get("/env?name=GREETING").expect(200).expect_body("good day");
    server.get("/env?name=NOTHING_OF_THE_KIND").expect(200).expect_body("environment variable not found");
}

#[test]
fn what_is_printed_is_in_the_log() {
    let server = serve(&probe());
    server.get("/print").expect(200).expect_body("printed, and read 0 bytes\n");
    server.expect_log("a line on standard output");
    server.expect_log("a line on standard error");
}

#[test]
fn output_goes_where_it_is_sent() {
    let site = site().writable_folder("log");
    let mut app = probe();
    app["stdout"] = json!(site.path("log/out"));
    app["stderr"] = json!(site.path("log/err"));
    let server = serve(&app);
    server.get("/print").expect(200);
    assert_eq!(site.read("log/out"), "a line on standard output\n");
    assert_eq!(site.read("log/err"), "a line on standard error\n");
}

#[test]
fn a_component_can_ask_other_servers() {
    let origin = Origin::saying("hello from elsewhere");
    let server = serve(&probe());
    for _ in 0..3 {
        let response = server.get(&format!("/fetch?authority={}&path=/a", origin.address())).expect(200);
        response.expect_body("200 hello from elsewhere");
    }
}

/// A server must have a certificate of the system's authorities, or of those that the environment names.
#[test]
fn servers_with_tls_have_to_prove_who_they_are() {
    let authority = Authority::new("our own");
    let site = site().file("ca.pem", authority.bundle().pem());
    let origin = Origin::start_tls(&authority.server("localhost", &["localhost"]), |peer| {
        peer.read_request();
        peer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nsecret");
    });
    let target = format!("/fetch?scheme=https&authority=localhost:{}&path=/a", origin.port());
    let mut app = probe();
    let text = serve(&app).get(&target).expect(200).text();
    assert!(text.starts_with("failed: "), "{text}");
    app["environment"] = json!({ "SSL_CERT_FILE": site.path("ca.pem") });
    serve(&app).get(&target).expect(200).expect_body("200 secret");
}

#[test]
fn a_server_that_is_not_there_is_an_error_for_the_component() {
    let server = serve(&probe());
    let text = server.get("/fetch?authority=127.0.0.1:1&path=/").expect(200).text();
    assert!(text.starts_with("failed: ") && text.contains("ConnectionRefused"), "{text}");
}
