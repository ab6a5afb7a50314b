//! The command line of a host executable.
//!
//! The process makes itself undumpable before anything else, and forked workers stay so. Its files in `/proc` belong to
//! root from then on: it may read there only what everyone may, or what the kernel grants a process about itself
//! (descriptors, maps).

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
use corral_sys::{file, heap, signal};

use crate::language::Language;
use crate::log::complain;
use crate::prototype::{Prototype, PrototypeEnd};
use crate::runtime::Runtime;
use crate::worker;
use crate::{confine, dependencies, reach, warn_once};

/// Bytes of the largest blocks that interpreters take and free as a matter of course: bodies, and what is made of them.
const KEPT_BLOCK: usize = 512 * 1024;

/// The `main` of a host: `describe` prints the language and its version, then the files that it consists of, one in
/// each line; `prototype` serves an application for the daemon at the other end of descriptor 3. The process must have
/// one thread.
pub fn host_main(language: &Language) -> ExitCode {
    // Neither other processes of the application's user nor programs that its workers start shall reach the link to
    // main.
    if let Err(error) = process::set_undumpable() {
        complain(format_args!("keep other processes out of this one's memory: {error}"));
        return ExitCode::FAILURE;
    }
    signal::default_faults();
    let argument = std::env::args().nth(1);
    match argument.as_deref() {
        Some("describe") => end(describe(language)),
        Some("prototype") => end(prototype(language)),
        _ => {
            complain(format_args!(
                "corral starts this program; by hand it only knows: {} describe",
                own_name()
            ));
            ExitCode::from(2)
        }
    }
}

fn end(result: anyhow::Result<ExitCode>) -> ExitCode {
    result.unwrap_or_else(|error| {
        complain(format_args!("{error:#}"));
        ExitCode::FAILURE
    })
}

fn describe(language: &Language) -> anyhow::Result<ExitCode> {
    (language.check)()?;
    println!("{} {}", language.name, language.version);
    for path in dependencies::of(language) {
        println!("{}", path.display());
    }
    Ok(ExitCode::SUCCESS)
}

fn own_name() -> String {
    let path = std::env::current_exe().unwrap_or_default();
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

fn prototype(language: &Language) -> anyhow::Result<ExitCode> {
    let link = Link::inherited().context("find the socket to the daemon")?;
    let Some((first, _)) = link.recv::<ToPrototype>().context("wait for the daemon")? else {
        return Ok(ExitCode::SUCCESS);
    };
    let ToPrototype::Start { spec, n_lanes } = first else {
        bail!("the daemon's first message is {first:?}, not Start");
    };
    let withheld =
        Passing::new(&link).context("keep the socket to the daemon from what the application forks")?;
    let prepared = prepare(&spec, language);
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

fn prepare(spec: &AppSpec, language: &Language) -> anyhow::Result<Box<dyn Runtime>> {
    // A title that could not be set costs nothing but a nicer `ps`.
    let _ = process::set_title(&format!("corral: \"{}\" prototype", spec.name));
    heap::keep_blocks_of(KEPT_BLOCK);
    redirect_output(spec).context("open the application's output")?;
    confine::before_loading(spec, language)?;
    let obstacle = reach::obstacle(spec);
    let runtime = (language.load)(spec).map_err(|error| match &obstacle {
        Some(obstacle) => error.context(obstacle.clone()),
        None => error,
    })?;
    obstacle.into_iter().for_each(complain);
    confine::after_loading(spec, language)?;
    Ok(runtime)
}

fn report(link: &Link, error: &anyhow::Error) -> anyhow::Result<ExitCode> {
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
