//! PHP without an application: started with the settings that its applications have in common.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail, ensure};
use corral_config::plan::{AppSpec, RuntimeSpec};
use corral_worker::{Image, Runtime};

use crate::files;
use crate::module::SapiModule;
use crate::runtime::PhpRuntime;

/// PHP, and where its settings come from.
pub(crate) struct PhpImage {
    module: SapiModule,
    shares_memory: bool,
    ini_files: Vec<PathBuf>,
}

impl PhpImage {
    /// Starts PHP.
    ///
    /// # Errors
    /// When PHP does not start, or what it has started with differs between applications that have the same settings.
    pub(crate) fn load(spec: &AppSpec) -> anyhow::Result<Box<dyn Image>> {
        let RuntimeSpec::Php(php) = &spec.runtime else { bail!("this is not PHP") };
        let module = SapiModule::start(php)?;
        let preload = module.setting("opcache.preload");
        ensure!(preload.is_empty(), "\"opcache.preload\" is an application's own");
        let ini_files = module.ini_files();
        for path in &ini_files {
            let text = std::fs::read(path).with_context(|| format!("read \"{}\"", path.display()))?;
            ensure!(!reads_variables(&text), "\"{}\" reads variables", path.display());
        }
        Ok(Box::new(Self { module, shares_memory: php.shared_opcache, ini_files }))
    }
}

impl Image for PhpImage {
    fn files(&self) -> Vec<PathBuf> {
        let folders = self.ini_files.iter().filter_map(|path| path.parent()).map(Path::to_owned);
        let folders: BTreeSet<_> = folders.chain(files::compiled_in_folders()).collect();
        self.ini_files.iter().cloned().chain(folders).collect()
    }

    fn shares_memory(&self) -> bool {
        self.shares_memory
    }

    fn load(self: Box<Self>, spec: &AppSpec) -> anyhow::Result<Box<dyn Runtime>> {
        let RuntimeSpec::Php(php) = &spec.runtime else { bail!("this is not an application of PHP") };
        self.module.apply_late(php);
        PhpRuntime::with(self.module, spec, php)
    }
}

/// Whether settings depend on the environment; a comment may say anything.
fn reads_variables(ini: &[u8]) -> bool {
    let is_comment = |line: &[u8]| line.trim_ascii_start().starts_with(b";");
    let lines = ini.split(|b| *b == b'\n').filter(|line| !is_comment(line));
    lines.into_iter().any(|line| line.windows(2).any(|pair| pair == b"${"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comment_reads_no_variables() {
        assert!(reads_variables(b"a = 1\nsession.save_path = \"/home/${NAME}\"\n"));
        assert!(reads_variables(b"a = 1 ; ${NAME}"), "what follows a value is not looked into");
        assert!(!reads_variables(b"; ${NAME}\n  ;; ${NAME}\na = $b"));
    }
}
