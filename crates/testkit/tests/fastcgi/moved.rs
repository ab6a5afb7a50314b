//! The configurations of the manual's pages for people who come from nginx or Apache with a pool of php-fpm.

use std::fs;

use corral_testkit::{Daemon, Origin, PhpFpm, Request, Site, daemon, eventually, site};

use crate::STATIC;

const NGINX: &str = include_str!("../../../../docs/src/coming-from/nginx-php-fpm.md");
const APACHE: &str = include_str!("../../../../docs/src/coming-from/apache.md");

/// The configuration of a page, for this pool and this site.
fn serve(page: &str, fpm: &PhpFpm, site: &Site, mirror: &str) -> Daemon {
    let mut blocks = page.split("```json\n").skip(1).filter_map(|rest| rest.split("```").next());
    let text = blocks.next().expect("the page has a configuration");
    let text = text
        .replace("unix:/run/php/php8.2-fpm.sock", fpm.address())
        .replace("/srv/site/public", &site.root())
        .replace("/run/site/maintenance", &site.path("run/maintenance").display().to_string())
        .replace("http://127.0.0.1:9001", mirror);
    let server = daemon().start_unconfigured();
    let text = text.replace("*:80", &server.address().to_string());
    server.control().put_text("/config", &text).expect_done();
    server
}

fn from(target: &str) -> Request {
    Request::get(target).field("Host", "example.com")
}

#[track_caller]
fn check(page: &str) {
    let script = "<?php if (str_contains($_SERVER['REQUEST_URI'], 'missing')) http_response_code(404);
        echo 'front ', strtok($_SERVER['REQUEST_URI'], '?');";
    let site = site()
        .file("index.php", script)
        .file("style.css", "body {}")
        .file(".env", "secret")
        .file("maintenance.html", "<p>back soon")
        .writable_folder("run");
    let shadow = Origin::saying("copy");
    for fpm in [PhpFpm::at_socket(STATIC), PhpFpm::at_port(STATIC)] {
        let server = serve(page, &fpm, &site, &shadow.url());
        server
            .send(&from("/"))
            .expect(200)
            .expect_body("front /")
            .expect_field("X-Frame-Options", "SAMEORIGIN");
        server.send(&from("/index.php")).expect(200).expect_body("front /index.php");
        let style = server.send(&from("/style.css")).expect(200).expect_body("body {}");
        style.expect_field("X-Content-Type-Options", "nosniff");
        server.send(&from("/.env")).expect(404);
        server.send(&Request::get("/").field("Host", "other.example")).expect(404);
        check_api(&server);
        let refused = (0..30).map(|_| server.send(&from("/login")).status).filter(|status| *status == 429);
        assert!(refused.count() > 0, "{}", server.log());
        let flag = site.path("run/maintenance");
        fs::write(&flag, "").expect("the folder is there");
        let closed = server.send(&from("/style.css")).expect(503).expect_body("<p>back soon");
        closed.expect_field("Retry-After", "300");
        fs::remove_file(&flag).expect("it is there");
        server.send(&from("/")).expect(200);
    }
}

#[track_caller]
fn check_api(server: &Daemon) {
    let origin = "https://app.example.org";
    let preflight = Request::new("OPTIONS", "/api/x").field("Host", "example.com").field("Origin", origin);
    let reply = server.send(&preflight.field("Access-Control-Request-Method", "PUT")).expect(204);
    reply
        .expect_field("Access-Control-Allow-Origin", origin)
        .expect_field("Access-Control-Allow-Credentials", "true");
    let reply = server.send(&from("/api/missing").field("Origin", origin)).expect(404);
    reply.expect_body("front /api/missing").expect_field("Access-Control-Allow-Origin", origin);
    let reply = server.send(&from("/api/x").field("Origin", "https://evil.test")).expect(200);
    reply.expect_no_field("Access-Control-Allow-Origin").expect_field("Vary", "Origin");
}

#[test]
fn a_pool_behind_nginx_is_moved_in_one_step() {
    check(NGINX);
}

#[test]
fn a_pool_behind_apache_is_moved_in_one_step() {
    check(APACHE);
}

/// The copies of the page for people who come from nginx.
#[test]
fn the_api_is_mirrored() {
    let site = site().file("index.php", "<?php echo 1;").writable_folder("run");
    let (fpm, shadow) = (PhpFpm::at_socket(STATIC), Origin::saying("copy"));
    let server = serve(NGINX, &fpm, &site, &shadow.url());
    server.send(&from("/api/x")).expect(200);
    eventually("the copy is answered", || {
        let mirrors = server.control().get("/status/mirrors").json();
        mirrors.as_object()?.values().any(|one| one["answered"] == 1).then_some(())
    });
}
