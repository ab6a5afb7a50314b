//! Whether one more client of an address may connect.

use std::net::SocketAddr;

use crate::client::prelude::ShownPeer;
use crate::clock::Millis;
use crate::generation::listener_settings::ListenerSettings;
use crate::services::LoopServices;
use crate::services::admission::ConnectionPermit;

/// Whether the client may have one more connection. Proxies that are trusted to name their clients may have any number.
pub(crate) fn admit(
    services: &LoopServices,
    settings: &ListenerSettings,
    peer: Option<SocketAddr>,
    permit: &mut ConnectionPermit,
) -> bool {
    let Some(address) = peer else { return true };
    let listener = settings.listener();
    if listener.forwarded.iter().any(|rule| rule.source.matches(peer)) || permit.claim(address.ip()) {
        return true;
    }
    services.counters.refused.add(1);
    let throttle = &services.admission.throttle;
    if let Some(suppressed) = throttle.refused.admit(Millis::of(services.deadlines.now())) {
        tracing::warn!(
            "{}: refused, its address has too many connections (settings.limits.connections_per_address){suppressed}",
            ShownPeer(peer)
        );
    }
    false
}
