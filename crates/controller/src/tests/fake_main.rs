//! Main as the controller sees it: answers by simple rules, and reports what it was asked.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};

use corral_config::plan::{AssetKind, Assets};
use corral_ipc::history::StoredConfiguration;
use corral_ipc::link::Link;
use corral_ipc::message::{
    FromController, Revocable, Status, ToController, WorkerEnding, WorkerId, WorkerState, WorkerStatus,
};

/// Something that main was asked or told.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Event {
    Listening,
    KeepAside,
    Apply { generation: u64, document: String, n_listeners: usize, assets: Assets, store: bool },
    Restart(String),
    Revoke(Revocable),
    EndWorker { name: String, pid: u32, ending: WorkerEnding },
    Store { kind: AssetKind, name: String, bytes: Option<Vec<u8>> },
    Export(Vec<u8>),
}

/// Everything that main hears.
pub(super) struct Heard {
    pub(super) events: Receiver<Event>,
    /// The configurations that it is to store in the history.
    pub(super) history: Receiver<StoredConfiguration>,
    /// How often it was asked for the figures.
    pub(super) n_statuses: Arc<AtomicUsize>,
}

pub(super) struct FakeMain {
    status: Option<Status>,
    events: Sender<Event>,
    release: Receiver<()>,
    /// The configurations that are to be stored in the history.
    history: Sender<StoredConfiguration>,
    n_statuses: Arc<AtomicUsize>,
    /// The change that goes on for ever is past the point of return.
    is_late: bool,
}

impl FakeMain {
    /// With what it reports, and what lets it go on when it holds an answer back.
    pub(super) fn new(status: Option<Status>) -> (Self, Heard, Sender<()>) {
        let (events, heard) = channel();
        let (release, released) = channel();
        let (history, stored) = channel();
        let n_statuses = Arc::<AtomicUsize>::default();
        let told = Heard { events: heard, history: stored, n_statuses: Arc::clone(&n_statuses) };
        let fake = Self { status, events, release: released, history, n_statuses, is_late: false };
        (fake, told, release)
    }

    /// Answers until the controller is gone.
    pub(super) fn serve(mut self, link: &Link) {
        while let Ok(Some((message, _))) = link.recv() {
            if let Some(answer) = self.answer(message) {
                link.send(&answer, &[]).expect("the controller reads its link");
            }
        }
    }

    /// A document with `/refuse` in it is refused, and the answer to one with `/hold` waits for the test. One with
    /// `/slow` is never in force, one with `/late` when it is revoked, and nor is a restart of "slow" over. Each
    /// application has the process 7 as its worker, but "broken", of which nothing is known.
    fn answer(&mut self, message: FromController) -> Option<ToController> {
        match message {
            FromController::Apply { generation, plan, document, assets, store, .. } => {
                let document = String::from_utf8(document).unwrap();
                let (refuse, hold) = (document.contains("/refuse"), document.contains("/hold"));
                let n_listeners = plan.listeners.len();
                let slow = document.contains("/slow") || document.contains("/late");
                self.is_late = document.contains("/late");
                self.tell(Event::Apply { generation: generation.0, document, n_listeners, assets, store });
                if slow {
                    return None;
                }
                if hold {
                    self.release.recv().expect("the test releases what it holds");
                }
                Some(match refuse {
                    true => ToController::Refused { generation, reason: "bind failed".to_owned() },
                    false => ToController::Applied { generation, warnings: Vec::new() },
                })
            }
            FromController::Revoke { order } => {
                self.tell(Event::Revoke(order));
                Some(match order {
                    Revocable::Change(generation) if self.is_late => {
                        ToController::Applied { generation, warnings: Vec::new() }
                    }
                    order => ToController::Revoked { order },
                })
            }
            FromController::Status { ticket } => {
                self.n_statuses.fetch_add(1, Ordering::Relaxed);
                Some(ToController::Status { ticket, status: self.status.clone().map(Box::new) })
            }
            FromController::RestartApp { ticket, name } => {
                let error = (name == "broken").then(|| "no prototype".to_owned());
                let is_slow = name == "slow";
                self.tell(Event::Restart(name));
                (!is_slow).then_some(ToController::Restarted { ticket, error })
            }
            FromController::Workers { ticket, name } => {
                let one = WorkerStatus { pid: 7, ..WorkerStatus::new(WorkerId(1), WorkerState::Idle) };
                let workers = (name != "broken").then(|| vec![one]);
                Some(ToController::Workers { ticket, workers })
            }
            FromController::EndWorker { ticket, name, pid, ending } => {
                let is_found = pid == 7;
                self.tell(Event::EndWorker { name, pid, ending });
                Some(ToController::WorkerTold { ticket, is_found })
            }
            FromController::RunApp { ticket, .. } => Some(ToController::Restarted { ticket, error: None }),
            FromController::DescribeExec { ticket, name, uid } => {
                let context = Ok(format!("{name} {uid}").into_bytes());
                Some(ToController::ExecContext { ticket, context })
            }
            FromController::StoreAsset { ticket, kind, name, bytes } => {
                let error = (name == "full").then(|| "no space left".to_owned());
                self.tell(Event::Store { kind, name, bytes });
                Some(ToController::AssetStored { ticket, error })
            }
            FromController::StoreRecord { ticket, .. } => {
                Some(ToController::RecordStored { ticket, error: None })
            }
            FromController::StoreHistory { ticket, configuration } => {
                let is_full = configuration.bytes.windows(5).any(|part| part == b"/full");
                let error = is_full.then(|| "no space left".to_owned());
                // A test that does not listen has no use for it.
                let _ = self.history.send(configuration);
                Some(ToController::RecordStored { ticket, error })
            }
            FromController::Provide { ticket, .. } => Some(ToController::Provided { ticket }),
            FromController::OpenLog { ticket } => Some(ToController::LogOpened { ticket, error: None }),
            FromController::KeepStoredAside => {
                self.tell(Event::KeepAside);
                None
            }
            FromController::Listening => {
                self.tell(Event::Listening);
                None
            }
            FromController::ExportMetrics { request } => {
                self.tell(Event::Export(request));
                None
            }
        }
    }

    /// A test that has seen enough does not listen any more.
    fn tell(&self, event: Event) {
        drop(self.events.send(event));
    }
}
