//! Spans of the parts of a request: waiting, a process of an application, each server that was tried. What gets the
//! request is told the span that stands for it.

use std::time::{Duration, Instant, SystemTime};

use opentelemetry::trace::{SpanContext, SpanId, SpanKind, Status};
use opentelemetry::{InstrumentationScope, KeyValue};
use opentelemetry_sdk::trace::{SpanData, SpanEvents, SpanLinks};

use super::context::{PartName, part_id};
use crate::reply::Reply;
use crate::reply::timings::{PartKind, TimedPart};
use crate::reply::upstreams::UpstreamTry;

/// Waiting for less is what handing over takes, and no span.
const LEAST_WAIT: Duration = Duration::from_micros(100);

/// A part of a request as it is queued.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct PartSpan {
    id: u64,
    name: &'static str,
    kind: SpanKind,
    /// From the beginning of the request.
    began: Duration,
    ended: Duration,
    attributes: Vec<KeyValue>,
    /// Why it failed, if it did.
    failure: Option<String>,
}

/// The parts of a request that began at `started` and took so long; `span_id` is that of the request.
pub(super) fn of(span_id: u64, reply: &Reply, (started, took): (Instant, Duration)) -> Vec<PartSpan> {
    let clock = RequestClock { started, took };
    let waits = |part: &&TimedPart| matches!(part.kind, PartKind::Worker { .. }) || part.took() >= LEAST_WAIT;
    let timed = reply.timings.parts().iter().filter(waits).map(|part| timed(part, clock));
    let tries: Vec<_> = reply.upstreams.iter().flat_map(|log| log.tries()).collect();
    let tried = tries.iter().enumerate().map(|(n, one)| tried(one, n, clock));
    let mut parts: Vec<_> = timed.chain(tried).collect();
    name_spans(span_id, &mut parts);
    parts.into_iter().map(|(_, span)| span).collect()
}

/// A span, and the number by which what got the request knows it.
type TracedPart = (Option<u32>, PartSpan);

/// Gives each span its number. Where several were told the same one, the last has it: that is the one which answered.
fn name_spans(span_id: u64, parts: &mut [TracedPart]) {
    let mut named = Vec::new();
    for (place, (told, span)) in parts.iter_mut().enumerate().rev() {
        let name = match *told {
            Some(told) if !named.contains(&told) => {
                named.push(told);
                PartName::Told(told)
            }
            _ => PartName::Place(u32::try_from(place).unwrap_or(u32::MAX)),
        };
        span.id = part_id(span_id, name);
    }
}

/// The time of a request, within which its parts are.
#[derive(Debug, Clone, Copy)]
struct RequestClock {
    started: Instant,
    took: Duration,
}

impl RequestClock {
    fn offset(self, instant: Instant) -> Duration {
        instant.saturating_duration_since(self.started).min(self.took)
    }
}

fn timed(part: &TimedPart, clock: RequestClock) -> TracedPart {
    let (name, kind, key, told, pid) = match part.kind {
        PartKind::Queue => ("queue", SpanKind::Internal, APPLICATION, None, None),
        PartKind::Admission => ("queue", SpanKind::Internal, UPSTREAM, None, None),
        PartKind::Worker { told, pid } => ("worker", SpanKind::Client, APPLICATION, Some(told), pid),
    };
    let mut attributes = vec![KeyValue::new(key, part.of.clone())];
    attributes.extend(pid.map(|pid| KeyValue::new("process.pid", i64::from(pid))));
    let (began, ended) = (clock.offset(part.began), clock.offset(part.ended));
    (told, PartSpan { id: 0, name, kind, began, ended, attributes, failure: None })
}

const APPLICATION: &str = "corral.application";
const UPSTREAM: &str = "corral.upstream";

/// The try with this number at a server.
fn tried(one: &UpstreamTry, n: usize, clock: RequestClock) -> TracedPart {
    let ended = one.took.and_then(|took| one.began.checked_add(took));
    let (host, port) = split_address(&one.address);
    let mut attributes = vec![KeyValue::new("server.address", host.to_owned())];
    attributes.extend(port.map(|port| KeyValue::new("server.port", i64::from(port))));
    let status = one.status.map(|status| KeyValue::new("http.response.status_code", i64::from(status)));
    attributes.extend(status);
    if let Some(connecting) = one.connect_time {
        attributes.push(KeyValue::new("corral.connect_time", connecting.as_secs_f64()));
    }
    if n > 0 {
        attributes.push(KeyValue::new("http.request.resend_count", i64::try_from(n).unwrap_or(i64::MAX)));
    }
    let is_refused = one.status.is_some_and(|status| status >= 500);
    let span = PartSpan {
        id: 0,
        name: "upstream",
        kind: SpanKind::Client,
        began: clock.offset(one.began),
        ended: ended.map_or(clock.took, |ended| clock.offset(ended)),
        attributes,
        failure: one.failure.clone().or(is_refused.then(String::new)),
    };
    (Some(one.told), span)
}

