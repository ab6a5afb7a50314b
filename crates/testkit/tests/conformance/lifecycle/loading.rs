//! Applications that take long to load, and what is served meanwhile.

use corral_testkit::{Daemon, Site, daemon, eventually, php_app, site};
use serde_json::json;

use super::{PROTOTYPE, WORKER};

/// A site beside an application that loads until there is a file `gate`, or fails if that says so.
fn loading_site() -> Site {
    let preload = "<?php for ($i = 0; $i < 3000 && !file_exists(__DIR__ . '/gate'); $i++) { usleep(10000); \
        clearstatcache(); } if (file_get_contents(__DIR__ . '/gate') === 'fail') { throw new Exception('it does not \
        load'); }";
    site()
        .file("index.php", "<?php echo 'x';")
        .file("a.txt", "x")
        .file("preload.php", preload)
        .file("gate", "")
}

/// Starts it when it loads at once.
fn loading(site: &Site, n_workers: u32) -> Daemon {
    let preload = site.path("preload.php");
    let app = php_app(site).admin("opcache.preload", preload.to_str().expect("UTF-8")).processes(n_workers);
    let routes = json!([
        { "match": { "uri": "*.txt" }, "action": { "share": format!("{}$uri", site.root()) } },
        { "action": { "pass": "applications/php" } }
    ]);
    let server = daemon().application(app).routes(routes).start();
    server.get("/").expect(200);
    server
}

#[test]
fn what_needs_no_application_is_served_while_one_loads_and_its_requests_wait() {
    let site = loading_site();
    let mut server = loading(&site, 2);
    server.stop();
    std::fs::remove_file(site.path("gate")).expect("it is there");
    server.restart();
    server.get("/a.txt").expect(200);
    let mut waiting = server.begin_all("/", 10);
    eventually("all of them wait", || {
        (server.control().get("/status/applications/php/requests/active").json() == 10).then_some(())
    });
    server.get("/a.txt").expect(200);
    server.expect_processes(WORKER, 0);
    site.write("gate", "");
    for client in &mut waiting {
        client.read_response().expect(200).expect_text("x");
    }
    server.expect_processes(WORKER, 2);
    assert_eq!(server.control().get("/status/applications/php/processes/starting").json(), 0);
}

#[test]
fn requests_that_wait_for_an_application_that_fails_to_load_get_503() {
    let site = loading_site();
    let mut server = loading(&site, 2);
    server.stop();
    std::fs::remove_file(site.path("gate")).expect("it is there");
    server.restart();
    let mut waiting = server.begin_all("/", 5);
    eventually("all of them wait", || {
        (server.control().get("/status/applications/php/requests/active").json() == 5).then_some(())
    });
    site.write("gate", "fail");
    for client in &mut waiting {
        client.read_response().expect(503);
    }
    server.expect_log("it does not load");
    server.get("/").expect(503);
    server.get("/a.txt").expect(200);
    site.write("gate", "");
    eventually("it is tried again", || (server.get("/").status == 200).then_some(()));
    server.expect_processes(WORKER, 2);
}

#[test]
fn a_change_waits_for_its_application_and_fails_with_it() {
    let site = loading_site();
    let server = loading(&site, 1);
    site.write("gate", "fail");
    let app = server.control().get("/config/applications/php").json();
    let reply = server.control().put("/config/applications/other", &app);
    reply.expect_refused(500, "Failed to apply new configuration.");
    server.get("/").expect(200);
}

/// The router that comes next has everything but the application at once.
#[test]
fn a_router_is_replaced_while_an_application_does_not_load() {
    let site = loading_site();
    let server = loading(&site, 2);
    site.write("gate", "fail");
    server.kill(server.expect_processes(PROTOTYPE, 1)[0]);
    server.expect_log("it does not load");
    std::fs::remove_file(site.path("gate")).expect("it is there");
    server.kill(server.expect_processes("router", 1)[0]);
    server.get("/a.txt").expect(200);
    site.write("gate", "");
    eventually("the application is back", || (server.get("/").status == 200).then_some(()));
    server.expect_processes(WORKER, 2);
}
