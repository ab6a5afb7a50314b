//! A slow request as the status tells of it: nothing that the client has sent but the method, and the pattern of the
//! path.

use std::time::Duration;

use corral_ipc::message::SlowRequest;

use crate::clock;
use crate::request::head::ReceivedRequest;
use crate::request::method::shown_method;
use crate::request::path_pattern::path_pattern;
use crate::variables::RequestVariables;

/// The media type of events that a server sends when they happen.
const EVENT_STREAM: &[u8] = b"text/event-stream";

/// Describes a request that is over; none that became another protocol, or was answered by a stream of events: those
/// last for as long as their clients like.
pub(crate) fn describe(
    variables: &RequestVariables<'_>,
    (listener, step): (&str, Option<&str>),
    took: Duration,
) -> Option<SlowRequest> {
    let media_type = variables.reply.fields.get(b"Content-Type").unwrap_or_default();
    if variables.reply.status == Some(101) || media_type.starts_with(EVENT_STREAM) {
        return None;
    }
    let ReceivedRequest { head, bytes, .. } = variables.request;
    let [queue, worker, upstream] = variables.reply.timings.within(took);
    Some(SlowRequest {
        ended: clock::since_epoch(),
        method: shown_method(head.method(bytes)),
        path: path_pattern(head.path(bytes)),
        listener: listener.to_owned(),
        application: variables.application_name().map(str::to_owned),
        step: step.map(str::to_owned),
        status: variables.reply.status,
        took,
        queue,
        worker,
        upstream,
    })
}
