//! A program that spawn-fcgi has started, as the server of the action `fastcgi`: the other way round.

use std::fs;
use std::process::Command;

use corral_testkit::{Load, Signal, daemon, eventually, is_alive, signal, site};
use serde_json::json;

#[test]
fn a_server_that_spawn_fcgi_has_started_answers_the_action() {
    let site = site().file("index.php", "<?php echo 'hello ', PHP_SAPI;").writable_folder("run");
    let (socket, pid_file) = (site.path("run/socket"), site.path("run/pid"));
    let spawned = Command::new("/usr/bin/spawn-fcgi")
        .args(["-M", "0666", "-s"])
        .arg(&socket)
        .arg("-P")
        .arg(&pid_file)
        .args(["--", "/usr/bin/php-cgi"])
        .env("PHP_FCGI_CHILDREN", "2")
        .output()
        .expect("spawn-fcgi starts: scripts/setup test");
    assert!(spawned.status.success(), "{spawned:?}");
    let pid: u32 = fs::read_to_string(&pid_file).expect("it wrote it").trim().parse().expect("a number");
    let action = json!({
        "fastcgi": format!("unix:{}", socket.display()), "root": site.root(), "keep_alive": { "processes": 2 }
    });
    let server = daemon().routes(json!([{ "action": action }])).start();
    server.get("/").expect(200).expect_body("hello cgi-fcgi");
    let load = Load::start(server.address().socket(), "/", 4);
    load.await_more(200);
    let tally = load.stop();
    signal(pid, Signal::TERM);
    drop(server);
    eventually("it has ended", || (!is_alive(pid)).then_some(()));
    assert!(tally.failures.is_empty(), "{tally:?}");
}
