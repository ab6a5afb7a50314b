//! The client for which a trusted peer speaks: `forwarded` and the old `client_ip` (contract 8).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use corral_config::listener::Forwarded;
use corral_http::list;

use crate::request::client::RequestClient;
use crate::request::head::ReceivedRequest;

/// The client, as far as what is said about it is trusted.
pub(crate) fn client(
    rules: &[Forwarded],
    connected: RequestClient,
    request: ReceivedRequest<'_>,
) -> RequestClient {
    let mut client = connected;
    for rule in rules {
        let RequestClient { address, tls } = client;
        if !rule.source.matches(address) {
            continue;
        }
        let said = rule.client_ip.as_ref().and_then(|name| said_address(rule, &values(request, name)));
        let tls = rule.protocol.as_ref().and_then(|name| said_tls(&values(request, name))).unwrap_or(tls);
        client = RequestClient { address: said.or(address), tls };
    }
    client
}

/// The values of all fields with this name that are not empty.
fn values<'r>(request: ReceivedRequest<'r>, name: &str) -> Vec<&'r [u8]> {
    let ReceivedRequest { head, bytes, .. } = request;
    let named = head.fields(bytes).filter(|(known, _)| known.eq_ignore_ascii_case(name.as_bytes()));
    named.map(|(_, value)| value).filter(|value| !value.is_empty()).collect()
}

/// The address that the fields name: the last one, or going back from it the first that is not a trusted peer.
/// `None` when the last one is not an address.
fn said_address(rule: &Forwarded, values: &[&[u8]]) -> Option<SocketAddr> {
    let items = values.iter().rev().flat_map(|value| {
        let items = value.rsplit(|byte| matches!(byte, b',' | b' '));
        items.filter(|item| !item.is_empty())
    });
    let mut last_good = None;
    for item in items {
        let Some(address) = parse_address(item) else { break };
        last_good = Some(address);
        if !rule.recursive || !rule.source.matches(last_good) {
            break;
        }
    }
    last_good
}

/// Whether the first word of the first field says that the client speaks TLS; none when it says something else. Each
/// server on the way appends a word, so that the first is about the client.
fn said_tls(values: &[&[u8]]) -> Option<bool> {
    let value = list(values.first()?).next()?;
    let is = |word: &[u8]| value.eq_ignore_ascii_case(word);
    if is(b"https") || is(b"on") {
        return Some(true);
    }
    is(b"http").then_some(false)
}

/// `a.b.c.d[:port]`, `::1`, or `[::1][:port]`; not the address that stands for any.
fn parse_address(item: &[u8]) -> Option<SocketAddr> {
    let text = std::str::from_utf8(item).ok()?;
    let (ip, port): (IpAddr, &str) = if let Some(rest) = text.strip_prefix('[') {
        let (ip, port) = rest.split_once(']')?;
        (ip.parse::<Ipv6Addr>().ok()?.into(), if port.is_empty() { "" } else { port.strip_prefix(':')? })
    } else if let Ok(ip) = text.parse::<Ipv6Addr>() {
        (ip.into(), "")
    } else {
        let (ip, port) = text.split_once(':').map_or((text, None), |(ip, port)| (ip, Some(port)));
        (
            ip.parse::<Ipv4Addr>().ok()?.into(),
            port.map_or(Some(""), |port| (!port.is_empty()).then_some(port))?,
        )
    };
    let is_number = port.bytes().all(|byte| byte.is_ascii_digit());
    let port = if port.is_empty() { 0 } else { port.parse().ok().filter(|_| is_number)? };
    (!ip.is_unspecified()).then_some(SocketAddr::new(ip, port))
}

#[cfg(test)]
mod tests {
    use corral_config::pattern::address::AddressPatternSet;

    use super::*;

    fn rule(source: &[&str], recursive: bool) -> Forwarded {
        let mut set = AddressPatternSet::default();
        source.iter().for_each(|pattern| set.add(pattern.as_bytes()).unwrap());
        Forwarded { source: set, client_ip: Some("X".to_owned()), protocol: None, recursive }
    }

