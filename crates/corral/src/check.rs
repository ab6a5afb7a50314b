//! `corral check`: everything that is wrong with configuration files, without a daemon.

mod access;
mod hosts;
mod missing_files;
mod ports;
mod python;
mod remarks;
mod steps;
mod uris;
mod used;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use corral_config::plan::AssetKind;
use corral_config::{Config, Known};
use corral_supervisor::modules;

use crate::files::{self, Problems, ReadConfiguration, Seen};
use crate::{daemon, output, reader};

#[derive(Debug, Args)]
pub(crate) struct CheckOptions {
    /// JSON or YAML, or a folder of such files; several are merged; `-` reads standard input
    #[arg(required = true, value_name = "FILE|FOLDER")]
    pub(crate) paths: Vec<PathBuf>,
    /// Folder of the language modules
    #[arg(long, value_name = "FOLDER")]
    pub(crate) modulesdir: Option<PathBuf>,
    /// Exit with 3 if there are warnings, such as missing files and unused applications
    #[arg(long)]
    pub(crate) strict: bool,
}

pub(crate) fn command(options: &CheckOptions) -> anyhow::Result<ExitCode> {
    let folder = options.modulesdir.clone().map_or_else(daemon::own_folder, Ok)?;
    let found = files::read(&options.paths, &Seen::default());
    let checked = found.and_then(|mut configuration| {
        let config = validate(&mut configuration, modules_in(&folder))?;
        let remarks = remarks::of(&config, configuration.manifest.document());
        Ok(files::lines(&configuration.manifest.locate(&remarks)))
    });
    match checked {
        Ok(warnings) => {
            warnings.iter().for_each(|warning| eprintln!("warning: {warning}"));
            output::write(format!("{}: the configuration is valid\n", names(&options.paths)))?;
            let is_refused = options.strict && !warnings.is_empty();
            Ok(if is_refused { ExitCode::from(WARNED) } else { ExitCode::SUCCESS })
        }
        Err(problems) => {
            problems.iter().for_each(|problem| eprintln!("{problem}"));
            Ok(ExitCode::FAILURE)
        }
    }
}

/// The exit code of `--strict` for a configuration that is valid. 1 is for one that is not, 2 for a wrong command.
const WARNED: u8 = 3;

fn names(paths: &[PathBuf]) -> String {
    let name = |path: &PathBuf| {
        if path == Path::new("-") { "standard input".to_owned() } else { path.display().to_string() }
    };
    paths.iter().map(name).collect::<Vec<_>>().join(", ")
}

/// The modules of this machine. Without any, a file for another machine is checked: any module will do.
pub(crate) fn modules_in(folder: &Path) -> Known {
    let found = modules::detect(folder, None).unwrap_or_default().modules;
    if found.is_empty() {
        return Known::validated_elsewhere();
    }
    reader::known(found)
}

/// Certificates and modules that do not lie beside the files may have been uploaded.
pub(crate) fn validate(configuration: &mut ReadConfiguration, known: Known) -> Result<Config, Problems> {
    let ReadConfiguration { assets, has_folder, .. } = &*configuration;
    let scripts = files::names(assets, AssetKind::Script);
    let known = known.with_scripts(scripts, corral_controller::check_expression);
    let mut known = known.with_folders(corral_controller::is_folder);
    if !has_folder.scripts {
        known = known.with_any_scripts();
    }
    let certificates = files::names(assets, AssetKind::Certificate);
    known = known.with_certificates(certificates);
    if !has_folder.certificates {
        known = known.with_any_certificates();
    }
    let config = configuration.manifest.validate(&known).map_err(|faults| files::lines(&faults))?;
    files::check_authentication(&config, &configuration.manifest)?;
    Ok(config)
}
