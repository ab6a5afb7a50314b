//! The link to main, asynchronously: questions go out numbered, answers find the task that asked.

use std::collections::HashMap;
use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Context as _;
use corral_acme::AcmeEngine;
use corral_config::plan::{AssetKind, Assets};
use corral_ipc::history::StoredConfiguration;
use corral_ipc::link::{Link, Packet};
use corral_ipc::message::{
    ControlCall, FromController, GenerationId, Inserted, IssuedSecret, Revocable, Status, Ticket,
    ToController, WorkerEnding, WorkerStatus,
};
use corral_sys::watched::Watched;
use tokio::io::Interest;
use tokio::sync::{mpsc, oneshot};

use crate::queue::{self, QueuePlace};

/// Why main did not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub(crate) enum MainError {
    /// Main tried and failed.
    #[error("{0}")]
    Refused(String),
    /// A newer order took the place of this one, of which nothing remains.
    #[error("a newer change took its place")]
    Revoked,
    /// Main could not be asked, or is gone.
    #[error("the main process does not answer")]
    Link(#[source] io::Error),
}

/// Warnings about a configuration that is in force.
pub(crate) type Warnings = Vec<String>;

/// The asking side; clones share one link.
#[derive(Clone)]
pub(crate) struct MainLink {
    shared: Arc<LinkState>,
}

/// The answering side: reads the link for all tasks that asked.
pub(crate) struct Answers {
    shared: Arc<LinkState>,
    replacements: mpsc::UnboundedSender<Replacement>,
    calls: mpsc::Sender<(ControlCall, OwnedFd)>,
}

/// The contents of configuration files, in the order in which main sent them.
pub(crate) type Replacements = mpsc::UnboundedReceiver<Replacement>;

/// Requests of clients that routers have passed on, in the order in which they came, each with its socket.
pub(crate) type Calls = mpsc::Receiver<(ControlCall, OwnedFd)>;

/// Most of them that are answered at a time, and that wait for that. A router lets in fewer, but counts one whose
/// client has left for a few seconds only.
pub(crate) const MOST_CALLS: usize = 128;

/// A document and the assets that belong to it.
pub(crate) struct Replacement {
    pub(crate) document: Vec<u8>,
    pub(crate) inserted: Vec<Inserted>,
    pub(crate) assets: Assets,
}

struct LinkState {
    link: Link,
    readiness: Watched,
    /// Nothing is sent any more; answers still come.
    is_sealed: AtomicBool,
    next_ticket: AtomicU64,
    waiting: Mutex<WaitingCall>,
}

/// The waiting tasks, by the answer that each waits for. A task that was dropped leaves its entry until the answer
/// comes.
#[derive(Default)]
struct WaitingCall {
    generations: HashMap<GenerationId, oneshot::Sender<Result<Warnings, MainError>>>,
    statuses: HashMap<Ticket, oneshot::Sender<Option<Status>>>,
    workers: HashMap<Ticket, oneshot::Sender<Option<Vec<WorkerStatus>>>>,
    /// Ends of workers.
    ends: HashMap<Ticket, oneshot::Sender<bool>>,
    /// Restarts and runs of applications.
    applications: HashMap<Ticket, oneshot::Sender<Result<(), MainError>>>,
    /// Questions of `corral exec`.
    contexts: HashMap<Ticket, oneshot::Sender<Result<Vec<u8>, MainError>>>,
    /// Stores of certificate bundles, modules, records and configurations of the history.
    assets: HashMap<Ticket, oneshot::Sender<Result<(), String>>>,
    secrets: HashMap<Ticket, oneshot::Sender<()>>,
    logs: HashMap<Ticket, oneshot::Sender<Result<Option<OwnedFd>, MainError>>>,
}

impl MainLink {
    /// Must be called inside the event loop.
    pub(crate) fn new(link: Link) -> io::Result<(Self, Answers, Replacements, Calls)> {
        let socket = link.as_fd().try_clone_to_owned()?;
        let readiness = Watched::new(socket, Interest::READABLE | Interest::WRITABLE)?;
        let shared = Arc::new(LinkState {
            link,
            readiness,
            is_sealed: AtomicBool::new(false),
            next_ticket: AtomicU64::new(0),
            waiting: Mutex::default(),
        });
        let (replacements, replaced) = mpsc::unbounded_channel();
        let (calls, called) = mpsc::channel(MOST_CALLS);
        let answers = Answers { shared: Arc::clone(&shared), replacements, calls };
        Ok((Self { shared }, answers, replaced, called))
    }

    /// From now on main is asked for nothing: another controller may be serving already.
    pub(crate) fn seal(&self) {
        self.shared.is_sealed.store(true, Ordering::Relaxed);
    }

