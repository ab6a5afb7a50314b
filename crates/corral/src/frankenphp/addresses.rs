//! The addresses of a site: where to listen, and for which names.

use std::net::IpAddr;

use corral_manifest::caddyfile::Directive;

use super::words::{BlocksResult, refuse};

/// Where a site is served.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct SiteAddresses {
    pub(super) listeners: Vec<CaddyListener>,
    /// The names that are meant; all if there is none.
    pub(super) hosts: Vec<String>,
}

/// An address to listen on.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct CaddyListener {
    /// As in a configuration.
    pub(super) address: String,
    /// Whether it is for HTTPS.
    pub(super) is_secure: bool,
}

impl SiteAddresses {
    /// The port of the first listener for HTTPS.
    pub(super) fn secure_port(&self) -> Option<&str> {
        let secure = self.listeners.iter().find(|listener| listener.is_secure)?;
        secure.address.rsplit_once(':').map(|(_, port)| port)
    }

    /// The names that a certificate is for, if one is needed: those of the site, and those of this machine.
    pub(super) fn certified_names(&self) -> Vec<String> {
        let secure = self.listeners.iter().filter(|listener| listener.is_secure);
        let hosts = secure.map(|listener| ip_of(&listener.address)).collect::<Vec<_>>();
        if hosts.is_empty() {
            return Vec::new();
        }
        let own = ["localhost", "127.0.0.1", "::1"].map(str::to_owned);
        let mut names = Vec::new();
        for name in self.hosts.iter().cloned().chain(hosts.into_iter().flatten()).chain(own) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names
    }
}

/// The IP address of a listener, unless it is for all.
fn ip_of(listener: &str) -> Option<String> {
    let (ip, _port) = listener.rsplit_once(':')?;
    let ip = ip.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>().ok()?;
    (!ip.is_unspecified()).then(|| ip.to_string())
}

/// Reads the words before a site's block.
pub(super) fn read(directive: &Directive) -> BlocksResult<SiteAddresses> {
    let mut addresses = SiteAddresses::default();
    let mut means_all = false;
    let words = directive.words.iter().flat_map(|word| word.split(',')).filter(|word| !word.is_empty());
    for word in words {
        let (listener, host) = address(directive, word)?;
        match addresses.listeners.iter().find(|known| known.address == listener.address) {
            None => addresses.listeners.push(listener),
            Some(known) if *known == listener => {}
            Some(_) => {
                return refuse(directive, format!("\"{word}\": a port is either for HTTPS or for HTTP"));
            }
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
fn address(directive: &Directive, word: &str) -> BlocksResult<(CaddyListener, Option<String>)> {
    let is_secure = word.starts_with("https://");
    let has_scheme = is_secure || word.starts_with("http://");
    let place = if has_scheme { word.split_once("//").map_or(word, |(_, place)| place) } else { word };
    let place = place.strip_suffix('/').unwrap_or(place);
    let (host, port) = match place.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => (host, Some(port)),
        _ => (place, None),
    };
    let usual = if is_secure { 443 } else { 80 };
    let port = match port.map_or(Ok(usual), str::parse::<u16>) {
        Ok(port) if port != 0 => port,
        _ => {
            return refuse(
                directive,
                format!("\"{word}\" is not the address of a site, such as http://:8000"),
            );
        }
    };
    let listener = |host: &str| CaddyListener { address: format!("{host}:{port}"), is_secure };
    let ip = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '*');
    match (host, ip) {
        ("", _) => Ok((listener("*"), None)),
        (_, Ok(IpAddr::V6(ip))) => Ok((listener(&format!("[{ip}]")), None)),
        (_, Ok(ip)) => Ok((listener(&ip.to_string()), None)),
        ("localhost", _) => Ok((listener("127.0.0.1"), None)),
        _ if !host.chars().all(is_name) => {
            refuse(directive, format!("\"{word}\" is not the address of a site, such as http://:8000"))
        }
        _ if !has_scheme => refuse(
            directive,
            format!(
                "\"{word}\" would be served with a certificate of an authority, which is not ordered here: write \
                 http://{word}, or https://{word} for a certificate that is signed on this machine"
            ),
        ),
        _ => Ok((listener("*"), Some(host.to_owned()))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(words: &[&str], expected: &str) {
        let words = words.iter().map(|word| (*word).to_owned()).collect();
        let found = match read(&Directive { line: 1, words, block: None }) {
            Ok(found) => {
                let scheme = |listener: &CaddyListener| if listener.is_secure { "https://" } else { "" };
                let listener = |found: &CaddyListener| scheme(found).to_owned() + &found.address;
                let listeners: Vec<_> = found.listeners.iter().map(listener).collect();
                format!("{} for {}", listeners.join(" "), found.hosts.join(" "))
            }
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
        check(&["https://localhost:8000"], "https://127.0.0.1:8000 for ");
        check(&["https://127.0.0.1"], "https://127.0.0.1:443 for ");
        check(&["https://a.example:8000", "http://a.example"], "https://*:8000 *:80 for a.example a.example");
    }

    #[track_caller]
    fn check_names(word: &str, expected: &[&str]) {
        let addresses = read(&Directive { line: 1, words: vec![word.to_owned()], block: None }).unwrap();
        assert_eq!(addresses.certified_names(), expected);
    }

    #[test]
    fn certificates_are_for_the_site_and_for_this_machine() {
        check_names("https://a.example", &["a.example", "localhost", "127.0.0.1", "::1"]);
        check_names("https://10.1.2.3:8000", &["10.1.2.3", "localhost", "127.0.0.1", "::1"]);
        check_names("https://[::1]:8000", &["::1", "localhost", "127.0.0.1"]);
        check_names("https://:8000", &["localhost", "127.0.0.1", "::1"]);
        check_names("http://a.example", &[]);
    }

    #[test]
    fn others_are_refused() {
        check(&["https://:8000", "http://:8000"], "\"http://:8000\": a port is either");
        check(&["example.com"], "\"example.com\" would be served with a certificate of an authority");
        check(&["http://:0"], "\"http://:0\" is not the address");
        check(&["http://:x"], "\"http://:x\" is not the address");
        check(&["http://a/b:80"], "\"http://a/b:80\" is not the address");
        check(&["(snippet)"], "\"(snippet)\" is not the address");
    }
}
