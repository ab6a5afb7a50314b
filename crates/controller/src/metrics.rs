//! `/metrics`: the figures of main and the router as collectors of metrics read them.

mod inner;
mod traffic;

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use corral_acme::{NameState, NameStatus};
use corral_config::json::Value;
use corral_ipc::message::{
    AppStatus, DURATION_BOUNDS, DaemonStatus, DurationFigures, END_CAUSES, FINE_SCHEMA, FIRST_FINE,
    FineDurations, LimitStatus, ListenerFigures, MirrorStatus, PROTOCOLS, STATE_KINDS, STATUS_CLASSES,
    ServerState, Status, UpstreamStatus,
};
use corral_metrics::{Exemplar, Exposition, Family, FineBuckets, HistogramDetails, HistogramSample, table};

/// All samples of this moment.
pub(crate) fn exposition(status: &Status, certificates: &[NameStatus]) -> Exposition {
    let mut all = Exposition::default();
    daemon(&mut all, &status.daemon);
    inner::of_main(&mut all, &status.daemon.main);
    inner::of_router(&mut all, &status.inner);
    listeners(&mut all, status);
    connections(&mut all, status);
    traffic::all_listeners(&mut all, &status.traffic);
    status.listeners.iter().for_each(|listener| requests(&mut all, listener));
    let steps = status.steps.iter();
    steps.for_each(|step| classes(&mut all, &table::STEP_REQUESTS, &[&step.place], &step.requests));
    status.applications.iter().for_each(|application| requests_of_application(&mut all, application));
    let applications = status.applications.iter().chain(&status.background);
    applications.for_each(|app| application(&mut all, app));
    status.upstreams.iter().for_each(|group| upstream(&mut all, group));
    status.limits.iter().for_each(|one| limit(&mut all, one));
    status.mirrors.iter().for_each(|one| mirror(&mut all, one));
    certificates.iter().for_each(|one| certificate(&mut all, one));
    all
}

/// The labels of `settings.metrics.without` in a configuration.
pub(crate) fn left_out_labels(document: &Value) -> Vec<String> {
    let metrics = document.member("settings").and_then(|settings| settings.member("metrics"));
    let labels = metrics.and_then(|metrics| metrics.member("without")?.as_array());
    let texts = labels.into_iter().flatten().filter_map(|label| label.as_bytes()?.to_str());
    texts.map(ToOwned::to_owned).collect()
}

fn daemon(all: &mut Exposition, status: &DaemonStatus) {
    all.level(&table::BUILD, &[env!("CARGO_PKG_VERSION")], 1.0);
    all.level(&table::START, &[], seconds(status.started));
    all.level(&table::CONFIG_IN_ORDER, &[], flag(status.config_error.is_none()));
    all.count(&table::CONFIG_CHANGES, &[], status.config_changes);
    all.level(&table::UPGRADE_FAILED, &[], flag(status.upgrade_error.is_some()));
}

fn listeners(all: &mut Exposition, status: &Status) {
    for address in &status.daemon.listeners {
        let is_up = !status.failed_listeners.iter().any(|failed| failed.address == *address);
        all.level(&table::LISTENER_UP, &[address], flag(is_up));
    }
}

fn connections(all: &mut Exposition, status: &Status) {
    all.count(&table::ACCEPTED, &[], status.accepted);
    all.count(&table::CLOSED, &[], status.closed);
    all.count(&table::REFUSED, &[], status.refused);
    all.level(&table::OPEN, &["active"], level(status.active));
    all.level(&table::OPEN, &["idle"], level(status.idle));
    all.count(&table::DATAGRAMS_DROPPED, &[], status.dropped_datagrams);
    all.count(&table::REQUESTS, &[], status.requests);
}

