//! From main's first message to a controller with a document in force (UNIT-COMPAT 2.1). Whatever
//! of a stored document can run, runs; the stored document itself stays as it is.

use corral_config::json::{self, Value};
use corral_config::plan::Assets;
use corral_config::{Known, KnownModule, Problem};
use corral_ipc::message::{ConfigFiles, Demand, FromController, Generation, Module, Origin};

use crate::main_link::MainLink;
use crate::state::{Change, ChangeError, Controller, InForce, Storing, default_document};
use crate::uploads::Uploads;

/// The content of `ToController::Start`.
pub(crate) struct Start {
    pub(crate) document: Option<Vec<u8>>,
    pub(crate) origin: Origin,
    pub(crate) generation: Generation,
    pub(crate) modules: Vec<Module>,
    pub(crate) assets: Assets,
    pub(crate) files: Option<ConfigFiles>,
}

impl Controller {
    /// Takes over the document in force, or puts the stored one in force.
    pub(crate) async fn start(main: MainLink, start: Start) -> Self {
        let Start { document, origin, generation, modules, assets, files } = start;
        let known = known(&modules);
        let controller = Self::new(main, modules, known, Uploads::new(&assets), files, generation);
        match (origin, document) {
            (Origin::InForce, Some(text)) => controller.take_over(&text),
            (Origin::Stored, Some(text)) => {
                if !controller.restore(&text).await {
                    controller.distrust_stored().await;
                    controller.run_empty().await;
                }
            }
            (Origin::Stored, None) => controller.run_empty().await,
            (Origin::InForce, None) => {}
        }
        controller
    }

    fn take_over(&self, text: &[u8]) {
        let document = match json::parse(text) {
            Ok(document) => document,
            Err(error) => return tracing::error!("failed to read the configuration in force: {error}"),
        };
        let names = match self.validate(&document, &self.uploads().assets, Demand::WhatStarts) {
            Ok(config) => config.assets,
            Err(problems) => {
                log_problems("the configuration in force is invalid", &problems);
                Default::default()
            }
        };
        self.set_in_force(InForce::new(document, names));
    }

    /// Whether the stored document, or most of it, is in force now.
    async fn restore(&self, text: &[u8]) -> bool {
        let document = match json::parse(text) {
            Ok(document) => document,
            Err(error) => {
                tracing::error!(
                    target: "alert",
                    "failed to restore previous configuration: {error} (at byte {})", error.offset
                );
                return false;
            }
        };
        let rest = match self.put_in_force(document.clone()).await {
            Ok(()) => return true,
            Err(ChangeError::Invalid(problems)) => {
                log_problems("the previous configuration is invalid", &problems);
                without_listeners(document, &problems)
            }
            Err(error) => {
                log_not_applied(&error);
                without_tls(document)
            }
        };
        let Some(rest) = rest else { return false };
        self.distrust_stored().await;
        match self.put_in_force(rest).await {
            Ok(()) => return true,
            Err(error) => log_not_applied(&error),
        }
        false
    }

    async fn put_in_force(&self, document: Value) -> Result<(), ChangeError> {
        let change = Change { storing: Storing::Keep, demand: Demand::WhatStarts, ..Change::default() };
        let replace = |root: &mut Value| {
            *root = document;
            Ok(())
        };
        self.change(change, replace).await.map(drop)
    }

    /// Has main keep what is stored when it stores something else.
    async fn distrust_stored(&self) {
        if let Err(error) = self.main().send(&FromController::KeepStoredAside).await {
            tracing::debug!("tell main about the stored configuration: {error}");
        }
    }

    async fn run_empty(&self) {
        if let Err(error) = self.put_in_force(default_document()).await {
            tracing::error!(target: "alert", "failed to apply an empty configuration: {error}");
        }
    }
}

/// The document without the listeners that have problems, when nothing else has: a closed listener
/// exposes nothing, while a step left out of a route may.
fn without_listeners(mut document: Value, problems: &[Problem]) -> Option<Value> {
    let Value::Object(root) = &mut document else { return None };
    let Some(Value::Object(listeners)) = root.get_mut(b"listeners".as_slice()) else { return None };
    for problem in problems {
        let name = problem.pointer.strip_prefix("/listeners/")?.split('/').next()?;
        let name = name.replace("~1", "/").replace("~0", "~");
        if listeners.shift_remove(name.as_bytes()).is_some() {
            tracing::error!("the listener \"{name}\" is left out");
        }
    }
    Some(document)
}

/// The document without the listeners that use certificates, when there are such: one that the router
/// refuses must not take the others down.
fn without_tls(mut document: Value) -> Option<Value> {
    let Value::Object(root) = &mut document else { return None };
    let Some(Value::Object(listeners)) = root.get_mut(b"listeners".as_slice()) else { return None };
    let n_before = listeners.len();
    listeners.retain(|name, listener| {
        let keep = listener.member("tls").is_none();
        if !keep {
            tracing::error!("the listener \"{name}\" is left out");
        }
        keep
    });
    (listeners.len() < n_before).then_some(document)
}

fn log_problems(what: &str, problems: &[Problem]) {
    for problem in problems {
        tracing::error!(target: "alert", "{what}: {problem}");
    }
}

fn log_not_applied(error: &ChangeError) {
    tracing::error!(target: "alert", "failed to apply previous configuration: {error}");
}

fn known(modules: &[Module]) -> Known {
    let modules = modules.iter().map(|module| KnownModule {
        language: module.language.clone(),
        version: module.version.clone(),
        path: module.path.clone(),
    });
    Known::modules(modules.collect())
}
