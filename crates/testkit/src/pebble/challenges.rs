//! pebble-challtestsrv, as far as it is a DNS server: it answers what a test tells it.

use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use super::built;
use crate::address::Address;
use crate::client::Client;
use crate::logged::Logged;
use crate::request::Request;

/// A DNS server that has an address for every name, and whatever else a test adds. Ended when dropped.
#[derive(Debug)]
pub struct ChallengeServer {
    process: Logged,
    dns: SocketAddr,
    management: SocketAddr,
}

impl ChallengeServer {
    /// Starts it with the address that every name has, without IPv6. Its log goes into the folder.
    #[track_caller]
    pub(super) fn start(folder: &Path, ip: IpAddr) -> Self {
        let (dns, management) = (Address::fresh().socket(), Address::fresh().socket());
        let (v4, v6) = match ip {
            IpAddr::V4(_) => (ip.to_string(), String::new()),
            IpAddr::V6(_) => (String::new(), ip.to_string()),
        };
        let mut command = Command::new(built::challenge_server());
        command
            .args(["-http01", "", "-https01", "", "-doh", "", "-tlsalpn01", ""])
            .args(["-dnsserver", &dns.to_string(), "-management", &management.to_string()])
            .args(["-defaultIPv4", &v4, "-defaultIPv6", &v6]);
        let mut process = Logged::start(&mut command, &folder.join("challenges.log"));
        process.await_port(dns);
        process.await_port(management);
        Self { process, dns, management }
    }

    /// Where it answers questions, by UDP and TCP.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.dns
    }

    /// Where programs tell it what to answer: `POST /set-txt` and so on.
    #[must_use]
    pub fn management_url(&self) -> String {
        format!("http://{}", self.management)
    }

    /// Sets the IPv4 address that every name has; none if empty.
    #[track_caller]
    pub fn set_default_ipv4(&self, ip: &str) {
        self.post("/set-default-ipv4", &json!({ "ip": ip }));
    }

    /// Adds a text to those of a name.
    #[track_caller]
    pub fn set_txt(&self, name: &str, value: &str) {
        self.post("/set-txt", &json!({ "host": with_dot(name), "value": value }));
    }

    /// Removes all texts of a name.
    #[track_caller]
    pub fn clear_txt(&self, name: &str) {
        self.post("/clear-txt", &json!({ "host": with_dot(name) }));
    }

    /// Has questions about a name fail (`SERVFAIL`).
    #[track_caller]
    pub fn set_servfail(&self, name: &str) {
        self.post("/set-servfail", &json!({ "host": with_dot(name) }));
    }

    /// Has questions about a name answered again.
    #[track_caller]
    pub fn clear_servfail(&self, name: &str) {
        self.post("/clear-servfail", &json!({ "host": with_dot(name) }));
    }

    /// The program's log.
    #[must_use]
    pub fn log(&self) -> String {
        self.process.log()
    }

    #[track_caller]
    fn post(&self, path: &str, body: &Value) {
        let client = Client::try_connect_http1(self.management);
        let mut client = client.unwrap_or_else(|error| panic!("{}: {error}", self.management));
        client.send(&Request::post(path).body(body.to_string())).expect(200);
    }
}

/// The names that it knows end with the root's dot.
fn with_dot(name: &str) -> String {
    format!("{}.", name.trim_end_matches('.'))
}
