//! Messages between main and the router.

use std::net::IpAddr;
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::time::Duration;

use corral_config::address::ListenAddress;
use corral_config::control_service::ControlService;
use corral_config::plan::{AppSpec, Assets};
use corral_sys::descriptor_kind::DescriptorKind;
use serde::{Deserialize, Serialize};

use super::{
    AppId, EndCause, Endpoint, Exit, FailedListener, GenerationId, IssuedSecret, Status, Ticket, WorkerId,
    WorkerStatus,
};
use crate::bounded;
use crate::link::Incoming;

/// A running instance of an application that a document names.
#[derive(Debug, Serialize, Deserialize)]
pub struct StartedInstance {
    /// The instance's number.
    pub id: AppId,
    /// The specification that it was started from.
    pub spec: AppSpec,
    /// How many workers are on their way that the router has not asked for. Each comes, or is reported as one that
    /// failed.
    pub n_coming: u32,
}

/// How requests are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Console {
    /// Colours can be seen where main writes them.
    pub colours: bool,
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
        /// Show requests on standard output, one line each (`corral run`).
        console: Option<Console>,
        /// Help for a person who works on the site, beside its replies.
        dev_mode: DevMode,
    },
    /// A socket for the generation that is being prepared. Carries the listening sockets: one for
    /// each event loop, or a single one that they share. Sent again for a socket that is in use.
    Listener {
        /// The generation that it belongs to.
        generation: GenerationId,
        /// As configured.
        address: ListenAddress,
    },
    /// An access log for the generation that is being prepared. Carries the open file. Sent for the
    /// one in force when log files are reopened: the file takes the place of the old one at once.
    AccessLog {
        /// The generation that it belongs to.
        generation: GenerationId,
        /// Which of the configuration's logs.
        log: u32,
    },
    /// An application's prototype is ready. Carries the bell: its memory, then one eventfd for each event loop; nothing
    /// where workers are programs that serve HTTP. Comes again for an instance whose prototype died and was replaced,
    /// after all its workers were reported gone: the bell takes the place of the old one.
    AppReady {
        /// The instance.
        app: AppId,
        /// Whether it has a bell.
        rings: bool,
    },
    /// Build this generation beside the running one. Answered by `Prepared` or `NotPrepared`.
    Prepare {
        /// Which one.
        generation: GenerationId,
        /// Validated already; compact JSON.
        document: Vec<u8>,
        /// The instance behind each application of the document.
        applications: Vec<StartedInstance>,
        /// The certificate bundles and JavaScript modules that the document names.
        assets: Assets,
    },
    /// Swap the prepared generation in. Answered by `Committed`.
    Commit {
        /// Which one.
        generation: GenerationId,
    },
    /// Forget the prepared generation.
    Abandon {
        /// Which one.
        generation: GenerationId,
    },
    /// A worker is ready for requests. Carries its channel's memory, the push of its bell if it says its
    /// `concurrency`, and the socket of its `files` if it sends any.
    WorkerReady {
        /// The worker's application.
        app: AppId,
        /// The worker's number.
        worker: WorkerId,
        /// The worker's process id, for log lines.
        pid: u32,
        /// As in `Forked`.
        concurrency: Option<NonZeroU32>,
        /// As in `Forked`.
        files: bool,
    },
    /// A program is ready for requests. Carries its socket if that is where it is reached.
    ProgramReady {
        /// The worker's application.
        app: AppId,
        /// The worker's number.
        worker: WorkerId,
        /// The worker's process id.
        pid: u32,
        /// Where it is reached.
        endpoint: Endpoint,
    },
    /// A worker's process is gone; what it had not started can be given to another.
    WorkerGone {
        /// The worker's application.
        app: AppId,
        /// The worker's number.
        worker: WorkerId,
        /// How it ended.
        exit: Exit,
    },
    /// A worker that was asked for could not be started.
    WorkerFailed {
        /// The application.
        app: AppId,
        /// Why, for the log and the status.
        reason: String,
    },
    /// All processes of an instance have ended and none will come.
    AppGone {
        /// The instance.
        app: AppId,
    },
    /// Answered by `Status`.
    Status {
        /// Returned with the answer.
        ticket: Ticket,
    },
    /// Tell of the workers of an instance. Answered by `Workers`.
    Workers {
        /// Returned with the answer.
        ticket: Ticket,
        /// The instance.
        app: AppId,
    },
    /// Give a worker nothing more, and let it end after the requests that it has.
    DrainWorker {
        /// The worker's application.
        app: AppId,
        /// The worker's number.
        worker: WorkerId,
    },
    /// Use these from now on. Answered by `Provided`. The first one comes before any generation.
    Provide {
        /// Returned with the answer.
        ticket: Ticket,
        /// In the order in which they count.
        secrets: Vec<IssuedSecret>,
    },
    /// Send these figures to the collector of the configuration in force, if that wants figures.
    ExportMetrics {
        /// A request of OTLP in protobuf.
        request: Vec<u8>,
    },
    /// The answer to a question of `corral run`.
    Told {
        /// As asked.
        ticket: Ticket,
        /// The last lines of the applications.
        words: Vec<String>,
    },
    /// Stop accepting, finish what is in progress, exit. Answered by `Closed`, then by `Finished`.
    Finish {
        /// Connections that wait for a request may do so for this long.
        keep_idle: Duration,
    },
}