fn requests(all: &mut Exposition, listener: &ListenerFigures) {
    let address = listener.address.as_str();
    for (protocol, counts) in PROTOCOLS.iter().zip(&listener.requests) {
        classes(all, &table::HTTP_REQUESTS, &[address, protocol], counts);
    }
    let details = details(listener);
    all.detailed_histogram(&table::HTTP_DURATION, &[address], histogram(&listener.durations), details);
    all.count(&table::HTTP_SENT, &[address], listener.sent);
    all.count(&table::HTTP_RECEIVED, &[address], listener.received);
    all.level(&table::HTTP_IN_PROGRESS, &[address], level(listener.in_progress));
}

/// The counts of a family whose last label is the class of the status.
fn classes(
    all: &mut Exposition,
    family: &'static Family,
    labels: &[&str],
    counts: &[u64; STATUS_CLASSES.len()],
) {
    // What never was would be most of the text.
    for (class, n) in STATUS_CLASSES.iter().zip(counts).filter(|(_, n)| **n > 0) {
        all.count(family, &[labels, &[class]].concat(), *n);
    }
}

fn histogram(durations: &DurationFigures) -> HistogramSample {
    let bounds = DURATION_BOUNDS.iter().map(|micros| seconds(Duration::from_micros(*micros)));
    let bounds = bounds.chain([f64::INFINITY]);
    HistogramSample {
        sum: seconds(Duration::from_micros(durations.micros)),
        buckets: bounds.zip(durations.counts).collect(),
    }
}

fn details(listener: &ListenerFigures) -> HistogramDetails {
    let exemplars = listener.exemplars.iter().map(|one| Exemplar {
        bucket: usize::from(one.range),
        trace_id: one.trace_id,
        value: seconds(Duration::from_micros(one.micros)),
        time: one.ended,
    });
    let FineDurations { short, counts } = listener.fine.clone();
    let fine = FineBuckets { schema: FINE_SCHEMA, first: FIRST_FINE, counts, below: short };
    HistogramDetails { exemplars: exemplars.collect(), fine: Some(fine) }
}

fn requests_of_application(all: &mut Exposition, app: &AppStatus) {
    let name = &[app.name.as_str()][..];
    all.level(&table::APPLICATION_IN_PROGRESS, name, level(app.active_requests.into()));
    classes(all, &table::APPLICATION_REQUESTS, name, &app.requests);
    all.histogram(&table::APPLICATION_DURATION, name, histogram(&app.durations));
    traffic::waiting(all, &app.name, &app.waiting);
    let kinds = STATE_KINDS.iter().zip(app.left_state.kinds).filter(|(_, n)| *n > 0);
    kinds.for_each(|(kind, n)| all.count(&table::APPLICATION_LEFT_STATE, &[&app.name, kind], n));
}

fn application(all: &mut Exposition, app: &AppStatus) {
    let name = app.name.as_str();
    for (state, n) in [("running", app.running), ("starting", app.starting), ("idle", app.idle)] {
        all.level(&table::APPLICATION_PROCESSES, &[name, state], n.into());
    }
    all.level(&table::APPLICATION_MEMORY, &[name], level(app.memory));
    workers(all, app);
    all.count(&table::APPLICATION_CRASHES, &[name], app.crashes);
    all.level(&table::APPLICATION_FAILING, &[name], flag(app.last_error.is_some()));
    if let Some(schedule) = &app.schedule {
        let succeeded = schedule.runs.saturating_sub(schedule.failed);
        for (result, n) in
            [("succeeded", succeeded), ("failed", schedule.failed), ("skipped", schedule.skipped)]
        {
            all.count(&table::SCHEDULE_RUNS, &[name, result], n);
        }
    }
    if let Some(length) = app.queue.as_ref().and_then(|queue| queue.length) {
        all.level(&table::QUEUE_LENGTH, &[name], level(length));
    }
}

