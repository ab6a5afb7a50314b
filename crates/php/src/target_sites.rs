//! The folders of a target's scripts: one, or another for each request that says so.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use corral_channel::message::{RequestView, params};
use corral_config::plan::PhpTarget;

use crate::module::SapiModule;
use crate::site::ScriptFolder;

/// Folders remembered for one target; all are forgotten when there are more.
const MAX_REMEMBERED: usize = 256;

/// Where a target's scripts are.
pub(crate) enum TargetSites {
    One(Box<ScriptFolder>),
    /// Requests name it; the target's own root is of no meaning.
    ByRequest {
        target: Box<PhpTarget>,
        known: HashMap<Box<[u8]>, ScriptFolder>,
    },
}

impl TargetSites {
    /// Checks a target and prepares it. Folders that requests name are looked for when they do.
    ///
    /// # Errors
    /// As for [`ScriptFolder::open`].
    pub(crate) fn open(module: &SapiModule, target: &PhpTarget) -> anyhow::Result<Self> {
        if target.root_varies {
            return Ok(Self::ByRequest { target: Box::new(target.clone()), known: HashMap::new() });
        }
        ScriptFolder::open(module, target).map(Box::new).map(Self::One)
    }

    /// The folder for a request; none if there is no such folder.
    pub(crate) fn choose(
        &mut self,
        module: &SapiModule,
        request: &RequestView<'_>,
    ) -> Option<&mut ScriptFolder> {
        let (target, known) = match self {
            Self::One(site) => return Some(&mut **site),
            Self::ByRequest { target, known } => (target, known),
        };
        let root = params::iter(request.head.params).find(|(name, _)| *name == params::ROOT)?.1?;
        if !known.contains_key(root) {
            let site = open(module, target, root)?;
            if known.len() >= MAX_REMEMBERED {
                known.clear();
            }
            known.insert(root.into(), site);
        }
        known.get_mut(root)
    }
}

fn open(module: &SapiModule, target: &PhpTarget, root: &[u8]) -> Option<ScriptFolder> {
    let target = PhpTarget { root: OsStr::from_bytes(root).into(), ..target.clone() };
    ScriptFolder::open(module, &target).ok()
}
