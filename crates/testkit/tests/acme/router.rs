//! The router's part: it serves what it was given, and answers authorities. A test provides by the controller's own
//! link, as only root can.

mod certificates;
mod challenges;
mod hostile;
mod on_demand;
mod replacement;
mod tokens;

use std::cell::Cell;
use std::io;
use std::process::{Command, Stdio};

use corral_ipc::message::{FromController, IssuedSecret, IssuedSecretKind, Ticket};
use corral_testkit::attacker::{can_take_links, link_of};
use corral_testkit::{Address, Authority, Bundle, Client, Daemon, Request, TlsClient, daemon, eventually};
use serde_json::{Value, json};

/// No server listens there: no certificates come but those of the test.
const DIRECTORY: &str = "https://127.0.0.1:1/directory";

/// A daemon with a listener that has `acme`, one without TLS, and a test in the place of the issuer.
struct Issuer {
    daemon: Daemon,
    plain: Address,
    authority: Authority,
    n_batches: Cell<u32>,
}

impl Issuer {
    /// With this `acme`; none where the test is not root's.
    #[track_caller]
    fn start(acme: Value) -> Option<Self> {
        Self::start_with(acme, json!({}), json!({}))
    }

    /// With further options of `tls` and of the listener.
    #[track_caller]
    fn start_with(acme: Value, tls: Value, listener: Value) -> Option<Self> {
        if !can_take_links() {
            return None;
        }
        let issuer = Self {
            daemon: daemon().start_unconfigured(),
            plain: Address::fresh(),
            authority: Authority::new("Issuer"),
            n_batches: Cell::new(0),
        };
        issuer.configure(acme, tls, listener);
        Some(issuer)
    }

    #[track_caller]
    fn configure(&self, mut acme: Value, tls: Value, mut listener: Value) {
        acme["directory"] = json!(DIRECTORY);
        listener["pass"] = json!("routes");
        listener["tls"] = tls;
        listener["tls"]["acme"] = acme;
        let config = json!({
            "settings": { "log": { "level": "info" } },
            "listeners": {
                self.daemon.address().to_string(): listener,
                self.plain.to_string(): { "pass": "routes", "http2": "prior_knowledge" },
            },
            "routes": [{ "action": { "return": 204 } }],
        });
        self.daemon.control().put("/config", &config).expect_done();
    }

    /// A certificate by the issuer.
    fn certificate(&self, host: &str) -> Bundle {
        self.authority.server(host, &[host])
    }

    /// Has the router serve a new certificate for a name.
    #[track_caller]
    fn issue(&self, name: &str) -> Bundle {
        let bundle = self.certificate(name);
        self.provide(vec![certificate(name, &bundle.pem())]);
        bundle
    }

    /// Provides, and waits until the router has it.
    #[track_caller]
    fn provide(&self, mut secrets: Vec<IssuedSecret>) {
        self.n_batches.set(self.n_batches.get() + 1);
        let n = self.n_batches.get().to_string();
        secrets.push(token("batch", Some(&n)));
        self.say(secrets);
        let plain = || Client::connect(self.plain.socket());
        let has_come = || (plain().get("/.well-known/acme-challenge/batch").text() == n).then_some(());
        eventually("the router has what was provided", has_come);
        self.say(vec![token("batch", None)]);
    }

    #[track_caller]
    fn say(&self, secrets: Vec<IssuedSecret>) {
        let controller = self.daemon.expect_processes("controller", 1)[0];
        let message = FromController::Provide { ticket: Ticket(1 << 40), secrets };
        link_of(controller).send(&message, &[]).expect("main listens");
    }

    fn client(&self) -> TlsClient {
        TlsClient::new(&self.authority)
    }

    fn connect(&self, client: &TlsClient, host: &str) -> io::Result<Client> {
        Client::try_connect_http1(self.daemon.address().socket())?.into_tls(client, host)
    }

    /// Expects that clients which ask for the host get this certificate.
    #[track_caller]
    fn expect_shown(&self, host: &str, bundle: &Bundle) {
        self.expect_shown_to(&self.client(), host, bundle);
    }

    #[track_caller]
    fn expect_shown_to(&self, client: &TlsClient, host: &str, bundle: &Bundle) {
        let mut connection = self.connect(client, host).unwrap_or_else(|error| panic!("{host}: {error}"));
        let leaf = &connection.tls().peer_certificates().expect("the server shows one")[0];
        assert!(leaf.as_ref() == bundle.der(), "{host}: another certificate");
        connection.send(&Request::get("/")).expect(204);
    }

    /// Expects that clients which ask for the host get this alert, by the name that rustls has for it.
    #[track_caller]
    fn expect_alert(&self, host: &str, alert: &str) {
        self.expect_alert_to(&self.client(), host, alert);
    }

    #[track_caller]
    fn expect_alert_to(&self, client: &TlsClient, host: &str, alert: &str) {
        let error = self.connect(client, host).expect_err("there is no certificate").to_string();
        assert!(error.contains(alert), "{host}: {error}");
    }

    /// Handshakes with `openssl s_client`, and returns all that it says.
    fn openssl(&self, arguments: &[&str]) -> String {
        let address = self.daemon.address().socket().to_string();
        let mut command = Command::new("openssl");
        command.args(["s_client", "-connect", &address]).args(arguments);
        let output = command.stdin(Stdio::null()).output().expect("openssl is there");
        let [out, err] =
            [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
        out + &err
    }
}

const UNRECOGNISED: &str = "UnrecognisedName";

fn certificate(name: &str, pem: &str) -> IssuedSecret {
    secret(IssuedSecretKind::Certificate, name, Some(pem))
}

fn challenge(name: &str, pem: &str) -> IssuedSecret {
    secret(IssuedSecretKind::TlsAlpn, name, Some(pem))
}

fn token(name: &str, answer: Option<&str>) -> IssuedSecret {
    secret(IssuedSecretKind::HttpToken, name, answer)
}

fn secret(kind: IssuedSecretKind, name: &str, content: Option<&str>) -> IssuedSecret {
    IssuedSecret { kind, name: name.to_owned(), bytes: content.map(|content| content.as_bytes().to_vec()) }
}
