//! The messages, one enum for each direction of each pair of processes.

use std::fmt;
use std::path::PathBuf;

use corral_config::address::ListenAddress;
use corral_config::plan::{AppSpec, AssetKind, Assets, Plan};
use serde::{Deserialize, Serialize};

/// One configuration that was handed out; grows with each. The controller numbers what it sends to
/// main, and main what it sends to the router, as it also prepares generations by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Generation(pub u64);

/// One running instance of an application. A changed specification or a restart makes a new one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct AppId(pub u32);

/// One worker process; never used again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct WorkerId(pub u32);

/// A question whose answer carries the same number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Ticket(pub u64);

/// From the controller to main.
#[derive(Debug, Serialize, Deserialize)]
pub enum FromController {
    /// Put this configuration in force. Answered by `Applied` or `Refused`.
    Apply {
        /// Chosen by the controller, higher than any before.
        generation: Generation,
        /// What main may bind and start.
        plan: Plan,
        /// The document as compact JSON, opaque to main, for the router and the store.
        document: Vec<u8>,
        /// What the document names of the state directory, for the router.
        assets: Assets,
        /// Whether the state directory is written once the configuration is in force.
        store: bool,
        /// Whether a part that cannot start stops the rest.
        demand: Demand,
    },
    /// The stored document is not what runs: when another takes its place, keep it under another name.
    KeepStoredAside,
    /// Answered by `Status`.
    Status {
        /// Returned with the answer.
        ticket: Ticket,
    },
    /// Start a new set of processes and retire the old one. Answered by `Restarted`.
    RestartApp {
        /// Returned with the answer.
        ticket: Ticket,
        /// The application's name.
        name: String,
    },
    /// Keep a certificate bundle or a JavaScript module in the state directory, or remove it.
    /// Answered by `AssetStored`.
    StoreAsset {
        /// Returned with the answer.
        ticket: Ticket,
        /// Which folder.
        kind: AssetKind,
        /// Any text without NUL.
        name: String,
        /// The content; `None` removes it.
        bytes: Option<Vec<u8>>,
    },
    /// The control API answers requests from now on.
    Listening,
}

/// From main to the controller.
#[derive(Debug, Serialize, Deserialize)]
pub enum ToController {
    /// First message. Carries the control API's listening socket.
    Start {
        /// The stored document, or the one in force when the controller was restarted.
        document: Option<Vec<u8>>,
        /// What `document` is.
        origin: Origin,
        /// Highest generation handed out so far.
        generation: Generation,
        /// The host executables that were found.
        modules: Vec<Module>,
        /// Every certificate bundle and JavaScript module of the state directory.
        assets: Assets,
        /// Where the configuration comes from when that is files.
        files: Option<ConfigFiles>,
        /// What requests to the control API must show, if anything.
        token: Option<ControlToken>,
    },
    /// The configuration files were read again: this is in force from now on, if that is possible.
    Replace {
        /// The document, validated already; compact JSON.
        document: Vec<u8>,
        /// Every certificate bundle and JavaScript module there is.
        assets: Assets,
    },
    /// The configuration is in force.
    Applied {
        /// Which one.
        generation: Generation,
    },
    /// The configuration could not be put in force; the one before still is.
    Refused {
        /// Which one.
        generation: Generation,
        /// What failed, where and why, for the person who sent it.
        reason: String,
    },
    /// The answer to a question for the status.
    Status {
        /// As asked.
        ticket: Ticket,
        /// The figures, or none when the router does not answer.
        status: Option<Status>,
    },
    /// The answer to `RestartApp`.
    Restarted {
        /// As asked.
        ticket: Ticket,
        /// What went wrong, if anything.
        error: Option<String>,
    },
    /// The answer to `StoreAsset`.
    AssetStored {
        /// As asked.
        ticket: Ticket,
        /// What went wrong, if anything.
        error: Option<String>,
    },
}

