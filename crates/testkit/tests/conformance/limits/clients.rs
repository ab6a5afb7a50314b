//! `settings.limits`: what all clients together may take.

use std::fs;
use std::net::{IpAddr, Ipv4Addr};

use corral_testkit::{
    Authority, Client, Daemon, Origin, Request, TlsClient, daemon, eventually, open_descriptors, php_app,
    site,
};
use serde_json::{Value, json};

fn config(limits: Value) -> Value {
    json!({ "settings": { "limits": limits }, "routes": [{ "action": { "return": 200 } }] })
}

fn with(limits: Value) -> Daemon {
    daemon().config(config(limits)).start()
}

fn connections(server: &Daemon) -> Value {
    server.control().get("/status/connections").json()
}

/// A connection that has had a reply and is kept.
#[track_caller]
fn kept(server: &Daemon) -> Client {
    let mut client = server.connect();
    client.get("/").expect(200);
    client
}

/// A connection with a request that does not end.
fn busy(server: &Daemon) -> Client {
    let mut client = server.connect();
    client.write("GET / HTTP/1.1\r\nHost: a\r\nX-Slow");
    client
}

#[track_caller]
fn expect_active(server: &Daemon, n: u64) {
    eventually("the requests have begun", || (connections(server)["active"] == n).then_some(()));
}

/// How often the log speaks of it.
fn n_lines(server: &Daemon, text: &str) -> usize {
    server.log().matches(text).count()
}

/// Options: settings.limits, settings.limits.connections
#[test]
fn the_oldest_idle_connection_makes_room() {
    let mut settings = config(json!({ "connections": 3 }));
    settings["settings"]["listen_threads"] = json!(1);
    let server = daemon().config(settings).start();
    let [mut first, mut second, mut third] = [(); 3].map(|()| kept(&server));
    let mut fourth = kept(&server);
    assert!(first.is_closed());
    for client in [&mut second, &mut third, &mut fourth] {
        client.get("/").expect(200);
    }
    server.expect_log("there are 3 connections (settings.limits.connections)");
}

#[test]
fn idle_connections_of_other_event_loops_make_room_too() {
    let mut settings = config(json!({ "connections": 4 }));
    settings["settings"]["listen_threads"] = json!(4);
    let server = daemon().config(settings).start();
    let _kept: Vec<_> = (0..40).map(|_| kept(&server)).collect();
    eventually("the others were closed", || {
        let figures = connections(&server);
        (figures["idle"].as_u64() <= Some(4)).then_some(())
    });
}

