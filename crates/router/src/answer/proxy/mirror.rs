//! Copies of requests for other servers (`mirror`). The request is answered as if there were none: nothing waits for a
//! copy, and what becomes of it is counted.

mod copy;

use std::hash::{BuildHasher, RandomState};
use std::rc::Rc;
use std::sync::Arc;

use corral_config::gateway::Servers;
use corral_config::mirror::{Mirror, SAMPLE_ALL};
use corral_http::response;

use self::copy::MirroredRequest;
use super::shown::shown;
use super::{balance_key, request};
use crate::clock::Millis;
use crate::exchange::Exchange;
use crate::mirrors::{FIELD, MOST_DEEP, MirrorTally, mark};
use crate::request::body::BodyError;
use crate::storage::buffers;
use crate::upstream::{LoopGroup, TriedServers};

/// Longest body of a copy, in bytes.
const MOST_BODY: usize = 1024 * 1024;

/// Sends copies of a request that is about to be answered. Its body is read first, and stays for the answer.
pub(crate) async fn begin(exchange: &mut Exchange<'_>, idx: usize) -> Result<(), BodyError> {
    let generation = &exchange.settings.generation;
    let found = generation.config.mirrors.get(idx).zip(generation.shared.mirrors.get(idx));
    let Some((mirror, tally)) = found else { return Ok(()) };
    // The bytes of a connection that is upgraded are for one server alone.
    if request::wanted_upgrade(exchange).is_some() || !is_drawn(mirror.sample) {
        return Ok(());
    }
    if depth(exchange) >= MOST_DEEP {
        drop_copy(exchange, tally, "it has come back as a copy, so its servers lead here");
        return Ok(());
    }
    let body = match mirror.body {
        false => None,
        true if exchange.peek_body(MOST_BODY).await? => exchange.peeked_body().map(Rc::<[u8]>::from),
        true => {
            drop_copy(exchange, tally, "the body is too large for a copy");
            return Ok(());
        }
    };
    for servers in &mirror.to {
        let group = match *servers {
            Servers::Upstream(upstream) => &generation.servers.upstreams[upstream],
            Servers::Proxy(proxy) => &generation.servers.proxies[proxy],
        };
        send(exchange, (mirror, tally), group, body.clone());
    }
    Ok(())
}

/// Mirrors of this router that the request has been through.
fn depth(exchange: &Exchange<'_>) -> usize {
    let fields = exchange.request.head.fields(exchange.request.bytes);
    fields.filter(|(name, value)| name.eq_ignore_ascii_case(FIELD) && *value == mark()).count()
}

fn is_drawn(sample: u32) -> bool {
    sample == SAMPLE_ALL || RandomState::new().hash_one(0) % u64::from(SAMPLE_ALL) < u64::from(sample)
}

/// Has one server of a group get a copy.
fn send(
    exchange: &Exchange<'_>,
    (mirror, tally): (&Mirror, &Arc<MirrorTally>),
    group: &LoopGroup,
    body: Option<Rc<[u8]>>,
) {
    let n_bytes = body.as_ref().map_or(0, |body| body.len());
    let Some(permit) = exchange.services.copies.permit(n_bytes) else {
        return drop_copy(exchange, tally, "too many copies are on their way");
    };
    let key = balance_key(exchange, group).unwrap_or_default();
    let chosen = group.choose(&TriedServers::new(), &key, exchange.now());
    buffers::give(key);
    let Some(chosen) = chosen else {
        return drop_copy(exchange, tally, "no server is available");
    };
    let server = &group.servers[chosen];
    let has_length = exchange.request.head.content_length().is_some();
    let length = body.as_ref().filter(|body| has_length || !body.is_empty()).map(|body| body.len() as u64);
    let mut head = buffers::take();
    request::append_head(exchange, &server.shared, length, &mut head);
    // In front of the empty line.
    head.truncate(head.len() - 2);
    response::append_field(&mut head, FIELD, mark());
    head.extend_from_slice(b"\r\n");
    let copy = MirroredRequest {
        group: Arc::clone(&group.shared),
        server: Rc::clone(server),
        head,
        body,
        is_head: exchange.is_head(),
        timeout: mirror.timeout,
        tally: Arc::clone(tally),
        lane: exchange.services.lane.index(),
        idle: Rc::clone(&exchange.services.proxy_servers.idle),
    };
    // Ends with its event loop, which does not wait for it.
    tokio::task::spawn_local(copy.run(permit));
}

fn drop_copy(exchange: &Exchange<'_>, tally: &MirrorTally, reason: &str) {
    tally.figures(exchange.services.lane.index()).dropped.add(1);
    if let Some(suppressed) = tally.drops.admit(Millis::of(exchange.now())) {
        tracing::warn!("{}: not sent, {reason}, request \"{}\"{suppressed}", tally.place, shown(exchange));
    }
}