/// A configuration that is kept in files and not by the control API.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConfigFiles {
    /// What they are called, for messages.
    pub names: String,
    /// Whether the control API changes the running configuration all the same.
    pub is_writable: bool,
}

/// From main to the reader of configuration files.
#[derive(Debug, Serialize, Deserialize)]
pub enum ToReader {
    /// First message: read the files, and go on doing so.
    Start {
        /// Files and folders, merged in this order.
        paths: Vec<PathBuf>,
        /// Whether to look by itself for changes.
        watch: bool,
        /// The host executables that were found.
        modules: Vec<Module>,
        /// Names of the certificate bundles in the state directory.
        certificates: Vec<String>,
        /// Names of the JavaScript modules in the state directory.
        scripts: Vec<String>,
    },
    /// Read the files again.
    Read,
}

/// From the reader of configuration files to main.
#[derive(Debug, Serialize, Deserialize)]
pub enum FromReader {
    /// What the files say is a configuration.
    Loaded {
        /// The document as compact JSON, opaque to main.
        document: Vec<u8>,
        /// The certificate bundles and JavaScript modules beside the files.
        assets: Assets,
    },
    /// The files cannot be used.
    Unusable {
        /// Every reason, one line each: place and message.
        problems: Vec<String>,
    },
}

/// What has to start for a configuration to come into force.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Demand {
    /// All of it: for a change that somebody makes.
    #[default]
    Everything,
    /// What can: when the daemon starts. The rest is tried again later.
    WhatStarts,
}

/// The secret that requests to the control API show. Never printed.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ControlToken(pub String);

impl fmt::Debug for ControlToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ControlToken")
    }
}

/// Where the document in `ToController::Start` comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Origin {
    /// The state directory or `corral run`: to be validated and applied.
    Stored,
    /// It is in force already: a controller took the place of one that died.
    InForce,
}

/// A host executable that was found in the modules' folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Module {
    /// `php`, `python`, …
    pub language: String,
    /// As the interpreter reports it.
    pub version: String,
    /// Its path.
    pub path: PathBuf,
}

/// From main to the router.
#[derive(Debug, Serialize, Deserialize)]
pub enum ToRouter {
    /// First message.
    Start {
        /// Event loops to run, each with its own accept queue where the address allows.
        n_threads: u16,
        /// Folder for the bodies that do not fit in memory.
        temp_dir: PathBuf,
        /// Show requests on standard output, one coloured line each (`corral run`).
        console: bool,
    },
    /// A socket for the generation that is being prepared. Carries the listening sockets: one for
    /// each event loop, or a single one that they share. Sent again for a socket that is in use.
    Listener {
        /// The generation that it belongs to.
        generation: Generation,
        /// As configured.
        address: ListenAddress,
    },
    /// An access log for the generation that is being prepared. Carries the open file. Sent for the
    /// one in force when log files are reopened: the file takes the place of the old one at once.
    AccessLog {
        /// The generation that it belongs to.
        generation: Generation,
        /// Which of the configuration's logs.
        log: u32,
    },
    /// An application's prototype is ready. Carries the bell: its memory, then one eventfd for
    /// each event loop. Comes again for an instance whose prototype died and was replaced, after
    /// all its workers were reported gone: the bell takes the place of the old one.
    AppReady {
        /// The instance.
        app: AppId,
    },
    /// Build this generation beside the running one. Answered by `Prepared`.
    Prepare {
        /// Which one.
        generation: Generation,
        /// Validated already; compact JSON.
        document: Vec<u8>,
        /// The instance behind each application of the document.
        applications: Vec<(AppId, AppSpec)>,
        /// The certificate bundles and JavaScript modules that the document names.
        assets: Assets,
    },
    /// Swap the prepared generation in. Answered by `Committed`.
    Commit {
        /// Which one.
        generation: Generation,
    },
    /// Forget the prepared generation.
    Abandon {
        /// Which one.
        generation: Generation,
    },
    /// A worker is ready for requests. Carries its channel's memory.
    WorkerReady {
        /// Its application.
        app: AppId,
        /// Its number.
        worker: WorkerId,
        /// Its process id, for log lines.
        pid: u32,
    },
    /// A worker's process is gone; what it had not started can be given to another.
    WorkerGone {
        /// Its application.
        app: AppId,
        /// Its number.
        worker: WorkerId,
        /// How it ended.
        exit: Exit,
    },
    /// A worker that was asked for could not be started.
    WorkerFailed {
        /// Its application.
        app: AppId,
        /// Why, for the log and the status.
        reason: String,
    },
    /// Answered by `Status`.
    Status {
        /// Returned with the answer.
        ticket: Ticket,
    },
    /// Stop accepting, finish what is in progress, exit.
    Quit,
}

