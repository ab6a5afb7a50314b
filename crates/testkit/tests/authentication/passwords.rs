//! `basic`: files by `htpasswd`, `openssl passwd`, `mkpasswd` and `argon2`; changes of them, floods, and what breaks.

use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use corral_testkit::{Client, Daemon, Request, Site, eventually, site};
use serde_json::{Value, json};

use crate::{as_user, basic, guarded, guarded_config, output};

/// A line by Apache's tool, with a cost that is quick to try.
fn line(user: &str, password: &str) -> String {
    output("htpasswd", &["-nbBC", "5", user, password], "").trim().to_owned()
}

fn users(content: &str) -> Site {
    site().file("users", content)
}

fn by_file(site: &Site) -> Value {
    json!({ "basic": { "file": site.path("users"), "realm": "Staff" } })
}

fn serve(site: &Site) -> Daemon {
    guarded(&by_file(site))
}

/// Options: …action.authenticate, …action.authenticate.basic, …action.authenticate.basic.file,
/// …action.authenticate.basic.realm
#[test]
fn passwords_of_every_tool_are_known() {
    let hashes = [
        ("bcrypt", line("bcrypt", "pass:wörd")),
        ("sha512", format!("sha512:{}", output("openssl", &["passwd", "-6", "-stdin"], "pass:wörd"))),
        ("sha256", format!("sha256:{}", output("openssl", &["passwd", "-5", "-stdin"], "pass:wörd"))),
        (
            "rounds",
            format!("rounds:{}", output("mkpasswd", &["-m", "sha-512", "-R", "2000", "-s"], "pass:wörd")),
        ),
        ("yes", format!("yes:{}", output("mkpasswd", &["-m", "bcrypt", "-R", "5", "-s"], "pass:wörd"))),
        (
            "argon",
            format!(
                "argon:{}",
                output("argon2", &["somesalt", "-id", "-t", "1", "-m", "12", "-e"], "pass:wörd")
            ),
        ),
    ];
    let lines: Vec<_> = hashes.iter().map(|(_, line)| line.as_str()).collect();
    let site = users(&lines.join("\n"));
    let server = serve(&site);
    for (user, line) in &hashes {
        for _ in 0..2 {
            let reply = server.send(&as_user("/", user, "pass:wörd"));
            assert_eq!((reply.status, reply.text()), (200, format!("hello {user}")), "{line}");
        }
        server.send(&as_user("/", user, "pass:word")).expect(401);
        server.send(&as_user("/", user, "")).expect(401);
    }
    let reply = server.get("/").expect(401);
    assert_eq!(
        reply.field("WWW-Authenticate"),
        Some("Basic realm=\"Staff\", charset=\"UTF-8\""),
        "{reply:?}"
    );
    server.send(&as_user("/", "nobody", "pass:wörd")).expect(401);
    server.get("/open").expect(204).expect_no_field("WWW-Authenticate");
    // One refusal is logged in a second.
    eventually("it is logged", || {
        server.send(&as_user("/", "nobody", "pass:wörd")).expect(401);
        server.log().contains("wrong user or password for \"nobody\"").then_some(())
    });
    assert!(!server.log().contains("pass:w"), "passwords are not logged");
}

#[test]
fn credentials_that_are_malformed_are_none() {
    let site = users(&line("alice", "secret"));
    let server = serve(&site);
    for value in ["Basic", "Basic !", "Basic YWxpY2U=", "Bearer x", "Digest username=\"alice\"", ""] {
        server.send(&Request::get("/").field("Authorization", value)).expect(401);
    }
    let right = basic("alice", "secret");
    server.send(&Request::get("/").field("authorization", &right)).expect(200);
    // It is unknown which of two a proxy has looked at.
    server.send(&Request::get("/").field("Authorization", &right).field("Authorization", &right)).expect(401);
    server.send(&Request::new("POST", "/").field("Authorization", &right).body("x")).expect(200);
    server.send(&Request::new("POST", "/").body("x")).expect(401);
}

/// The next request sees the change, whatever was remembered before.
#[test]
fn a_changed_file_counts_at_once() {
    let site = users(&line("alice", "one"));
    let server = serve(&site);
    let status = |password: &str| server.send(&as_user("/", "alice", password)).status;
    for (before, now) in [("one", "two"), ("two", "three"), ("three", "one")] {
        assert_eq!([status(before), status(before)], [200, 200]);
        site.write("users", line("alice", now));
        assert_eq!([status(before), status(now), status(now)], [401, 200, 200], "{now}");
        // As editors do it: another file takes its place.
        site.write("other", line("alice", before));
        fs::rename(site.path("other"), site.path("users")).unwrap();
        assert_eq!([status(now), status(before)], [401, 200], "{now}");
        site.write("users", line("alice", now));
    }
    assert_eq!([status("three"), status("one")], [401, 200]);
}

