//! The parts of a validated configuration that the main process and the application hosts need: plain data that crosses
//! process boundaries. Patterns, routes and templates stay with the router.

mod assets;
mod http;
mod image;
mod isolation;
mod lifespan;
mod perl;
mod process;
mod python;
mod restart;
mod ruby;
mod wasm;

use std::iter;
use std::num::{NonZeroU32, NonZeroU64};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

pub use self::assets::{Asset, AssetKind, AssetNames, Assets};
pub use self::http::{CgiTarget, HttpSpec, JavaSpec, ProgramKind, ProgramSocket, Ready};
pub use self::isolation::{
    Automount, Cgroup, CgroupLimits, FilesystemAccess, IdRange, Isolation, Namespaces, SeccompProfile,
};
pub use self::perl::PerlSpec;
pub use self::process::{CommandLine, Overlap, ProcessSpec, QueueSpec, ScheduleSpec};
pub use self::python::{PythonProtocol, PythonSpec, PythonTarget};
pub use self::restart::{Restart, RestartMode};
pub use self::ruby::RubySpec;
pub use self::wasm::WasmSpec;
use crate::address::ListenAddress;
use crate::protocol::Protocol;
use crate::settings::LogSettings;

/// Everything that `main` may bind, open and start for one configuration, and nothing else.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// Sockets to bind, in the order of the document.
    pub listeners: Vec<ListenerPlan>,
    /// Applications to run, in the order of the document.
    pub applications: Vec<AppSpec>,
    /// Applications that no listener reaches, which the router does not know.
    pub background: Vec<AppSpec>,
    /// Files of the access logs, opened by `main` for the router.
    pub access_logs: Vec<PathBuf>,
    /// Event loops of the router; `None` means one for each processor.
    pub listen_threads: Option<NonZeroU32>,
    /// How the processes log.
    pub log: LogSettings,
}

impl Plan {
    /// All applications, those that no listener reaches last.
    pub fn all_applications(&self) -> impl Iterator<Item = &AppSpec> {
        self.applications.iter().chain(&self.background)
    }
}

/// One listening socket.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListenerPlan {
    /// Where to listen.
    pub address: ListenAddress,
    /// Length of the accept queue; `None` leaves it to the operating system's maximum.
    pub backlog: Option<u32>,
}

/// One application as `main` starts it and as its host receives it.
///
/// Two generations that hold equal specifications share the running processes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AppSpec {
    /// The member's name under `applications`.
    pub name: String,
    /// The host executable that runs it, as found among the modules; empty for
    /// `RuntimeSpec::Process` and `RuntimeSpec::Http`, unless that is Java, whose launcher it is.
    pub module: PathBuf,
    /// User to run as; `None` means the daemon's default.
    pub user: Option<String>,
    /// Group to run as; `None` means the user's primary group.
    pub group: Option<String>,
    /// Directory to change to before anything is loaded.
    pub working_directory: Option<PathBuf>,
    /// Variables merged over the daemon's environment.
    pub environment: Vec<(String, String)>,
    /// Whether it has the daemon's environment at all.
    pub inherit_environment: bool,
    /// File for standard output; `None` means the log.
    pub stdout: Option<PathBuf>,
    /// File for standard error; `None` means the log.
    pub stderr: Option<PathBuf>,
    /// How it is set apart.
    pub isolation: Isolation,
    /// How many workers run.
    pub processes: Processes,
    /// Limits on a request and on a worker's life.
    pub limits: Limits,
    /// How new processes take the place of old ones.
    pub restart: Restart,
    /// Options of the language.
    pub runtime: RuntimeSpec,
}

impl AppSpec {
    /// Whether no listener reaches it.
    #[must_use]
    pub fn is_background(&self) -> bool {
        matches!(self.runtime, RuntimeSpec::Process(_))
    }

    /// Whether a restart of another application is one of this one, too.
    #[must_use]
    pub fn is_restarted_with_another(&self) -> bool {
        matches!(&self.runtime, RuntimeSpec::Process(process) if process.with.is_some())
    }

    /// The queue that decides how many processes it has, if one does. Then `spare` of them run in any case, and there
    /// are fewer when the queue has been shorter for `idle_timeout`.
    #[must_use]
    pub fn queue(&self) -> Option<&QueueSpec> {
        match &self.runtime {
            RuntimeSpec::Process(process) => process.queue.as_ref(),
            _ => None,
        }
    }

    /// Whether its prototype runs even when nothing else does.
    #[must_use]
    pub fn keeps_prototype(&self) -> bool {
        self.processes.spare > 0 || self.queue().is_some()
    }

    /// Time between telling its processes to end and killing them, if that is its own choice.
    #[must_use]
    pub fn grace(&self) -> Option<Duration> {
        match &self.runtime {
            RuntimeSpec::Process(process) => process.grace(self.restart.drain_timeout),
            _ => Some(Duration::ZERO),
        }
    }
}

