//! Applications that are programs: the socket that each gets, what is spoken there, and when it is ready.

use std::num::{NonZeroU32, NonZeroUsize};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::protocol::Protocol;

/// Options of an application of `type: "http"`, of those types of Unit whose applications serve HTTP here, and of
/// `"fastcgi"` and `"cgi"`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HttpSpec {
    /// The interface that the program was written for.
    pub kind: ProgramKind,
    /// A path, or a name that is looked for in `PATH`. Java is looked for in `JAVA_HOME` first.
    pub executable: PathBuf,
    /// Behind its own name.
    pub arguments: Vec<String>,
    /// How it learns where to serve.
    pub socket: ProgramSocket,
    /// When it is given requests.
    pub ready: Ready,
    /// Longest time from its start to that moment.
    pub ready_timeout: Duration,
    /// Most requests at once in one process.
    pub concurrency: NonZeroU32,
}

/// The interface that a program was written for.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum ProgramKind {
    /// Any server: `type: "http"`.
    #[default]
    Server,
    /// Unit, by a package: `type: "external"` and `"go"`.
    External,
    /// A web application for a container of servlets: `type: "java"`.
    Java(JavaSpec),
    /// FastCGI, on its standard input: `type: "fastcgi"`. At least one target.
    FastCgi(Vec<CgiTarget>),
    /// CGI: `type: "cgi"`. The program is this server's own, and starts scripts. At least one target.
    Cgi(Vec<CgiTarget>),
}

/// An entry point of an application that is described requests as CGI does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CgiTarget {
    /// Name under `targets`, empty for the only one.
    pub name: String,
    /// Folder of the scripts, if there are scripts.
    pub root: Option<PathBuf>,
}

/// Options of a web application in Java.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JavaSpec {
    /// An archive, or the folder that is in it.
    pub webapp: PathBuf,
    /// Archives, folders and URLs beyond those in the application.
    pub classpath: Vec<String>,
    /// Options of the Java virtual machine.
    pub options: Vec<String>,
    /// Bytes of stack of each thread; `None` leaves it to the virtual machine.
    pub thread_stack_size: Option<NonZeroUsize>,
}

impl ProgramKind {
    /// Whether it is one of Unit's types.
    #[must_use]
    pub fn is_of_unit(&self) -> bool {
        matches!(self, Self::External | Self::Java(_))
    }

    /// Advice for a program that does not become ready.
    #[must_use]
    pub fn advice(&self) -> &'static str {
        match self {
            Self::Server | Self::Java(_) | Self::Cgi(_) => "",
            Self::FastCgi(_) => {
                " (a program of FastCGI accepts connections on descriptor 0, as spawn-fcgi and mod_fcgid start it; \
                 of PHP that is php-cgi)"
            }
            Self::External => {
                " (a program for Unit needs Corral's package \"unit-http\" or \"unit.nginx.org/go\" in place of \
                 Unit's, or serves HTTP on descriptor 3; a shell in front of it starts it by exec)"
            }
        }
    }
}

/// How a program learns where to serve.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum ProgramSocket {
    /// A socket that listens already is its descriptor 3 (`LISTEN_FDS`).
    Inherited,
    /// The same as its standard input.
    Standard,
    /// The program makes a Unix socket at the path in this variable.
    Unix {
        /// The variable's name.
        variable: String,
    },
    /// The program listens on the port in this variable.
    Port {
        /// The variable's name.
        variable: String,
        /// One that listens on another port all the same is served there.
        or_any: bool,
    },
}

/// When a program counts as ready for requests.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Ready {
    /// The program accepts connections.
    Connect,
    /// The program answers a request for this path with a status below 400.
    Path(String),
    /// The program says so (`sd_notify`).
    Notify,
}

impl HttpSpec {
    /// Files that it consists of, as far as the configuration names them.
    #[must_use]
    pub fn files(&self) -> Vec<&Path> {
        match &self.kind {
            ProgramKind::Java(java) => vec![&java.webapp],
            ProgramKind::Server | ProgramKind::External => self.executable_path().into_iter().collect(),
            ProgramKind::FastCgi(targets) | ProgramKind::Cgi(targets) => {
                let roots = targets.iter().filter_map(|target| target.root.as_deref());
                self.executable_path().into_iter().chain(roots).collect()
            }
        }
    }

    /// Names of the targets in the order of the document.
    #[must_use]
    pub fn target_names(&self) -> Vec<&str> {
        match &self.kind {
            ProgramKind::FastCgi(targets) | ProgramKind::Cgi(targets) => {
                targets.iter().map(|target| target.name.as_str()).collect()
            }
            ProgramKind::Server | ProgramKind::External | ProgramKind::Java(_) => Vec::new(),
        }
    }

    /// The protocol that it is spoken to in, if that is not HTTP.
    #[must_use]
    pub fn gateway(&self) -> Option<Protocol> {
        match &self.kind {
            ProgramKind::FastCgi(_) => Some(Protocol::FastCgi),
            ProgramKind::Cgi(_) => Some(Protocol::Scgi),
            ProgramKind::Server | ProgramKind::External | ProgramKind::Java(_) => None,
        }
    }

    /// Whether its socket is made for it.
    #[must_use]
    pub fn has_listener(&self) -> bool {
        matches!(self.socket, ProgramSocket::Inherited | ProgramSocket::Standard)
    }

    /// The folders of its scripts, if it runs scripts.
    pub fn roots(&self) -> impl Iterator<Item = &Path> {
        let targets = match &self.kind {
            ProgramKind::FastCgi(targets) | ProgramKind::Cgi(targets) => targets.as_slice(),
            ProgramKind::Server | ProgramKind::External | ProgramKind::Java(_) => &[],
        };
        targets.iter().filter_map(|target| target.root.as_deref())
    }

    /// The executable, if it is not looked for.
    #[must_use]
    pub fn executable_path(&self) -> Option<&Path> {
        self.executable.as_os_str().as_encoded_bytes().contains(&b'/').then_some(&*self.executable)
    }
}
