//! The `X-Forwarded-…` fields, by which servers learn of the client.

use corral_cgi::variables::is_one_variable;
use corral_http::request::KnownField;
use corral_http::{list, response};

use crate::exchange::response::ResponseWriter;
use crate::request::ip_text;

const FOR: &[u8] = b"X-Forwarded-For";
const PROTO: &[u8] = b"X-Forwarded-Proto";
const HOST: &[u8] = b"X-Forwarded-Host";
const PORT: &[u8] = b"X-Forwarded-Port";

/// Whether it is one of these, which clients are not believed in.
pub(super) fn is_one(name: &[u8]) -> bool {
    let is = |known| is_one_variable(name, known);
    match name.len() {
        15 => is(FOR),
        16 => is(HOST) || is(PORT),
        17 => is(PROTO),
        _ => false,
    }
}

/// The client, its host and its protocol. The peer is added to a list that others have begun; what a trusted proxy has
/// said about protocol, host and port is kept. What `request_headers` says of one of these fields is the last word.
pub(super) fn append(response: &ResponseWriter<'_, '_>, out: &mut Vec<u8>) {
    let (head, bytes) = (response.request.received.head, response.request.received.bytes);
    let is_trusted = response.peer_is_trusted();
    let said = |wanted: &'static [u8]| {
        head.fields(bytes).filter(move |(name, _)| name.eq_ignore_ascii_case(wanted)).map(|(_, value)| value)
    };
    if !response.request.changes_field(FOR) {
        out.extend_from_slice(FOR);
        out.extend_from_slice(b": ");
        for value in said(FOR) {
            out.extend_from_slice(value);
            out.extend_from_slice(b", ");
        }
        ip_text::append(response.client.carrier.peer().map(|peer| peer.ip().to_canonical()), out);
        out.extend_from_slice(b"\r\n");
    }
    let kept = |wanted| said(wanted).next().filter(|_| is_trusted);
    let known: &[u8] = if response.request.client.tls { b"https" } else { b"http" };
    let protocol = kept(PROTO).unwrap_or(known);
    if !response.request.changes_field(PROTO) {
        response::append_checked_field(out, PROTO, protocol);
    }
    let host = kept(HOST).or_else(|| head.value(bytes, KnownField::Host));
    if let Some(host) = host.filter(|_| !response.request.changes_field(HOST)) {
        response::append_checked_field(out, HOST, host);
    }
    if response.request.changes_field(PORT) {
        return;
    }
    if let Some(port) = kept(PORT) {
        return response::append_checked_field(out, PORT, port);
    }
    let port = match host {
        Some(host) => Some(port_of(host, protocol)),
        None => response.local_address().map(|local| local.port()),
    };
    if let Some(port) = port {
        response::append_field(out, PORT, itoa::Buffer::new().format(port).as_bytes());
    }
}

/// The port that a client has in mind when it says this host, which need not be one that is listened on here.
fn port_of(host: &[u8], protocol: &[u8]) -> u16 {
    let said = host.iter().rposition(|&byte| byte == b':').and_then(|colon| host.get(colon + 1..));
    let said =
        said.and_then(|digits| std::str::from_utf8(digits).ok()).and_then(|digits| digits.parse().ok());
    // Each server on the way may have appended a word.
    let protocol = list(protocol).next().unwrap_or_default();
    said.unwrap_or(if protocol.eq_ignore_ascii_case(b"https") { 443 } else { 80 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_port_is_what_the_client_has_in_mind() {
        for (host, protocol, port) in [
            ("a.example", "http", 80),
            ("a.example", "https", 443),
            ("a.example:8080", "https", 8080),
            ("[2001:db8::1]", "http", 80),
            ("[2001:db8::1]:81", "http", 81),
            ("a.example:", "https", 443),
            ("a.example:99999", "http", 80),
            ("a.example:http", "HTTPS", 443),
            ("a.example", "https, http", 443),
            ("", "http", 80),
        ] {
            assert_eq!(port_of(host.as_bytes(), protocol.as_bytes()), port, "{host} {protocol}");
        }
    }

    #[test]
    fn names_are_known_in_any_case() {
        for name in ["X-Forwarded-For", "x-forwarded-host", "X-FORWARDED-PORT", "X-Forwarded-Proto"] {
            assert!(is_one(name.as_bytes()), "{name}");
        }
        for name in ["X-Forwarded", "X-Forwarded-Part", "X-Forwarded-Proto2", ""] {
            assert!(!is_one(name.as_bytes()), "{name}");
        }
    }
}
