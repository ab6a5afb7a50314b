//! Folders with scripts and pages: the files that are served of them, and the user that runs the scripts.

use std::os::unix::fs::{MetadataExt, chown};
use std::path::Path;

use corral_testkit::{Run, eventually, site};

use crate::serve;

#[test]
fn plain_scripts_are_served_as_they_lie() {
    let site = site()
        .file("page.php", "<?php echo 'page';")
        .file("a/index.php", "<?php echo 'index';")
        .file("a/page.php", "<?php echo $_SERVER['PATH_INFO'] ?? 'none';")
        .file("style.css", "a{}")
        .file(".env", "SECRET=1")
        .file(".git/config", "secret");
    let (run, mut client) = serve(&site, &[]);
    client.get("/page.php").expect(200).expect_body("page");
    client.get("/a/").expect(200).expect_body("index");
    client.get("/a/page.php/info").expect(200).expect_body("/info");
    client.get("/style.css").expect(200).expect_field("Content-Type", "text/css");
    client.get("/nope").expect(404);
    for hidden in ["/.env", "/.git/config"] {
        let response = client.get(hidden);
        assert!(matches!(response.status, 403 | 404), "{hidden}\n{response}");
    }
    assert!(run.interrupt().status.success());
}

#[test]
fn a_front_controller_in_public_is_found() {
    let site = site()
        .file("public/index.php", "<?php echo 'front ', $_SERVER['REQUEST_URI'];")
        .file("public/app.js", "1")
        .file("secret.php", "<?php echo 'secret';");
    let (mut run, mut client) = serve(&site, &[]);
    run.expect_output("front controller");
    client.get("/").expect(200).expect_body("front /");
    client.get("/posts/1?x=2").expect(200).expect_body("front /posts/1?x=2");
    client.get("/app.js").expect(200).expect_body("1");
    client.get("/secret.php").expect(200).expect_body("front /secret.php");
    client.get("/../secret.php").expect(400);
}

#[test]
fn workers_and_php_settings_can_be_given() {
    let site = site().file("index.php", "<?php echo ini_get('memory_limit');");
    let (run, mut client) = serve(&site, &["--workers", "3", "--php-ini", "memory_limit=99M"]);
    client.get("/").expect(200).expect_body("99M");
    let workers = || run.processes().iter().filter(|process| process.name.ends_with("worker")).count();
    eventually("three workers", || (workers() == 3).then_some(()));
}

#[test]
fn requests_are_shown_without_colours_where_there_is_no_terminal() {
    let site = site().file("index.php", "<?php echo 'x';");
    let (mut run, mut client) = serve(&site, &[]);
    client.get("/some/page?x=1");
    run.expect_output("/some/page");
    assert!(!run.stdout().contains('\x1b'), "{:?}", run.stdout());
}

/// The owner of the folder of a control socket could put another one in its place.
#[test]
fn root_s_control_socket_is_out_of_the_owner_s_reach() {
    if !rustix::process::geteuid().is_root() {
        return eprintln!("skipped: only root can start applications as other users");
    }
    let take = "$folder = dirname($_GET['socket']); echo json_encode([posix_geteuid(), @rename($_GET['socket'], \
                $folder . '/other'), @touch($folder . '/new'), @touch($folder . '/tmp/new')]);";
    for (owner, user) in [(4001, 4001), (0, 65534)] {
        let site = site().file("take.php", format!("<?php {take}")).file("style.css", "a{}");
        chown(site.root(), Some(owner), Some(owner)).expect("root may do that");
        let named = user.to_string();
        let (run, mut client) = serve(&site, &["--user", &named]);
        let stdout = run.stdout();
        let socket =
            stdout.lines().find_map(|line| line.strip_prefix("control socket: unix:")).expect("it is said");
        let reply = client.get(&format!("/take.php?socket={socket}")).expect(200);
        reply.expect_body(format!("[{user},false,false,false]"));
        client.get("/style.css").expect(200);
        let folder = Path::new(socket).parent().expect("it has one").metadata().expect("it is there");
        assert_eq!((folder.uid(), folder.mode() & 0o022), (0, 0));
        let router = run.processes().into_iter().find(|process| process.name == "router").expect("it runs");
        assert!(router.uid != 0 && router.uid != user, "{router:?}");
        assert!(run.interrupt().status.success());
    }
}

#[test]
fn what_cannot_be_served_is_said_in_one_line() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("bind a port");
    let address = taken.local_addr().expect("it is bound").to_string();
    let good = site().file("index.php", "<?php");
    Run::to_end(&["run", "/nonexistent/site"]).expect_one_line(&["/nonexistent/site"]);
    Run::to_end(&["run", &good.root(), "--listen", &address]).expect_one_line(&[&address, "in use"]);
    Run::to_end(&["run", &good.root(), "--listen", "nonsense"]).expect_one_line(&["nonsense"]);
}
