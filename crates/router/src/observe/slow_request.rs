//! A slow request as the status tells of it: nothing that the client has sent but the method, and the pattern of the
//! path.

use std::time::Duration;

use corral_ipc::message::SlowRequest;

use super::path_pattern::path_pattern;
use crate::clock;
use crate::request::head::ReceivedRequest;
use crate::variables::RequestVariables;

/// Longest method that is told.
const MAX_METHOD: usize = 32;

/// Describes a request that is over.
pub(crate) fn describe(
    variables: &RequestVariables<'_>,
    (listener, step): (&str, Option<&str>),
    took: Duration,
) -> SlowRequest {
    let ReceivedRequest { head, bytes, .. } = variables.request;
    let method = head.method(bytes);
    let [queue, worker, upstream] = variables.reply.timings.within(took);
    SlowRequest {
        ended: clock::since_epoch(),
        method: String::from_utf8_lossy(method.get(..MAX_METHOD).unwrap_or(method)).into_owned(),
        path: path_pattern(head.path(bytes)),
        listener: listener.to_owned(),
        application: variables.application_name().map(str::to_owned),
        step: step.map(str::to_owned),
        status: variables.reply.status,
        took,
        queue,
        worker,
        upstream,
    }
}