/// The host of an address, and the port behind it. A socket in the file system has none.
fn split_address(address: &str) -> (&str, Option<u16>) {
    let split = address.rsplit_once(':').and_then(|(host, port)| Some((host, port.parse().ok()?)));
    match split {
        Some((host, port)) => (host.trim_start_matches('[').trim_end_matches(']'), Some(port)),
        None => (address, None),
    }
}

impl PartSpan {
    /// The span of a part of a request that began at `started`.
    pub(super) fn into_span(
        self,
        request: &SpanContext,
        started: SystemTime,
        scope: &InstrumentationScope,
    ) -> SpanData {
        SpanData {
            span_context: SpanContext::new(
                request.trace_id(),
                SpanId::from(self.id),
                request.trace_flags(),
                false,
                request.trace_state().clone(),
            ),
            parent_span_id: request.span_id(),
            parent_span_is_remote: false,
            span_kind: self.kind,
            name: self.name.into(),
            start_time: started + self.began,
            end_time: started + self.ended.max(self.began),
            attributes: self.attributes,
            dropped_attributes_count: 0,
            events: SpanEvents::default(),
            links: SpanLinks::default(),
            status: self.failure.map_or(Status::Unset, Status::error),
            instrumentation_scope: scope.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reply::timings::RunTimes;

    const SECOND: Duration = Duration::from_secs(1);

    fn run(started: Instant, began: u32, begun: Option<u32>, ended: u32) -> RunTimes {
        let at = |n: u32| started + n * SECOND;
        RunTimes { began: at(began), started: begun.map(at), ended: at(ended), pid: Some(7) }
    }

    /// Name, beginning and end in seconds, and the number that was told if the span has it.
    fn shown(parts: &[PartSpan]) -> Vec<(&'static str, u64, u64, Option<u32>)> {
        let told = |id| (0..10).find(|told| part_id(5, PartName::Told(*told)) == id);
        parts
            .iter()
            .map(|part| (part.name, part.began.as_secs(), part.ended.as_secs(), told(part.id)))
            .collect()
    }

    #[test]
    fn a_run_is_a_queue_and_a_worker() {
        let (mut reply, started) = (Reply::default(), Instant::now());
        reply.timings.begin_part();
        reply.timings.note_run(run(started, 1, Some(2), 4), Some("shop"));
        let parts = of(5, &reply, (started, 5 * SECOND));
        assert_eq!(shown(&parts), [("queue", 1, 2, None), ("worker", 2, 4, Some(1))]);
        assert_eq!(parts[1].attributes[1], KeyValue::new("process.pid", 7));
        // A worker that says more than is true, in a request that did not wait.
        let (mut reply, started) = (Reply::default(), Instant::now());
        reply.timings.note_run(run(started, 0, Some(0), 4000), Some("shop"));
        assert_eq!(shown(&of(5, &reply, (started, SECOND))), [("worker", 0, 1, Some(0))]);
    }

    #[test]
    fn the_server_that_answered_has_the_span_that_was_told() {
        let (mut reply, started) = (Reply::default(), Instant::now());
        let log = reply.upstreams.get_or_insert_default();
        for (address, told, failure) in [("a:1", 1, true), ("[::1]:80", 1, false), ("unix:/x", 2, false)] {
            log.begin(address.to_owned(), told);
            if failure {
                log.note_failure("connect: refused".to_owned());
            } else {
                log.note_head(503);
            }
            log.end();
        }
        let parts = of(5, &reply, (started, SECOND));
        let told: Vec<_> = shown(&parts).iter().map(|(_, _, _, told)| *told).collect();
        assert_eq!(told, [None, Some(1), Some(2)]);
        let failures: Vec<_> = parts.iter().map(|part| part.failure.as_deref()).collect();
        assert_eq!(failures, [Some("connect: refused"), Some(""), Some("")]);
        assert!(parts[1].attributes.contains(&KeyValue::new("http.request.resend_count", 1)));
        assert!(parts[1].attributes.contains(&KeyValue::new("http.response.status_code", 503)));
    }

    #[track_caller]
    fn check_address(address: &str, host: &str, port: Option<u16>) {
        assert_eq!(split_address(address), (host, port));
    }

    #[test]
    fn addresses_are_taken_apart() {
        check_address("127.0.0.1:8080", "127.0.0.1", Some(8080));
        check_address("[::1]:80", "::1", Some(80));
        check_address("example.com:443", "example.com", Some(443));
        check_address("unix:/run/app.sock", "unix:/run/app.sock", None);
        check_address("", "", None);
    }
}
