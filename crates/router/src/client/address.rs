//! Whether one more client of an address may connect.

use std::net::SocketAddr;

use crate::client::prelude::Shown;
use crate::clock::Millis;
use crate::generation::slot_settings::SlotSettings;
use crate::services::Services;
use crate::services::admission::Place;

/// Whether the client may have one more connection. Proxies that are trusted to name their clients may have any number.
pub(crate) fn admit(
    services: &Services,
    settings: &SlotSettings,
    peer: Option<SocketAddr>,
    place: &mut Place,
) -> bool {
    let Some(address) = peer else { return true };
    let listener = settings.listener();
    if listener.forwarded.iter().any(|rule| rule.source.matches(peer)) || place.claim(address.ip()) {
        return true;
    }
    services.counters.refused.add(1);
    let complaints = &services.admission.complaints;
    if let Some(unsaid) = complaints.refused.admit(Millis::of(services.deadlines.now())) {
        tracing::warn!(
            "{}: refused, its address has too many connections (settings.limits.connections_per_address){unsaid}",
            Shown(peer)
        );
    }
    false
}