/// How many workers an application has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Processes {
    /// Never more than this.
    pub max: NonZeroU32,
    /// Idle workers kept ready; equals `max` for a static number.
    pub spare: u32,
    /// An idle worker above `spare` leaves after this long.
    pub idle_timeout: Duration,
    /// When one more is started.
    pub growth: PoolGrowth,
}

/// When an application gets one more worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum PoolGrowth {
    /// As soon as there are more requests than workers.
    ByRequests,
    /// When requests wait for too long. `spare` counts workers that are busy, too; it and `max` are those of the
    /// largest machine, and main and the router derive their own.
    ByWaiting,
}

/// Bounds on requests and workers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Longest silence between the hand-over of a request and its response, or two pieces of it.
    pub timeout: Option<Duration>,
    /// A worker leaves after this many requests and is replaced.
    pub requests: Option<NonZeroU32>,
    /// Thousandths of `requests` by which a worker may leave earlier, so that not all leave at once.
    pub requests_jitter: u32,
    /// A worker that runs one request for longer is killed.
    pub kill_after: Option<Duration>,
    /// The same bound where the configuration has none, and where a worker has nothing else to do.
    pub kill_at_last: Option<Duration>,
    /// A request that runs for longer is logged.
    pub slow: Option<Duration>,
    /// Most requests that wait while all workers are busy.
    pub queue: Option<u32>,
    /// Longest wait for a worker.
    pub queue_timeout: Option<Duration>,
    /// Most requests in the hands of workers.
    pub concurrency: Option<NonZeroU32>,
    /// Bounds on the memory of each worker.
    pub memory: MemoryBounds,
}

/// After this time, a client that waits for a response has probably left: servers and load balancers in front of this
/// one have given up.
const QUEUE_TIMEOUT: Duration = Duration::from_secs(60);

/// A request that has run for so long is most likely stuck.
const LONGEST_RUN: Duration = Duration::from_hours(24);

impl Default for Limits {
    fn default() -> Self {
        Self {
            timeout: None,
            requests: None,
            requests_jitter: 0,
            kill_after: None,
            kill_at_last: Some(LONGEST_RUN),
            slow: None,
            queue: None,
            queue_timeout: Some(QUEUE_TIMEOUT),
            concurrency: None,
            memory: MemoryBounds::default(),
        }
    }
}

/// Bounds in bytes on the memory that a worker has for itself.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryBounds {
    /// A worker that uses more leaves after its request and is replaced.
    pub soft: Option<NonZeroU64>,
    /// A worker that uses more is killed.
    pub hard: Option<NonZeroU64>,
}

impl MemoryBounds {
    /// Whether there is any.
    #[must_use]
    pub fn is_some(&self) -> bool {
        self.soft.is_some() || self.hard.is_some()
    }
}

/// The part of an application's specification that depends on its language.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum RuntimeSpec {
    /// `type: "php"`.
    Php(PhpSpec),
    /// `type: "perl"`.
    Perl(PerlSpec),
    /// `type: "python"`.
    Python(PythonSpec),
    /// `type: "http"`, `"external"`, `"go"`, `"java"`, `"fastcgi"` and `"cgi"`.
    Http(HttpSpec),
    /// `type: "process"`.
    Process(ProcessSpec),
    /// `type: "ruby"`.
    Ruby(RubySpec),
    /// `type: "wasm-wasi-component"`.
    Wasm(WasmSpec),
    /// Nothing that can be started, and why: part of a stored document that is used as far as it goes.
    Unusable(String),
}

/// How many requests a worker has at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WorkerConcurrency {
    /// Requests that it runs at once.
    pub n: NonZeroU32,
    /// Whether it may be given more than that, to go on with as soon as it has ended one.
    pub ahead: bool,
}

impl WorkerConcurrency {
    /// One after the other.
    pub const ONE: Self = Self { n: NonZeroU32::MIN, ahead: true };
}

impl RuntimeSpec {
    /// How many requests each of its workers has at once.
    #[must_use]
    pub fn concurrency(&self) -> WorkerConcurrency {
        match self {
            Self::Php(_) | Self::Process(_) | Self::Wasm(_) | Self::Unusable(_) => WorkerConcurrency::ONE,
            Self::Perl(perl) => WorkerConcurrency { n: perl.threads, ahead: true },
            Self::Python(python) => WorkerConcurrency { n: python.threads, ahead: true },
            Self::Ruby(ruby) => WorkerConcurrency { n: ruby.threads, ahead: true },
            Self::Http(http) => WorkerConcurrency { n: http.concurrency, ahead: false },
        }
    }

    /// Whether its workers end requests themselves that run for too long, and go on with the next one.
    #[must_use]
    pub fn ends_requests(&self) -> bool {
        matches!(self, Self::Wasm(_))
    }

