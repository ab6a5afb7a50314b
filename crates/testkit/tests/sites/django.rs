//! Django from Debian's package: forms, the administration, static files, a database.

use std::fs::{Permissions, set_permissions};
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use corral_testkit::{Browser, Daemon, Site, daemon, site};
use serde_json::json;

use super::fixture;

const PASSWORD: &str = "correct horse battery";

/// A new site with a database, an owner, and its static files in `public/static`.
fn guestbook() -> (Site, Daemon) {
    let site = site().copy_of(&fixture("django")).writable_folder("data");
    manage(&site, &["migrate", "--verbosity", "0"]);
    manage(&site, &["createsuperuser", "--noinput", "--username", "owner", "--email", "owner@example.com"]);
    manage(&site, &["collectstatic", "--noinput", "--verbosity", "0"]);
    // The application's user has not made the file.
    set_permissions(site.path("data/db.sqlite3"), Permissions::from_mode(0o666)).expect("it is ours");
    let server = daemon()
        .config(json!({
            "routes": [
                { "match": { "uri": "/static/*" }, "action": { "share": format!("{}/public$uri", site.root()) } },
                { "action": { "pass": "applications/guestbook" } }
            ],
            "applications": { "guestbook": {
                "type": "python", "path": site.root(), "module": "site_wsgi", "processes": 2, "threads": 2
            } }
        }))
        .start();
    (site, server)
}

#[track_caller]
fn manage(site: &Site, arguments: &[&str]) {
    let mut python = Command::new("/usr/bin/python3");
    python.arg("manage.py").args(arguments).env("DJANGO_SUPERUSER_PASSWORD", PASSWORD);
    let output = python.current_dir(site.path("")).output().expect("Python is installed");
    assert!(output.status.success(), "scripts/setup test; {arguments:?}: {output:?}");
}

/// The hidden field of a form.
#[track_caller]
fn token(visitor: &mut Browser, page: &str) -> String {
    visitor.open(page).expect(200).between("name=\"csrfmiddlewaretoken\" value=\"", "\"")
}

#[test]
fn visitors_sign_and_the_owner_administers() {
    let (_site, server) = guestbook();
    let mut visitor = Browser::new(server.address().socket());
    let own = token(&mut visitor, "/");
    let entry = [("csrfmiddlewaretoken", &*own), ("author", "Ann <b>"), ("text", "Hello & ü")];
    let page = visitor.submit("/", &entry).expect(200).expect_text("1 so far");
    page.expect_text("Ann &lt;b&gt; wrote Hello &amp; ü");
    visitor.submit("/", &[("csrfmiddlewaretoken", &own), ("author", "")]).expect(422);
    visitor.submit("/", &[("author", "Ann"), ("text", "without the token")]).expect(403);
    visitor.open("/export").expect(200).expect_body("Ann <b>: Hello & ü\n");

    let mut owner = Browser::new(server.address().socket());
    log_in(&mut owner, "wrong").expect_text("Please enter the correct username");
    log_in(&mut owner, PASSWORD).expect_text("Site administration").expect_text("Entries");
    owner.open("/admin/guestbook/entry/").expect(200).expect_text("Ann &lt;b&gt;: Hello");
    let own = token(&mut owner, "/admin/guestbook/entry/add/");
    let entry = [("csrfmiddlewaretoken", &*own), ("author", "Owner"), ("text", "Welcome"), ("_save", "Save")];
    owner.submit("/admin/guestbook/entry/add/", &entry).expect(200).expect_text("was added successfully");
    Browser::new(server.address().socket()).open("/").expect_text("2 so far");
}

#[track_caller]
fn log_in(owner: &mut Browser, password: &str) -> corral_testkit::Response {
    let token = token(owner, "/admin/");
    let fields = [("csrfmiddlewaretoken", &*token), ("username", "owner"), ("password", password)];
    owner.submit("/admin/login/?next=/admin/", &fields).expect(200)
}

#[test]
fn files_are_shared_and_failures_are_told() {
    let (_site, server) = guestbook();
    let style = server.get("/static/admin/css/base.css").expect(200).expect_field("Content-Type", "text/css");
    assert!(style.text().contains("body"), "{style}");
    server.get("/static/no.css").expect(404);
    server.get("/no/such/page").expect(404);
    server.get("/fail").expect(500).expect_text("Server Error");
    server.expect_log("RuntimeError: an error of the page");
    server.get("/").expect(200);
}
