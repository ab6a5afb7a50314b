//! Paths of files, and paths of the worker.

use corral_testkit::Request;

use super::project::Project;

#[test]
fn files_are_sent_and_everything_else_is_the_worker_s() {
    let project = Project::new();
    let _run = project.start();
    project.get("/app.css").expect(200).expect_field("Content-Type", "text/css").expect_body("a{}");
    project.get("/data.bin").expect(200).expect_body("data");
    for path in
        ["/", "/page", "/index.php", "/frankenphp-worker.php", "/.htaccess", "/INDEX.PHP", "/none.bin"]
    {
        assert_eq!(project.told(path).3, path);
    }
    project.connect().send(&Request::post("/app.txt").body("x")).expect(405);
}

#[test]
fn a_file_that_is_missing_gets_the_page_of_errors() {
    let project = Project::new();
    let _run = project.start();
    let reply = project.get("/none.css").expect(404);
    reply.expect_field("Content-Type", "text/html").expect_body("<h1>404 Not Found</h1>");
}

#[test]
fn texts_are_compressed() {
    let project = Project::new();
    let _run = project.start();
    let get =
        |encoding: &str| project.connect().send(&Request::get("/long").field("Accept-Encoding", encoding));
    get("gzip").expect(200).expect_field("Content-Encoding", "gzip");
    get("zstd").expect(200).expect_field("Content-Encoding", "zstd");
    assert!(project.get("/long").expect(200).all("Content-Encoding").next().is_none());
}

#[test]
fn a_name_is_for_its_host_only() {
    let project = Project::on_all_addresses();
    let port = project.address.socket().port();
    let project = project.with("CADDY_SERVER_SERVER_NAME", format!("http://shop.example:{port}"));
    let _run = project.start();
    let ask = |host: &str| project.connect().send(&Request::get("/").field("Host", host)).status;
    assert_eq!((ask(&format!("shop.example:{port}")), ask("other.example")), (200, 404));
}
