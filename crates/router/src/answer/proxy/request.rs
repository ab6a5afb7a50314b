//! The head of a request as a server gets it.

use std::io::Write;
use std::net::{IpAddr, SocketAddr};

use corral_cgi::variables::is_one_variable;
use corral_config::address::ListenAddress;
use corral_config::upstream::UpstreamHost;
use corral_http::path::append_encoded_path;
use corral_http::request::{HttpVersion, KnownField, ParsedHead, RequestFraming};
use corral_http::upstream::{NamedFields, is_hop_by_hop};
use corral_http::{list, response};

use super::forwarded;
use crate::exchange::request::RoutedRequest;
use crate::exchange::response::ResponseWriter;
use crate::observe::telemetry::TRACEPARENT;
use crate::request::ip_text;
use crate::upstream::UpstreamServer;

/// Appends the head. `length` is that of the body, if there is one.
pub(crate) fn append_head(
    response: &ResponseWriter<'_, '_>,
    server: &UpstreamServer,
    length: Option<u64>,
    out: &mut Vec<u8>,
) {
    out.extend_from_slice(response.request.method());
    out.push(b' ');
    append_target(response.request, out);
    out.extend_from_slice(b" HTTP/1.1\r\n");
    append_fields(response, server, out);
    append_length(length, out);
    if let Some(protocol) = wanted_upgrade(response.request) {
        response::append_field(out, b"Connection", b"Upgrade");
        response::append_field(out, b"Upgrade", protocol);
    } else {
        append_connection(response.request, server, out);
    }
    out.extend_from_slice(b"\r\n");
}

/// Appends lines with all fields of a request over HTTP/2, where nothing is said about the connection. `length` is that
/// of the body, if it is known.
pub(super) fn append_all_fields(
    response: &ResponseWriter<'_, '_>,
    server: &UpstreamServer,
    length: Option<u64>,
    out: &mut Vec<u8>,
) {
    append_fields(response, server, out);
    append_length(length, out);
    if response.request.takes_trailers() {
        response::append_field(out, b"TE", b"trailers");
    }
}

pub(super) fn append_length(length: Option<u64>, out: &mut Vec<u8>) {
    if let Some(length) = length {
        response::append_field(out, b"Content-Length", itoa::Buffer::new().format(length).as_bytes());
    }
}

/// The fields about this one connection: whether it is kept, and that fields behind the body are welcome, which is said
/// for each connection anew (RFC 9110 section 10.1.4).
fn append_connection(request: &RoutedRequest<'_>, server: &UpstreamServer, out: &mut Vec<u8>) {
    let is_kept = server.options.keepalive.connections > 0;
    let takes_trailers = request.takes_trailers();
    if takes_trailers {
        response::append_field(out, b"TE", b"trailers");
    }
    let options: &[u8] = match (is_kept, takes_trailers) {
        (true, false) => return,
        (true, true) => b"TE",
        (false, false) => b"close",
        (false, true) => b"close, TE",
    };
    response::append_field(out, b"Connection", options);
}

/// The target as received, or the path and the query after a rewrite, encoded anew. What could end the request line, or
/// another field of it, is escaped.
pub(super) fn append_target(request: &RoutedRequest<'_>, out: &mut Vec<u8>) {
    let (head, bytes) = (request.received.head, request.received.bytes);
    if !request.is_rewritten() {
        return append_escaped(head.target(bytes), out);
    }
    append_encoded_path(request.path(), out);
    if let Some(query) = request.query() {
        out.push(b'?');
        append_escaped(query, out);
    }
}

/// A target whose bytes cannot end the line that it is in.
pub(super) fn append_escaped(target: &[u8], out: &mut Vec<u8>) {
    if !target.iter().any(|&byte| byte <= b' ' || byte == 0x7f) {
        return out.extend_from_slice(target);
    }
    for &byte in target {
        if byte <= b' ' || byte == 0x7f {
            write!(out, "%{byte:02X}").expect("writing to memory cannot fail");
        } else {
            out.push(byte);
        }
    }
}