    /// The last item of the last field, or `-`.
    #[track_caller]
    fn check_last(values: &[&str], expect: &str) {
        check(&rule(&["127.0.0.0/8"], false), values, expect);
    }

    /// Going back over trusted peers, which are those in 10/8 and ::1.
    #[track_caller]
    fn check_recursive(values: &[&str], expect: &str) {
        check(&rule(&["10.0.0.0/8", "::1", "127.0.0.1"], true), values, expect);
    }

    #[track_caller]
    fn check(rule: &Forwarded, values: &[&str], expect: &str) {
        let bytes: Vec<_> = values.iter().map(|value| value.as_bytes()).collect();
        let said = said_address(rule, &bytes).map_or("-".to_owned(), |address| address.to_string());
        assert_eq!(said, expect, "{values:?}");
    }

    #[test]
    fn the_last_item_counts() {
        check_last(&["192.0.2.1"], "192.0.2.1:0");
        check_last(&["192.0.2.1, 192.0.2.2"], "192.0.2.2:0");
        check_last(&["192.0.2.1", "192.0.2.2,192.0.2.3 "], "192.0.2.3:0");
        check_last(&["192.0.2.1 , , "], "192.0.2.1:0");
        check_last(&["192.0.2.1:8080"], "192.0.2.1:8080");
        check_last(&["2001:db8::1"], "[2001:db8::1]:0");
        check_last(&["[2001:db8::1]:443"], "[2001:db8::1]:443");
        check_last(&["[2001:db8::1]"], "[2001:db8::1]:0");
    }

    #[test]
    fn what_is_no_address_changes_nothing() {
        for value in [
            "",
            ",",
            "unknown",
            "192.0.2.1, x",
            "0.0.0.0",
            "::",
            "[::]:80",
            "unix:",
            "192.0.2.1:",
            "192.0.2.1:x",
            "192.0.2.1:65536",
            "192.0.2.1:+80",
            "192.0.2",
            "192.0.2.01",
            "[::1",
            "[::1]80",
            "[192.0.2.1]:80",
            "2001:db8::1:x",
            "fe80::1%eth0",
            "é",
        ] {
            check_last(&[value], "-");
        }
        check_last(&[], "-");
    }

    #[test]
    fn trusted_peers_are_skipped() {
        check_recursive(&["192.0.2.1, 10.0.0.1, 10.0.0.2"], "192.0.2.1:0");
        check_recursive(&["192.0.2.1, 192.0.2.2, 10.0.0.2"], "192.0.2.2:0");
        check_recursive(&["192.0.2.1", "10.0.0.1", "::1"], "192.0.2.1:0");
        check_recursive(&["10.0.0.1, 10.0.0.2"], "10.0.0.1:0");
        check_recursive(&["192.0.2.1, garbage, 10.0.0.2"], "10.0.0.2:0");
        check_recursive(&["192.0.2.1, 0.0.0.0, 10.0.0.2"], "10.0.0.2:0");
        check_recursive(&["garbage"], "-");
    }

    #[track_caller]
    fn check_tls(values: &[&str], expect: Option<bool>) {
        let values: Vec<_> = values.iter().map(|value| value.as_bytes()).collect();
        assert_eq!(said_tls(&values), expect);
    }

    #[test]
    fn the_first_scheme_counts() {
        check_tls(&["https"], Some(true));
        check_tls(&["HTTPS", "http"], Some(true));
        check_tls(&["On"], Some(true));
        check_tls(&["http", "https"], Some(false));
        check_tls(&["off", "https"], None);
        check_tls(&["https, http"], Some(true));
        check_tls(&["http,https"], Some(false));
        check_tls(&[" , HTTPS ,http", "http"], Some(true));
        check_tls(&["ftp, https"], None);
        check_tls(&[","], None);
        check_tls(&[], None);
    }
}
