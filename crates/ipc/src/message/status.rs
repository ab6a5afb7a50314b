//! The figures of `/status` on their way from the router, by main, to the controller.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::durations::DurationFigures;
use super::exemplar::{self, DurationExemplar, merge_exemplars};
use super::exit::Exit;
use super::fine_durations::FineDurations;
use super::inner::InnerFigures;
use super::main_figures::MainFigures;
use super::serving::{ServerProcesses, ServerTimes, WaitingFigures};
use super::slow::{self, SlowRequest, keep_slowest};
use super::sums::{count_all, count_known};
use super::traffic::{TrafficFigures, add};
use super::worker::WorkerCounts;
use crate::bounded;

/// The figures of `/status`.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Status {
    /// Client connections accepted since the router started.
    pub accepted: u64,
    /// Connections with a request in progress.
    pub active: u64,
    /// Connections waiting for a request.
    pub idle: u64,
    /// Connections closed since the router started.
    pub closed: u64,
    /// Refused connections whose client address had too many others.
    pub refused: u64,
    /// Datagrams that went nowhere.
    pub dropped_datagrams: u64,
    /// Requests begun since the router started.
    pub requests: u64,
    /// Requests that are over, by listener, in the order of the configuration.
    #[serde(deserialize_with = "bounded::list")]
    pub listeners: Vec<ListenerFigures>,
    /// Requests that are over, by the step of a route that was taken last, in the order of the configuration.
    #[serde(deserialize_with = "bounded::list")]
    pub steps: Vec<StepFigures>,
    /// By application, in the order of the configuration.
    #[serde(deserialize_with = "bounded::list")]
    pub applications: Vec<AppStatus>,
    /// Applications that no listener reaches, in the order of the configuration; known to main alone.
    #[serde(deserialize_with = "bounded::list")]
    pub background: Vec<AppStatus>,
    /// Listeners that could not be bound or cannot serve; known to main alone.
    #[serde(deserialize_with = "bounded::list")]
    pub failed_listeners: Vec<FailedListener>,
    /// By upstream, in the order of the configuration.
    #[serde(deserialize_with = "bounded::list")]
    pub upstreams: Vec<UpstreamStatus>,
    /// Limits for clients, in the order of the configuration.
    #[serde(deserialize_with = "bounded::list")]
    pub limits: Vec<LimitStatus>,
    /// Copies of requests for other servers, in the order of the configuration.
    #[serde(deserialize_with = "bounded::list")]
    pub mirrors: Vec<MirrorStatus>,
    /// Figures of all listeners together.
    pub traffic: TrafficFigures,
    /// Figures of the inside of the router.
    pub inner: InnerFigures,
    /// The slowest requests of the last minutes, the slowest first.
    #[serde(deserialize_with = "slow::list")]
    pub slow: Vec<SlowRequest>,
    /// Figures that only main knows.
    pub daemon: DaemonStatus,
}

/// The figures of the daemon as a whole, which a router leaves empty.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct DaemonStatus {
    /// Number of the main process.
    pub pid: u32,
    /// Since the main process was started.
    pub uptime: Duration,
    /// When this main process began, since 1970.
    pub started: Duration,
    /// When counting began, since 1970: before an upgrade, if there was one.
    pub counting_since: Duration,
    /// Addresses of all listeners, in the order of the configuration.
    #[serde(deserialize_with = "bounded::list")]
    pub listeners: Vec<String>,
    /// Why the configuration in force is not what its files say now, or would not be found by the next start.
    #[serde(deserialize_with = "bounded::words_if_any")]
    pub config_error: Option<String>,
    /// Absolute path of the log, if that is a file.
    #[serde(deserialize_with = "bounded::words_if_any")]
    pub log: Option<String>,
    /// The files that the configuration comes from, if any.
    #[serde(deserialize_with = "bounded::words_if_any")]
    pub config_files: Option<String>,
    /// Changes of the configuration that were put in force or refused.
    pub config_changes: u64,
    /// Why the last upgrade has failed.
    #[serde(deserialize_with = "bounded::words_if_any")]
    pub upgrade_error: Option<String>,
    /// Counters of main, and the use that the daemon makes of the machine.
    pub main: MainFigures,
}

impl Status {
    /// Adds the connections and requests of another router, also of what is not known here.
    pub fn count(&mut self, other: &Self) {
        count_all(&mut self.listeners, &other.listeners);
        count_all(&mut self.steps, &other.steps);
        count_all(&mut self.applications, &other.applications);
        count_all(&mut self.upstreams, &other.upstreams);
        count_all(&mut self.limits, &other.limits);
        count_all(&mut self.mirrors, &other.mirrors);
        self.inner.learn(&other.inner);
        self.count_totals(other);
    }

    /// Adds the connections and requests of another router, as far as its listeners, applications and servers are known
    /// here.
    pub fn count_known(&mut self, other: &Self) {
        count_known(&mut self.listeners, &other.listeners);
        count_known(&mut self.steps, &other.steps);
        count_known(&mut self.applications, &other.applications);
        count_known(&mut self.upstreams, &other.upstreams);
        count_known(&mut self.limits, &other.limits);
        count_known(&mut self.mirrors, &other.mirrors);
        self.count_totals(other);
    }

