//! Alerts: rules over the series of the table, for Prometheus.

/// A rule.
#[derive(Debug)]
pub struct Alert {
    /// In capitals, as the rules of Prometheus have it.
    pub name: &'static str,
    /// The condition, in PromQL.
    pub expression: &'static str,
    /// How long it has to hold, as Prometheus writes times.
    pub holds_for: &'static str,
    /// How soon an operator has to look.
    pub severity: Severity,
    /// One sentence with the labels of the series, as templates of Prometheus.
    pub summary: &'static str,
    /// The next step, in Markdown without links.
    pub advice: &'static str,
}

/// How soon an operator has to look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Severity {
    /// Within days.
    Warning,
    /// At once.
    Critical,
}

impl Severity {
    /// The value of the label.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Warning => "warning",
            Self::Critical => "critical",
        }
    }
}

/// All rules.
pub static ALERTS: &[Alert] = &[
    Alert {
        name: "CorralDown",
        expression: "up{job=\"corral\"} == 0",
        holds_for: "1m",
        severity: Severity::Critical,
        summary: "Corral on {{ $labels.instance }} does not answer",
        advice: "`systemctl status corral`, and the last lines of its log.",
    },
    Alert {
        name: "CorralListenerDown",
        expression: "corral_listener_up == 0",
        holds_for: "1m",
        severity: Severity::Critical,
        summary: "Nobody can connect to {{ $labels.listener }}",
        advice: "`corral status` says why: a port that another program has, or a certificate that is missing.",
    },
    Alert {
        name: "CorralErrors",
        expression: "sum by (instance, listener) (rate(corral_http_requests_total{status=\"5xx\"}[5m])) / \
                     sum by (instance, listener) (rate(corral_http_requests_total[5m])) > 0.05",
        holds_for: "5m",
        severity: Severity::Critical,
        summary: "{{ $value | humanizePercentage }} of the requests to {{ $labels.listener }} fail",
        advice: "`corral logs` has a line for each; the access log says which addresses fail.",
    },
    Alert {
        name: "CorralSlow",
        expression: "histogram_quantile(0.95, sum by (instance, listener, le) \
                     (rate(corral_http_request_duration_seconds_bucket[5m]))) > 2.5",
        holds_for: "10m",
        severity: Severity::Warning,
        summary: "One of 20 requests to {{ $labels.listener }} takes longer than {{ $value | humanizeDuration }}",
        advice: "Look at the duration of requests by application, and at processes that are busy.",
    },
    Alert {
        name: "CorralApplicationFails",
        expression: "corral_application_failing == 1",
        holds_for: "1m",
        severity: Severity::Critical,
        summary: "Processes of {{ $labels.application }} cannot be started",
        advice: "`corral status` has the reason in `last_error`.",
    },
    Alert {
        name: "CorralApplicationCrashes",
        expression: "increase(corral_application_crashes_total[10m]) > 3",
        holds_for: "0m",
        severity: Severity::Warning,
        summary: "Processes of {{ $labels.application }} have crashed {{ $value | humanize }} times in ten minutes",
        advice: "`corral logs --app NAME` has their last words.",
    },
    Alert {
        name: "CorralApplicationBusy",
        expression: "corral_application_requests_in_progress > on (instance, application) \
                     4 * corral_application_processes{state=\"running\"}",
        holds_for: "5m",
        severity: Severity::Warning,
        summary: "{{ $value | humanize }} requests wait for processes of {{ $labels.application }}",
        advice: "Permit more processes, or find what makes requests slow.",
    },
    Alert {
        name: "CorralQueueGrows",
        expression: "corral_application_requests_waiting > 10 and \
                     deriv(corral_application_requests_waiting[5m]) > 0",
        holds_for: "2m",
        severity: Severity::Warning,
        summary: "{{ $value | humanize }} requests wait for {{ $labels.application }}, and more each minute",
        advice: "Permit more processes, or set `limits.queue` so that a burst is refused early.",
    },
    Alert {
        name: "CorralUpstreamDown",
        expression: "corral_upstream_server_up == 0",
        holds_for: "1m",
        severity: Severity::Warning,
        summary: "The server {{ $labels.server }} of {{ $labels.upstream }} gets no requests",
        advice: "Its checks fail, or `down` is set.",
    },
    Alert {
        name: "CorralCertificateExpires",
        expression: "corral_certificate_expiry_seconds - time() < 7 * 86400",
        holds_for: "1h",
        severity: Severity::Warning,
        summary: "The certificate of {{ $labels.name }} ends in {{ $value | humanizeDuration }}",
        advice: "`corral status --json` says in `certificates` why it was not renewed.",
    },
    Alert {
        name: "CorralCertificateMissing",
        expression: "corral_certificate_valid == 0",
        holds_for: "15m",
        severity: Severity::Critical,
        summary: "Clients of {{ $labels.name }} get no certificate",
        advice: "`corral status --json` says in `certificates` what has failed, and when it is tried again.",
    },
    Alert {
        name: "CorralConfigurationNotStored",
        expression: "corral_config_in_order == 0",
        holds_for: "5m",
        severity: Severity::Warning,
        summary: "The configuration in force on {{ $labels.instance }} is not that of its files, or is not stored",
        advice: "`corral status` has the reason.",
    },
    Alert {
        name: "CorralRouterRestarted",
        expression: "increase(corral_process_restarts_total{process=\"router\"}[10m]) > 0",
        holds_for: "0m",
        severity: Severity::Critical,
        summary: "The router on {{ $labels.instance }} has ended and was started again",
        advice: "The log says how it ended. Connections of that moment were lost: please report it.",
    },
    Alert {
        name: "CorralDescriptorsRunOut",
        expression: "corral_open_files / corral_open_files_limit > 0.8",
        holds_for: "5m",
        severity: Severity::Warning,
        summary: "The router on {{ $labels.instance }} has {{ $value | humanizePercentage }} of its descriptors open",
        advice: "Raise `LimitNOFILE=` of the service, or bound `settings.limits.connections`.",
    },
    Alert {
        name: "CorralLogEntriesLost",
        expression: "increase(corral_access_log_entries_lost_total[10m]) > 0",
        holds_for: "0m",
        severity: Severity::Warning,
        summary: "{{ $value | humanize }} entries of access logs on {{ $labels.instance }} were lost in ten minutes",
        advice: "The disk of the log is full or too slow: `df`, and the daemon's log.",
    },
    Alert {
        name: "CorralConnectionsRefused",
        expression: "increase(corral_connections_refused_total[10m]) > 100",
        holds_for: "0m",
        severity: Severity::Warning,
        summary: "{{ $value | humanize }} connections of addresses with too many were refused in ten minutes",
        advice: "A flood, or a proxy whose clients are not told apart: see `client_ip`.",
    },
];