fn append_fields(response: &ResponseWriter<'_, '_>, server: &UpstreamServer, out: &mut Vec<u8>) {
    let (head, bytes) = (response.request.received.head, response.request.received.bytes);
    if !response.request.fields().any(|(name, _)| name.eq_ignore_ascii_case(b"host")) {
        append_host(server, out);
    }
    let named = NamedFields::of(head.values(bytes, KnownField::Connection));
    let is_forwarded = !server.options.hide_client;
    for (name, value) in response.request.fields() {
        let traced = response.request.trace.is_some() && name.eq_ignore_ascii_case(TRACEPARENT);
        if is_hop_by_hop(name) || traced {
            continue;
        }
        let is_told = is_forwarded && forwarded::is_one(name);
        let is_told = is_told || (server.is_program && is_one_variable(CLIENT, name));
        let is_dropped = is_told || named.has(name);
        // What the configuration says is not a matter of the client's.
        if !is_dropped || response.request.changes_field(name) {
            response::append_checked_field(out, name, value);
        }
    }
    if let Some(parent) = response.traceparent() {
        response::append_checked_field(out, TRACEPARENT, &parent);
    }
    if is_forwarded {
        forwarded::append(response, out);
    }
    if server.is_program && !response.request.changes_field(CLIENT) {
        append_client(response, out);
    }
}

/// The fields of a request that are not about its connection to this server.
pub(super) fn end_to_end_fields<'r>(
    request: &'r RoutedRequest<'_>,
) -> impl Iterator<Item = (&'r [u8], &'r [u8])> {
    let (head, bytes) = (request.received.head, request.received.bytes);
    let named = NamedFields::of(head.values(bytes, KnownField::Connection));
    request.fields().filter(move |(name, _)| !is_hop_by_hop(name) && !named.has(name))
}

/// HTTP/1.1 demands a Host, which clients of HTTP/1.0 may not send.
pub(super) fn append_host(server: &UpstreamServer, out: &mut Vec<u8>) {
    let host = match &server.origin.host {
        UpstreamHost::Address(address) => match address {
            ListenAddress::Inet(address) => address.to_string(),
            _ => "localhost".to_owned(),
        },
        named @ UpstreamHost::Named { .. } => named.to_string(),
    };
    response::append_field(out, b"Host", host.as_bytes());
}

/// The field by which adapters of languages know the client, and which they take away again: the address and the scheme
/// that this server goes by, and the address that was connected to. A client that is named without a port has none
/// here.
const CLIENT: &[u8] = b"Corral-Client";

/// As in `Forwarded` (RFC 7239).
fn append_client(response: &ResponseWriter<'_, '_>, out: &mut Vec<u8>) {
    out.extend_from_slice(CLIENT);
    out.extend_from_slice(b": for=");
    let port = |client: SocketAddr| (client.port() != 0).then_some(client.port());
    append_node(
        response.request.client.address.map(|client| (client.ip().to_canonical(), port(client))),
        out,
    );
    out.extend_from_slice(b";by=");
    append_node(response.local_address().map(|local| (local.ip().to_canonical(), Some(local.port()))), out);
    let protocol: &[u8] = if response.request.client.tls { b"https" } else { b"http" };
    out.extend_from_slice(b";proto=");
    out.extend_from_slice(protocol);
    out.extend_from_slice(b"\r\n");
}

fn append_node(address: Option<(IpAddr, Option<u16>)>, out: &mut Vec<u8>) {
    let Some((ip, port)) = address else { return out.extend_from_slice(b"_unix") };
    out.extend_from_slice(if ip.is_ipv6() { b"\"[" } else { b"\"" });
    ip_text::append(Some(ip), out);
    out.extend_from_slice(if ip.is_ipv6() { b"]" } else { b"" });
    if let Some(port) = port {
        out.push(b':');
        out.extend_from_slice(itoa::Buffer::new().format(port).as_bytes());
    }
    out.push(b'"');
}

/// The protocol that the client wants to switch to, unless that is HTTP/2: requests on such a connection would pass by
/// the rules of this server. None with a body: a server that takes the protocol's bytes for those of the body, or the
/// other way round, would be out of step with this one.
pub(crate) fn wanted_upgrade<'t>(request: &RoutedRequest<'t>) -> Option<&'t [u8]> {
    let (head, bytes): (&'t ParsedHead, &'t [u8]) = (request.received.head, request.received.bytes);
    let protocol = head.value(bytes, KnownField::Upgrade)?;
    let mut options = head.values(bytes, KnownField::Connection).flat_map(list);
    let is_asked_for = head.version() >= HttpVersion::Http11
        && options.any(|option| option.eq_ignore_ascii_case(b"upgrade"));
    let is_http = |name: &[u8]| {
        name.eq_ignore_ascii_case(b"h2c")
            || name.get(..5).is_some_and(|name| name.eq_ignore_ascii_case(b"http/"))
    };
    let has_body = head.framing() != RequestFraming::Length(0);
    (is_asked_for && !has_body && !list(protocol).any(is_http)).then_some(protocol)
}
