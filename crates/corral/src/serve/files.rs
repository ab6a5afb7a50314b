//! `corral run --config`: serves what configuration files say, in the foreground and without a state directory.

use std::io::{IsTerminal, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::bail;
use corral_config::Config;
use corral_supervisor::{DaemonOptions, FilesOptions, ModuleSource};

use super::folder::RunFolder;
use super::options::RunOptions;
use crate::files::{self, Seen};
use crate::foreground::Foreground;
use crate::log::{self, Style};
use crate::{check, daemon};

pub(super) fn command(paths: &[PathBuf], options: &RunOptions) -> anyhow::Result<ExitCode> {
    let modules = daemon::own_folder()?;
    let read = files::read(paths, &Seen::default()).and_then(|mut found| {
        let document = found.manifest.document().clone();
        Ok((check::validate(&mut found, check::modules_in(&modules))?, document))
    });
    let (config, document) = match read {
        Ok(read) => read,
        Err(problems) => bail!("this configuration cannot be served:\n{}", problems.join("\n")),
    };
    if options.print_config {
        return super::print(&document);
    }
    let users = daemon::Flavour::corral().users(None);
    let folder = RunFolder::make(&users)?;
    let control = folder.control();
    introduce(&config, &control)?;
    log::init(Style::Console);
    let names: Vec<_> = paths.iter().map(|path| path.display().to_string()).collect();
    let foreground = Foreground {
        control,
        temp_dir: folder.temp(),
        users,
        modules: ModuleSource::Folder(modules),
        title: format!("run --config {}", names.join(" ")),
    };
    corral_supervisor::run(DaemonOptions {
        files: Some(FilesOptions {
            paths: paths.to_vec(),
            watch: options.watches(std::io::stdout().is_terminal()),
            is_writable: false,
        }),
        internal_arguments: vec!["--console".to_owned()],
        ..foreground.options()
    })
}

fn introduce(config: &Config, control: &Path) -> std::io::Result<()> {
    let mut stdout = std::io::stdout().lock();
    for listener in &config.listeners {
        let url = super::url(&listener.address);
        let url = if listener.tls.is_some() { url.replacen("http:", "https:", 1) } else { url };
        writeln!(stdout, "listening: {url}")?;
    }
    writeln!(stdout, "control socket: unix:{}", control.display())
}
