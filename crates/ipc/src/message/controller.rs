//! Messages between main and the controller.

use std::fmt;
use std::net::IpAddr;

use corral_config::plan::{Asset, AssetKind, Assets, Plan};
use serde::{Deserialize, Serialize};

use super::{ControlCall, GenerationId, IssuedSecret, Module, Status, Ticket, WorkerEnding, WorkerStatus};
use crate::history::StoredConfiguration;
use crate::link::{Incoming, MAX_MESSAGE};

/// From the controller to main.
#[derive(Debug, Serialize, Deserialize)]
pub enum FromController {
    /// Put this configuration in force. Answered by `Applied` or `Refused`.
    Apply {
        /// Chosen by the controller, higher than any before.
        generation: GenerationId,
        /// Names everything that main may bind and start.
        plan: Plan,
        /// The document as compact JSON, opaque to main, for the router and the store.
        document: Vec<u8>,
        /// The files of the state directory that the document names, for the router.
        assets: Assets,
        /// Whether the state directory is written once the configuration is in force.
        store: bool,
        /// Whether a part that cannot start stops the rest.
        start_policy: StartPolicy,
    },
    /// Something newer is to be done in its place. Answered by `Revoked` if nothing of it remains, and otherwise as if
    /// it had not been revoked: it is in force, or about to be.
    Revoke {
        /// The order that is not answered yet.
        order: Revocable,
    },
    /// The stored document is not what runs: when another takes its place, keep it under another name.
    KeepStoredAside,
    /// Answered by `Status`.
    Status {
        /// Returned with the answer.
        ticket: Ticket,
    },
    /// Tell of the workers of an application. Answered by `Workers`.
    Workers {
        /// Returned with the answer.
        ticket: Ticket,
        /// The application's name.
        name: String,
    },
    /// End a worker of an application. Answered by `WorkerTold`.
    EndWorker {
        /// Returned with the answer.
        ticket: Ticket,
        /// The application's name.
        name: String,
        /// The worker's process.
        pid: u32,
        /// When it is to end.
        ending: WorkerEnding,
    },
    /// Start a new set of processes and retire the old one. Answered by `Restarted`.
    RestartApp {
        /// Returned with the answer.
        ticket: Ticket,
        /// The application's name.
        name: String,
    },
    /// Run a command at once that has a schedule. Answered by `Restarted`.
    RunApp {
        /// Returned with the answer.
        ticket: Ticket,
        /// The application's name.
        name: String,
    },
    /// Say what a command has to be run with to be run as an application. Answered by `ExecContext`.
    DescribeExec {
        /// Returned with the answer.
        ticket: Ticket,
        /// The application's name.
        name: String,
        /// The user of the process that asks, as the kernel says.
        uid: u32,
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
    /// Keep a record about certificates that are ordered in the state directory, or remove it. Answered by
    /// `RecordStored`.
    StoreRecord {
        /// Returned with the answer.
        ticket: Ticket,
        /// Any text without NUL.
        name: String,
        /// The content; `None` removes it.
        bytes: Option<Vec<u8>>,
    },
    /// Keep a configuration that is in force now, and drop the oldest ones beyond the bounds of `history`. Answered by
    /// `RecordStored`.
    StoreHistory {
        /// Returned with the answer.
        ticket: Ticket,
        /// The configuration, with a higher number than all before.
        configuration: StoredConfiguration,
    },
    /// Have the router use these, and every later one. Answered by `Provided`.
    Provide {
        /// Returned with the answer.
        ticket: Ticket,
        /// In the order in which they count.
        secrets: Vec<IssuedSecret>,
    },
    /// Open the log for reading. Answered by `LogOpened`.
    OpenLog {
        /// Returned with the answer.
        ticket: Ticket,
    },
    /// The control API answers requests from now on.
    Listening,
    /// Have the router send these figures to a collector; they are lost if it cannot. Not answered.
    ExportMetrics {
        /// A request of OTLP in protobuf, opaque to main.
        request: Vec<u8>,
    },
}

/// From main to the controller.
#[derive(Debug, Serialize, Deserialize)]
pub enum ToController {
    /// First message. Carries the control API's listening socket.
    Start {
        /// The stored document, or the one in force when the controller was restarted.
        document: Option<Vec<u8>>,
        /// The origin of `document`.
        origin: ChangeOrigin,
        /// Highest generation handed out so far.
        generation: GenerationId,
        /// The host executables that were found.
        modules: Vec<Module>,
        /// Every certificate bundle and JavaScript module of the state directory.
        assets: Assets,
        /// The records that were kept about certificates that are ordered.
        records: Vec<Asset>,
        /// The configurations that were in force, oldest first.
        history: Vec<StoredConfiguration>,
        /// Where the configuration comes from when that is files.
        files: Option<ConfigFiles>,
        /// A token that requests to the control API must show, if one is required.
        token: Option<ControlToken>,
        /// Another one, for requests that change nothing.
        read_token: Option<ControlToken>,
    },
    /// The configuration files were read again: this is in force from now on, if that is possible.
    Replace {
        /// The document, validated already; compact JSON.
        document: Vec<u8>,
        /// The parts of it that were inserted.
        inserted: Vec<Inserted>,
        /// Every certificate bundle and JavaScript module there is.
        assets: Assets,
    },
    /// The configuration is in force.
    Applied {
        /// Which one.
        generation: GenerationId,
        /// Warnings for the person who sent it, although it runs.
        warnings: Vec<String>,
    },
    /// The configuration could not be put in force; the one before still is.
    Refused {
        /// Which one.
        generation: GenerationId,
        /// The failure, its place and its cause, for the person who sent it.
        reason: String,
    },
    /// The answer to `Revoke`, and to what was asked for: it was taken back.
    Revoked {
        /// As asked.
        order: Revocable,
    },
    /// The answer to a question for the status.
    Status {
        /// As asked.
        ticket: Ticket,
        /// The figures, or none when the router does not answer.
        status: Option<Box<Status>>,
    },
    /// The answer to `Workers`.
    Workers {
        /// As asked.
        ticket: Ticket,
        /// At most [`MOST_WORKERS`](super::MOST_WORKERS) for each running instance, or none when there is no such
        /// application, or its router does not answer.
        workers: Option<Vec<WorkerStatus>>,
    },
    /// The answer to `EndWorker`.
    WorkerTold {
        /// As asked.
        ticket: Ticket,
        /// Whether the process is a worker of the application. It has been told.
        is_found: bool,
    },
    /// The answer to `RestartApp` and `RunApp`.
    Restarted {
        /// As asked.
        ticket: Ticket,
        /// The error, if one occurred.
        error: Option<String>,
    },
    /// The answer to `DescribeExec`.
    ExecContext {
        /// As asked.
        ticket: Ticket,
        /// An `ExecContext` as bytes, opaque to the controller, or why there is none.
        context: Result<Vec<u8>, String>,
    },
    /// The answer to `StoreAsset`.
    AssetStored {
        /// As asked.
        ticket: Ticket,
        /// The error, if one occurred.
        error: Option<String>,
    },
    /// The answer to `StoreRecord` and `StoreHistory`.
    RecordStored {
        /// As asked.
        ticket: Ticket,
        /// The reason why it was not stored, if it was not.
        error: Option<String>,
    },
    /// The router answers with what was provided, or will when it has been started again.
    Provided {
        /// As asked.
        ticket: Ticket,
    },
    /// A client of a router asks for something. Carries the socket on which the request comes.
    Call(ControlCall),
    /// The answer to `OpenLog`. Carries the log, open for reading, if it is a file and can be read.
    LogOpened {
        /// As asked.
        ticket: Ticket,
        /// Why it cannot be read, if it is a file.
        error: Option<String>,
    },
    /// A client has asked a listener for a name that has no certificate yet.
    CertificateWanted {
        /// In lower case.
        name: String,
        /// The client's address; none for a Unix socket.
        client: Option<IpAddr>,
    },
}

/// Something that the controller has asked for and may take back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Revocable {
    /// `Apply`.
    Change(GenerationId),
    /// `RestartApp`.
    Restart(Ticket),
}

