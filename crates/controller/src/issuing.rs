//! Certificates that the daemon orders by itself: what a configuration wants of `corral-acme`, and how that reaches
//! routers and the state directory through main.
//!
//! The control API never waits for an order. A program that changes the DNS is a child of the controller, with an
//! environment of its own and a time limit. An upgrade ends the old controller before the new main process starts, so
//! that two never order for the same state.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use corral_acme::{ChallengeMethod, EngineHost, OrderPolicy, WantedCertificates};
use corral_config::Config;
use corral_config::address::ListenAddress;
use corral_config::plan::Assets;
use corral_config::tls::{AcmeSettings, Challenge};
use corral_ipc::message::IssuedSecret;
use tokio::time::timeout;

use crate::main_link::MainLink;

/// Everything that a configuration wants certificates for. The first listener that has a name says how it is ordered.
pub(crate) fn wanted_certificates(config: &Config, assets: &Assets) -> WantedCertificates {
    let ports = Ports::of(config);
    let mut wanted_certificates = WantedCertificates::default();
    for listener in &config.listeners {
        let Some(acme) = listener.tls.as_ref().and_then(|tls| tls.acme.as_ref()) else { continue };
        let policy = policy(acme, ports, assets);
        add_names(&mut wanted_certificates.names, acme, &policy);
        if let Some(rule) = &acme.on_demand {
            wanted_certificates.on_demand.push((rule.clone(), policy));
        }
    }
    wanted_certificates
}

/// Gives routers what earlier processes have ordered, before there is a configuration that they serve.
pub(crate) async fn provide_known(main: &MainLink, known: Vec<IssuedSecret>) {
    if known.is_empty() {
        return;
    }
    if let Err(error) = EngineHost::provide(main, known).await {
        tracing::warn!("give the router the certificates of the state directory: {error}");
    }
}

impl EngineHost for MainLink {
    async fn store(&self, name: String, bytes: Option<Vec<u8>>) -> Result<(), String> {
        self.store_record(name, bytes).await.map_err(|error| error.to_string())
    }

    async fn provide(&self, secrets: Vec<IssuedSecret>) -> Result<(), String> {
        match timeout(LONGEST_PROVISION, MainLink::provide(self, secrets)).await {
            Ok(result) => result.map_err(|error| error.to_string()),
            Err(_) => Err(format!("no answer in {} seconds", LONGEST_PROVISION.as_secs())),
        }
    }
}

/// Routers answer at once, unless one of them ends.
const LONGEST_PROVISION: Duration = Duration::from_secs(10);

/// Where clients without TLS are listened to.
#[derive(Debug, Clone, Copy)]
struct Ports {
    /// Port 80 is one of them.
    has_http: bool,
    /// Some port is there, so port 80 may be forwarded to it.
    has_plain: bool,
}

impl Ports {
    fn of(config: &Config) -> Self {
        let plain = config.listeners.iter().filter(|listener| listener.tls.is_none());
        let ports = plain.filter_map(|listener| match &listener.address {
            ListenAddress::Inet(address) => Some(address.port()),
            ListenAddress::Unix(_) | ListenAddress::Abstract(_) | ListenAddress::Udp(_) => None,
        });
        let ports: Vec<_> = ports.collect();
        Self { has_http: ports.contains(&80), has_plain: !ports.is_empty() }
    }
}

fn policy(acme: &AcmeSettings, ports: Ports, assets: &Assets) -> Arc<OrderPolicy> {
    let ca = acme.issuer.ca.as_deref().and_then(|name| assets.certificate(name));
    let ca = ca.map(|bundle| bundle.bytes.clone());
    Arc::new(OrderPolicy { issuer: acme.issuer.clone(), ca, methods: methods(&acme.challenge, ports) })
}

fn methods(challenge: &Challenge, ports: Ports) -> Vec<ChallengeMethod> {
    match challenge {
        Challenge::Automatic if ports.has_http => vec![ChallengeMethod::Http, ChallengeMethod::TlsAlpn],
        Challenge::Automatic if ports.has_plain => vec![ChallengeMethod::TlsAlpn, ChallengeMethod::Http],
        Challenge::Automatic | Challenge::TlsAlpn => vec![ChallengeMethod::TlsAlpn],
        Challenge::Http => vec![ChallengeMethod::Http],
        Challenge::Dns(dns) => vec![ChallengeMethod::Dns(dns.clone())],
    }
}

/// A wildcard that nothing proves is there all the same, for its status.
fn add_names(names: &mut BTreeMap<String, Arc<OrderPolicy>>, acme: &AcmeSettings, policy: &Arc<OrderPolicy>) {
    let is_dns = matches!(acme.challenge, Challenge::Dns(_));
    for name in &acme.names {
        let policy = if name.starts_with("*.") && !is_dns {
            Arc::new(OrderPolicy { methods: Vec::new(), ..OrderPolicy::clone(policy) })
        } else {
            Arc::clone(policy)
        };
        names.entry(name.clone()).or_insert(policy);
    }
}

#[cfg(test)]
mod tests {
    use corral_config::{Known, json, validate};

    use super::*;

    fn wanted_by(document: &str) -> WantedCertificates {
        let document = json::parse(document.as_bytes()).unwrap();
        let config = validate(&document, &Known::modules(Vec::new())).unwrap();
        wanted_certificates(&config, &Assets::default())
    }

    #[track_caller]
    fn check_ways(listeners: &str, challenge: &str, expect: &[&str]) {
        let wanted_certificates = wanted_by(&format!(
            r#"{{"listeners": {{{listeners} "*:443": {{"pass": "routes", "tls": {{"acme": {{"names": "a.example.org"{challenge}}}}}}}}},
                "routes": []}}"#
        ));
        let methods: Vec<_> =
            wanted_certificates.names["a.example.org"].methods.iter().map(ChallengeMethod::name).collect();
        assert_eq!(methods, expect);
    }

    #[test]
    fn ways_follow_from_the_ports_and_the_option() {
        check_ways("", "", &["tls-alpn-01"]);
        check_ways(r#""*:80": {"pass": "routes"},"#, "", &["http-01", "tls-alpn-01"]);
        check_ways(r#""*:8080": {"pass": "routes"},"#, "", &["tls-alpn-01", "http-01"]);
        check_ways(r#""unix:/tmp/s": {"pass": "routes"},"#, "", &["tls-alpn-01"]);
        check_ways("", r#", "challenge": "http""#, &["http-01"]);
        check_ways(r#""*:80": {"pass": "routes"},"#, r#", "challenge": "tls-alpn""#, &["tls-alpn-01"]);
    }

    #[test]
    fn a_name_of_two_listeners_is_ordered_as_the_first_one_says() {
        let wanted_certificates = wanted_by(
            r#"{"listeners": {
                "*:443": {"pass": "routes", "tls": {"acme": {"names": "a.example.org", "email": "a@example.org"}}},
                "*:8443": {"pass": "routes", "tls": {"acme": {"names": ["a.example.org", "b.example.org"]}}}},
                "routes": []}"#,
        );
        let emails = wanted_certificates.names.values().map(|policy| policy.issuer.email.as_deref());
        assert_eq!(emails.collect::<Vec<_>>(), [Some("a@example.org"), None]);
    }
}
