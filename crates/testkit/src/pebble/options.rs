//! How an authority for tests is to behave.

use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use serde_json::{Map, Value, json};

use super::Places;
use crate::address::Address;

/// The ports that it validates at, and its faults. The defaults have none of those.
///
/// ```no_run
/// use corral_testkit::Address;
/// use corral_testkit::pebble::{Options, Pebble};
///
/// let http = Address::fresh();
/// let pebble = Pebble::start(Options { http_port: http.port(), nonce_reject: 50, ..Options::default() });
/// let directory = pebble.directory_url();
/// ```
#[derive(Debug, Clone)]
pub struct Options {
    /// The port that it asks for files of `http-01`, in place of 80.
    pub http_port: u16,
    /// The port that it shakes hands with for `tls-alpn-01`, in place of 443.
    pub tls_port: u16,
    /// The address that every name has, unless a test says otherwise. By default the one of this test process
    /// ([`Address::fresh`]), where its daemons listen.
    pub ip: IpAddr,
    /// The DNS server that it asks, by TCP. By default one of its own: [`super::Pebble::dns`].
    pub dns_server: Option<SocketAddr>,
    /// How many of a hundred valid nonces it refuses.
    pub nonce_reject: u8,
    /// How many of a hundred orders take over the valid authorizations of earlier ones.
    pub authz_reuse: u8,
    /// How long a certificate of the profile `default` is valid; whole seconds.
    pub validity: Duration,
    /// Further profiles by name, with how long their certificates are valid. An order without a profile gets any of
    /// them, or `default`.
    pub profiles: Vec<(String, Duration)>,
    /// Accounts that are known from elsewhere: identifier, and key in base64url without padding. When there is one, an
    /// ACME account needs one.
    pub external_accounts: Vec<(String, String)>,
    /// `Retry-After` of orders and authorizations that are not ready, as seconds or as a date by chance; none if zero.
    pub retry_after: Duration,
    /// Names for which it issues nothing (`rejectedIdentifier`), and those below them.
    pub blocked: Vec<String>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            http_port: 80,
            tls_port: 443,
            ip: Address::fresh().socket().ip(),
            dns_server: None,
            nonce_reject: 0,
            authz_reuse: 0,
            validity: Duration::from_secs(90 * 24 * 60 * 60),
            profiles: Vec::new(),
            external_accounts: Vec::new(),
            retry_after: Duration::ZERO,
            blocked: Vec::new(),
        }
    }
}

impl Options {
    /// pebble's configuration file.
    pub(super) fn document(&self, places: &Places, folder: &Path) -> Value {
        let default = ("default".to_owned(), self.validity);
        let profiles: Map<_, _> = std::iter::once(&default)
            .chain(&self.profiles)
            .map(|(name, validity)| {
                (name.clone(), json!({ "description": name, "validityPeriod": validity.as_secs() }))
            })
            .collect();
        let keys: Map<_, _> =
            self.external_accounts.iter().map(|(kid, key)| (kid.clone(), json!(key))).collect();
        let pause = self.retry_after.as_secs();
        json!({ "pebble": {
            "listenAddress": places.api.to_string(),
            "managementListenAddress": places.management.to_string(),
            "certificate": folder.join("certificate.pem"),
            "privateKey": folder.join("key.pem"),
            "httpPort": self.http_port,
            "tlsPort": self.tls_port,
            "keyAlgorithm": "ecdsa",
            "domainBlocklist": self.blocked,
            "profiles": profiles,
            "externalAccountBindingRequired": !keys.is_empty(),
            "externalAccountMACKeys": keys,
            "retryAfter": { "authz": pause, "order": pause },
        }})
    }

    /// Sets the variables that pebble reads.
    pub(super) fn apply(&self, command: &mut Command) {
        command
            .env("PEBBLE_VA_NOSLEEP", "1")
            .env("PEBBLE_WFE_NONCEREJECT", self.nonce_reject.to_string())
            .env("PEBBLE_AUTHZREUSE", self.authz_reuse.to_string());
    }
}
