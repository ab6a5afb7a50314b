//! From main's first message to a controller with a document in force (contract 2.1). Whatever
//! of a stored document can run, runs; the stored document itself stays as it is.

use corral_acme::AcmeEngine;
use corral_config::json::{self, Value};
use corral_config::plan::Assets;
use corral_config::{Known, KnownModule, Problem};
use corral_ipc::history::StoredConfiguration;
use corral_ipc::message::{ChangeOrigin, ConfigFiles, FromController, GenerationId, Module, StartPolicy};

use crate::history::{ChangeNote, History};
use crate::issuing;
use crate::main_link::MainLink;
use crate::salvage;
use crate::state::{ChangeError, ChangeRequest, Controller, InForce, Storing, default_document};
use crate::uploads::Uploads;

/// The content of `ToController::Start`.
pub(crate) struct Start {
    pub(crate) document: Option<Vec<u8>>,
    pub(crate) origin: ChangeOrigin,
    pub(crate) generation: GenerationId,
    pub(crate) modules: Vec<Module>,
    pub(crate) assets: Assets,
    pub(crate) files: Option<ConfigFiles>,
    pub(crate) history: Vec<StoredConfiguration>,
}

impl Controller {
    /// Takes over the document in force, or puts the stored one in force.
    pub(crate) async fn start(main: MainLink, start: Start, engine: AcmeEngine) -> Self {
        let Start { document, origin, generation, modules, assets, files, history } = start;
        let known = known(&modules);
        let controller = Self::new(main, engine, modules, known, Uploads::new(&assets), files, generation);
        *controller.history() = History::read(history);
        match (origin, document) {
            (ChangeOrigin::InForce, Some(text)) => controller.take_over(&text).await,
            (ChangeOrigin::Stored, Some(text)) => {
                if !controller.restore(&text).await {
                    controller.distrust_stored().await;
                    controller.run_empty().await;
                }
            }
            (ChangeOrigin::Stored, None) => controller.run_empty().await,
            (ChangeOrigin::InForce, None) => {}
        }
        controller
    }

    async fn take_over(&self, text: &[u8]) {
        let document = match json::parse(text) {
            Ok(document) => document,
            Err(error) => return tracing::error!("failed to read the configuration in force: {error}"),
        };
        let names = match self.validate(&document, &self.uploads().assets, StartPolicy::WhatStarts) {
            Ok(config) => {
                self.exports().obey(config.settings.telemetry.as_ref());
                self.engine().set_wanted(issuing::wanted_certificates(&config, &self.uploads().assets));
                config.assets
            }
            Err(problems) => {
                log_problems("the configuration in force is invalid", &problems);
                Default::default()
            }
        };
        self.enter(InForce::new(document, &self.insertions(), names), ChangeNote::TAKEN_OVER).await;
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
        let problems = match self.put_in_force(document.clone()).await {
            Ok(()) => return true,
            Err(ChangeError::Invalid(problems)) => problems,
            Err(error) => {
                log_not_applied(&error);
                return false;
            }
        };
        log_problems("the previous configuration is invalid", &problems);
        let Some(rest) = self.mended(document, problems) else { return false };
        self.distrust_stored().await;
        let result = self.put_in_force(rest).await;
        if let Err(error) = &result {
            log_not_applied(error);
        }
        result.is_ok()
    }

    /// The document without what is wrong with it, unless nothing that listens is left.
    fn mended(&self, mut document: Value, mut problems: Vec<Problem>) -> Option<Value> {
        let assets = &self.uploads().assets;
        for _ in 0..MOST_ROUNDS {
            salvage::salvage(&mut document, &problems)?;
            match self.validate(&document, assets, StartPolicy::WhatStarts) {
                Ok(config) => return (!config.listeners.is_empty()).then_some(document),
                Err(others) => problems = others,
            }
        }
        None
    }

    async fn put_in_force(&self, document: Value) -> Result<(), ChangeError> {
        let change = ChangeRequest {
            storing: Storing::Keep,
            start_policy: StartPolicy::WhatStarts,
            note: if self.has_files() { ChangeNote::FILES } else { ChangeNote::STORED },
            ..ChangeRequest::default()
        };
        let replace = |root: &mut Value| {
            root.clone_from(&document);
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

/// A part that was left out may be missing elsewhere, and so on.
const MOST_ROUNDS: usize = 8;

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
