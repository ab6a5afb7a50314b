//! `bind` and `proxy_protocol`: connections to servers that come from a certain address, or that begin with the
//! client's.

use std::net::IpAddr;

use super::context::Context;
use super::schema::Field;
use crate::address::ListenAddress;
use crate::upstream::{Origin, ProxyOptions, ProxyProtocol, UpstreamHost};

/// Reads `bind`.
pub(super) fn bind(cx: &mut Context<'_>, field: Field<'_>) -> Option<IpAddr> {
    let text = field.value.as_bytes()?.to_string_lossy();
    let address = text.parse();
    if address.is_err() {
        cx.problem("The \"bind\" string must be an IP address of this machine, without a port.");
    }
    address.ok()
}

/// Reads `proxy_protocol`.
pub(super) fn proxy_protocol(cx: &mut Context<'_>, field: Field<'_>) -> Option<ProxyProtocol> {
    match field.value.as_number()?.as_i64() {
        1 => Some(ProxyProtocol::One),
        2 => Some(ProxyProtocol::Two),
        _ => {
            cx.problem("The \"proxy_protocol\" number must be 1 or 2.");
            None
        }
    }
}

/// Reports what these options do not go together with; a connection that names its client is not kept.
pub(super) fn check<'o>(
    cx: &mut Context<'_>,
    options: &mut ProxyOptions,
    mut origins: impl Iterator<Item = &'o Origin>,
    speaks_http2: bool,
) {
    if options.proxy_protocol.is_some() {
        options.keepalive.connections = 0;
        if speaks_http2 {
            cx.at(b"proxy_protocol", |cx| {
                cx.problem(
                    "The \"proxy_protocol\" option is for HTTP/1: requests of several clients share a connection of \
                     HTTP/2.",
                );
            });
        }
    }
    let Some(bind) = options.bind else { return };
    if origins.any(|origin| !suits(bind, origin)) {
        cx.at(b"bind", |cx| {
            cx.problem("The \"bind\" address must be of the same family as those of the servers.");
        });
    }
}

/// The addresses of a name are looked up later.
fn suits(bind: IpAddr, origin: &Origin) -> bool {
    match &origin.host {
        UpstreamHost::Named { .. } => true,
        UpstreamHost::Address(ListenAddress::Inet(address)) => address.is_ipv4() == bind.is_ipv4(),
        UpstreamHost::Address(_) => false,
    }
}
