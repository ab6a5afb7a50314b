//! Folders with devices, FIFOs, sockets and whole machines: looking at them ends.

use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::process::Command;

use corral_testkit::{Run, Site, site};

use crate::serve;

/// A folder in which every name that is looked into is something that never ends, or never begins.
fn traps() -> Site {
    let site = site().file("index.html", "page");
    for (number, name) in [
        "Procfile",
        "package.json",
        "composer.json",
        "composer.lock",
        "artisan",
        "app.py",
        "wsgi.py",
        "manage.py",
        "go.mod",
        "main.go",
        "config.ru",
        "app.rb",
        "app.psgi",
        "shop.pl",
        "server.js",
        "a.wasm",
        "a.war",
        ".htaccess",
        "index.php",
        "sub/index.php",
    ]
    .into_iter()
    .enumerate()
    {
        let path = site.path(name);
        std::fs::create_dir_all(path.parent().expect("it has one")).expect("make the folder");
        match number % 3 {
            0 => assert!(Command::new("mkfifo").arg(&path).status().expect("mkfifo is there").success()),
            1 => symlink("/dev/zero", &path).expect("make a link"),
            _ => drop(UnixListener::bind(&path).expect("make a socket")),
        }
    }
    site
}

#[test]
fn what_is_not_a_file_is_not_read() {
    let site = traps();
    let (run, mut client) = serve(&site, &[]);
    client.get("/").expect(200).expect_body("page");
    for path in ["/server.js", "/composer.json", "/sub/index.php", "/a.wasm"] {
        let status = client.get(path).status;
        assert!(matches!(status, 403 | 404), "{path}: {status}");
    }
    assert!(run.interrupt().status.success());
    let (_run, mut client) = serve(&site, &["--static"]);
    client.get("/").expect(200).expect_body("page");
    assert!(matches!(client.get("/server.js").status, 403 | 404));
}

#[test]
fn the_whole_machine_is_not_taken_for_a_site() {
    Run::to_end(&["run", "/"]).expect_one_line(&[
        "\"/\" holds the whole machine",
        "name the folder",
        "--static /",
    ]);
    for folder in ["/dev", "/proc", "/sys"] {
        // Whatever is made of it, it is found out soon.
        Run::to_end(&["run", folder, "--print-config"]);
    }
}