/// A configuration that is kept in files and not by the control API.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConfigFiles {
    /// A name for these files in messages.
    pub names: String,
    /// Whether the control API changes the running configuration all the same.
    pub is_writable: bool,
    /// The values that `${env:…}` and `${file:…}` inserted into the document at the last reading.
    pub inserted: Vec<Inserted>,
}

/// A value of configuration files with a substitution (`${env:…}`, `${file:…}`), which may be a secret.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Inserted {
    /// Where it is in the document, as a JSON pointer.
    pub pointer: String,
    /// The value as it is in the document; compact JSON.
    pub value: Vec<u8>,
    /// The string as it is written in the file.
    pub written: Vec<u8>,
}

/// Without the value.
impl fmt::Debug for Inserted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Inserted({} as {})", self.pointer, self.written.escape_ascii())
    }
}

/// Says which parts have to start for a configuration to come into force.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum StartPolicy {
    /// Everything has to start: for a change that a person makes.
    #[default]
    Everything,
    /// Parts that can start do; the rest is tried again later. For the start of the daemon.
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
pub enum ChangeOrigin {
    /// The state directory or `corral run`: to be validated and applied.
    Stored,
    /// The document is in force already: a controller took the place of one that died.
    InForce,
}

impl Incoming for FromController {
    const LONGEST: usize = MAX_MESSAGE;
}
