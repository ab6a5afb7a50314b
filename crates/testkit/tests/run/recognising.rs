//! Folders of many kinds: which files are served, and what is refused with a remedy.

use corral_testkit::{Run, site};

use crate::serve;

#[track_caller]
fn check_refused(files: &[(&str, &str)], texts: &[&str]) {
    let site = files.iter().fold(site(), |site, (name, text)| site.file(name, text));
    Run::to_end(&["run", &site.root(), "--listen", "0"]).expect_one_line(&["is not an address"]);
    Run::to_end(&["run", &site.root()]).expect_one_line(&[texts, &["corral run --static"]].concat());
}

#[test]
fn sources_that_cannot_be_started_are_refused_with_the_remedy() {
    check_refused(
        &[("package.json", "{ \"scripts\": {} }"), ("index.html", "x")],
        &["without a \"start\" script"],
    );
    check_refused(&[("package.json", "{ \"a\" }"), ("index.html", "x")], &["not valid JSON", "mend it"]);
    check_refused(&[("main.py", "print('x')"), ("index.html", "x")], &["main.py", "\"app\""]);
    check_refused(&[("app.rb", "require 'sinatra'")], &["Sinatra", "run Sinatra::Application"]);
    check_refused(&[("composer.json", "{}"), ("src/a.txt", "")], &["composer.json", "index.php"]);
}

#[test]
fn sources_and_copies_are_not_served() {
    let site = site()
        .file("index.html", "page")
        .file("tool.py", "secret")
        .file("lib/a.RB", "secret")
        .file("composer.lock", "secret")
        .file("php.ini", "secret")
        .file("data/app.sqlite", "secret")
        .file("index.html.bak", "secret")
        .file("index.html~", "secret")
        .file("vendor/a/index.html", "secret");
    let paths = [
        "/tool.py",
        "/lib/a.RB",
        "/composer.lock",
        "/php.ini",
        "/data/app.sqlite",
        "/index.html.bak",
        "/index.html~",
        "/vendor/a/index.html",
        "/vendor/a/",
        "/tool%2Epy",
    ];
    let (run, mut client) = serve(&site, &[]);
    client.get("/").expect(200).expect_body("page");
    for path in paths {
        client.get(path).expect(404);
    }
    let note =
        "note: not served: composer.lock, index.html.bak, index.html~, php.ini, tool.py and 1 more; --static";
    assert!(run.stdout().contains(note), "{}", run.stdout());
    let (run, mut client) = serve(&site, &["--static"]);
    for path in paths {
        client.get(path).expect(200).expect_body("secret");
    }
    assert!(!run.stdout().contains("note:"), "{}", run.stdout());
}

/// A script among the packages is another project's program.
#[test]
fn scripts_of_packages_are_not_run() {
    let evil = "<?php echo 'run';";
    let site = site().file("index.php", "<?php echo 'own';").file("vendor/x/eval.php", evil);
    let (run, mut client) = serve(&site, &[]);
    client.get("/").expect(200).expect_body("own");
    client.get("/vendor/x/eval.php").expect(404);
    // What answers is not among what is not served.
    assert!(run.stdout().contains("note: not served: vendor;"), "{}", run.stdout());
}

#[test]
fn the_project_below_a_folder_is_served() {
    let application = "def application(environ, start_response):\n    start_response('200 OK', [])\n    \
                       return [b'shop']\n";
    let site =
        site().file("README.md", "x").file("shop/manage.py", "").file("shop/shop/wsgi.py", application);
    let (run, mut client) = serve(&site, &["--workers", "1"]);
    client.get("/").expect(200).expect_body("shop");
    client.get("/README.md").expect(200).expect_body("shop");
    assert!(run.stdout().starts_with("Django in "), "{}", run.stdout());
}

#[test]
fn a_front_controller_in_pub_and_a_hosted_folder_are_found() {
    let front = "<?php echo 'front ', $_SERVER['REQUEST_URI'];";
    let magento = site().file("bin/magento", "").file("index.php", "old").file("pub/index.php", front);
    let (run, mut client) = serve(&magento, &["--workers", "1"]);
    client.get("/checkout").expect(200).expect_body("front /checkout");
    assert!(run.stdout().starts_with("Magento in "), "{}", run.stdout());
    let hosted = site().file("public_html/index.html", "page").file("secret.txt", "secret");
    let (_run, mut client) = serve(&hosted, &[]);
    client.get("/").expect(200).expect_body("page");
    client.get("/secret.txt").expect(404);
}

#[test]
fn programs_without_a_start_script_are_started() {
    let server = "require('http').createServer((q, r) => r.end('node')).listen(process.env.PORT)";
    let site = site().file("package.json", "{}").file("server.js", server);
    serve(&site, &["--workers", "1"]).1.get("/").expect(200).expect_body("node");
    let procfile = corral_testkit::site().file("web.js", server).file("Procfile", "web: node web.js\n");
    serve(&procfile, &["--workers", "1"]).1.get("/").expect(200).expect_body("node");
}

/// Whatever a browser does not need, and what an `.htaccess` denies, as DokuWiki's folder of data.
#[test]
fn what_no_browser_asks_for_and_what_is_denied_is_not_served() {
    let denied = "<IfModule mod_authz_core.c>\n    Require all denied\n</IfModule>\n";
    let mut site = site()
        .file("index.html", "page")
        .file("a.css", "page")
        .file("fonts/a.woff2", "page")
        .file("LICENSE", "page")
        .file("data/.htaccess", denied)
        .file("data/pages/start.txt", "secret")
        .file("data/a.php", "secret")
        .file(
            ".htaccess",
            "<Files \"install*\">\nDeny from all\n</Files>\n\
             <FilesMatch \"(?i)^(backup|dump).*\\.(txt|html)$\">\nRequire all denied\n</FilesMatch>\n\
             <Files ~ \"\\.tpl\\.html$\">\nDeny from all\n</Files>\n",
        )
        .file("Backup-1.txt", "secret")
        .file("sub/dump.html", "secret")
        .file("sub/page.tpl.html", "secret")
        .file("no-backup.txt", "page")
        .file("unclear/.htaccess", "<FilesMatch \"(?x) secret\">\nDeny from all\n</FilesMatch>\n")
        .file("unclear/a.css", "secret")
        .file("sub/install.txt", "secret");
    let names =
        ["cgi", "sh", "jsp", "java", "go", "wsgi", "yml", "toml", "conf", "key", "pem", "log", "swp", "lock"];
    for name in names {
        site = site.file(&format!("a.{name}"), "secret");
    }
    let (mut run, mut client) = serve(&site, &[]);
    run.expect_output("unclear/.htaccess is denied: <FilesMatch");
    for path in ["/", "/a.css", "/fonts/a.woff2", "/LICENSE", "/no-backup.txt"] {
        client.get(path).expect(200).expect_body("page");
    }
    for name in names {
        client.get(&format!("/a.{name}")).expect(404);
        client.get(&format!("/a.{}", name.to_uppercase())).expect(404);
    }
    for path in [
        "/data/pages/start.txt",
        "/data/",
        "/data/a.php",
        "/%64ata/pages/start.txt",
        "/sub/install.txt",
        "/Backup-1.txt",
        "/sub/dump.html",
        "/sub/page.tpl.html",
        "/unclear/a.css",
    ] {
        client.get(path).expect(403);
    }
}
