//! `settings.metrics` and `settings.dashboard`: listeners that lead to the control process.

use crate::address::ListenAddress;
use crate::control_service::BearerToken;
use crate::tls::TlsSettings;

/// `settings.metrics`.
#[derive(Debug, Clone, Default)]
pub struct MetricsSettings {
    /// The listener of `/metrics`, if it has one of its own.
    pub listen: Option<ListenAddress>,
    /// The secret that requests to that listener show, if one is required.
    pub token: Option<BearerToken>,
    /// Labels; series that have one of them are left out, wherever metrics are served.
    pub without: Vec<String>,
}

/// The labels that series of metrics have, in the order of the alphabet.
pub const METRIC_LABELS: &[&str] = &[
    "application",
    "cause",
    "coding",
    "kind",
    "limit",
    "listener",
    "loop",
    "mirror",
    "name",
    "place",
    "process",
    "protocol",
    "reason",
    "result",
    "server",
    "session",
    "state",
    "status",
    "step",
    "upstream",
    "version",
];

/// `settings.dashboard`.
#[derive(Debug, Clone)]
pub struct DashboardSettings {
    /// The listener.
    pub listen: ListenAddress,
    /// TLS, if it is spoken: always where other machines reach the listener.
    pub tls: Option<TlsSettings>,
    /// The secret of clients that may change what runs.
    pub token: BearerToken,
    /// The secret of clients that may only look, if there are any.
    pub read_token: Option<BearerToken>,
}
