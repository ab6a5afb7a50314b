//! Sections 2.1 and 25: what is kept, how a daemon starts from it, and that nothing is lost.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use corral_testkit::{Address, Authority, Client, Daemon, TlsClient, daemon, eventually, site};
use serde_json::{Value, json};

fn mode(server: &Daemon, name: &str) -> u32 {
    fs::metadata(server.path(name)).expect("it is there").permissions().mode() & 0o777
}

/// Stops the daemon, puts this in the place of its stored configuration, and starts it again.
fn restart_with(server: &mut Daemon, document: &str) {
    server.stop();
    fs::write(server.path("state/conf.json"), document).expect("write the document");
    server.restart();
}

fn copies(server: &Daemon) -> Vec<String> {
    let entries = fs::read_dir(server.path("state")).expect("the folder is there");
    let copies = entries.filter_map(|entry| {
        let entry = entry.expect("an entry");
        let is_copy = entry.file_name().to_string_lossy().contains(".invalid-");
        is_copy.then(|| fs::read_to_string(entry.path()).expect("text"))
    });
    copies.collect()
}

/// Tests of HTTP/1 alone, which the profile `http2` leaves out.
mod http1_only {
    use super::*;

    #[test]
    fn the_state_directory_is_that_of_unit() {
        let server = daemon().routes(json!([{ "action": { "return": 200 } }])).start();
        let stored = fs::read_to_string(server.path("state/conf.json")).expect("text");
        assert_eq!(
            serde_json::from_str::<Value>(&stored).expect("JSON"),
            server.control().get("/config").json()
        );
        assert!(!stored.contains('\n'), "compact");
        assert_eq!(fs::read_to_string(server.path("state/version")).expect("text"), "13500");
        assert_eq!((mode(&server, "state/conf.json"), mode(&server, "state/version")), (0o600, 0o600));
    }

    #[test]
    fn a_state_directory_of_unit_is_taken_over() {
        for version in [Some("13500"), Some("12500"), None] {
            let mut server = daemon().start_unconfigured();
            server.stop();
            let config = server.with_listener(json!({ "routes": [{ "action": { "return": 203 } }] }));
            fs::write(server.path("state/conf.json"), config.to_string()).expect("write the document");
            let _ = fs::remove_file(server.path("state/version"));
            if let Some(version) = version {
                fs::write(server.path("state/version"), version).expect("write the version");
            }
            fs::create_dir(server.path("state/certs")).expect("make the folder");
            let bundle = concat!(
                include_str!("../../../../controller/src/bundle/testdata/ec.crt"),
                include_str!("../../../../controller/src/bundle/testdata/ec.key")
            );
            fs::write(server.path("state/certs/one"), bundle).expect("write the bundle");
            fs::write(server.path("state/certs/broken"), "nothing").expect("write the bundle");
            fs::create_dir(server.path("state/scripts")).expect("make the folder");
            fs::write(server.path("state/scripts/m"), "export default {}").expect("write the script");
            server.restart();
            server.get("/").expect(203);
            assert_eq!(server.control().get("/config").json(), config);
            let certificates = server.control().get("/certificates").json();
            assert_eq!(certificates.as_object().map(serde_json::Map::len), Some(1), "{certificates}");
            assert_eq!(server.control().get("/js_modules").json(), json!({ "m": "export default {}" }));
        }
    }

    #[test]
    fn an_unusable_configuration_is_never_lost() {
        for broken in ["{\"routes\":", "[]", "{\"nonsense\":1}", "{\"routes\":[{\"action\":{}}]}"] {
            let mut server = daemon().routes(json!([{ "action": { "return": 200 } }])).start();
            restart_with(&mut server, broken);
            let empty = json!({ "listeners": {}, "routes": [], "applications": {} });
            assert_eq!(server.control().get("/config").json(), empty);
            assert!(server.log().contains("previous configuration"), "{}", server.log());
            server.stop();
            server.restart();
            assert_eq!(fs::read_to_string(server.path("state/conf.json")).expect("text"), broken, "it stays");
            server.control().put("/config", &json!({})).expect_done();
            assert_eq!(copies(&server), [broken]);
            assert_eq!(fs::read_to_string(server.path("state/conf.json")).expect("text"), "{}");
            server.control().put("/config", &json!({ "routes": [] })).expect_done();
            assert_eq!(copies(&server).len(), 1, "only the first change keeps it aside");
        }
    }

