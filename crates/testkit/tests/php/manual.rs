//! The manual's configurations of sites in PHP keep in what `corral run` keeps in: no source is shown, no upload is
//! run.

use corral_testkit::{Daemon, Site, daemon, site};
use serde_json::Value;

const WORDPRESS: &str = include_str!("../../../../docs/src/sites/wordpress.md");
const FIRST_SITE: &str = include_str!("../../../../docs/src/first-site.md");
const DEPLOYMENTS: &str = include_str!("../../../../docs/src/deployments.md");
const PHP: &str = include_str!("../../../../docs/src/configuration/php.md");

/// Text that no client may see, in a file that would run if it were a script.
const SECRET: &str = "<?php /* SECRET */ echo 'ran ', $_SERVER['SCRIPT_NAME'];";

/// Files that editors, tools and people leave in a folder.
const PRIVATE: &[&str] = &[
    ".env",
    ".htaccess",
    ".git/config",
    "sub/.svn/entries",
    ".hidden.php",
    "index.php~",
    "index.php.bak",
    "index.php.old",
    "index.php.orig",
    "index.php.save",
    ".index.php.swp",
    "index.php.swp",
    "index.PHP.BAK",
    "dump.sql",
    "data.sqlite",
    "data.sqlite3",
    "data.db",
    "debug.log",
    "php.ini",
    "composer.json",
    "composer.lock",
    "library.inc",
    "template.phtml",
    "archive.phar",
    "old.php5",
    "tool.py",
    "tool.rb",
    "tool.pl",
    "config.ru",
    "app.psgi",
];

/// The first configuration of a page that has applications, for this folder, and for the user that runs the test.
fn serve(page: &str, folder: &str, site: &Site) -> Daemon {
    let blocks = page.split("```json\n").skip(1).filter_map(|rest| rest.split("```").next());
    let text =
        blocks.into_iter().find(|text| text.contains("\"applications\"") && text.contains("\"share\""));
    let text = text.expect("the page has a configuration").replace(folder, &site.root());
    let mut document: Value = serde_json::from_str(&text).expect("the manual's JSON is right");
    document.as_object_mut().expect("it is an object").remove("listeners").expect("it has listeners");
    for application in document["applications"].as_object_mut().expect("it has applications").values_mut() {
        let application = application.as_object_mut().expect("it is an object");
        application.retain(|option, _| !matches!(option.as_str(), "user" | "group"));
    }
    daemon().config(document).start()
}

/// Fails if the reply shows a file that lies there. A front controller may answer whatever it likes.
#[track_caller]
fn expect_kept_in(server: &Daemon, target: &str) {
    let response = server.get(target);
    let text = response.text();
    assert!(!text.contains("SECRET") && !text.contains("ran"), "{target}\n{response}");
    assert!(response.status == 404 || text.starts_with("front"), "{target}\n{response}");
}

#[track_caller]
fn expect(server: &Daemon, target: &str, body: &str) {
    server.get(target).expect(200).expect_body(body);
}

/// A public folder with everything that should not be in it.
fn public(root: &str) -> Site {
    let path = |name: &str| format!("{root}{name}");
    let site = site()
        .file(&path("index.php"), "<?php echo 'front ', strtok($_SERVER['REQUEST_URI'], '?');")
        .file(&path("style.css"), "body {}")
        .file(&path("folder/index.html"), "index")
        .file(&path(".well-known/acme-challenge/token"), "token");
    for name in PRIVATE {
        site.write(&path(name), SECRET);
    }
    site
}

#[track_caller]
fn check(page: &str, folder: &str, root: &str) {
    let site = public(root);
    let server = serve(page, folder, &site);
    expect(&server, "/", "front /");
    expect(&server, "/a/pretty/path?x=1", "front /a/pretty/path");
    expect(&server, "/style.css", "body {}");
    expect(&server, "/folder/", "index");
    expect(&server, "/.well-known/acme-challenge/token", "token");
    for name in PRIVATE {
        expect_kept_in(&server, &format!("/{name}"));
        expect_kept_in(&server, &format!("/{name}/more"));
    }
    site.write(&format!("{root}other.PHP"), SECRET);
    for target in ["/other.PHP", "/%2eenv", "/x/../.env", "//.env", "/.git/", "/.git", "/index.php%7E"] {
        expect_kept_in(&server, target);
    }
}

#[test]
fn the_first_site_keeps_secrets_in() {
    check(FIRST_SITE, "/srv/site/public", "");
}

#[test]
fn the_recipe_for_wordpress_keeps_secrets_in() {
    check(WORDPRESS, "/srv/wordpress", "");
}

#[test]
fn deployments_keep_secrets_in() {
    check(DEPLOYMENTS, "/srv/site", "current/public/");
}

#[test]
fn wordpress_keeps_secrets_in_and_runs_no_upload() {
    let wordpress = [
        "wp-login.php",
        "wp-admin/index.php",
        "wp-admin/network/index.php",
        "wp-admin/user/index.php",
        "wp-admin/admin-ajax.php",
        "wp-content/plugins/a/a.php",
    ];
    let uploads = [
        "wp-content/uploads/a.php",
        "wp-content/uploads/2026/11/a.php",
        "wp-content/uploads/a.PHP",
        "wp-content/uploads/a.phtml",
        "wp-content/uploads/a.php7",
        "wp-content/cache/a.php",
        "wp-content/debug.log",
        "wp-config.php.bak",
    ];
    let site = public("");
    for name in wordpress {
        site.write(name, "<?php echo $_SERVER['SCRIPT_NAME'];");
    }
    for name in uploads {
        site.write(name, SECRET);
    }
    site.write("wp-content/uploads/2026/11/picture.png", "picture");
    let server = serve(PHP, "/srv/wordpress", &site);
    for name in wordpress {
        expect(&server, &format!("/{name}"), &format!("/{name}"));
    }
    for folder in ["/wp-admin/", "/wp-admin/network/", "/wp-admin/user/"] {
        expect(&server, folder, &format!("{folder}index.php"));
        server.get(folder.trim_end_matches('/')).expect(301).expect_field("Location", folder);
    }
    expect(&server, "/wp-content/uploads/2026/11/picture.png", "picture");
    expect(&server, "/2026/11/a-post/", "front /2026/11/a-post/");
    for name in uploads.iter().chain(PRIVATE) {
        expect_kept_in(&server, &format!("/{name}"));
        expect_kept_in(&server, &format!("/{name}/more"));
    }
}
