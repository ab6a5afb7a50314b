//! The figures of `/status` on their way from the router, by main, to the controller.

use serde::{Deserialize, Serialize};

/// The figures of `/status`.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Status {
    /// Client connections accepted since the router started.
    pub accepted: u64,
    /// Connections with a request in progress.
    pub active: u64,
    /// Connections waiting for a request.
    pub idle: u64,
    /// Connections closed since the router started.
    pub closed: u64,
    /// Those of them that found too many others of their address.
    pub refused: u64,
    /// Requests begun since the router started.
    pub requests: u64,
    /// By application, in the order of the configuration.
    pub applications: Vec<AppStatus>,
    /// Listeners that could not be bound or cannot serve; known to main alone.
    pub failed_listeners: Vec<FailedListener>,
    /// By upstream, in the order of the configuration.
    pub upstreams: Vec<UpstreamStatus>,
    /// Why the configuration in force is not the stored one, if it should be; known to main alone.
    pub not_stored: Option<String>,
}

impl Status {
    /// Adds the connections and requests of another router.
    pub fn count(&mut self, other: &Self) {
        self.accepted += other.accepted;
        self.active += other.active;
        self.idle += other.idle;
        self.closed += other.closed;
        self.refused += other.refused;
        self.requests += other.requests;
    }
}

/// The servers of one upstream.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UpstreamStatus {
    /// Its name.
    pub name: String,
    /// In the order of the configuration.
    pub servers: Vec<ServerStatus>,
}

/// The figures of one server of an upstream, since a configuration first named it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerStatus {
    /// Its address, with `https://` in front if it is spoken to over TLS.
    pub address: String,
    /// Whether requests are given to it.
    pub state: ServerState,
    /// Requests in progress.
    pub active: u64,
    /// Requests that it was given.
    pub requests: u64,
    /// Those that it failed to answer.
    pub failures: u64,
}

/// Whether requests are given to a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum ServerState {
    /// They are.
    Up,
    /// For some time only if there is no other, because it has failed to answer some.
    Avoided,
    /// Not until checks find it well.
    Down,
}

/// A listener that does not listen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailedListener {
    /// As configured.
    pub address: String,
    /// Why it could not the last time.
    pub reason: String,
}

/// The figures of one application.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct AppStatus {
    /// Its name.
    pub name: String,
    /// Workers that accept requests.
    pub running: u32,
    /// Workers that are being started.
    pub starting: u32,
    /// Workers without a request.
    pub idle: u32,
    /// Requests handed over or queued.
    pub active_requests: u32,
    /// Why the last worker or prototype failed, while none runs.
    pub last_error: Option<String>,
    /// Its processes that have ended by themselves or by a signal; known to main alone.
    pub crashes: u64,
    /// Which one was the last of them, and how it ended.
    pub last_crash: Option<String>,
    /// What somebody should change about it; known to main alone.
    pub warning: Option<String>,
}
