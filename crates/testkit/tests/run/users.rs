//! The user of the application: the folder's owner, the one that `--user` names, and what is said of it.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, chown};

use corral_testkit::{Run, Site, site};

use crate::serve;

/// Whether the test can have other users at all.
fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Says which user it runs as, and whether it can write beside itself.
const TELL: &str = "import os\n\ndef application(environ, start_response):\n    try:\n        \
    open(os.path.join(os.path.dirname(__file__), 'db.sqlite3'), 'a').close()\n        can = 'writes'\n    except \
    OSError:\n        can = 'reads'\n    start_response('200 OK', [])\n    return [('%d %s' % (os.geteuid(), \
    can)).encode()]\n";

fn told() -> Site {
    site().file("wsgi.py", TELL)
}

#[test]
fn nobody_can_write_in_a_folder_of_root_s_and_that_is_said() {
    if !is_root() {
        return eprintln!("skipped: only root can start applications as other users");
    }
    let site = told();
    let (run, mut client) = serve(&site, &["--user", "nobody", "--workers", "1"]);
    client.get("/").expect(200).expect_body("65534 reads");
    assert!(!run.stdout().contains("note:"), "it was named: {}", run.stdout());
    let (run, mut client) = serve(&site, &["--user", "root", "--workers", "1"]);
    client.get("/").expect(200).expect_body("0 writes");
    assert!(run.stdout().contains("note: the application has the rights of root"), "{}", run.stdout());
    // The processes that talk to clients have not.
    for name in ["router", "controller"] {
        let process = run.processes().into_iter().find(|process| process.name == name).expect("it runs");
        assert_ne!(process.uid, 0, "{name}");
    }
}

/// In a container that is root, elsewhere `nobody`; both are said, with the way to the other.
#[test]
fn root_s_own_folder_is_served_with_one_line_that_says_as_whom() {
    if !is_root() {
        return eprintln!("skipped: only root can start applications as other users");
    }
    let (site, before) = (told(), "note: root owns this folder");
    let (run, mut client) = serve(&site, &["--workers", "1"]);
    let found = client.get("/").expect(200).text();
    let said: Vec<_> =
        run.stdout().lines().filter(|line| line.starts_with(before)).map(str::to_owned).collect();
    let [line] = &said[..] else { panic!("{}", run.stdout()) };
    match &*found {
        "0 writes" => {
            assert!(line.contains("this is a container") && line.contains("--user nobody"), "{line}");
        }
        "65534 reads" => {
            assert!(line.contains("can write nothing") && line.contains("--user NAME"), "{line}");
        }
        other => panic!("{other}\n{line}"),
    }
    // Files alone need no user.
    let (run, _client) = serve(&corral_testkit::site().file("index.html", "page"), &[]);
    assert!(!run.stdout().contains(before), "{}", run.stdout());
}

#[test]
fn a_folder_s_owner_runs_it_and_can_write() {
    if !is_root() {
        return eprintln!("skipped: only root can start applications as other users");
    }
    let site = told();
    chown(site.root(), Some(4001), Some(4001)).expect("root may do that");
    let (run, mut client) = serve(&site, &["--workers", "1"]);
    client.get("/").expect(200).expect_body("4001 writes");
    assert!(!run.stdout().contains("note:"), "{}", run.stdout());
    let (_run, mut client) = serve(&site, &["--workers", "1", "--user", "4002:4001"]);
    client.get("/").expect(200).expect_body("4002 reads");
}

#[test]
fn a_user_that_cannot_be_is_refused_with_the_reason() {
    let site = told();
    let run = |user: &str| Run::to_end(&["run", &site.root(), "--user", user, "--port", "1"]);
    run("no-such-user").expect_one_line(&["no-such-user", "--user USER[:GROUP]"]);
    run("nobody:no-such-group").expect_one_line(&["no-such-group"]);
    run("").expect_one_line(&["there is no user"]);
    if !is_root() {
        return run("root").expect_one_line(&["only root can run a site as another user"]);
    }
    let outer = corral_testkit::site().file("closed/site/wsgi.py", TELL);
    fs::set_permissions(outer.path("closed"), Permissions::from_mode(0o700)).expect("it is ours");
    let inner = outer.path("closed/site").display().to_string();
    let shut =
        format!("cannot enter \"{}\"", outer.path("closed").canonicalize().expect("it is there").display());
    Run::to_end(&["run", &inner, "--user", "4001"]).expect_one_line(&["\"4001\"", &shut, "chmod o+x"]);
    chown(&inner, Some(4001), Some(4001)).expect("root may do that");
    Run::to_end(&["run", &inner]).expect_one_line(&["\"4001\"", &shut, "--user"]);
}