    /// Sends one message, waiting for room in main's queue.
    pub(crate) async fn send(&self, message: &FromController) -> io::Result<()> {
        if self.shared.is_sealed.load(Ordering::Relaxed) {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        let packet = Packet::new(message, &[])?;
        loop {
            let mut ready = self.shared.readiness.writable().await?;
            if let Ok(sent) = ready.try_io(|_| self.shared.link.try_send_packet(&packet)) {
                return sent;
            }
        }
    }

    /// Sends `FromController::Apply` and waits until it is in force or refused, or taken back when its place is
    /// superseded.
    pub(crate) async fn apply(
        &self,
        generation: GenerationId,
        message: &FromController,
        place: Option<&QueuePlace>,
    ) -> Result<Warnings, MainError> {
        let (answer, answered) = oneshot::channel();
        self.shared.waiting().generations.insert(generation, answer);
        self.order(message, Revocable::Change(generation), place, answered).await
    }

    /// Asks for the figures; none when the router does not answer.
    pub(crate) async fn status(&self) -> Result<Option<Status>, MainError> {
        let (answer, answered) = oneshot::channel();
        let ticket = self.shared.ticket();
        self.shared.waiting().statuses.insert(ticket, answer);
        self.ask(&FromController::Status { ticket }, answered).await
    }

    /// Asks for the workers of an application; none when there is no such application, or its router does not answer.
    pub(crate) async fn workers(&self, name: String) -> Result<Option<Vec<WorkerStatus>>, MainError> {
        let (answer, answered) = oneshot::channel();
        let ticket = self.shared.ticket();
        self.shared.waiting().workers.insert(ticket, answer);
        self.ask(&FromController::Workers { ticket, name }, answered).await
    }

    /// Has a worker of an application end; false when this process is not one.
    pub(crate) async fn end_worker(
        &self,
        name: String,
        pid: u32,
        ending: WorkerEnding,
    ) -> Result<bool, MainError> {
        let (answer, answered) = oneshot::channel();
        let ticket = self.shared.ticket();
        self.shared.waiting().ends.insert(ticket, answer);
        self.ask(&FromController::EndWorker { ticket, name, pid, ending }, answered).await
    }

    /// Has a command run at once.
    pub(crate) async fn run(&self, name: String) -> Result<(), MainError> {
        let (answer, answered) = oneshot::channel();
        let ticket = self.shared.ticket();
        self.shared.waiting().applications.insert(ticket, answer);
        self.ask(&FromController::RunApp { ticket, name }, answered).await?
    }

    /// Asks what a command is run with, for a user.
    pub(crate) async fn describe_exec(&self, name: String, uid: u32) -> Result<Vec<u8>, MainError> {
        let (answer, answered) = oneshot::channel();
        let ticket = self.shared.ticket();
        self.shared.waiting().contexts.insert(ticket, answer);
        self.ask(&FromController::DescribeExec { ticket, name, uid }, answered).await?
    }

    /// Has an application start anew, unless its place is superseded first.
    pub(crate) async fn restart(&self, name: String, place: Option<&QueuePlace>) -> Result<(), MainError> {
        let (answer, answered) = oneshot::channel();
        let ticket = self.shared.ticket();
        self.shared.waiting().applications.insert(ticket, answer);
        let message = FromController::RestartApp { ticket, name };
        self.order(&message, Revocable::Restart(ticket), place, answered).await
    }

    /// Has a certificate bundle or a script stored, or removed when `bytes` is `None`.
    pub(crate) async fn store_asset(
        &self,
        kind: AssetKind,
        name: String,
        bytes: Option<Vec<u8>>,
    ) -> Result<(), MainError> {
        let (answer, answered) = oneshot::channel();
        let ticket = self.shared.ticket();
        self.shared.waiting().assets.insert(ticket, answer);
        let message = FromController::StoreAsset { ticket, kind, name, bytes };
        self.ask(&message, answered).await?.map_err(MainError::Refused)
    }

    /// Has a record about certificates that are ordered stored, or removed when `bytes` is `None`.
    pub(crate) async fn store_record(&self, name: String, bytes: Option<Vec<u8>>) -> Result<(), MainError> {
        let (answer, answered) = oneshot::channel();
        let ticket = self.shared.ticket();
        self.shared.waiting().assets.insert(ticket, answer);
        let message = FromController::StoreRecord { ticket, name, bytes };
        self.ask(&message, answered).await?.map_err(MainError::Refused)
    }

    /// Has a configuration that is in force now stored in the history.
    pub(crate) async fn store_history(&self, configuration: StoredConfiguration) -> Result<(), MainError> {
        let (answer, answered) = oneshot::channel();
        let ticket = self.shared.ticket();
        self.shared.waiting().assets.insert(ticket, answer);
        let message = FromController::StoreHistory { ticket, configuration };
        self.ask(&message, answered).await?.map_err(MainError::Refused)
    }

    /// Has the router answer with these, and waits until it does.
    pub(crate) async fn provide(&self, secrets: Vec<IssuedSecret>) -> Result<(), MainError> {
        let (answer, answered) = oneshot::channel();
        let ticket = self.shared.ticket();
        self.shared.waiting().secrets.insert(ticket, answer);
        self.ask(&FromController::Provide { ticket, secrets }, answered).await
    }

    /// The log, open for reading, if it is a file.
    pub(crate) async fn open_log(&self) -> Result<Option<OwnedFd>, MainError> {
        let (answer, answered) = oneshot::channel();
        let ticket = self.shared.ticket();
        self.shared.waiting().logs.insert(ticket, answer);
        self.ask(&FromController::OpenLog { ticket }, answered).await?
    }

    /// Asks for what is revoked when its place is superseded. Main answers in any case.
    async fn order<T>(
        &self,
        message: &FromController,
        order: Revocable,
        place: Option<&QueuePlace>,
        mut answered: oneshot::Receiver<Result<T, MainError>>,
    ) -> Result<T, MainError> {
        self.send(message).await.map_err(MainError::Link)?;
        let answer = tokio::select! {
            biased;
            answer = &mut answered => answer,
            () = queue::superseded(place) => {
                self.send(&FromController::Revoke { order }).await.map_err(MainError::Link)?;
                answered.await
            }
        };
        answer.unwrap_or_else(|_| Err(MainError::Link(io::ErrorKind::BrokenPipe.into())))
    }

    async fn ask<T>(&self, message: &FromController, answered: oneshot::Receiver<T>) -> Result<T, MainError> {
        self.send(message).await.map_err(MainError::Link)?;
        answered.await.map_err(|_| MainError::Link(io::ErrorKind::BrokenPipe.into()))
    }
}

impl Answers {
    /// Hands out answers until main closes the link, and names that clients want certificates for to `engine`.
    ///
    /// # Errors
    ///
    /// When the link breaks or carries something that is not a message.
    pub(crate) async fn receive(self, engine: AcmeEngine) -> anyhow::Result<()> {
        loop {
            let mut ready = self.shared.readiness.readable().await.context("wait for main")?;
            let Ok(received) = ready.try_io(|_| self.shared.link.try_recv()) else { continue };
            match received.context("receive a message of main")? {
                Some((ToController::Replace { document, inserted, assets }, _)) => {
                    // The receiver is gone only when this process ends.
                    let _ = self.replacements.send(Replacement { document, inserted, assets });
                }
                Some((ToController::CertificateWanted { name, client }, _)) => engine.want(name, client),
                Some((ToController::Call(call), mut fds)) => match fds.pop() {
                    Some(socket) => drop(self.calls.try_send((call, socket))),
                    None => tracing::error!("take a request of a router: no descriptor is left"),
                },
                Some((ToController::LogOpened { ticket, error }, fds)) => {
                    let log = error
                        .map_or_else(|| Ok(fds.into_iter().next()), |error| Err(MainError::Refused(error)));
                    deliver(self.shared.waiting().logs.remove(&ticket), log);
                }
                Some((message, _)) => self.shared.waiting().answer(message),
                None => return Ok(()),
            }
        }
    }
}

impl LinkState {
    fn ticket(&self) -> Ticket {
        Ticket(self.next_ticket.fetch_add(1, Ordering::Relaxed))
    }

