//! A configuration with everything that belongs to it: what it is made from, and how.

use std::rc::Rc;

use corral_config::plan::{AppSpec, Assets, Plan};
use corral_ipc::message::{AppId, FailedListener, GenerationId};

use crate::access_log::{AccessLogError, AccessLogFile};
use crate::listeners::{BindError, BoundListener};

/// The content that a build is made from.
#[derive(Debug)]
pub(crate) struct Content {
    pub(crate) plan: Plan,
    pub(crate) document: Vec<u8>,
    /// The assets in the state directory that the document names.
    pub(crate) assets: Assets,
}

impl Content {
    /// The same again.
    pub(crate) fn of(build: &Build) -> Self {
        let Build { plan, document, assets, .. } = build;
        Self { plan: plan.clone(), document: document.clone(), assets: assets.clone() }
    }
}

/// A configuration with everything that belongs to it.
#[derive(Debug)]
pub(crate) struct Build {
    /// The number that the router knows it by.
    pub(crate) generation: GenerationId,
    pub(crate) plan: Plan,
    pub(crate) document: Vec<u8>,
    /// The assets in the state directory that the document names.
    pub(crate) assets: Assets,
    pub(crate) listeners: Vec<Rc<BoundListener>>,
    /// Listeners that could not be bound.
    pub(crate) unbound: Vec<BindError>,
    /// Listeners that the router cannot serve. Until it has answered, those of the configuration before.
    pub(crate) unserved: Vec<FailedListener>,
    /// In the order of the plan, as they run: what the machine cannot carry is less than the plan asks for.
    pub(crate) apps: Vec<(AppId, AppSpec)>,
    /// In the order of the plan.
    pub(crate) access_logs: Vec<Rc<AccessLogFile>>,
}

impl Build {
    /// Gives up the sockets of listeners that the router does not serve.
    pub(crate) fn do_without(&mut self, failed: Vec<FailedListener>) {
        self.listeners.retain(|bound| {
            let address = bound.address().to_string();
            failed.iter().all(|failed| failed.address != address)
        });
        self.unserved = failed;
    }

    /// Whether it has this instance.
    pub(crate) fn uses(&self, app: AppId) -> bool {
        self.apps.iter().any(|(id, _)| *id == app)
    }

    /// The build's instance of the application with this name.
    pub(crate) fn find_app(&self, name: &str) -> Option<&(AppId, AppSpec)> {
        self.apps.iter().find(|(_, spec)| spec.name == name)
    }

    /// Instances with what the plan asks for.
    pub(crate) fn asked_apps(&self) -> Vec<(AppId, &AppSpec)> {
        self.apps.iter().map(|(id, _)| *id).zip(self.plan.all_applications()).collect()
    }

    /// An instance as it runs.
    pub(crate) fn app(&self, id: AppId) -> Option<&AppSpec> {
        self.apps.iter().find(|(other, _)| *other == id).map(|(_, spec)| spec)
    }

    /// The numbers of its instances.
    pub(crate) fn app_ids(&self) -> Vec<AppId> {
        self.apps.iter().map(|(id, _)| *id).collect()
    }
}

/// Opens access logs: those of `ours` stay open. One that cannot be opened fails, or logs to nowhere until logs are
/// opened again.
pub(crate) fn access_logs(
    plan: &Plan,
    ours: &[Rc<AccessLogFile>],
    is_tolerant: bool,
) -> Result<Vec<Rc<AccessLogFile>>, AccessLogError> {
    let mut logs: Vec<Rc<AccessLogFile>> = Vec::new();
    for path in &plan.access_logs {
        let open = logs.iter().chain(ours).find(|log| log.path() == path).map(Rc::clone);
        logs.push(match open {
            Some(log) => log,
            None => Rc::new(match AccessLogFile::open(path) {
                Err(error) if is_tolerant => {
                    tracing::error!(target: "alert", "{error}; nothing is logged there until SIGUSR1");
                    AccessLogFile::nowhere(path)?
                }
                opened => opened?,
            }),
        });
    }
    Ok(logs)
}
