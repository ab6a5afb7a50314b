//! Addresses of listeners (contract 6, and 24 and 25 as far as they speak of them).

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use corral_testkit::{Address, Client, Daemon, assert_says, daemon, port_of_all_addresses, says, site};
use serde_json::json;

use super::{check_answers, config, start};

/// A change that cannot be put in force; returns why.
#[track_caller]
fn check_fails(daemon: &Daemon, listeners: &[&str]) -> String {
    let reply = daemon.control().put("/config", &config(listeners));
    reply.expect_refused(500, "Failed to apply new configuration.")
}

/// Options: listeners.{addr}, listeners.{addr}.pass
#[test]
fn ipv4_addresses_answer() {
    let address = Address::fresh();
    let _daemon = start(&[&address.to_string()]);
    check_answers(address.socket());
}

#[test]
fn a_star_is_every_ipv4_address_and_no_ipv6() {
    let port = port_of_all_addresses();
    let _daemon = start(&[&format!("*:{port}")]);
    check_answers(([127, 0, 0, 1], port).into());
    check_answers(([127, 8, 8, 8], port).into());
    assert!(Client::try_connect(([0, 0, 0, 0, 0, 0, 0, 1], port).into()).is_err());
}

#[test]
fn ipv6_addresses_are_ipv6_only() {
    let port = port_of_all_addresses();
    let daemon = start(&[]);
    let six = daemon.control().put("/config", &config(&[&format!("[::]:{port}")]));
    if six.0.status != 200 {
        return; // no IPv6 on this machine
    }
    check_answers(([0, 0, 0, 0, 0, 0, 0, 1], port).into());
    assert!(Client::try_connect(([127, 0, 0, 1], port).into()).is_err());
    // Both families side by side on one port.
    daemon.control().put("/config", &config(&[&format!("[::1]:{port}"), &format!("*:{port}")])).expect_done();
    check_answers(([0, 0, 0, 0, 0, 0, 0, 1], port).into());
    check_answers(([127, 0, 0, 1], port).into());
}

#[test]
fn socket_files_are_open_to_all_and_removed() {
    let daemon = start(&[]);
    let path = daemon.path("run/web.sock");
    let name = format!("unix:{}", path.display());
    daemon.control().put("/config", &config(&[&name])).expect_done();
    assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o666);
    unix(&path).get("/").expect(200);
    daemon.control().put("/config", &config(&[])).expect_done();
    assert!(!path.exists());
}

#[track_caller]
fn unix(path: &Path) -> Client {
    Client::try_connect_unix(path).unwrap_or_else(|error| panic!("connect to {}: {error}", path.display()))
}

#[test]
fn socket_files_are_removed_at_the_end_and_dead_ones_replaced() {
    let mut daemon = start(&[]);
    let path = daemon.path("run/web.sock");
    drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
    daemon.control().put("/config", &config(&[&format!("unix:{}", path.display())])).expect_done();
    unix(&path).get("/").expect(200);
    daemon.stop();
    assert!(!path.exists());
}

#[test]
fn abstract_sockets_leave_no_file() {
    let name = format!("corral-test-{}", std::process::id());
    let _daemon = start(&[&format!("unix:@{name}")]);
    use std::os::linux::net::SocketAddrExt;
    let address = std::os::unix::net::SocketAddr::from_abstract_name(name).unwrap();
    std::os::unix::net::UnixStream::connect_addr(&address).unwrap();
}

#[test]
fn addresses_that_are_none_are_refused() {
    let daemon = start(&[]);
    for address in
        ["localhost:80", "*:0", "*", "127.0.0.1", "1.2.3:80", "::1:80", "[::1]", "unix:", "*:65536", "x"]
    {
        let reply = daemon.control().put("/config", &config(&[address]));
        let detail = reply.expect_refused(400, "Invalid configuration.");
        assert_says(&detail, &format!("The listener address \"{address}\" is invalid."));
    }
    let long = format!("unix:/{}", "x".repeat(107));
    daemon.control().put("/config", &config(&[&long])).expect_refused(400, "Invalid configuration.");
}

#[test]
fn what_cannot_be_bound_is_named_with_its_reason() {
    let address = Address::fresh();
    let daemon = start(&[&address.to_string()]);
    let stranger = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = stranger.local_addr().unwrap().to_string();
    let detail = check_fails(&daemon, &[&taken]);
    assert!(detail.contains(&taken) && detail.contains("Address already in use"), "{detail}");
    daemon.expect_log(&format!("bind(\"{taken}\") failed (98: Address already in use)"));
    // The change is refused, and all goes on as before: nothing for an operator to act on.
    assert!(!daemon.log().contains("[alert]"), "{}", daemon.log());
    let detail = check_fails(&daemon, &["192.0.2.1:8080"]);
    assert!(
        detail.contains("192.0.2.1:8080") && detail.contains("Cannot assign requested address"),
        "{detail}"
    );
    let detail = check_fails(&daemon, &["unix:/no/such/folder/socket"]);
    assert!(detail.contains("/no/such/folder/socket") && detail.contains("No such file"), "{detail}");
    let file = daemon.path("run/file");
    std::fs::write(&file, "precious").unwrap();
    check_fails(&daemon, &[&format!("unix:{}", file.display())]);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "precious");
    // What was in force still is.
    check_answers(address.socket());
}

