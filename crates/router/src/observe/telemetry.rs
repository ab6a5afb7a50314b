//! Telemetry (contract 17): a span for each request, with one for each part of its time that others had, sent to a
//! collector by a thread of its own.
//!
//! The request path only notes what a span is made of and puts it in a queue; when that is full, or the collector
//! does not answer, spans are lost and requests are not.

mod collector;
mod context;
mod export;
mod figures;
mod losses;
mod lost_spans;
mod part_span;
mod span;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use corral_config::settings::TelemetrySettings;
use rustls::ClientConfig;
use tokio::sync::mpsc;

pub(crate) use self::context::PARENT_LEN;
use self::context::{PartName, TraceParent};
use self::export::Outgoing;
use self::figures::FigureRequest;
use self::losses::Losses;
pub(crate) use self::lost_spans::n_lost;
use self::span::SpanRecord;
use crate::request::head::ReceivedRequest;
use crate::variables::random;

/// The field that carries a trace from one server to the next.
pub(crate) const TRACEPARENT: &[u8] = b"traceparent";

/// Spans that wait to be sent.
const QUEUE: usize = 4096;

/// Where spans of one configuration go.
pub(crate) struct Telemetry {
    settings: TelemetrySettings,
    queue: mpsc::Sender<SpanRecord>,
    n_lost: Arc<AtomicU64>,
    /// Figures of the whole server.
    figures: mpsc::Sender<FigureRequest>,
    n_lost_figures: Arc<AtomicU64>,
}

/// The part of one request in a trace.
#[derive(Debug, Clone)]
pub(crate) struct Trace {
    trace_id: u128,
    span_id: u64,
    parent: Option<u64>,
    /// Notes of other systems; handed on.
    state: Vec<u8>,
    sampled: bool,
    started: SystemTime,
}

impl Telemetry {
    /// Starts the thread that sends, which ends when the telemetry is dropped. `trust` has the authorities for a
    /// collector that speaks TLS.
    pub(crate) fn start(
        settings: &TelemetrySettings,
        trust: Option<ClientConfig>,
    ) -> anyhow::Result<Arc<Self>> {
        let (queue, records) = mpsc::channel(QUEUE);
        let n_lost = Arc::new(AtomicU64::new(0));
        let losses = Losses::new(settings.endpoint.clone(), "spans", Arc::clone(&n_lost));
        let spans = Outgoing { queue: records, losses };
        let (figures, requests) = mpsc::channel(1);
        let n_lost_figures = Arc::new(AtomicU64::new(0));
        let endpoint = settings.metrics.as_ref().map_or(&settings.endpoint, |metrics| &metrics.endpoint);
        let losses = Losses::new(endpoint.clone(), "sets of figures", Arc::clone(&n_lost_figures));
        export::spawn(settings, trust, spans, Outgoing { queue: requests, losses })?;
        Ok(Arc::new(Self { settings: settings.clone(), queue, n_lost, figures, n_lost_figures }))
    }

    /// Whether it does what these settings say.
    pub(crate) fn obeys(&self, settings: &TelemetrySettings) -> bool {
        // The bundle behind the name may be another one by now.
        self.settings == *settings && settings.tls.ca.is_none()
    }

    /// Goes on with the client's trace, or begins one.
    pub(crate) fn trace(&self, request: ReceivedRequest<'_>) -> Box<Trace> {
        let ReceivedRequest { head, bytes, started: instant } = request;
        let values = |wanted: &'static [u8]| {
            let named = move |(name, _): &(&[u8], &[u8])| name.eq_ignore_ascii_case(wanted);
            head.fields(bytes).filter(named).map(|(_, value)| value)
        };
        let started = SystemTime::now().checked_sub(instant.elapsed()).unwrap_or_else(SystemTime::now);
        let span_id = random(instant).max(1);
        let mut parents = values(TRACEPARENT);
        let parent = parents.next().and_then(context::parse_parent).filter(|_| parents.next().is_none());
        let trace = match parent {
            Some(TraceParent { trace_id, span_id: parent, sampled }) => {
                let state = context::join_states(values(b"tracestate"));
                Trace { trace_id, span_id, parent: Some(parent), state, sampled, started }
            }
            None => {
                let trace_id = ((u128::from(random(instant)) << 64) | u128::from(random(instant))).max(1);
                let sampled = context::is_sampled(trace_id, self.settings.sampling_ratio);
                Trace { trace_id, span_id, parent: None, state: Vec::new(), sampled, started }
            }
        };
        Box::new(trace)
    }

    /// Sends figures of the whole server, if the collector is to have them and has taken those before.
    pub(crate) fn export(&self, request: FigureRequest) {
        if self.settings.metrics.is_some() && self.figures.try_send(request).is_err() {
            self.n_lost_figures.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// The request is over.
    pub(crate) fn finish(&self, record: SpanRecord) {
        let n_spans = record.n_spans();
        if self.queue.try_send(record).is_err() {
            self.n_lost.fetch_add(n_spans, Ordering::Relaxed);
            lost_spans::count(n_spans);
        }
    }
}

impl Trace {
    /// The number of the trace.
    pub(crate) fn id(&self) -> u128 {
        self.trace_id
    }

    /// When a request is over that has taken so long, since 1970.
    pub(crate) fn end(&self, took: Duration) -> Duration {
        self.started.duration_since(UNIX_EPOCH).unwrap_or_default().saturating_add(took)
    }

    /// Whether the trace is recorded.
    pub(crate) fn is_sampled(&self) -> bool {
        self.sampled
    }

    /// The value of `traceparent` for the client: the span of the request.
    pub(crate) fn header(&self) -> [u8; PARENT_LEN] {
        self.header_of_part(0)
    }

    /// The value of `traceparent` for the server or application that this request is passed to: the span of the part
    /// that stands for it. The part 0 is the request itself.
    pub(crate) fn header_of_part(&self, told: u32) -> [u8; PARENT_LEN] {
        let span_id =
            if told == 0 { self.span_id } else { context::part_id(self.span_id, PartName::Told(told)) };
        let Self { trace_id, sampled, .. } = *self;
        context::print_parent(&TraceParent { trace_id, span_id, sampled })
    }
}

/// Records the facts about a request for its span.
pub(crate) fn record(
    trace: Trace,
    request: ReceivedRequest<'_>,
    variables: &crate::variables::RequestVariables<'_>,
    id_header: Option<&str>,
) -> SpanRecord {
    span::record(trace, request, variables, id_header, Instant::now())
}
