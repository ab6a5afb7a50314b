//! The command line of a host executable.
//!
//! The process makes itself undumpable before anything else, and forked workers stay so. Its files in `/proc` belong to
//! root from then on: it may read there only what everyone may, or what the kernel grants a process about itself
//! (descriptors, maps).

use std::process::ExitCode;

use anyhow::Context;
use corral_ipc::link::Link;
use corral_sys::{process, signal};

use crate::application;
use crate::language::Language;
use crate::log::complain;
use crate::{dependencies, image};

/// The `main` of a host: `describe` prints the language and its version, then the files that it consists of, one in
/// each line; `prototype` serves an application for the daemon at the other end of descriptor 3; `image` loads the
/// interpreter, and its copies serve applications in the same way. The process must have one thread.
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
        Some("image") => end(image::serve(language)),
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
    application::serve(link, language, language.load)
}