#[test]
fn a_star_and_an_address_are_exchanged_in_one_change() {
    let port = port_of_all_addresses();
    let (star, one) = (format!("*:{port}"), format!("127.0.0.1:{port}"));
    let daemon = start(&[&star]);
    for listeners in [&one, &star, &one] {
        daemon.control().put("/config", &config(&[listeners])).expect_done();
        check_answers(([127, 0, 0, 1], port).into());
        let elsewhere = Client::try_connect(([127, 9, 9, 9], port).into());
        assert_eq!(elsewhere.is_ok(), *listeners == star);
    }
}

#[test]
fn a_star_and_an_address_do_not_stand_side_by_side() {
    let port = port_of_all_addresses();
    let (star, one) = (format!("*:{port}"), format!("127.0.0.1:{port}"));
    let daemon = start(&[&one]);
    let detail = check_fails(&daemon, &[&star, &one]);
    assert!(detail.contains(&star) && detail.contains(&one), "{detail}");
    check_answers(([127, 0, 0, 1], port).into());
}

/// Options: listeners.{addr}.application
#[test]
fn the_old_name_of_pass() {
    let daemon = start(&[]);
    let document = json!({ "listeners": { "*:8080": { "application": "blog" } } });
    let detail = daemon.control().put("/config", &document).expect_refused(400, "Invalid configuration.");
    assert_eq!(detail, "Listening socket is assigned for a non existing application \"blog\".");
}

#[test]
fn a_listener_without_destination_cannot_be_applied() {
    let daemon = start(&[]);
    let document = json!({ "listeners": { Address::fresh().to_string(): {} } });
    let reply = daemon.control().put("/config", &document);
    assert!(!reply.expect_refused(500, "Failed to apply new configuration.").is_empty());
}

/// Options: listeners.{addr}.backlog
#[test]
fn backlogs_are_checked_and_can_change() {
    let address = Address::fresh();
    let daemon = start(&[&address.to_string()]);
    let path = format!("/config/listeners/{address}/backlog");
    for backlog in ["-1", "0", "511", "2147483647", "1e2"] {
        daemon.control().put_text(&path, backlog).expect_done();
        check_answers(address.socket());
    }
    for (backlog, detail) in [
        ("-2", "The \"backlog\" number must be equal to or greater than -1."),
        ("2147483648", "The \"backlog\" number must not exceed 2147483647."),
        ("\"1\"", "The \"backlog\" value must be a number, but not a string."),
    ] {
        let found = daemon.control().put_text(&path, backlog).expect_refused(400, "Invalid configuration.");
        let accepted = detail.replace("a number", "either an integer number or a fractional number");
        assert!(says(&found, detail) || says(&found, &accepted), "{found}");
    }
}

#[test]
fn the_queue_has_the_length_that_was_asked_for() {
    let address = Address::fresh();
    let daemon = start(&[&address.to_string()]);
    let path = format!("/config/listeners/{address}/backlog");
    daemon.control().put_text(&path, "77").expect_done();
    let filter = ["-Hltn", "sport", "=", &format!(":{}", address.port())];
    let output = std::process::Command::new("ss").args(filter).output().expect("ss, of iproute2, runs");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    if !text.is_empty() {
        let ours = text.lines().filter(|line| line.contains(&address.to_string()));
        assert!(ours.clone().count() > 0, "{text}");
        for line in ours {
            assert_eq!(line.split_whitespace().nth(2), Some("77"), "{text}");
        }
    }
}

#[test]
fn a_listener_may_pass_to_an_application_or_a_route_of_another_name() {
    let server = daemon().routes(json!([{ "action": { "return": 201 } }])).start();
    let other = Address::fresh();
    let pointer = format!("/config/listeners/{other}");
    server.control().put(&pointer, &json!({ "pass": "routes" })).expect_done();
    Client::connect(other.socket()).get("/").expect(201);
    server.control().delete(&pointer).expect_done();
    assert!(Client::try_connect(other.socket()).is_err(), "the socket is closed");
    server.get("/").expect(201);
}

#[test]
fn unix_listeners_are_served_and_removed() {
    let folder = site().writable_folder("run");
    let path = folder.path("run/web.sock");
    let server = daemon().routes(json!([{ "action": { "return": 201 } }])).start();
    let name = format!("unix:{}", path.display());
    let mut listeners = server.control().get("/config/listeners").json();
    listeners[&name] = json!({ "pass": "routes" });
    server.control().put("/config/listeners", &listeners).expect_done();
    let mut client = Client::try_connect_unix(&path).expect("the socket accepts");
    client.get("/").expect(201);
    listeners.as_object_mut().expect("an object").remove(&name);
    server.control().put("/config/listeners", &listeners).expect_done();
    assert!(!path.exists(), "the socket's file is removed");
}

#[test]
fn any_and_one_address_are_exchanged_in_one_change() {
    let server = daemon().routes(json!([{ "action": { "return": 200 } }])).start();
    let port = port_of_all_addresses();
    for host in ["127.0.0.1", "127.0.0.2", "127.0.0.1"] {
        let listeners = json!({ format!("{host}:{port}"): { "pass": "routes" } });
        server.control().put("/config/listeners", &listeners).expect_done();
        let address = format!("{host}:{port}").parse().expect("an address");
        Client::connect(address).get("/").expect(200);
    }
}

#[test]
fn a_kept_connection_gets_the_new_configuration_with_its_next_request() {
    let address = Address::fresh();
    let daemon = start(&[&address.to_string()]);
    let mut client = Client::connect(address.socket());
    client.get("/").expect(200);
    daemon.control().put("/config/routes/0/action/return", &json!(204)).expect_done();
    client.get("/").expect(204);
}