    #[test]
    fn a_port_that_is_taken_is_tried_again_while_the_rest_runs() {
        let mut server = daemon().routes(json!([{ "action": { "return": 200 } }])).start();
        let stranger = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
        let taken = stranger.local_addr().expect("it is bound");
        let mut config = server.control().get("/config").json();
        config["listeners"][taken.to_string()] = json!({ "pass": "routes" });
        restart_with(&mut server, &config.to_string());
        server.get("/").expect(200);
        assert_eq!(server.control().get("/config").json(), config);
        let status = server.control().get("/status").json();
        let reason = status["listeners"][taken.to_string()]["last_error"].as_str().expect("a reason");
        assert!(reason.contains("Address already in use"), "{reason}");
        // Others can be changed all the same.
        server.control().put("/config/routes/0/action/return", &json!(201)).expect_done();
        drop(stranger);
        eventually("the listener is bound", || {
            Client::try_connect(taken).ok().map(|mut client| client.get("/").expect(201))
        });
        eventually("the status is clean", || {
            let listeners = server.control().get("/status/listeners").json();
            (listeners[taken.to_string()] == json!({ "state": "up" })).then_some(())
        });
    }

    #[test]
    fn an_application_that_cannot_start_is_503_until_it_can() {
        let site = site().file("index.php", "<?php echo 'here';");
        let mut server = daemon().start_unconfigured();
        server.stop();
        let root = site.path("later");
        let config = server.with_listener(json!({
        "applications": { "php": { "type": "php", "root": root }, "old": { "type": "php 4", "root": "/" } }
    }));
        fs::write(server.path("state/conf.json"), config.to_string()).expect("write the document");
        server.restart();
        server.get("/").expect(503);
        let status = server.control().get("/status").json();
        let reason =
            |app: &str| status["applications"][app]["last_error"].as_str().unwrap_or_default().to_owned();
        assert!(reason("php").contains("later"), "{status}");
        assert!(reason("old").contains("module"), "{status}");
        site.write("later/index.php", "<?php echo 'here';");
        eventually("the application is started", || (server.get("/").status == 200).then_some(()));
        let status = server.control().get("/status").json();
        assert_eq!(status["applications"]["php"].get("last_error"), None, "{status}");
    }

    /// A listener that cannot have its TLS must cost no other, and answer no client itself.
    #[test]
    fn a_certificate_that_cannot_be_used_costs_only_its_listener() {
        let authority = Authority::new("Test");
        let (good, other) =
            (authority.server("good", &["localhost"]), authority.server("other", &["localhost"]));
        let mut server = daemon().routes(json!([{ "action": { "return": 200 } }])).start();
        let control = server.control();
        control.put_text("/certificates/good", &good.pem()).0.expect(200);
        let mut config = control.get("/config").json();
        let addresses = [Address::fresh(), Address::fresh(), Address::fresh()];
        for (address, certificate) in addresses.iter().zip(["good", "mixed", "missing"]) {
            config["listeners"][address.to_string()] =
                json!({ "pass": "routes", "tls": { "certificate": certificate } });
        }
        server.stop();
        // As daemons took it once that did not look whether both belong together.
        let mixed = format!("{}{}", good.certificate, other.key);
        fs::write(server.path("state/certs/mixed"), mixed).expect("write the bundle");
        fs::write(server.path("state/conf.json"), config.to_string()).expect("write the document");
        server.restart();
        let control = server.control();
        let client = TlsClient::new(&authority);
        let get = |address: Address| Client::try_connect_tls(address.socket(), &client, "localhost");
        server.get("/").expect(200);
        get(addresses[0]).expect("it has its certificate").get("/").expect(200);
        let status = control.get("/status/listeners").json();
        for (address, reason) in addresses[1..].iter().zip(["does not belong to its first", "is missing"]) {
            assert!(Client::try_connect(address.socket()).is_err(), "{address} answers nobody");
            let told = status[address.to_string()]["last_error"].as_str().unwrap_or_default();
            assert!(told.contains(reason), "{status}");
        }
        assert_eq!(control.get("/config").json(), config);
        // What is broken does not keep others from being changed, but nothing more may break.
        control.put("/config/routes/0/action/return", &json!(201)).expect_done();
        get(addresses[0]).expect("it has its certificate").get("/").expect(201);
        let listener = format!("/config/listeners/{}/tls/certificate", addresses[0]);
        control.put(&listener, &json!("mixed")).expect_refused(500, "Failed to apply new configuration.");
        // Each comes up with the certificate that it waits for.
        control.put_text("/certificates/missing", &good.pem()).0.expect(200);
        get(addresses[2]).expect("it has its certificate").get("/").expect(201);
        control.put_text("/certificates/mixed?replace=true", &other.pem()).0.expect(200);
        get(addresses[1]).expect("it has its certificate").get("/").expect(201);
        let listeners = control.get("/status/listeners").json();
        for (address, listener) in listeners.as_object().expect("an object") {
            assert_eq!(listener, &json!({ "state": "up" }), "{address}");
        }
    }

