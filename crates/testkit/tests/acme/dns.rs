//! `dns-01`: records in the DNS of BIND and of pebble's challenge server.

mod aliases;
mod orders;
mod programs;
mod updates;

use std::time::Duration;

use corral_acme::dns::{self, DnsError, Record};
use corral_config::tls::{DnsAlgorithm, DnsChallenge, DnsKey, DnsServer, DnsUpdate};
use corral_testkit::Named;

/// As long as a busy machine needs.
const TIMEOUT: Duration = Duration::from_secs(60);

fn run<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime").block_on(future)
}

fn present(how: &DnsChallenge, name: &str, value: &str) -> Result<(), DnsError> {
    run(dns::present(how, &record(name, value)))
}

fn remove(how: &DnsChallenge, name: &str, value: &str) -> Result<(), DnsError> {
    run(dns::remove(how, &record(name, value)))
}

fn record(name: &str, value: &str) -> Record {
    Record { name: name.to_owned(), value: value.to_owned() }
}

/// An update of this server, which is asked for its zones and servers as well.
fn by_server(server: &Named) -> DnsServer {
    DnsServer { address: server.address().to_string(), zone: None, key: Some(key(Named::KEY)) }
}

fn challenge(by: DnsUpdate, resolver: &Named) -> DnsChallenge {
    DnsChallenge {
        by,
        resolver: Some(resolver.address().to_string()),
        timeout: TIMEOUT,
        delay: Duration::ZERO,
    }
}

fn key((name, secret): (&str, &str)) -> DnsKey {
    DnsKey { name: name.to_owned(), algorithm: DnsAlgorithm::HmacSha256, secret: decoded(secret) }
}

/// Base64, as the keys of [`Named`] are.
fn decoded(text: &str) -> Vec<u8> {
    const DIGITS: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let digits: Vec<_> =
        text.trim_end_matches('=').chars().map(|c| DIGITS.find(c).expect("a digit")).collect();
    let bits =
        digits.iter().flat_map(|digit| (0..6).rev().map(move |n| digit >> n & 1 == 1)).collect::<Vec<_>>();
    let byte = |bits: &[bool]| bits.iter().fold(0, |byte, bit| byte << 1 | u8::from(*bit));
    bits.chunks_exact(8).map(byte).collect()
}

/// The words of an error.
#[track_caller]
fn words(outcome: Result<(), DnsError>) -> String {
    outcome.expect_err("that cannot succeed").words()
}