    /// Files and folders that the application cannot do without.
    #[must_use]
    pub fn paths(&self) -> Vec<&Path> {
        match self {
            Self::Php(php) => {
                let fixed = php.targets.iter().filter(|target| !target.root_varies);
                fixed.map(|target| &*target.root).collect()
            }
            Self::Python(python) => python.path.iter().chain(&python.home).map(|path| &**path).collect(),
            Self::Perl(perl) => vec![&perl.script],
            Self::Ruby(ruby) => vec![&ruby.script],
            Self::Wasm(wasm) => vec![&wasm.component],
            Self::Http(http) => http.executable_path().into_iter().chain(http.roots()).collect(),
            Self::Process(_) | Self::Unusable(_) => Vec::new(),
        }
    }

    /// The protocol that its workers are spoken to in, if they are programs that speak another one than HTTP.
    #[must_use]
    pub fn gateway(&self) -> Option<Protocol> {
        match self {
            Self::Http(http) => http.gateway(),
            _ => None,
        }
    }

    /// Names of the targets in the order of the document; a request names one by its index.
    #[must_use]
    pub fn target_names(&self) -> Vec<&str> {
        match self {
            Self::Php(php) => php.targets.iter().map(|target| target.name.as_str()).collect(),
            Self::Python(python) => python.targets.iter().map(|target| target.name.as_str()).collect(),
            Self::Http(http) => http.target_names(),
            Self::Perl(_) | Self::Process(_) | Self::Ruby(_) | Self::Wasm(_) | Self::Unusable(_) => {
                Vec::new()
            }
        }
    }

    /// Files and folders that the application consists of.
    #[must_use]
    pub fn files(&self) -> Vec<&Path> {
        match self {
            Self::Php(php) => php
                .targets
                .iter()
                .filter(|target| !target.root_varies)
                .map(|target| &*target.root)
                .chain(php.ini_file.as_deref())
                .collect(),
            Self::Python(python) => {
                python.path.iter().map(|path| &**path).chain(python.home.as_deref()).collect()
            }
            Self::Perl(perl) => perl.script.parent().into_iter().collect(),
            Self::Http(http) => http.files(),
            Self::Process(process) => process.command.executable_path().into_iter().collect(),
            Self::Ruby(ruby) => ruby.script.parent().into_iter().chain(ruby.hooks.as_deref()).collect(),
            Self::Wasm(wasm) => {
                iter::once(&*wasm.component).chain(wasm.filesystem.iter().map(Path::new)).collect()
            }
            Self::Unusable(_) => Vec::new(),
        }
    }
}

/// Options of a PHP application.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PhpSpec {
    /// At least one; the first is meant when none is named. A document without `targets` has one
    /// with an empty name.
    pub targets: Vec<PhpTarget>,
    /// php.ini to read instead of the default one.
    pub ini_file: Option<PathBuf>,
    /// Settings that scripts cannot change.
    pub admin: Vec<(String, String)>,
    /// Settings that scripts can change.
    pub user: Vec<(String, String)>,
    /// Settings of requests for some paths. All that apply are made, so that a later one has the last word.
    pub by_path: Vec<PhpPathOptions>,
    /// The name that `php_sapi_name()` reports; `None` means `cli-server`.
    pub sapi_name: Option<String>,
    /// Whether opcache's memory is that of all applications with the same image.
    pub shared_opcache: bool,
}

/// Settings of PHP for requests whose paths match.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PhpPathOptions {
    /// As in `match.uri`; it was compiled once.
    pub pattern: String,
    /// Settings that scripts cannot change.
    pub admin: Vec<(String, String)>,
    /// Settings that scripts can change.
    pub user: Vec<(String, String)>,
}

impl PhpSpec {
    /// The script that stays in memory, if there is one.
    #[must_use]
    pub fn worker(&self) -> Option<&PhpWorker> {
        self.targets.first().and_then(|target| target.worker.as_ref())
    }
}

/// A script that stays in memory, in each worker of the application.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PhpWorker {
    /// Absolute, or relative to the target's root, or else to the working directory.
    pub script: PathBuf,
    /// Part of the application's limits, too.
    pub max_requests: Option<NonZeroU32>,
    /// Part of what restarts the application, too.
    pub watch: Vec<PathBuf>,
    /// Variables that each request finds in `$_SERVER`, and the script in its environment.
    pub environment: Vec<(String, String)>,
    /// Whether the functions have FrankenPHP's names, too.
    pub compatibility: bool,
    /// The answer to state that a request leaves behind.
    pub guard: Guard,
}

/// The answer to state that a request has changed and not restored.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Guard {
    /// Requests are not checked.
    Off,
    /// Findings are logged, once for each kind and route.
    #[default]
    Report,
    /// Findings are logged, and restored where that is cheap.
    Restore,
    /// Findings are logged, and the worker is replaced after the response.
    Recycle,
}

/// One entry point of a PHP application.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PhpTarget {
    /// Name under `targets`, empty for the only one.
    pub name: String,
    /// Folder of the scripts; empty if it varies.
    pub root: PathBuf,
    /// Each request says which folder it is.
    pub root_varies: bool,
    /// The script that answers every request, relative to `root`.
    pub script: Option<PathBuf>,
    /// Script for paths that end in a slash.
    pub index: String,
    /// The script that stays in memory and answers all requests: then there is no other target.
    pub worker: Option<PhpWorker>,
}