fn workers(all: &mut Exposition, app: &AppStatus) {
    let name = app.name.as_str();
    let busy = app.running.saturating_sub(app.idle);
    for (state, n) in
        [("idle", app.idle), ("busy", busy), ("starting", app.starting), ("leaving", app.leaving)]
    {
        all.level(&table::WORKERS, &[name, state], n.into());
    }
    all.count(&table::WORKERS_STARTED, &[name], app.workers.started);
    let causes = END_CAUSES.iter().zip(app.workers.ended).filter(|(_, n)| *n > 0);
    causes.for_each(|(cause, n)| all.count(&table::WORKERS_ENDED, &[name, cause], n));
    if app.resident > 0 {
        all.level(&table::APPLICATION_RESIDENT, &[name], level(app.resident));
    }
    if let Some(bytes) = app.proportional.filter(|bytes| *bytes > 0) {
        all.level(&table::APPLICATION_PROPORTIONAL, &[name], level(bytes));
    }
    all.count_seconds(&table::APPLICATION_CPU, &[name], app.cpu);
}

fn upstream(all: &mut Exposition, group: &UpstreamStatus) {
    for server in &group.servers {
        let labels = &[group.name.as_str(), server.address.as_str()][..];
        all.level(&table::SERVER_UP, labels, flag(server.state != ServerState::Down));
        all.level(&table::SERVER_AVOIDED, labels, flag(server.state == ServerState::Avoided));
        all.level(&table::SERVER_IN_PROGRESS, labels, level(server.active));
        all.count(&table::SERVER_REQUESTS, labels, server.requests);
        all.count(&table::SERVER_FAILURES, labels, server.failures);
        traffic::server(all, labels, server);
    }
    if let Some(waiting) = group.waiting {
        all.level(&table::UPSTREAM_WAITING, &[&group.name], level(waiting));
    }
}

fn limit(all: &mut Exposition, limit: &LimitStatus) {
    let place = limit.place.as_str();
    all.count(&table::LIMIT_REQUESTS, &[place, "passed"], limit.passed);
    all.count(&table::LIMIT_REQUESTS, &[place, "refused"], limit.refused);
    all.count(&table::LIMIT_DELAYED, &[place], limit.delayed);
    all.level(&table::LIMIT_KEYS, &[place], level(limit.keys));
}

fn mirror(all: &mut Exposition, mirror: &MirrorStatus) {
    for (result, n) in [("answered", mirror.answered), ("failed", mirror.failed), ("dropped", mirror.dropped)]
    {
        all.count(&table::MIRROR_COPIES, &[&mirror.place, result], n);
    }
}

fn certificate(all: &mut Exposition, name: &NameStatus) {
    let labels = &[name.name.as_str()][..];
    all.level(&table::CERTIFICATE_VALID, labels, flag(name.state == NameState::Valid));
    if let Some(time) = name.expires {
        all.level(&table::CERTIFICATE_EXPIRES, labels, since_1970(time));
    }
    if let Some(time) = name.next_try {
        all.level(&table::CERTIFICATE_NEXT_TRY, labels, since_1970(time));
    }
}

fn since_1970(time: SystemTime) -> f64 {
    time.duration_since(UNIX_EPOCH).map_or(0.0, seconds)
}

fn seconds(duration: Duration) -> f64 {
    duration.as_secs_f64()
}

fn flag(is_set: bool) -> f64 {
    f64::from(u8::from(is_set))
}

/// Collectors read floating-point numbers, which are exact up to 2^53.
#[expect(clippy::cast_precision_loss, reason = "collectors read such numbers")]
fn level(n: u64) -> f64 {
    n as f64
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use corral_config::json;
    use corral_config::settings::METRIC_LABELS;

    use super::*;

    #[test]
    fn the_configuration_knows_all_labels() {
        let labels: BTreeSet<_> = table::ALL.iter().flat_map(|family| family.labels).copied().collect();
        assert_eq!(METRIC_LABELS, labels.into_iter().collect::<Vec<_>>());
    }

    #[test]
    fn labels_are_left_out_as_configured() {
        let document = |text: &str| json::parse(text.as_bytes()).expect("it is JSON");
        let labels =
            left_out_labels(&document(r#"{"settings": {"metrics": {"without": ["step", "server"]}}}"#));
        assert_eq!(labels, ["step", "server"]);
        assert!(left_out_labels(&document(r#"{"settings": {"metrics": {}}}"#)).is_empty());
        assert!(left_out_labels(&document("{}")).is_empty());
    }
}
