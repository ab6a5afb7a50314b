//! `client_certificate`: clients that may go on, of those whose certificates a listener has verified.

use corral_testkit::{Address, Authority, Bundle, Client, Daemon, TlsClient, daemon, eventually};
use serde_json::{Value, json};

struct Setup {
    authority: Authority,
    address: Address,
    server: Daemon,
}

impl Setup {
    fn new(certificate: &Value) -> Self {
        let authority = Authority::new("here");
        let address = Address::fresh();
        let server = daemon().start_unconfigured();
        let pem = |bundle: &Bundle| bundle.pem();
        server
            .control()
            .put_text("/certificates/own", &pem(&authority.server("localhost", &["localhost"])))
            .0
            .expect(200);
        server.control().put_text("/certificates/ca", &pem(&authority.bundle())).0.expect(200);
        let tls = json!({ "certificate": "own", "client": { "ca": "ca", "verify": "optional" } });
        let action = json!({
            "authenticate": { "client_certificate": certificate }, "return": 200, "body": "hello $remote_user"
        });
        let config = json!({
            "listeners": { address.to_string(): { "pass": "routes", "tls": tls } }, "routes": [{ "action": action }]
        });
        server.control().put("/config", &config).expect_done();
        Self { authority, address, server }
    }

    fn get(&self, name: Option<&str>) -> (u16, String) {
        let mut client = TlsClient::new(&self.authority);
        if let Some(name) = name {
            client = client.identity(&self.authority.client(name));
        }
        let reply = Client::connect_tls(self.address.socket(), &client, "localhost").get("/");
        (reply.status, reply.text())
    }
}

/// Options: …action.authenticate.client_certificate, …action.authenticate.client_certificate.common_name
#[test]
fn names_decide() {
    let setup = Setup::new(&json!({ "common_name": ["alice", "*.staff"] }));
    assert_eq!(setup.get(Some("alice")), (200, "hello alice".to_owned()));
    assert_eq!(setup.get(Some("bob.staff")), (200, "hello bob.staff".to_owned()));
    assert_eq!(setup.get(Some("mallory")).0, 403);
    setup.server.expect_log("the client certificate of \"CN=mallory\" is not accepted");
    // One refusal is logged in a second.
    eventually("it is logged", || {
        assert_eq!(setup.get(None).0, 403);
        setup.server.log().contains("no client certificate").then_some(())
    });
}

/// Options: …action.authenticate.client_certificate.subject, …action.authenticate.client_certificate.alternative_name
#[test]
fn every_pattern_has_to_match() {
    let setup = Setup::new(&json!({ "subject": "CN=a*", "common_name": "!admin" }));
    assert_eq!(["alice", "admin", "bob"].map(|name| setup.get(Some(name)).0), [200, 403, 403]);
    let setup = Setup::new(&json!({ "alternative_name": "*" }));
    assert_eq!(setup.get(Some("alice")).0, 403, "it has no alternative names");
    let setup = Setup::new(&json!({}));
    assert_eq!((setup.get(Some("anybody")).0, setup.get(None).0), (200, 403));
}
