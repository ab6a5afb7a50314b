//! Many listeners and applications with few descriptors.

use corral_testkit::{Client, Daemon, Site, daemon, eventually, open_descriptors, site};
use serde_json::{Value, json};

const LIMIT: u32 = 20_000;
const N_LOOPS: usize = 16;
const N_LISTENERS: usize = 1000;
const N_APPLICATIONS: usize = 500;

/// An address of this machine for each, at the port that the daemon was given.
fn listeners(server: &Daemon, n: usize, pass: &str) -> Value {
    let port = server.address().socket().port();
    let address = |n: usize| format!("127.0.{}.{}:{port}", 200 + n / 250, n % 250 + 1);
    let first = [(server.address().to_string(), json!({ "pass": pass }))];
    first.into_iter().chain((1..n).map(|n| (address(n), json!({ "pass": pass })))).collect()
}

/// Applications that have no process before they are asked for something.
fn applications(site: &Site, n: usize) -> Value {
    let processes = json!({ "max": 1, "spare": 0 });
    let app = json!({ "type": "php", "root": site.root(), "script": "index.php", "processes": processes });
    (0..n).map(|n| (format!("app{n}"), app.clone())).collect()
}

fn config(server: &Daemon, site: &Site, n_listeners: usize, n_applications: usize) -> Value {
    json!({
        "listeners": listeners(server, n_listeners, "routes"),
        "routes": [{ "action": { "pass": "applications/app0" } }],
        "applications": applications(site, n_applications),
        "settings": { "listen_threads": N_LOOPS },
    })
}

#[track_caller]
fn expect_descriptors(pid: u32, most: usize) {
    eventually("it has few descriptors", || open_descriptors(pid).filter(|n_open| *n_open <= most));
}

/// Each event loop had sockets of its own and a counter for each application: 40,000 descriptors of the router.
#[test]
fn a_thousand_listeners_and_hundreds_of_applications_fit() {
    let site = site().file("index.php", "<?php echo 'x';");
    let server = daemon().descriptors(LIMIT).start_unconfigured();
    let document = config(&server, &site, N_LISTENERS, N_APPLICATIONS);
    server.control().put("/config", &document).expect_done();
    let port = server.address().socket().port();
    server.get("/").expect(200).expect_body("x");
    let last = ([127, 0, 203, 250], port).into();
    for address in [([127, 0, 200, 2], port).into(), last] {
        Client::connect(address).get("/").expect(200).expect_body("x");
    }
    let router = server.expect_processes("router", 1)[0];
    // 40 for the event loops themselves, a worker and its prototype.
    let most = N_LISTENERS + N_LOOPS * 8 + 100;
    expect_descriptors(router, most);
    expect_descriptors(server.pid(), N_LISTENERS + N_LOOPS * 4 + 100);
    // Another change, with all sockets once more on their way.
    server.control().put("/config/settings/http", &json!({ "server_version": false })).expect_done();
    expect_descriptors(router, most);
    Client::connect(last).get("/").expect(200);
}

/// Few listeners have sockets for each event loop still.
#[test]
fn event_loops_have_sockets_of_their_own_where_there_is_room() {
    let site = site().file("index.php", "<?php echo 'x';");
    let server = daemon().descriptors(LIMIT).start_unconfigured();
    server.control().put("/config", &config(&server, &site, 2, 1)).expect_done();
    let n_open = open_descriptors(server.pid()).expect("it runs");
    assert!(n_open >= 2 * N_LOOPS, "{n_open}");
    assert!(!server.log().contains("open files"), "{}", server.log());
}

/// A daemon with hardly any room for more listeners says so, in the reply and in the log.
#[test]
fn little_room_for_more_listeners_is_said() {
    let site = site();
    let server = daemon().descriptors(1024).start_unconfigured();
    let put = |n: usize| {
        let document = json!({
            "listeners": listeners(&server, n, "routes"),
            "routes": [{ "action": { "return": 200 } }],
            "applications": applications(&site, 0),
            "settings": { "listen_threads": 1, "limits": { "connections": 10 } },
        });
        server.control().put("/config", &document).expect_done().json()["warning"].clone()
    };
    assert_eq!(put(100), Value::Null);
    assert!(!server.log().contains("more listeners"), "{}", server.log());
    let warning = put(400);
    let said =
        "a limit of 1024 open files leaves room for 48 more listeners: raise it (LimitNOFILE= of the service";
    assert!(warning.as_str().is_some_and(|warning| warning.starts_with(said)), "{warning}");
    server.expect_log(said);
    assert!(put(401).is_string());
    assert_eq!(server.log().matches("more listeners").count(), 1, "{}", server.log());
}
