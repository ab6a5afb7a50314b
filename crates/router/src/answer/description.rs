//! Descriptions of requests for applications, and for servers of FastCGI and its kin, which read none from a socket.

use std::os::unix::ffi::OsStrExt;

use corral_channel::message::RequestHead;
use corral_config::address::ListenAddress;
use smallvec::SmallVec;

use crate::exchange::request::RoutedRequest;
use crate::exchange::response::ResponseWriter;
use crate::observe::telemetry::{PARENT_LEN, TRACEPARENT};
use crate::request::head::ReceivedRequest;
use crate::request::identity::AuthenticatedUser;
use crate::request::ip_text;

/// The parts of a description that are not in the request itself, without an allocation.
pub(super) struct ConnectionFacts {
    remote: AddressText,
    local: AddressText,
    port: u16,
    /// The trace's `traceparent`, in the place of the client's own.
    parent: Option<[u8; PARENT_LEN]>,
}

type AddressText = SmallVec<[u8; 48]>;

impl ConnectionFacts {
    pub(super) fn of(response: &ResponseWriter<'_, '_>) -> Self {
        let mut remote = AddressText::new();
        ip_text::append(response.request.client.address.map(|address| address.ip()), &mut remote);
        let (local, local_port) = local(response);
        let port = forwarded_port(response).unwrap_or(local_port);
        Self { remote, local, port, parent: response.traceparent() }
    }

    /// The request without a body. What is said of its path may be replaced.
    pub(super) fn describe<'a>(&'a self, request: &'a RoutedRequest<'_>) -> RequestHead<'a> {
        let ReceivedRequest { head, bytes, .. } = request.received;
        let identity = request.user.as_deref();
        RequestHead {
            method: head.method(bytes),
            target: head.target(bytes),
            path: request.path(),
            query: request.query().unwrap_or_default(),
            version: request.received.version(),
            host: head.host(bytes),
            remote_addr: &self.remote,
            remote_port: request.client.address.map_or(0, |address| address.port()),
            remote_user: identity.and_then(AuthenticatedUser::user).unwrap_or_default(),
            auth_type: identity.map(|identity| identity.scheme).unwrap_or_default(),
            local_addr: &self.local,
            local_port: self.port,
            tls: request.client.tls,
            app_target: 0,
            content_length: None,
            body_complete: true,
            websocket: false,
            params: b"",
        }
    }

    /// The request's fields, but for what speaks of the connection to this server: the body comes without its framing.
    pub(super) fn fields<'a>(
        &'a self,
        request: &'a RoutedRequest<'_>,
    ) -> impl Iterator<Item = (&'a [u8], &'a [u8])> {
        let is_replaced = |name: &[u8]| self.parent.is_some() && name.eq_ignore_ascii_case(TRACEPARENT);
        let fields = request.fields();
        let fields = fields.filter(move |(name, _)| !is_hop_by_hop(name) && !is_replaced(name));
        fields.chain(self.parent.as_ref().map(|parent| (TRACEPARENT, &parent[..])))
    }
}

fn is_hop_by_hop(name: &[u8]) -> bool {
    name.len() == 17 && name.eq_ignore_ascii_case(b"transfer-encoding")
}

/// The address that the client connected to.
fn local(response: &ResponseWriter<'_, '_>) -> (AddressText, u16) {
    let mut text = AddressText::new();
    if let ListenAddress::Unix(path) = &response.request.settings.listener().address {
        text.extend_from_slice(b"unix:");
        text.extend_from_slice(path.as_os_str().as_bytes());
        return (text, 0);
    }
    let address = response.local_address();
    ip_text::append(address.map(|address| address.ip()), &mut text);
    (text, address.map_or(0, |address| address.port()))
}

/// The port that the client has reached, where a trusted server in front of this one speaks another scheme than the
/// connection: the one that the host names, or that of the scheme. That of the socket is not in any address that
/// clients can use.
fn forwarded_port(response: &ResponseWriter<'_, '_>) -> Option<u16> {
    let is_tls = response.request.client.tls;
    if is_tls == response.client.carrier.speaks_tls() {
        return None;
    }
    let ReceivedRequest { head, bytes, .. } = response.request.received;
    let host = head.fields(bytes).find(|(name, _)| name.eq_ignore_ascii_case(b"host"));
    let named = host.and_then(|(_, value)| port_of(value));
    Some(named.unwrap_or(if is_tls { 443 } else { 80 }))
}

/// The port in a `Host` field.
fn port_of(host: &[u8]) -> Option<u16> {
    let behind = host.iter().rposition(|byte| matches!(byte, b':' | b']')).filter(|at| host[*at] == b':')?;
    std::str::from_utf8(&host[behind + 1..]).ok()?.parse().ok().filter(|port| *port != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(host: &str, expect: Option<u16>) {
        assert_eq!(port_of(host.as_bytes()), expect, "{host}");
    }

    #[test]
    fn a_host_may_name_a_port() {
        check("a", None);
        check("a:8443", Some(8443));
        check("a:", None);
        check("a:0", None);
        check("a:65536", None);
        check("[::1]", None);
        check("[::1]:8443", Some(8443));
        check("", None);
    }
}