/// A server with one busy connection, which is the most, and another one that waits for its place.
fn with_one_waiting() -> (Daemon, Client, Client) {
    let server = with(json!({ "connections": 1 }));
    let busy = busy(&server);
    expect_active(&server, 1);
    let mut waiting = server.connect();
    waiting.write("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    server.expect_log("there are 1 connections");
    (server, busy, waiting)
}

#[test]
fn a_flood_of_one_address_is_told_of_once_in_a_second() {
    let server = with(json!({ "connections_per_address": 1 }));
    let _held = kept(&server);
    let _flood: Vec<_> = (0..300).map(|_| server.connect()).collect();
    eventually("all are refused", || (connections(&server)["refused"] == 300).then_some(()));
    let n_lines = n_lines(&server, "too many connections");
    assert!((1..30).contains(&n_lines), "{n_lines} lines");
}

#[test]
fn over_tls_a_refused_connection_is_closed() {
    let server = daemon().start_unconfigured();
    let authority = Authority::new("Testers");
    let bundle = authority.server("a", &["a.example"]);
    server.control().send(&Request::new("PUT", "/certificates/a").body(bundle.pem())).0.expect(200);
    let mut config = config(json!({ "connections_per_address": 1 }));
    let listener = json!({ "pass": "routes", "tls": { "certificate": "a" } });
    config["listeners"] = json!({ server.address().to_string(): listener });
    server.control().put("/config", &config).expect_done();
    let client = TlsClient::new(&authority);
    let mut held = Client::connect_tls(server.address().socket(), &client, "a.example");
    held.get("/").expect(200);
    assert!(Client::try_connect_tls(server.address().socket(), &client, "a.example").is_err());
    held.get("/").expect(200);
}

/// Options: settings.limits.buffered_bytes
#[test]
fn bodies_go_to_files_when_there_is_no_memory() {
    let site = site()
        .file("index.php", "<?php echo strlen(file_get_contents('php://input'));")
        .file("large.php", "<?php for ($i = 0; $i < 64; $i++) { echo str_repeat('x', 65536); }");
    let server = daemon().application(php_app(&site)).start();
    let post = || server.send(&Request::post("/").body("12345"));
    let limits = |limits: Value| server.control().put("/config/settings", &limits).expect_done();
    // A folder without permission to write shows where a body goes.
    let http = json!({ "body_temp_path": "/proc/none" });
    limits(json!({ "http": http }));
    post().expect(200).expect_text("5");
    limits(json!({ "http": http, "limits": { "buffered_bytes": 0 } }));
    post().expect(503);
    server.expect_log("no memory left for bodies (settings.limits.buffered_bytes)");
    limits(json!({ "limits": { "buffered_bytes": 0 } }));
    post().expect(200).expect_text("5");
    let mut slow = server.connect();
    slow.write("GET /large.php HTTP/1.1\r\nHost: a\r\n\r\n");
    let router = server.expect_processes("router", 1)[0];
    eventually("the response is in a file", || has_unlinked_file(router).then_some(()));
    assert_eq!(slow.read_response().expect(200).body.len(), 64 * 65536);
    eventually("the file is closed", || (!has_unlinked_file(router)).then_some(()));
}

fn has_unlinked_file(pid: u32) -> bool {
    let descriptors = fs::read_dir(format!("/proc/{pid}/fd")).expect("it runs");
    let targets = descriptors.filter_map(|entry| fs::read_link(entry.ok()?.path()).ok());
    targets.map(|target| target.to_string_lossy().into_owned()).any(|target| {
        target.starts_with('/') && target.ends_with(" (deleted)") && !target.starts_with("/memfd")
    })
}

#[test]
fn too_few_descriptors_are_told_of() {
    let mut settings = config(json!({ "connections": 1000 }));
    // The listener has two.
    settings["settings"]["listen_threads"] = json!(2);
    let server = daemon().descriptors(300).config(settings).start();
    let router = server.expect_processes("router", 1)[0];
    let limits = fs::read_to_string(format!("/proc/{router}/limits")).expect("it runs");
    let files = limits.lines().find(|line| line.starts_with("Max open files")).expect("there is a limit");
    assert_eq!(files.split_whitespace().filter(|word| *word == "300").count(), 2, "soft is hard: {files}");
    server.expect_log("settings.limits.connections is 1000, but a limit of 300 open files is enough for 170");
    server.control().put("/config/settings/limits/connections", &json!(100)).expect_done();
    server.control().delete("/config/settings/limits").expect_done();
    server.expect_log("a limit of 300 open files is enough for 239 connections");
    // The first was before there was a configuration.
    eventually("it is said thrice", || (n_lines(&server, "open files is enough for") == 3).then_some(()));
}

/// The bound is on connections, but descriptors are used for other things as well.
#[test]
fn a_server_out_of_descriptors_recovers() {
    let server = daemon().descriptors(80).config(config(json!({}))).start();
    let router = server.expect_processes("router", 1)[0];
    let clients: Vec<_> = (0..100).map(|_| busy(&server)).collect();
    server.expect_log("Too many open files");
    let before = n_lines(&server, "Too many open files");
    assert!(open_descriptors(router).is_some(), "it lives");
    assert!(before < 30, "{before} lines");
    drop(clients);
    eventually("it serves again", || {
        server.connect().try_send(&Request::get("/")).is_ok_and(|reply| reply.status == 200).then_some(())
    });
}

#[test]
fn idle_connections_give_their_descriptors_back() {
    let server = daemon().descriptors(80).config(config(json!({}))).start();
    let _kept: Vec<_> = (0..100).map(|_| kept(&server)).collect();
}

/// Tests of HTTP/1 alone, which the profile `http2` leaves out.
mod http1_only {
    use super::*;

    #[test]
    fn without_idle_connections_others_wait() {
        let server = with(json!({ "connections": 2 }));
        let mut clients = [busy(&server), busy(&server)];
        expect_active(&server, 2);
        let mut waiting = server.connect();
        waiting.write("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
        server.expect_log("there are 2 connections (settings.limits.connections)");
        assert_eq!(connections(&server)["accepted"], 2, "the third waits");
        clients[0].write(": 1\r\nConnection: close\r\n\r\n");
        clients[0].read_response().expect(200);
        waiting.read_response().expect(200);
    }

    /// The bound can be changed while connections wait for it.
    #[test]
    fn a_raised_bound_lets_them_in() {
        let (server, _busy, mut waiting) = with_one_waiting();
        server.control().put("/config/settings/limits/connections", &json!(2)).expect_done();
        waiting.read_response().expect(200);
    }

    #[test]
    fn a_listener_can_be_removed_while_connections_wait() {
        let (server, _busy, mut waiting) = with_one_waiting();
        server.control().put("/config/listeners", &json!({})).expect_done();
        waiting.read_response().expect(200);
    }

    /// Options: settings.limits.connections_per_address
    #[test]
    fn an_address_has_its_share() {
        let server = with(json!({ "connections_per_address": 2 }));
        let mut held = [kept(&server), kept(&server)];
        let reply = server.get("/").expect(503).expect_field("Connection", "close");
        assert!(reply.field("Server").is_some());
        let elsewhere = IpAddr::V4(Ipv4Addr::new(127, 0, 0, 77));
        Client::connect_from(elsewhere, server.address().socket()).get("/").expect(200);
        held.iter_mut().for_each(|client| drop(client.get("/").expect(200)));
        assert_eq!(connections(&server)["refused"], 1);
        server.expect_log("its address has too many connections (settings.limits.connections_per_address)");
        drop(held);
        let _held = eventually("there are both places again", || {
            let mut pair = [server.connect(), server.connect()];
            let mut replies = pair.iter_mut().map(|client| client.try_send(&Request::get("/")));
            replies.all(|reply| reply.is_ok_and(|reply| reply.status == 200)).then_some(pair)
        });
        server.control().delete("/config/settings/limits/connections_per_address").expect_done();
        server.get("/").expect(200);
    }

    /// Proxies have many clients each.
    #[test]
    fn peers_that_name_their_clients_are_not_counted() {
        let server = daemon().start_unconfigured();
        let start = |listener: Value| {
            let mut config = config(json!({ "connections_per_address": 1 }));
            config["listeners"] = json!({ server.address().to_string(): listener });
            server.control().put("/config", &config).expect_done();
        };
        let forwarded = json!({ "source": "127.0.0.0/8", "client_ip": "X-Forwarded-For" });
        start(json!({ "pass": "routes", "forwarded": forwarded }));
        let _held = [kept(&server), kept(&server)];
        start(json!({ "pass": "routes", "proxy_protocol": { "source": "127.0.0.0/8" } }));
        let connect = |client: &str| {
            let mut connection = server.connect();
            connection.write(format!("PROXY TCP4 {client} 192.0.2.2 1234 80\r\n"));
            connection
        };
        let mut one = connect("192.0.2.1");
        one.get("/").expect(200);
        connect("192.0.2.3").get("/").expect(200);
        connect("192.0.2.1").get("/").expect(503);
        one.get("/").expect(200);
    }

    /// A request whose answer needs a descriptor gets 503, and the server that was to be asked is not blamed.
    #[test]
    fn requests_without_a_descriptor_are_told_so() {
        let (origin, site) = (Origin::saying("x"), site().file("a.txt", "x"));
        let config = json!({
            "routes": [
                { "match": { "uri": "/proxied" }, "action": { "pass": "upstreams/pool" } },
                { "action": { "share": format!("{}$uri", site.root()) } },
            ],
            "upstreams": { "pool": { "servers": { origin.address(): {} } } },
            "settings": { "listen_threads": 1 },
        });
        let server = daemon().descriptors(80).config(config).start();
        let mut client = server.connect();
        client.write("GET /proxied HTTP/1.1\r\nHost: a\r\nX-Slow");
        expect_active(&server, 1);
        let crowd: Vec<_> = (0..100).map(|_| busy(&server)).collect();
        server.expect_log("Too many open files");
        client.write(": 1\r\n\r\nGET /a.txt HTTP/1.1\r\nHost: a\r\n\r\n");
        client.read_response().expect(503);
        client.read_response().expect(503);
        let pool = server.control().get("/status/upstreams/pool/servers").json();
        assert_eq!(pool[origin.address()]["requests"]["failed"], 0, "{pool}");
        drop(crowd);
        eventually("there are descriptors again", || {
            let reply = server.connect().try_send(&Request::get("/proxied"));
            reply.is_ok_and(|reply| reply.status == 200).then_some(())
        });
    }
}
