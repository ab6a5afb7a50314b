//! Sockets that a service manager has made (systemd's socket activation): used by the listeners that name them, open
//! for as long as the manager wants, and left as they are.

use std::net::{SocketAddr, TcpListener};
use std::os::unix::net::{UnixListener, UnixStream};

use corral_testkit::{Client, Daemon, Request, Site, daemon, eventually, executables, php_app, site};
use serde_json::{Value, json};

fn inet() -> (TcpListener, SocketAddr) {
    let socket = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = socket.local_addr().expect("it is bound");
    (socket, address)
}

fn unix(site: &Site) -> (UnixListener, String) {
    let path = site.path("given.sock");
    let socket = UnixListener::bind(&path).expect("bind the socket");
    (socket, path.to_str().expect("text").to_owned())
}

fn returning(address: &str, status: u16) -> Value {
    json!({ "listeners": { address: { "pass": "routes" } }, "routes": [{ "action": { "return": status } }] })
}

#[track_caller]
fn put(server: &Daemon, config: &Value) {
    server.control().put("/config", config).expect_done();
}

fn get_unix(path: &str) -> u16 {
    let mut client = Client::try_connect_unix(path.as_ref()).expect("it listens");
    client.get("/").status
}

/// Tests of HTTP/1 alone, which the profile `http2` leaves out.
mod http1_only {
    use super::*;

    #[test]
    fn a_listener_uses_the_socket_of_its_address_which_stays_open() {
        let (socket, address) = inet();
        let config = returning(&address.to_string(), 201);
        let mut server = daemon().given("web", socket).config(config.clone()).start();
        assert_eq!(Client::connect(address).get("/").status, 201);
        put(&server, &json!({}));
        let mut waiting = Client::connect(address);
        waiting.write(Request::get("/").encode());
        put(&server, &config);
        assert_eq!(waiting.read_response().status, 201, "it has waited for a listener");
        server.stop();
        let mut waiting = Client::connect(address);
        waiting.write(Request::get("/").encode());
        server.restart();
        assert_eq!(waiting.read_response().status, 201, "it has waited for the next daemon");
    }

    #[test]
    fn event_loops_share_it_however_many_there_are() {
        let (socket, address) = inet();
        let mut config = returning(&address.to_string(), 201);
        let server = daemon().given("web", socket).config(config.clone()).start();
        for n_threads in [1, 4, 2] {
            config["settings"] = json!({ "listen_threads": n_threads });
            put(&server, &config);
            for _ in 0..40 {
                assert_eq!(Client::connect(address).get("/").status, 201);
            }
        }
    }

    #[test]
    fn files_of_sockets_stay_with_their_manager() {
        let site = site();
        let (socket, path) = unix(&site);
        let address = format!("unix:{path}");
        let given = socket.try_clone().expect("duplicate the socket");
        let mut server = daemon().given("web", given).config(returning(&address, 201)).start();
        assert_eq!(get_unix(&path), 201);
        put(&server, &json!({}));
        assert!(UnixStream::connect(&path).is_ok());
        put(&server, &returning(&address, 202));
        server.upgrade();
        assert_eq!(get_unix(&path), 202);
        put(&server, &json!({}));
        assert!(UnixStream::connect(&path).is_ok(), "the successor knows whose it is");
        put(&server, &returning(&address, 203));
        assert_eq!(get_unix(&path), 203);
        drop(server);
        assert!(UnixStream::connect(&path).is_ok(), "its file is there");
        drop(socket);
    }

    #[test]
    fn the_control_api_can_have_one_too() {
        let site = site();
        let (socket, path) = unix(&site);
        for name in ["control", "any name, as the address is right"] {
            let socket = socket.try_clone().expect("duplicate the socket");
            let mut server = daemon().given(name, socket).control_at(path.as_ref()).start_unconfigured();
            assert_eq!(server.control().get("/config/routes").json(), json!([]));
            server.upgrade();
            eventually("the successor answers", || {
                server.control().try_send(&Request::get("/config")).ok().filter(|reply| reply.0.status == 200)
            });
            drop(server);
            assert!(UnixStream::connect(&path).is_ok(), "it was not removed");
        }
    }

    #[test]
    fn what_no_listener_names_is_told_of_once() {
        let (socket, address) = inet();
        let server = daemon().given("web", socket).routes(json!([])).start();
        let expected = format!("the socket \"{address}\" of the service manager stays open for later");
        server.expect_log(&expected);
        server.control().put("/config/routes", &json!([{ "action": { "return": 200 } }])).expect_done();
        assert_eq!(server.log().matches(&expected).count(), 1);
    }

    #[test]
    fn applications_hear_nothing_of_it() {
        let (socket, _) = inet();
        let show = "<?php foreach (['LISTEN_PID', 'LISTEN_FDS', 'LISTEN_FDNAMES'] as $name) var_dump(getenv($name));";
        let site = site().file("index.php", show);
        let server = daemon().given("web", socket).application(php_app(&site)).start();
        server.get("/").expect(200).expect_text("bool(false)\nbool(false)\nbool(false)");
    }

    #[test]
    fn what_cannot_be_used_is_named() {
        let datagram = std::os::unix::net::UnixDatagram::unbound().expect("a socket");
        let server = daemon().given("odd", datagram).start_unconfigured();
        server.expect_log(
            "the socket \"odd\" of the service manager is not used: it is not a stream socket that listens",
        );
        let mine = std::process::id().to_string();
        let server =
            daemon().environment("LISTEN_PID", &mine).environment("LISTEN_FDS", "1").start_unconfigured();
        assert!(!server.log().contains("LISTEN_FDS"), "it was for somebody else");
    }

    #[test]
    fn a_number_of_sockets_that_is_wrong_is_an_error() {
        let script = "export LISTEN_PID=$$; exec \"$0\" daemon --no-daemon";
        let output = std::process::Command::new("/bin/sh")
            .args(["-c", script])
            .arg(&executables().corral)
            .env("LISTEN_FDS", "7")
            .output()
            .expect("it starts");
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && text.contains("take the sockets of LISTEN_FDS"), "{text}");
    }
}
