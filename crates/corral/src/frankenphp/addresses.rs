//! The addresses of a site: where to listen, and for which names.

use std::net::IpAddr;

use corral_manifest::caddyfile::Directive;

use super::words::{Read, refuse};

/// Where a site is served.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Addresses {
    /// As in a configuration.
    pub(super) listeners: Vec<String>,
    /// The names that are meant; all if there is none.
    pub(super) hosts: Vec<String>,
}

/// Reads the words before a site's block.
pub(super) fn read(directive: &Directive) -> Read<Addresses> {
    let mut addresses = Addresses::default();
    let mut means_all = false;
    let words = directive.words.iter().flat_map(|word| word.split(',')).filter(|word| !word.is_empty());
    for word in words {
        let (listener, host) = address(directive, word)?;
        if !addresses.listeners.contains(&listener) {
            addresses.listeners.push(listener);
        }
        means_all |= host.is_none();
        addresses.hosts.extend(host);
    }
    if addresses.listeners.is_empty() {
        return refuse(directive, "the site has no address, such as http://:8000");
    }
    if means_all {
        addresses.hosts.clear();
    }
    Ok(addresses)
}

/// The listener, and the name if it stands for one.
fn address(directive: &Directive, word: &str) -> Read<(String, Option<String>)> {
    if word.starts_with("https://") {
        return refuse(
            directive,
            format!(
                "\"{word}\": HTTPS is not served under this name. Serve http:// (Octane without --https) behind a \
                 server that has a certificate, such as `corral daemon` with a listener that has \"tls\" and an \
                 action that has \"proxy\""
            ),
        );
    }
    let place = word.strip_prefix("http://").unwrap_or(word);
    let place = place.strip_suffix('/').unwrap_or(place);
    let (host, port) = match place.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => (host, Some(port)),
        _ => (place, None),
    };
    let port = match port.map_or(Ok(80), str::parse::<u16>) {
        Ok(port) if port != 0 => port,
        _ => {
            return refuse(
                directive,
                format!("\"{word}\" is not the address of a site, such as http://:8000"),
            );
        }
    };
    let ip = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '*');
    match (host, ip) {
        ("", _) => Ok((format!("*:{port}"), None)),
        (_, Ok(IpAddr::V6(ip))) => Ok((format!("[{ip}]:{port}"), None)),
        (_, Ok(ip)) => Ok((format!("{ip}:{port}"), None)),
        ("localhost", _) => Ok((format!("127.0.0.1:{port}"), None)),
        _ if !host.chars().all(is_name) => {
            refuse(directive, format!("\"{word}\" is not the address of a site, such as http://:8000"))
        }
        _ if !word.starts_with("http://") => refuse(
            directive,
            format!("\"{word}\" would be served with HTTPS, which is not done here: write http://{word}"),
        ),
        _ => Ok((format!("*:{port}"), Some(host.to_owned()))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(words: &[&str], expected: &str) {
        let words = words.iter().map(|word| (*word).to_owned()).collect();
        let found = match read(&Directive { line: 1, words, block: None }) {
            Ok(found) => format!("{} for {}", found.listeners.join(" "), found.hosts.join(" ")),
            Err(error) => error.message,
        };
        assert!(found.starts_with(expected), "{found}");
    }

    #[test]
    fn addresses_are_listeners_and_names() {
        check(&["http://:8000"], "*:8000 for ");
        check(&[":8000"], "*:8000 for ");
        check(&["http://127.0.0.1:8000"], "127.0.0.1:8000 for ");
        check(&["http://[::1]:8000/"], "[::1]:8000 for ");
        check(&["http://[::1]"], "[::1]:80 for ");
        check(&["localhost:8000"], "127.0.0.1:8000 for ");
        check(&["http://a.example,", "http://b.example:81"], "*:80 *:81 for a.example b.example");
        check(&["http://a.example:80,http://:80"], "*:80 for ");
    }

    #[test]
    fn others_are_refused() {
        check(&["https://localhost:8000"], "\"https://localhost:8000\": HTTPS is not served");
        check(&["example.com"], "\"example.com\" would be served with HTTPS");
        check(&["http://:0"], "\"http://:0\" is not the address");
        check(&["http://:x"], "\"http://:x\" is not the address");
        check(&["http://a/b:80"], "\"http://a/b:80\" is not the address");
        check(&["(snippet)"], "\"(snippet)\" is not the address");
    }
}