    /// Nothing can panic while the lock is held, so a poisoned one is as good as any.
    fn waiting(&self) -> std::sync::MutexGuard<'_, WaitingCall> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl WaitingCall {
    fn answer(&mut self, message: ToController) {
        match message {
            ToController::Applied { generation, warnings } => {
                deliver(self.generations.remove(&generation), Ok(warnings));
            }
            ToController::Refused { generation, reason } => {
                deliver(self.generations.remove(&generation), Err(MainError::Refused(reason)));
            }
            ToController::Revoked { order: Revocable::Change(generation) } => {
                deliver(self.generations.remove(&generation), Err(MainError::Revoked));
            }
            ToController::Revoked { order: Revocable::Restart(ticket) } => {
                deliver(self.applications.remove(&ticket), Err(MainError::Revoked));
            }
            ToController::Status { ticket, status } => {
                deliver(self.statuses.remove(&ticket), status.map(|status| *status));
            }
            ToController::Workers { ticket, workers } => deliver(self.workers.remove(&ticket), workers),
            ToController::WorkerTold { ticket, is_found } => deliver(self.ends.remove(&ticket), is_found),
            ToController::Restarted { ticket, error } => {
                let answer = error.map_or(Ok(()), |reason| Err(MainError::Refused(reason)));
                deliver(self.applications.remove(&ticket), answer);
            }
            ToController::ExecContext { ticket, context } => {
                deliver(self.contexts.remove(&ticket), context.map_err(MainError::Refused));
            }
            ToController::AssetStored { ticket, error } | ToController::RecordStored { ticket, error } => {
                deliver(self.assets.remove(&ticket), error.map_or(Ok(()), Err));
            }
            ToController::Provided { ticket } => deliver(self.secrets.remove(&ticket), ()),
            ToController::Start { .. }
            | ToController::Replace { .. }
            | ToController::LogOpened { .. }
            | ToController::CertificateWanted { .. }
            | ToController::Call(_) => {
                tracing::warn!("main sent a message that answers nothing");
            }
        }
    }
}

fn deliver<T>(asker: Option<oneshot::Sender<T>>, answer: T) {
    let Some(asker) = asker else {
        tracing::warn!("main answered a question that was not asked");
        return;
    };
    // An asker that went away, because its client did, does not want the answer any more.
    drop(asker.send(answer));
}