    fn count_totals(&mut self, other: &Self) {
        self.traffic.count(&other.traffic);
        self.inner.count_known(&other.inner);
        for (sum, n) in [
            (&mut self.accepted, other.accepted),
            (&mut self.active, other.active),
            (&mut self.idle, other.idle),
            (&mut self.closed, other.closed),
            (&mut self.refused, other.refused),
            (&mut self.dropped_datagrams, other.dropped_datagrams),
            (&mut self.requests, other.requests),
        ] {
            *sum = sum.saturating_add(n);
        }
        self.slow.extend(other.slow.iter().cloned());
        keep_slowest(&mut self.slow);
    }
}

/// Classes of statuses, by the numbers that routers have for them; the first is that of requests without a reply.
pub const STATUS_CLASSES: [&str; 6] = ["none", "1xx", "2xx", "3xx", "4xx", "5xx"];

/// Versions of HTTP, by the numbers that routers have for them.
pub const PROTOCOLS: [&str; 3] = ["HTTP/1.0", "HTTP/1.1", "HTTP/2"];

/// Requests of one listener that are over.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ListenerFigures {
    /// As configured.
    pub address: String,
    /// By [`PROTOCOLS`] and [`STATUS_CLASSES`].
    pub requests: [[u64; STATUS_CLASSES.len()]; PROTOCOLS.len()],
    /// How long they took.
    pub durations: DurationFigures,
    /// Bytes of bodies that clients have got.
    pub sent: u64,
    /// Bytes of bodies that clients have sent.
    pub received: u64,
    /// Requests that are being answered.
    pub in_progress: u64,
    /// The durations in finer ranges.
    pub fine: FineDurations,
    /// Traced requests of some of the ranges.
    #[serde(deserialize_with = "exemplar::list")]
    pub exemplars: Vec<DurationExemplar>,
}

/// Requests of one step of a route that are over.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct StepFigures {
    /// JSON pointer of the step in the configuration.
    pub place: String,
    /// By [`STATUS_CLASSES`].
    pub requests: [u64; STATUS_CLASSES.len()],
}

impl ListenerFigures {
    /// The figures of a listener without requests.
    #[must_use]
    pub fn new(address: String) -> Self {
        Self { address, ..Self::default() }
    }

    /// Adds those of another router.
    pub(super) fn count(&mut self, other: &Self) {
        let Self { requests, durations, sent, received, in_progress, .. } = self;
        let sums =
            requests.iter_mut().flatten().chain(&mut durations.counts).chain([&mut durations.micros, sent]);
        let others = other.requests.iter().flatten().chain(&other.durations.counts);
        let others = others.chain([&other.durations.micros, &other.sent]);
        sums.zip(others).for_each(|(sum, n)| *sum = sum.saturating_add(*n));
        add([received, in_progress], &[other.received, other.in_progress]);
        self.fine.count(&other.fine);
        merge_exemplars(&mut self.exemplars, &other.exemplars);
    }
}

/// The servers of one upstream.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct UpstreamStatus {
    /// The application's name.
    pub name: String,
    /// In the order of the configuration.
    #[serde(deserialize_with = "bounded::list")]
    pub servers: Vec<ServerStatus>,
    /// Requests that wait until a server has room for them; none where servers have no limit.
    pub waiting: Option<u64>,
}

/// The figures of one server of an upstream, since a configuration first named it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ServerStatus {
    /// The server's address, with `https://` in front if it is spoken to over TLS.
    pub address: String,
    /// Whether requests are given to it.
    pub state: ServerState,
    /// Requests in progress.
    pub active: u64,
    /// Requests that it was given.
    pub requests: u64,
    /// Requests that the server failed to answer.
    pub failures: u64,
    /// Times that a request was sent again after that, to whatever server.
    pub retries: u64,
    /// Connections that are kept for further requests.
    pub kept: u64,
    /// How long the server takes, once it has been asked.
    pub times: Option<Box<ServerTimes>>,
    /// The server's processes, if their number is known.
    pub processes: Option<ServerProcesses>,
}

/// Whether requests are given to a server.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum ServerState {
    /// They are.
    #[default]
    Up,
    /// For some time only if there is no other, because it has failed to answer some.
    Avoided,
    /// Not until checks find it well.
    Down,
}

/// The figures of one limit for clients, since a configuration first had it as it is.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct LimitStatus {
    /// JSON pointer of the limit in the configuration.
    pub place: String,
    /// Nothing is refused or delayed, only counted.
    pub dry_run: bool,
    /// Requests that went on, at once or later.
    pub passed: u64,
    /// Passed requests that had to wait first, or would have had to without the dry run.
    pub delayed: u64,
    /// Requests that were refused, or would have been.
    pub refused: u64,
    /// Keys that are counted at the moment.
    pub keys: u64,
}

