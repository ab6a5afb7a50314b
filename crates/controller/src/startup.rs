//! From main's first message to a controller with a document in force (UNIT-COMPAT 2.1).

use corral_config::json::{self, Value};
use corral_config::plan::Assets;
use corral_config::{Known, KnownModule};
use corral_ipc::message::{ConfigFiles, Generation, Module, Origin};

use crate::main_link::MainLink;
use crate::state::{ChangeError, Controller, Storing, default_document};

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
    /// Takes over the document in force, or puts the stored one in force. A stored document that
    /// cannot be used is left as it is, and an empty configuration runs instead.
    pub(crate) async fn start(main: MainLink, start: Start) -> Self {
        let Start { document, origin, generation, modules, assets, files } = start;
        let known = known(&modules);
        let document = document.and_then(|text| read(&text, origin));
        match origin {
            Origin::InForce => {
                let document = document.unwrap_or_else(default_document);
                Self::new(main, modules, known, assets, files, document, generation)
            }
            Origin::Stored => {
                let controller =
                    Self::new(main, modules, known, assets, files, default_document(), generation);
                if !controller.restore(document).await {
                    controller.run_empty().await;
                }
                controller
            }
        }
    }

    /// Whether the stored document is in force now.
    async fn restore(&self, document: Option<Value>) -> bool {
        let Some(document) = document else { return false };
        let replace = |root: &mut Value| {
            *root = document;
            Ok(())
        };
        match self.change(Storing::Keep, replace).await {
            Ok(()) => return true,
            Err(ChangeError::Edit(error)) => {
                tracing::error!("the previous configuration is invalid: {error}");
            }
            Err(ChangeError::Invalid(problems)) => {
                for problem in problems {
                    tracing::error!("the previous configuration is invalid: {problem}");
                }
            }
            Err(ChangeError::NotApplied(error)) => {
                tracing::error!("failed to apply previous configuration: {error}");
            }
        }
        false
    }

    async fn run_empty(&self) {
        if let Err(error) = self.change(Storing::Keep, |_| Ok(())).await {
            tracing::error!("failed to apply an empty configuration: {error:?}");
        }
    }
}

fn read(text: &[u8], origin: Origin) -> Option<Value> {
    match json::parse(text) {
        Ok(document) => Some(document),
        Err(error) => {
            let which = match origin {
                Origin::Stored => "failed to restore previous configuration",
                Origin::InForce => "failed to read the configuration in force",
            };
            tracing::error!("{which}: {error} (at byte {})", error.offset);
            None
        }
    }
}

fn known(modules: &[Module]) -> Known {
    let modules = modules.iter().map(|module| KnownModule {
        language: module.language.clone(),
        version: module.version.clone(),
        path: module.path.clone(),
    });
    Known::modules(modules.collect()).with_confinement(corral_sys::confined::can_confine())
}
