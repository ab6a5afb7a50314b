//! A request as it is described to whoever does not read it from a socket: applications, and servers of FastCGI and its kin.

use std::os::unix::ffi::OsStrExt;

use corral_channel::message::RequestHead;
use corral_config::address::ListenAddress;
use smallvec::SmallVec;

use crate::exchange::Exchange;
use crate::observe::telemetry::{PARENT_LEN, TRACEPARENT};
use crate::request::head::Request;
use crate::request::identity::Identity;
use crate::request::ip_text;

/// The parts of a description that are not in the request itself, without an allocation.
pub(super) struct Surroundings {
    remote: AddressText,
    local: AddressText,
    local_port: u16,
    /// The trace's `traceparent`, in the place of the client's own.
    parent: Option<[u8; PARENT_LEN]>,
}

type AddressText = SmallVec<[u8; 48]>;

impl Surroundings {
    pub(super) fn of(exchange: &Exchange<'_>) -> Self {
        let mut remote = AddressText::new();
        ip_text::append(exchange.client.address.map(|address| address.ip()), &mut remote);
        let (local, local_port) = local(exchange);
        let parent = exchange.trace.as_ref().map(|trace| trace.header());
        Self { remote, local, local_port, parent }
    }

    /// The request without a body. What is said of its path may be replaced.
    pub(super) fn describe<'a>(&'a self, exchange: &'a Exchange<'_>) -> RequestHead<'a> {
        let Request { head, bytes, .. } = exchange.request;
        let identity = exchange.identity.as_deref();
        RequestHead {
            method: head.method(bytes),
            target: head.target(bytes),
            path: exchange.path(),
            query: exchange.query().unwrap_or_default(),
            version: exchange.request.version(),
            host: head.host(bytes),
            remote_addr: &self.remote,
            remote_user: identity.and_then(Identity::user).unwrap_or_default(),
            auth_type: identity.map(|identity| identity.scheme).unwrap_or_default(),
            local_addr: &self.local,
            local_port: self.local_port,
            tls: exchange.client.tls,
            app_target: 0,
            content_length: None,
            body_complete: true,
            websocket: false,
        }
    }

    /// The request's fields, but for what speaks of the connection to this server: the body comes without its framing.
    pub(super) fn fields<'a>(
        &'a self,
        exchange: &'a Exchange<'_>,
    ) -> impl Iterator<Item = (&'a [u8], &'a [u8])> {
        let is_replaced = |name: &[u8]| self.parent.is_some() && name.eq_ignore_ascii_case(TRACEPARENT);
        let fields = exchange.request_fields();
        let fields = fields.filter(move |(name, _)| !is_hop_by_hop(name) && !is_replaced(name));
        fields.chain(self.parent.as_ref().map(|parent| (TRACEPARENT, &parent[..])))
    }
}

fn is_hop_by_hop(name: &[u8]) -> bool {
    name.len() == 17 && name.eq_ignore_ascii_case(b"transfer-encoding")
}

/// The address that the client connected to.
fn local(exchange: &Exchange<'_>) -> (AddressText, u16) {
    let mut text = AddressText::new();
    if let ListenAddress::Unix(path) = &exchange.settings.listener().address {
        text.extend_from_slice(b"unix:");
        text.extend_from_slice(path.as_os_str().as_bytes());
        return (text, 0);
    }
    let address = exchange.local_address();
    ip_text::append(address.map(|address| address.ip()), &mut text);
    (text, address.map_or(0, |address| address.port()))
}
