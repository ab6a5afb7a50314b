//! pebble, an authority for tests that speaks ACME, and its challenge server: real programs on free ports.
//!
//! A restart ([`Pebble::stop`], [`Pebble::start_again`]) loses accounts, orders and the keys that it issues with.

mod built;
mod challenges;
mod front;
mod options;

use std::fs;
use std::net::SocketAddr;
use std::process::Command;

use serde_json::json;
use tempfile::TempDir;

pub use challenges::ChallengeServer;
pub use front::{Front, Refusal, When};
pub use options::Options;

use crate::address::Address;
use crate::client::Client;
use crate::logged::Logged;
use crate::request::Request;
use crate::response::Response;
use crate::site::readable_temp_dir;
use crate::tls::{Authority, TlsClient};

/// A running pebble; ended when dropped.
#[derive(Debug)]
pub struct Pebble {
    /// Missing while it is stopped.
    process: Option<Logged>,
    /// Missing if it asks another DNS server.
    challenges: Option<ChallengeServer>,
    options: Options,
    places: Places,
    /// Signed the certificate of its API; has nothing to do with what it issues.
    authority: Authority,
    folder: TempDir,
}

/// Where it listens; the same after a restart.
#[derive(Debug, Clone, Copy)]
struct Places {
    api: SocketAddr,
    management: SocketAddr,
}

impl Pebble {
    /// Starts it, and waits until it answers.
    ///
    /// # Panics
    /// When it does not compile or start.
    #[must_use]
    #[track_caller]
    pub fn start(options: Options) -> Self {
        let folder = readable_temp_dir();
        let places = Places { api: Address::fresh().socket(), management: Address::fresh().socket() };
        let authority = Authority::new("The API of pebble");
        let server = authority.server("pebble", &[&places.api.ip().to_string(), "localhost"]);
        let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).expect("write a file");
        write("certificate.pem", &server.certificate);
        write("key.pem", &server.key);
        write("config.json", &options.document(&places, folder.path()).to_string());
        let challenges = match options.dns_server {
            Some(_) => None,
            None => Some(ChallengeServer::start(folder.path(), options.ip)),
        };
        let mut pebble = Self { process: None, challenges, options, places, authority, folder };
        pebble.start_again();
        pebble
    }

    /// Starts it at the same ports after [`Pebble::stop`]. It has forgotten everything.
    #[track_caller]
    pub fn start_again(&mut self) {
        assert!(self.process.is_none(), "it runs");
        let dns = self.options.dns_server.unwrap_or_else(|| self.dns().address());
        let mut command = Command::new(built::pebble());
        command.args(["-dnsserver", &dns.to_string(), "-config"]).arg(self.folder.path().join("config.json"));
        self.options.apply(&mut command);
        let mut process = Logged::start(&mut command, &self.folder.path().join("pebble.log"));
        process.await_port(self.places.api);
        process.await_port(self.places.management);
        self.process = Some(process);
    }

    /// Ends it; its ports refuse connections.
    pub fn stop(&mut self) {
        self.process = None;
    }

    /// Where its API listens, with TLS.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.places.api
    }

    /// The URL of its directory: `directory` of the option `acme`.
    #[must_use]
    pub fn directory_url(&self) -> String {
        format!("https://{}/dir", self.places.api)
    }

    /// The authority that its API is verified by: `ca` of the option `acme` names a bundle of this.
    #[must_use]
    pub fn root_ca_pem(&self) -> String {
        self.authority.bundle().certificate
    }

    /// The root of the certificates that it issues; another one after each start.
    #[must_use]
    #[track_caller]
    pub fn issuer_roots_pem(&self) -> String {
        self.manage(&Request::get("/roots/0")).expect(200).text()
    }

    /// A client that believes the certificates that it issues.
    #[must_use]
    #[track_caller]
    pub fn client(&self) -> TlsClient {
        TlsClient::trusting(&self.issuer_roots_pem())
    }

    /// Says when a certificate is to be renewed (RFC 9773): `response` is the whole body of that answer, valid or
    /// not. The certificate must be one that it has issued since it was started.
    #[track_caller]
    pub fn set_renewal_info(&self, certificate_pem: &str, response: &str) {
        let body = json!({ "certificate": certificate_pem, "ariResponse": response });
        self.manage(&Request::post("/set-renewal-info/").body(body.to_string())).expect(200);
    }

    /// The DNS server of its own.
    ///
    /// # Panics
    /// When it asks another one.
    #[must_use]
    #[track_caller]
    pub fn dns(&self) -> &ChallengeServer {
        self.challenges.as_ref().expect("it asks a DNS server of its own")
    }

    /// Sets the IPv4 address that every name has; none if empty.
    #[track_caller]
    pub fn set_default_ipv4(&self, ip: &str) {
        self.dns().set_default_ipv4(ip);
    }

    /// All that it has written since the first start: requests, validations, what it has issued.
    #[must_use]
    pub fn log(&self) -> String {
        fs::read_to_string(self.folder.path().join("pebble.log")).unwrap_or_default()
    }

    #[track_caller]
    fn manage(&self, request: &Request) -> Response {
        let address = self.places.management;
        let tls = TlsClient::new(&self.authority);
        let connected = Client::try_connect_http1(address)
            .and_then(|client| client.into_tls(&tls, &address.ip().to_string()));
        // pebble refuses requests without a user agent.
        let request = request.clone().field("User-Agent", "corral-testkit");
        connected.unwrap_or_else(|error| panic!("{address}: {error}")).send(&request)
    }
}