    #[test]
    fn what_is_wrong_in_a_stored_document_costs_as_little_as_possible() {
        let site = site().file("index.php", "<?php echo 'here';");
        let mut server = daemon().start_unconfigured();
        let good = json!({ "type": "php", "root": site.root(), "script": "index.php" });
        let mut config = server.with_listener(json!({
            "nonsense": 1,
            "settings": { "http": { "idle_timeout": "long", "log_route": true } },
            "routes": {
                "main": [
                    { "match": { "uri": "/good" }, "action": { "pass": "applications/good" } },
                    { "match": { "uri": "/rack" }, "action": { "pass": "applications/rack" } },
                    { "match": { "uri": "/typo" }, "action": { "pass": "applications/typo" } },
                    { "match": { "uri": "/closed" }, "action": { "pass": "routes/broken" } },
                ],
                "broken": [{ "match": { "source": "10.0.0.0/99" }, "action": { "return": 403 } },
                { "action": { "return": 200 } }]
            },
            "applications": {
                "good": good,
                "rack": { "type": "ruby 99", "script": "config.ru" },
                "typo": { "type": "php", "rot": "/srv" },
            }
        }));
        config["listeners"] = json!({
            server.address().to_string(): { "pass": "routes/main" },
            "nowhere:80": { "pass": "routes/main" },
        });
        restart_with(&mut server, &config.to_string());
        server.get("/good").expect(200).expect_body("here");
        for path in ["/rack", "/typo", "/closed"] {
            server.get(path).expect(503);
        }
        let status = server.control().get("/status/applications").json();
        let reason = |app: &str| status[app]["last_error"].as_str().unwrap_or_default();
        assert!(reason("rack").contains("\"ruby 99\""), "{status}");
        assert!(reason("typo").contains("Unknown parameter \"rot\""), "{status}");
        let now = server.control().get("/config").json();
        assert_eq!(now["settings"], json!({ "http": { "log_route": true } }));
        assert_eq!(now["applications"], config["applications"]);
        assert_eq!(now["listeners"].as_object().map(serde_json::Map::len), Some(1));
        // What could not be used does not count when other parts are changed, as long as it stays as it is.
        server.control().put("/config/settings/http/log_route", &json!(false)).expect_done();
        assert_eq!(copies(&server), [config.to_string()], "nothing of it is lost");
        let refused = server.control().put("/config/applications/typo/rot", &json!("/other"));
        refused.expect_refused(400, "Invalid configuration.");
        server.get("/good").expect(200);
        server.get("/rack").expect(503);
        server.control().put("/config/applications/typo", &good).expect_done();
        server.get("/typo").expect(200).expect_body("here");
    }

    #[test]
    fn a_log_that_cannot_be_opened_does_not_stop_the_rest() {
        let mut server = daemon().routes(json!([{ "action": { "return": 200 } }])).start();
        let mut config = server.control().get("/config").json();
        config["access_log"] = json!("/no/such/folder/access.log");
        restart_with(&mut server, &config.to_string());
        server.get("/").expect(200);
        server.expect_log("/no/such/folder/access.log");
    }

    #[test]
    fn a_dead_unix_socket_is_replaced() {
        let server = daemon().start_unconfigured();
        let path = server.path("run/app.sock");
        drop(std::os::unix::net::UnixListener::bind(&path).expect("bind it"));
        assert!(path.exists(), "its file is left");
        let address = format!("unix:{}", path.display());
        let config = json!({ "listeners": { address: { "pass": "routes" } }, "routes": [{ "action": { "return": 200 } }] });
        server.control().put("/config", &config).expect_done();
        Client::try_connect_unix(&path).expect("it listens").get("/").expect(200);
        server.control().delete("/config").expect_done();
        assert!(!path.exists());
    }

    #[test]
    fn what_dies_comes_back_with_everything() {
        let server = daemon().routes(json!([{ "action": { "return": 200 } }])).start();
        let config = server.control().get("/config").json();
        server.kill(server.expect_processes("controller", 1)[0]);
        eventually("the controller is back", || {
            let request = corral_testkit::Request::get("/config");
            server.control().try_send(&request).ok().map(|reply| assert_eq!(reply.json(), config))
        });
        server.kill(server.expect_processes("router", 1)[0]);
        server.get("/").expect(200);
    }
}
