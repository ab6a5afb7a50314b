//! A daemon with listeners for HTTP and HTTPS whose certificates come from a pebble that validates at their ports.

use std::fs;
use std::path::PathBuf;

use corral_testkit::pebble::{Options, Pebble};
use corral_testkit::{Address, Builder, Client, Daemon, Request, TlsClient, daemon, within};
use serde_json::{Value, json};

/// Both, and where they meet.
pub(crate) struct Ordering {
    pub(crate) pebble: Pebble,
    pub(crate) server: Daemon,
    pub(crate) http: Address,
    pub(crate) https: Address,
}

impl Ordering {
    /// A daemon that knows pebble's authority, without a configuration.
    #[track_caller]
    pub(crate) fn start(options: Options) -> Self {
        Self::start_as(options, &daemon())
    }

    /// The same with a daemon that is started as the test likes.
    #[track_caller]
    pub(crate) fn start_as(options: Options, builder: &Builder) -> Self {
        let (http, https) = (Address::fresh(), Address::fresh());
        let places = Options { http_port: http.port(), tls_port: https.port(), ..options };
        let pebble = Pebble::start(places);
        let server = builder.start_unconfigured();
        let ordering = Self { pebble, server, http, https };
        ordering.upload("pebble", &ordering.pebble.root_ca_pem());
        ordering
    }

    /// Uploads certificates that only say which authorities to trust.
    #[track_caller]
    pub(crate) fn upload(&self, name: &str, pem: &str) {
        let reply = self.server.control().put_text(&format!("/certificates/{name}?ca=true"), pem);
        assert_eq!(reply.json()["success"], "Certificate chain uploaded.", "{}", self.server.log());
    }

    /// `acme` with pebble's directory and these members.
    pub(crate) fn acme(&self, members: &Value) -> Value {
        let mut acme = json!({ "directory": self.pebble.directory_url(), "ca": "pebble" });
        let members = members.as_object().expect("an object").clone();
        acme.as_object_mut().expect("an object").extend(members);
        acme
    }

    /// A configuration with that on the listener for HTTPS.
    pub(crate) fn config(&self, acme: &Value) -> Value {
        json!({
            "listeners": {
                self.http.to_string(): { "pass": "routes" },
                self.https.to_string(): { "pass": "routes", "tls": { "acme": acme } },
            },
            "routes": [{ "action": { "return": 200, "body": "hello" } }],
        })
    }

    /// Puts that in force.
    #[track_caller]
    pub(crate) fn order(&self, members: &Value) {
        let config = self.config(&self.acme(members));
        self.server.control().put("/config", &config).expect_done();
    }

    /// The status of a name; null if there is none.
    #[track_caller]
    pub(crate) fn status(&self, name: &str) -> Value {
        let status = self.server.control().get("/status").json();
        status["certificates"][name].clone()
    }

    /// Waits until a name has a certificate.
    #[track_caller]
    pub(crate) fn expect_valid(&self, name: &str) {
        self.await_status(name, "it is valid", |status| status["state"] == "valid");
    }

    /// Waits for something to be told about a name.
    #[track_caller]
    pub(crate) fn await_status(&self, name: &str, what: &str, holds: impl Fn(&Value) -> bool) -> Value {
        let found = within(corral_testkit::PATIENCE, || {
            let status = self.try_status(name)?;
            holds(&status).then_some(status)
        });
        found.unwrap_or_else(|| {
            panic!(
                "not of {name}: {what}\n{:?}\n{}\n{}",
                self.try_status(name),
                self.server.log(),
                self.pebble.log()
            )
        })
    }

    /// The control API may be on its way back.
    fn try_status(&self, name: &str) -> Option<Value> {
        let reply = self.server.control().try_send(&Request::get("/status")).ok()?;
        Some(reply.json()["certificates"][name].clone())
    }

    /// Connects as a client that trusts pebble's certificates of now.
    #[track_caller]
    pub(crate) fn connect(&self, name: &str) -> Client {
        Client::connect_tls(self.https.socket(), &self.pebble.client(), name)
    }

    /// Fails unless a client is served with a certificate of pebble's.
    #[track_caller]
    pub(crate) fn expect_served(&self, name: &str) {
        self.connect(name).send(&Request::get("/").field("Host", name)).expect(200).expect_text("hello");
    }

    /// The leaf certificate that a client gets, in DER.
    #[track_caller]
    pub(crate) fn leaf(&self, client: &TlsClient, name: &str) -> Vec<u8> {
        let client = Client::connect_tls(self.https.socket(), client, name);
        client.tls().peer_certificates().expect("a certificate")[0].to_vec()
    }

    /// The files of records whose names begin so.
    pub(crate) fn records(&self, prefix: &str) -> Vec<PathBuf> {
        let folder = self.server.path("state/acme");
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        let named = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(prefix));
        named.map(|entry| entry.path()).collect()
    }

    /// The chain of a name's certificate as it is stored, in PEM.
    #[track_caller]
    pub(crate) fn stored_chain(&self, name: &str) -> String {
        let text = fs::read_to_string(self.server.path(&format!("state/acme/certificate-{name}")));
        let record: Value = serde_json::from_str(&text.expect("a record")).expect("JSON");
        record["chain"].as_str().expect("PEM").to_owned()
    }

    /// How many certificates pebble has issued.
    pub(crate) fn n_issued(&self) -> usize {
        self.pebble.log().matches("Issued certificate serial").count()
    }
}
