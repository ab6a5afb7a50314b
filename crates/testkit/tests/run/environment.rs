//! The user's environment, as applications see it.

use std::os::unix::fs::chown;
use std::process::{Command, Stdio};

use corral_testkit::{Address, Client, eventually, executables, signal, site};

use crate::serve;

const SHOW: &str = "<?php echo getenv('HOME'), ' ', getenv('USER');";

fn entry(uid: u32) -> (String, String) {
    let output =
        Command::new("getent").args(["passwd", &uid.to_string()]).output().expect("getent is installed");
    let line = String::from_utf8(output.stdout).expect("it is text");
    let words: Vec<_> = line.trim().split(':').collect();
    (words[5].to_owned(), words[0].to_owned())
}

#[test]
fn home_and_user_are_those_of_the_folder_s_owner() {
    let site = site().file("index.php", SHOW);
    let mut uid = rustix::process::geteuid().as_raw();
    if uid == 0 {
        uid = 65534;
        chown(site.root(), Some(uid), Some(uid)).expect("root may do that");
    }
    let (home, user) = entry(uid);
    serve(&site, &["--workers", "1"]).1.get("/").expect(200).expect_body(format!("{home} {user}"));
}

/// `.env` of Symfony and Laravel gives way to what `$_SERVER` has.
#[test]
fn variables_of_the_shell_reach_scripts_in_all_ways() {
    let site = site().file("index.php", "<?php echo getenv('APP_ENV'), ' ', $_SERVER['APP_ENV'] ?? 'none';");
    let address = Address::fresh();
    let mut corral = Command::new(&executables().corral)
        .args(["run", &site.root(), "--listen", &address.to_string(), "--workers", "1"])
        .env("APP_ENV", "prod")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("corral starts");
    let mut client = eventually("it serves", || Client::try_connect(address.socket()).ok());
    client.get("/").expect(200).expect_body("prod prod");
    signal(corral.id(), corral_testkit::Signal::TERM);
    assert!(corral.wait().expect("it is our child").success());
}

/// As in a container, without a login.
#[test]
fn they_are_there_even_if_nobody_has_set_them() {
    let (site, address) = (site().file("index.php", SHOW), Address::fresh());
    let mut corral = Command::new(&executables().corral)
        .args(["run", &site.root(), "--listen", &address.to_string(), "--workers", "1"])
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("corral starts");
    let mut client = eventually("it serves", || Client::try_connect(address.socket()).ok());
    let own = rustix::process::geteuid().as_raw();
    let (home, user) = entry(if own == 0 { 65534 } else { own });
    client.get("/").expect(200).expect_body(format!("{home} {user}"));
    signal(corral.id(), corral_testkit::Signal::TERM);
    assert!(corral.wait().expect("it is our child").success());
}
