//! One application from its start to its end: what a prototype does, however it came by its interpreter.

use std::io;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, bail};
use corral_config::plan::AppSpec;
use corral_ipc::link::Link;
use corral_ipc::message::{FromPrototype, ToPrototype};
use corral_ipc::reason;
use corral_sys::forked::{Passing, is_stranger};
use corral_sys::process::{self, Standard};
use corral_sys::{file, heap};

use crate::language::Language;
use crate::log::complain;
use crate::prototype::{Prototype, PrototypeEnd};
use crate::runtime::Runtime;
use crate::worker;
use crate::{confine, reach, warn_once};

/// Bytes of the largest blocks that interpreters take and free as a matter of course: bodies, and what is made of them.
const KEPT_BLOCK: usize = 512 * 1024;

/// Serves the application that the daemon names over the link, from its start to its end; `load` loads it.
pub(crate) fn serve(
    link: Link,
    language: &Language,
    load: impl FnOnce(&AppSpec) -> anyhow::Result<Box<dyn Runtime>>,
) -> anyhow::Result<ExitCode> {
    let Some((first, _)) = link.recv::<ToPrototype>().context("wait for the daemon")? else {
        return Ok(ExitCode::SUCCESS);
    };
    let ToPrototype::Start { spec, n_lanes } = first else {
        bail!("the daemon's first message is {first:?}, not Start");
    };
    let withheld =
        Passing::new(&link).context("keep the socket to the daemon from what the application forks")?;
    let prepared = prepare(&spec, language, load);
    if is_stranger() {
        // The application was forked while it was loaded, and that child goes on where it should have ended.
        return Ok(ExitCode::FAILURE);
    }
    drop(withheld);
    let mut runtime = match prepared {
        Ok(runtime) => runtime,
        Err(error) => return report(&link, &error),
    };
    warn_once::begin();
    let prototype = Prototype::start(link, n_lanes).context("report to the daemon")?;
    match prototype.run(runtime.as_mut()).context("listen to the daemon")? {
        PrototypeEnd::Stopped => Ok(ExitCode::SUCCESS),
        PrototypeEnd::InWorker(place) => Ok(worker::run(*place, runtime.as_mut(), &spec)),
    }
}

fn prepare(
    spec: &AppSpec,
    language: &Language,
    load: impl FnOnce(&AppSpec) -> anyhow::Result<Box<dyn Runtime>>,
) -> anyhow::Result<Box<dyn Runtime>> {
    // A title that could not be set costs nothing but a nicer `ps`.
    let _ = process::set_title(&format!("corral: \"{}\" prototype", spec.name));
    keep_blocks();
    redirect_output(spec).context("open the application's output")?;
    confine::before_loading(spec, language)?;
    let obstacle = reach::obstacle(spec);
    let runtime = load(spec).map_err(|error| match &obstacle {
        Some(obstacle) => error.context(obstacle.clone()),
        None => error,
    })?;
    obstacle.into_iter().for_each(complain);
    confine::after_loading(spec, language)?;
    Ok(runtime)
}

/// Has the C library keep blocks of the sizes that are usual here.
pub(crate) fn keep_blocks() {
    heap::keep_blocks_of(KEPT_BLOCK);
}

/// Tells the daemon why the application could not be loaded.
pub(crate) fn report(link: &Link, error: &anyhow::Error) -> anyhow::Result<ExitCode> {
    let failed = FromPrototype::Failed { reason: reason::cut(format!("{error:#}")) };
    link.send(&failed, &[]).context("tell the daemon of a failure")?;
    Ok(ExitCode::FAILURE)
}

/// Puts the files that the configuration names in place of standard output and error.
///
/// # Errors
/// When one cannot be opened.
pub fn redirect_output(spec: &AppSpec) -> anyhow::Result<()> {
    let streams = [(Standard::Output, &spec.stdout), (Standard::Error, &spec.stderr)];
    for (stream, path) in streams {
        let Some(path) = path else { continue };
        open_over(stream, path).with_context(|| format!("\"{}\"", path.display()))?;
    }
    Ok(())
}

fn open_over(stream: Standard, path: &Path) -> io::Result<()> {
    process::replace_standard(stream, file::open_append(path, 0o666)?)
}