/// The figures of the copies of one action's requests, since a configuration first had them at this place.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct MirrorStatus {
    /// JSON pointer of the `mirror` in the configuration.
    pub place: String,
    /// Copies that were answered, whatever the status.
    pub answered: u64,
    /// Copies that a server has failed to answer in time.
    pub failed: u64,
    /// Copies that were not sent.
    pub dropped: u64,
}

/// A listener that does not listen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailedListener {
    /// As configured.
    #[serde(deserialize_with = "bounded::words")]
    pub address: String,
    /// Why it could not the last time.
    #[serde(deserialize_with = "bounded::words")]
    pub reason: String,
}

/// The kinds of state that a request can leave behind in its worker, by the numbers that workers have for them.
pub const STATE_KINDS: [&str; 21] = [
    "settings",
    "locale",
    "time_zone",
    "umask",
    "working_directory",
    "environment",
    "error_handlers",
    "exception_handlers",
    "output_buffers",
    "transactions",
    "streams",
    "globals",
    "static_properties",
    "memory",
    "random_seed",
    "encodings",
    "libxml",
    "stream_wrappers",
    "stream_context",
    "signals",
    "process",
];

/// Requests that have left state behind in their workers.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct LeftState {
    /// All of them.
    pub requests: u64,
    /// The requests that have left each of [`STATE_KINDS`].
    pub kinds: [u64; STATE_KINDS.len()],
}

/// The figures of one application.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct AppStatus {
    /// The application's name.
    pub name: String,
    /// Workers that accept requests.
    pub running: u32,
    /// Workers that are being started.
    pub starting: u32,
    /// Workers without a request.
    pub idle: u32,
    /// Workers that end after the requests that they have.
    pub leaving: u32,
    /// Requests handed over or queued.
    pub active_requests: u32,
    /// Requests that are over, by [`STATUS_CLASSES`].
    pub requests: [u64; STATUS_CLASSES.len()],
    /// How long they took, with the time that they waited.
    pub durations: DurationFigures,
    /// Requests that wait for a process, or have waited.
    pub waiting: WaitingFigures,
    /// Bytes of memory that the workers have for themselves.
    pub memory: u64,
    /// Bytes of their memory that are in RAM, where what several have counts for each.
    pub resident: u64,
    /// The same, where what several have counts in equal parts; unknown before all were looked at. Known to main alone.
    pub proportional: Option<u64>,
    /// The time that they have had a processor. Main adds that of those that have ended, since it was started.
    pub cpu: Duration,
    /// Counts of the requests that have left state behind in their workers.
    pub left_state: LeftState,
    /// Why the last worker or prototype failed, while none runs.
    #[serde(deserialize_with = "bounded::words_if_any")]
    pub last_error: Option<String>,
    /// How many workers there were; known to main alone.
    pub workers: WorkerCounts,
    /// Processes that have ended by themselves or by a signal; known to main alone.
    pub crashes: u64,
    /// Which one was the last of them, and how it ended.
    #[serde(deserialize_with = "bounded::words_if_any")]
    pub last_crash: Option<String>,
    /// A recommendation for the operator about this application; known to main alone.
    #[serde(deserialize_with = "bounded::words_if_any")]
    pub warning: Option<String>,
    /// Runs of an application with a schedule; known to main alone.
    pub schedule: Option<ScheduleStatus>,
    /// The queue by whose length an application has more or fewer processes; known to main alone.
    pub queue: Option<QueueStatus>,
}

impl AppStatus {
    /// Requests that are over.
    #[must_use]
    pub fn n_requests(&self) -> u64 {
        self.requests.iter().sum()
    }

    /// Requests that were answered with 500 or above.
    #[must_use]
    pub fn n_failed(&self) -> u64 {
        self.requests.last().copied().unwrap_or_default()
    }
}

/// The queue of an application, as it was when its length was looked at last.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct QueueStatus {
    /// In jobs, if that was ever known.
    pub length: Option<u64>,
    /// Processes that there are to be.
    pub wanted: u32,
    /// Why the length is not known at the moment.
    #[serde(deserialize_with = "bounded::words_if_any")]
    pub last_error: Option<String>,
}

/// The runs of a command that has a schedule.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ScheduleStatus {
    /// When the next one begins, if that is known.
    #[serde(deserialize_with = "bounded::words_if_any")]
    pub next: Option<String>,
    /// The last one that has ended.
    pub last: Option<RunStatus>,
    /// Runs that have ended.
    pub runs: u64,
    /// Runs that have failed, or could not be started.
    pub failed: u64,
    /// Times that came while the command ran, and were left out.
    pub skipped: u64,
    /// Times that came while the command ran, and wait.
    pub waiting: u32,
}

/// One run of a command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunStatus {
    /// When it began.
    #[serde(deserialize_with = "bounded::words")]
    pub began: String,
    /// How long it took.
    pub duration: Duration,
    /// How it ended, if it could be started.
    pub exit: Option<Exit>,
    /// Whether it was ended because it took too long.
    pub timed_out: bool,
    /// Why it could not be started, or what has become of it.
    #[serde(deserialize_with = "bounded::words_if_any")]
    pub error: Option<String>,
    /// The last lines that it has printed.
    #[serde(deserialize_with = "bounded::list")]
    pub output: Vec<String>,
}