/// From the router to main.
#[derive(Debug, Serialize, Deserialize)]
pub enum FromRouter {
    /// Started and waiting for a configuration.
    Ready,
    /// The generation can be committed, or the reason why not.
    Prepared {
        /// Which one.
        generation: Generation,
        /// What failed, for the person who sent the configuration.
        error: Option<String>,
    },
    /// The generation is in force.
    Committed {
        /// Which one.
        generation: Generation,
    },
    /// One more worker is wanted.
    StartWorker {
        /// For this application.
        app: AppId,
    },
    /// The worker broke the channel's rules or overran; end it at once.
    KillWorker {
        /// Its application.
        app: AppId,
        /// Its number.
        worker: WorkerId,
        /// For the log.
        reason: String,
    },
    /// Nothing refers to this instance any more; its processes can go.
    AppUnused {
        /// The instance.
        app: AppId,
    },
    /// The answer to a question for the status.
    Status {
        /// As asked.
        ticket: Ticket,
        /// The figures of the router.
        status: Status,
    },
}

/// From main to a prototype, and through it to no one else.
#[derive(Debug, Serialize, Deserialize)]
#[expect(
    clippy::large_enum_variant,
    reason = "one message at a time is alive, and the first is the large one"
)]
pub enum ToPrototype {
    /// First message: load the application, then answer `Ready` or `Failed`.
    Start {
        /// What to load.
        spec: AppSpec,
        /// Event loops of the router: the channel has one lane for each.
        n_lanes: u16,
    },
    /// Fork a worker. Answered by `Forked` or `ForkFailed`.
    Fork {
        /// Its number.
        worker: WorkerId,
    },
    /// End a worker at once.
    Kill {
        /// Its number.
        worker: WorkerId,
    },
    /// End all workers and exit.
    Stop,
}

/// From a prototype to main.
#[derive(Debug, Serialize, Deserialize)]
pub enum FromPrototype {
    /// The application is loaded. Carries the bell: its memory, then one eventfd for each lane.
    Ready,
    /// It could not be loaded; the prototype exits.
    Failed {
        /// What is wrong, where, and what to do.
        reason: String,
    },
    /// A worker runs. Carries its channel's memory.
    Forked {
        /// Its number.
        worker: WorkerId,
        /// Its process id.
        pid: u32,
    },
    /// A worker could not be forked.
    ForkFailed {
        /// Its number.
        worker: WorkerId,
        /// Why.
        reason: String,
    },
    /// A worker ended.
    Exited {
        /// Its number.
        worker: WorkerId,
        /// How.
        exit: Exit,
    },
}

/// How a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Exit {
    /// By itself, with this code.
    Code(i32),
    /// By this signal.
    Signal(i32),
}

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
    /// Requests begun since the router started.
    pub requests: u64,
    /// By application, in the order of the configuration.
    pub applications: Vec<AppStatus>,
    /// Listeners that could not be bound when the daemon started; known to main alone.
    pub failed_listeners: Vec<FailedListener>,
    /// By upstream, in the order of the configuration.
    pub upstreams: Vec<UpstreamStatus>,
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
    /// Why it could not be bound the last time.
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
}
