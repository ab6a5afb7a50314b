//! The messages, one enum for each direction of each pair of processes, and the numbers that they name things by.

mod by_place;
mod controller;
mod durations;
mod exec;
mod exemplar;
mod exit;
mod fine_durations;
mod image;
mod inner;
mod issued_secret;
mod main_figures;
mod names;
mod prototype;
mod reader;
mod router;
mod serving;
mod slow;
mod status;
mod sums;
mod traffic;
mod upgrade;
mod worker;

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

pub use self::controller::{
    ChangeOrigin, ConfigFiles, ControlToken, FromController, Inserted, Revocable, StartPolicy, ToController,
};
pub use self::durations::{DURATION_BOUNDS, DurationFigures};
pub use self::exec::{ExecContext, FolderChoice, FromExec, ToExec, UserNumbers};
pub use self::exemplar::{DurationExemplar, merge_exemplars};
pub use self::exit::Exit;
pub use self::fine_durations::{FINE_SCHEMA, FIRST_FINE, FineDurations, N_FINE};
pub use self::image::{FromImage, Identity, ToImage};
pub use self::inner::{
    AuthenticationFigures, BodyFigures, CODINGS, ChannelFigures, CodingFigures, CompressionFigures,
    FORWARD_RESULTS, FileCacheFigures, InnerFigures, LoopFigures, LossFigures, RemoteKeyFigures, RoomFigures,
};
pub use self::issued_secret::{IssuedSecret, IssuedSecretKind};
pub use self::main_figures::{LastChange, MainFigures, OwnProcess, ProcessFigures};
pub use self::names::FigureNames;
pub use self::prototype::{Endpoint, FromPrototype, ToPrototype};
pub use self::reader::{FromReader, ToReader};
pub use self::router::{Console, ControlCall, DevMode, DevQuestion, FromRouter, StartedInstance, ToRouter};
pub use self::serving::{QUEUE_REFUSALS, ServerProcesses, ServerTimes, WaitingFigures};
pub use self::slow::{MOST_SLOW, SlowRequest, keep_slowest};
pub use self::status::{
    AppStatus, DaemonStatus, FailedListener, LeftState, LimitStatus, ListenerFigures, MirrorStatus,
    PROTOCOLS, QueueStatus, RunStatus, STATE_KINDS, STATUS_CLASSES, ScheduleStatus, ServerState,
    ServerStatus, Status, StepFigures, UpstreamStatus,
};
pub use self::traffic::{
    CONNECTION_PROTOCOLS, ConnectionProtocol, HTTP2_FAULTS, Http2Fault, Http2Figures, REFUSALS, Refusal,
    TLS_FAILURES, TLS_SESSIONS, TLS_VERSIONS, TlsFailure, TlsFigures, TrafficFigures,
};
pub use self::upgrade::{EarlierProcess, FromSuccessor, ToSuccessor};
pub use self::worker::{
    Backtrace, END_CAUSES, EndCause, MOST_WORKERS, RunningRequest, WorkerCounts, WorkerEnding, WorkerState,
    WorkerStatus, WorkerUsage,
};

/// One configuration that was handed out; grows with each. The controller numbers what it sends to
/// main, and main what it sends to the router, as it also prepares generations by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct GenerationId(pub u64);

/// One running instance of an application. A changed specification or a restart makes a new one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct AppId(pub u32);

/// One worker process; never used again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct WorkerId(pub u32);

/// A question whose answer carries the same number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Ticket(pub u64);

/// A host executable that was found in the modules' folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Module {
    /// `php`, `python`, …
    pub language: String,
    /// As the interpreter reports it.
    pub version: String,
    /// The path of the program.
    pub path: PathBuf,
    /// Files and folders that it consists of besides: libraries, extensions, settings.
    pub dependencies: Vec<PathBuf>,
}