/// Help for a person who works on a site with `corral run`; a daemon has none of it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DevMode {
    /// Requests are served by the code as it is when they come.
    pub watches: bool,
    /// Errors are explained to browsers.
    pub explains: bool,
}

/// A question of the router to main about a request under `corral run`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum DevQuestion {
    /// Answered when the applications run the code that there is.
    IsCurrent,
    /// The last words of the applications, or those of the last `within`; answered at once.
    LastWords {
        /// How long the request has taken.
        within: Option<Duration>,
    },
}

/// A request of a client that the control process answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ControlCall {
    /// The service that it is for.
    pub service: ControlService,
    /// The client's address; none for a Unix socket.
    pub client: Option<IpAddr>,
    /// Whether the client speaks TLS.
    pub is_secure: bool,
}

/// From the router to main.
#[derive(Debug, Serialize, Deserialize)]
pub enum FromRouter {
    /// Started and waiting for a configuration.
    Ready,
    /// The generation can be committed.
    Prepared {
        /// Which one.
        generation: GenerationId,
        /// The listeners that cannot serve and will not, whose sockets were closed.
        #[serde(deserialize_with = "bounded::list")]
        failed: Vec<FailedListener>,
    },
    /// The router cannot prepare the configuration.
    NotPrepared {
        /// Which one.
        generation: GenerationId,
        /// The failure, for the person who sent the configuration.
        #[serde(deserialize_with = "bounded::words")]
        reason: String,
    },
    /// No event loop accepts connections any more, as it was told.
    Closed,
    /// The generation is in force.
    Committed {
        /// Which one.
        generation: GenerationId,
    },
    /// One more worker is wanted.
    StartWorker {
        /// For this application.
        app: AppId,
    },
    /// The worker broke the channel's rules or overran; end it at once.
    KillWorker {
        /// The worker's application.
        app: AppId,
        /// The worker's number.
        worker: WorkerId,
        /// For the figures.
        cause: EndCause,
        /// For the log.
        #[serde(deserialize_with = "bounded::words")]
        reason: String,
    },
    /// A worker was told to end after the requests that it has.
    WorkerDismissed {
        /// The worker's application.
        app: AppId,
        /// The worker's number.
        worker: WorkerId,
        /// For the figures.
        cause: EndCause,
    },
    /// A program gets no requests any more and has none: let it end.
    RetireWorker {
        /// The worker's application.
        app: AppId,
        /// The worker's number.
        worker: WorkerId,
    },
    /// The router has no room for what it shares with the processes of this instance: they are of no use.
    AppNotTaken {
        /// The instance.
        app: AppId,
        /// For the log.
        #[serde(deserialize_with = "bounded::words")]
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
    /// The answer to a question for the workers of an instance.
    Workers {
        /// As asked.
        ticket: Ticket,
        /// As asked.
        app: AppId,
        /// At most [`MOST_WORKERS`](super::MOST_WORKERS); of processes nothing but the numbers.
        #[serde(deserialize_with = "bounded::list")]
        workers: Vec<WorkerStatus>,
    },
    /// Every event loop answers with what was provided.
    Provided {
        /// As asked.
        ticket: Ticket,
    },
    /// A client has asked for a name that has no certificate and may get one.
    CertificateWanted {
        /// In lower case.
        #[serde(deserialize_with = "bounded::words")]
        name: String,
        /// The client's address; none for a Unix socket.
        client: Option<IpAddr>,
    },
    /// A request for the control process, which it answers on the socket that comes along.
    ControlCall(ControlCall),
    /// A question of `corral run`.
    Ask {
        /// Returned with the answer.
        ticket: Ticket,
        /// The question.
        question: DevQuestion,
    },
    /// Everything is finished; the router exits.
    Finished {
        /// The router's counters.
        status: Status,
    },
}

impl Incoming for FromRouter {
    /// The figures of thousands of applications.
    const LONGEST: usize = 64 * 1024 * 1024;

    fn comes_with(&self, kinds: &[DescriptorKind]) -> bool {
        match self {
            Self::ControlCall(_) => kinds == [DescriptorKind::Stream],
            _ => kinds.is_empty(),
        }
    }
}
