//! Copies of requests for other servers (`mirror`). The request is answered as if there were none: nothing waits for a
//! copy, and what becomes of it is counted.

mod copy;

use std::hash::{BuildHasher, RandomState};
use std::rc::Rc;
use std::sync::Arc;

use corral_config::mirror::{Mirror, SAMPLE_ALL};
use corral_config::table::Key;
use corral_http::response;

use self::copy::MirroredRequest;
use super::shown::shown;
use super::{balance_key, request};
use crate::clock::Millis;
use crate::exchange::request::RoutedRequest;
use crate::exchange::response::ResponseWriter;
use crate::mirrors::{FIELD, MOST_DEEP, MirrorTally, mark};
use crate::request::body::BodyError;
use crate::storage::buffers;
use crate::upstream::{LoopGroup, ServerAdmission, ServerWish, TriedServers};

/// Longest body of a copy, in bytes.
const MOST_BODY: usize = 1024 * 1024;

/// Sends copies of a request that is about to be answered. Its body is read first, and stays for the answer.
pub(crate) async fn begin(response: &mut ResponseWriter<'_, '_>, key: Key<Mirror>) -> Result<(), BodyError> {
    let generation = &response.request.settings.generation;
    let found = generation.config.tables.mirrors.get(key).zip(generation.shared.mirrors.get(key));
    let Some((mirror, tally)) = found else { return Ok(()) };
    // The bytes of a connection that is upgraded are for one server alone.
    if request::wanted_upgrade(response.request).is_some() || !is_drawn(mirror.sample) {
        return Ok(());
    }
    if depth(response.request) >= MOST_DEEP {
        drop_copy(response, tally, "it has come back as a copy, so its servers lead here");
        return Ok(());
    }
    let announced = response.request.received.head.content_length();
    let body = match mirror.body {
        false => None,
        true if response.client.peek_body(announced, MOST_BODY).await? => {
            response.client.peeked_body().map(Rc::<[u8]>::from)
        }
        true => {
            drop_copy(response, tally, "the body is too large for a copy");
            return Ok(());
        }
    };
    for servers in &mirror.to {
        send(response, (mirror, tally), generation.servers.group(*servers), body.clone());
    }
    Ok(())
}

/// Mirrors of this router that the request has been through.
fn depth(request: &RoutedRequest<'_>) -> usize {
    let fields = request.received.head.fields(request.received.bytes);
    fields.filter(|(name, value)| name.eq_ignore_ascii_case(FIELD) && *value == mark()).count()
}

fn is_drawn(sample: u32) -> bool {
    sample == SAMPLE_ALL || RandomState::new().hash_one(0) % u64::from(SAMPLE_ALL) < u64::from(sample)
}

/// Has one server of a group get a copy.
fn send(
    response: &ResponseWriter<'_, '_>,
    (mirror, tally): (&Mirror, &Arc<MirrorTally>),
    group: &LoopGroup,
    body: Option<Rc<[u8]>>,
) {
    let n_bytes = body.as_ref().map_or(0, |body| body.len());
    let Some(permit) = response.services.copies.permit(n_bytes) else {
        return drop_copy(response, tally, "too many copies are on their way");
    };
    let key = balance_key(response, group).unwrap_or_default();
    let wish = ServerWish { tried: &TriedServers::new(), key: &key, preferred: None, now: response.now() };
    let admission = group.admit(&wish);
    buffers::give(key);
    let (chosen, place) = match admission {
        ServerAdmission::Granted(chosen, place) => (chosen, place),
        ServerAdmission::Waits(_) | ServerAdmission::Full => {
            return drop_copy(response, tally, "all servers have as many requests as they may");
        }
        ServerAdmission::Absent => return drop_copy(response, tally, "no server is available"),
    };
    let server = &group.servers[chosen];
    let has_length = response.request.received.head.content_length().is_some();
    let length = body.as_ref().filter(|body| has_length || !body.is_empty()).map(|body| body.len() as u64);
    let mut head = buffers::take();
    request::append_head(response, &server.shared, length, &mut head);
    // In front of the empty line.
    head.truncate(head.len() - 2);
    response::append_field(&mut head, FIELD, mark());
    head.extend_from_slice(b"\r\n");
    let copy = MirroredRequest {
        group: Arc::clone(&group.shared),
        server: Rc::clone(server),
        head,
        body,
        is_head: response.request.is_head(),
        timeout: mirror.timeout,
        tally: Arc::clone(tally),
        lane: response.services.lane.index(),
        idle: Rc::clone(&response.services.proxy_servers.idle),
        _place: place,
    };
    // Ends with its event loop, which does not wait for it.
    tokio::task::spawn_local(copy.run(permit));
}

fn drop_copy(response: &ResponseWriter<'_, '_>, tally: &MirrorTally, reason: &str) {
    tally.figures(response.services.lane.index()).dropped.add(1);
    if let Some(suppressed) = tally.drops.admit(Millis::of(response.now())) {
        tracing::warn!(
            "{}: not sent, {reason}, request \"{}\"{suppressed}",
            tally.place,
            shown(response.request)
        );
    }
}
