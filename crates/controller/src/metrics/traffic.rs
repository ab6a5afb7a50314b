//! Samples of what the router does with traffic: connections, refusals, queues, servers.

use corral_ipc::message::{
    CONNECTION_PROTOCOLS, DurationFigures, HTTP2_FAULTS, QUEUE_REFUSALS, REFUSALS, ServerStatus,
    TLS_FAILURES, TLS_SESSIONS, TLS_VERSIONS, TrafficFigures, WaitingFigures,
};
use corral_metrics::{Exposition, Family, table};

use super::{histogram, level};

/// The figures that are not those of one listener.
pub(super) fn all_listeners(all: &mut Exposition, figures: &TrafficFigures) {
    counts(all, &table::REFUSED_REQUESTS, &REFUSALS, &figures.refused);
    counts(all, &table::CONNECTIONS_BEGUN, &CONNECTION_PROTOCOLS, &figures.begun);
    for (protocol, n) in CONNECTION_PROTOCOLS.iter().zip(figures.open) {
        all.level(&table::CONNECTIONS_OPEN, &[protocol], level(n));
    }
    for (version, sessions) in TLS_VERSIONS.iter().zip(&figures.tls.handshakes) {
        for (session, n) in TLS_SESSIONS.iter().zip(sessions) {
            all.count(&table::TLS_HANDSHAKES, &[version, session], *n);
        }
    }
    counts(all, &table::TLS_FAILURES, &TLS_FAILURES, &figures.tls.failed);
    all.count(&table::HTTP2_STREAMS, &[], figures.http2.streams);
    all.count(&table::HTTP2_RESETS, &[], figures.http2.resets);
    counts(all, &table::HTTP2_BROKEN, &HTTP2_FAULTS, &figures.http2.broken);
}

/// The counts of a family whose label is a word of this list. All are there from the start, so that collectors see the
/// first one as an increase.
fn counts(all: &mut Exposition, family: &'static Family, words: &[&str], counts: &[u64]) {
    words.iter().zip(counts).for_each(|(word, n)| all.count(family, &[word], *n));
}

/// The queue of an application.
pub(super) fn waiting(all: &mut Exposition, name: &str, figures: &WaitingFigures) {
    all.level(&table::APPLICATION_WAITING, &[name], figures.waiting.into());
    durations(all, &table::APPLICATION_QUEUE, &[name], &figures.durations);
    // There may be hundreds of applications, of which few ever refuse a request.
    for (reason, n) in QUEUE_REFUSALS.iter().zip(figures.refused).filter(|(_, n)| *n > 0) {
        all.count(&table::APPLICATION_REFUSED, &[name, REFUSALS[*reason as usize]], n);
    }
}

/// One server of an upstream, beside the figures that `/status` has.
pub(super) fn server(all: &mut Exposition, labels: &[&str], server: &ServerStatus) {
    all.count(&table::SERVER_RETRIES, labels, server.retries);
    all.level(&table::SERVER_KEPT, labels, level(server.kept));
    if let Some(times) = &server.times {
        durations(all, &table::SERVER_CONNECT, labels, &times.connect);
        durations(all, &table::SERVER_RESPONSE, labels, &times.response);
    }
    if let Some(processes) = &server.processes {
        all.level(&table::SERVER_PROCESSES, labels, processes.most.into());
        all.level(&table::SERVER_PROCESSES_BUSY, labels, processes.busy.into());
        all.level(&table::SERVER_PROCESSES_WAITING, labels, processes.waiting.into());
    }
}

/// A distribution, if anything was measured.
fn durations(all: &mut Exposition, family: &'static Family, labels: &[&str], figures: &DurationFigures) {
    if figures.counts.iter().any(|n| *n > 0) {
        all.histogram(family, labels, histogram(figures));
    }
}

#[cfg(test)]
mod tests {
    use corral_ipc::message::{Refusal, ServerProcesses, ServerState, ServerTimes};
    use corral_metrics::Format;

    use super::*;

    /// Fails unless all these lines are in the text.
    #[track_caller]
    fn check(all: Exposition, lines: &[&str]) -> String {
        let text = all.into_text(Format::OpenMetrics);
        for line in lines {
            assert!(text.lines().any(|written| written == *line), "{line} is not in\n{text}");
        }
        text
    }

    #[test]
    fn all_words_have_a_sample_from_the_start() {
        let mut figures = TrafficFigures::default();
        figures.refused[Refusal::Maintenance as usize] = 3;
        figures.open[1] = 2;
        figures.tls.handshakes[1][0] = 4;
        let mut all = Exposition::default();
        all_listeners(&mut all, &figures);
        let lines = [
            "corral_refused_requests_total{reason=\"maintenance\"} 3",
            "corral_refused_requests_total{reason=\"queue_full\"} 0",
            "corral_connections_begun_total{protocol=\"UDP\"} 0",
            "corral_connections_open{protocol=\"HTTP/2\"} 2.0",
            "corral_tls_handshakes_total{version=\"TLSv1.3\",session=\"new\"} 4",
            "corral_tls_handshake_failures_total{reason=\"closed\"} 0",
            "corral_http2_streams_total 0",
            "corral_http2_connections_broken_total{reason=\"flood\"} 0",
        ];
        check(all, &lines);
    }

    #[test]
    fn queues_and_servers_have_what_was_measured() {
        let mut figures = WaitingFigures { waiting: 2, refused: [0, 5, 0], ..WaitingFigures::default() };
        let mut all = Exposition::default();
        waiting(&mut all, "idle", &WaitingFigures::default());
        figures.durations.counts[0] = 7;
        waiting(&mut all, "shop", &figures);
        let mut times = ServerTimes::default();
        (times.connect.counts[16], times.connect.micros) = (1, 90_000_000);
        let status = ServerStatus {
            address: "a:1".to_owned(),
            state: ServerState::Up,
            active: 0,
            requests: 1,
            failures: 1,
            retries: 1,
            kept: 4,
            times: Some(Box::new(times)),
            processes: Some(ServerProcesses { most: 5, busy: 3, waiting: 1 }),
        };
        server(&mut all, &["pool", "a:1"], &status);
        let text = check(
            all,
            &[
                "corral_application_requests_waiting{application=\"shop\"} 2.0",
                "corral_application_requests_waiting{application=\"idle\"} 0.0",
                "corral_application_queue_duration_seconds_count{application=\"shop\"} 7",
                "corral_application_refused_requests_total{application=\"shop\",reason=\"queue_timeout\"} 5",
                "corral_upstream_retries_total{upstream=\"pool\",server=\"a:1\"} 1",
                "corral_upstream_connections_kept{upstream=\"pool\",server=\"a:1\"} 4.0",
                "corral_upstream_connect_duration_seconds_sum{upstream=\"pool\",server=\"a:1\"} 90.0",
                "corral_upstream_processes_busy{upstream=\"pool\",server=\"a:1\"} 3.0",
                "corral_upstream_processes_waiting{upstream=\"pool\",server=\"a:1\"} 1.0",
            ],
        );
        for absent in ["queue_duration_seconds_count{application=\"idle\"}", "response_duration", "no_worker"]
        {
            assert!(!text.contains(absent), "{absent} is in\n{text}");
        }
    }
}