#[test]
fn a_file_that_breaks_lets_nobody_in() {
    let site = users(&line("alice", "secret"));
    let server = serve(&site);
    let right = as_user("/", "alice", "secret");
    server.send(&right).expect(200);
    site.write("users", "alice:secret\n");
    server.send(&right).expect(500);
    server.expect_log("line 1 (user \"alice\") has a plain password, which is not accepted");
    fs::remove_file(site.path("users")).unwrap();
    server.send(&right).expect(500);
    server.get("/").expect(401);
    site.write("users", "");
    server.send(&right).expect(401);
    site.write("users", line("alice", "secret"));
    server.send(&right).expect(200);
    server.get("/open").expect(204);
}

/// A start goes on with what is broken, as everything else is served.
#[test]
fn a_file_that_is_gone_does_not_keep_the_daemon_from_starting() {
    let site = users(&line("alice", "secret"));
    let mut server = serve(&site);
    fs::remove_file(site.path("users")).unwrap();
    server.stop();
    server.restart();
    server.get("/open").expect(204);
    server.send(&as_user("/", "alice", "secret")).expect(500);
    server.expect_log("/routes/1/action/authenticate/basic/file: The file");
}

/// A password that is known costs what a look-up does; one that is wrong is hashed each time.
#[test]
fn right_passwords_are_remembered() {
    let site = users(&output("htpasswd", &["-nbBC", "11", "alice", "secret"], ""));
    // What has just been written may change unseen, and is read again until then.
    thread::sleep(Duration::from_millis(100));
    let server = serve(&site);
    let mut client = server.connect();
    let mut time = |user: &str, password: &str| {
        let request = as_user("/", user, password);
        let began = Instant::now();
        client.send(&request);
        began.elapsed()
    };
    time("alice", "secret");
    // Others use the processors, too: the least of several times is what it takes.
    eventually("times are as they should be", || {
        let known = (0..5).map(|_| time("alice", "secret")).min().unwrap();
        let wrong = (0..5).map(|_| time("alice", "wrong")).min().unwrap();
        let unknown = (0..5).map(|_| time("nobody", "wrong")).min().unwrap();
        let is_as_long = unknown > wrong / 2 && unknown < wrong * 2;
        (known < wrong / 4 && is_as_long).then_some(())
    });
}

/// Clients that need no password are served meanwhile, and the queue is not all for one.
#[test]
fn a_flood_of_wrong_passwords_stays_aside() {
    let site = users(&output("htpasswd", &["-nbBC", "10", "alice", "secret"], ""));
    let server = serve(&site);
    let address = server.address().socket();
    let quickest = |n: usize| {
        let mut client = Client::connect(address);
        let time = |_| {
            let began = Instant::now();
            client.get("/open").expect(204);
            began.elapsed()
        };
        let mut times: Vec<_> = (0..n).map(time).collect();
        times.sort();
        times[n / 2]
    };
    let before = quickest(200);
    let attackers: Vec<_> = (0..40)
        .map(|n| {
            let wrong = as_user("/", "alice", &format!("wrong {n}"));
            thread::spawn(move || {
                Vec::from_iter((0..3).map(|_| Client::connect(address).send(&wrong).status))
            })
        })
        .collect();
    let during = quickest(200);
    let statuses: Vec<u16> = attackers.into_iter().flat_map(|thread| thread.join().unwrap()).collect();
    assert!(statuses.contains(&401) && statuses.contains(&429), "{statuses:?}");
    assert!(during < before * 20 + Duration::from_millis(20), "{before:?} before, {during:?} during");
    eventually("the queue is empty", || {
        (server.send(&as_user("/", "alice", "secret")).status == 200).then_some(())
    });
}

/// A browser has a page's images sent at once, each with the password that no request has been found to be right with
/// yet.
#[test]
fn a_right_password_is_right_for_all_who_send_it_at_once() {
    let site = users(&output("htpasswd", &["-nbBC", "11", "alice", "secret"], ""));
    let server = serve(&site);
    let address = server.address().socket();
    for (password, expected) in [("wrong", 401), ("secret", 200)] {
        let request = as_user("/", "alice", password);
        let mut clients: Vec<_> = (0..60).map(|_| Client::connect(address)).collect();
        clients.iter_mut().for_each(|client| client.write(request.encode()));
        for client in &mut clients {
            client.read_response().expect(expected);
        }
    }
}

/// The limit is asked first, so that guesses cost nothing.
#[test]
fn limits_come_before_passwords() {
    let site = users(&line("alice", "secret"));
    let mut config = guarded_config(&by_file(&site));
    config["routes"][1]["action"]["limit_requests"] = json!({ "rate": "1/h", "burst": 1 });
    let server = corral_testkit::daemon().config(config).start();
    let wrong = as_user("/", "alice", "wrong");
    let statuses: Vec<_> = (0..3).map(|_| server.send(&wrong).status).collect();
    assert_eq!(statuses, [401, 401, 429]);
}

#[test]
fn pages_stand_in_for_the_refusal() {
    let site = users(&line("alice", "secret")).file("login.html", "please");
    let mut config = guarded_config(&by_file(&site));
    config["routes"][1]["action"]["errors"] = json!({ "401": { "share": site.path("login.html") } });
    let server = corral_testkit::daemon().config(config).start();
    let reply = server.get("/").expect(401).expect_body("please");
    assert_eq!(reply.all("WWW-Authenticate").count(), 1, "{reply:?}");
}
