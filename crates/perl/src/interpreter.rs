//! Perl as a whole: started once in the prototype, with the application in it, and copied by each fork.

use std::ffi::{CStr, CString, c_char};
use std::marker::PhantomData;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use corral_embed::{HOST, Outcome, Request};

use crate::ffi;

/// The PSGI handler.
const HANDLER: &str = include_str!("../shim/corral.pl");

/// Of the Perl that this program was compiled for, such as `5.36.0`.
pub(crate) fn version() -> &'static str {
    // SAFETY: returns a constant of the shim.
    let version = unsafe { ffi::corral_perl_version() };
    // SAFETY: a NUL-terminated constant.
    let version = unsafe { CStr::from_ptr(version) };
    version.to_str().map_or("unknown", |version| version.trim_start_matches('v'))
}

/// Folders where Perl looks for modules.
pub(crate) fn folders() -> Vec<PathBuf> {
    env!("CORRAL_PERL_FOLDERS").split(':').map(PathBuf::from).collect()
}

/// Perl, started. There can be one in a process; it ends with this value.
///
/// Neither `Send` nor `Sync`: all calls must come from the thread that started it.
pub(crate) struct Interpreter {
    _thread: PhantomData<*mut ()>,
}

impl Interpreter {
    /// Starts Perl.
    ///
    /// # Errors
    /// When it does not start.
    pub(crate) fn start() -> anyhow::Result<Self> {
        let handler = CString::new(HANDLER).context("the handler contains a NUL")?;
        // SAFETY: the string lives until the call returns, `HOST` is a static; and only `PerlRuntime::load` calls this,
        // once for each process.
        let problem = unsafe { ffi::corral_perl_start(&raw const HOST, handler.as_ptr()) };
        let interpreter = Self { _thread: PhantomData };
        // SAFETY: what the shim has just returned.
        unsafe { check(problem) }?;
        Ok(interpreter)
    }

    /// Loads the application.
    ///
    /// # Errors
    /// With Perl's own words when the script is not there, does not compile, dies, or returns no application.
    pub(crate) fn load(&mut self, script: &Path) -> anyhow::Result<()> {
        let script =
            CString::new(script.as_os_str().as_bytes()).context("the script's path contains a NUL")?;
        // SAFETY: Perl is started, and the string lives until the call returns.
        let problem = unsafe { ffi::corral_perl_load(script.as_ptr()) };
        // SAFETY: what the shim has just returned.
        unsafe { check(problem) }
    }

    /// To be called first in a forked child.
    pub(crate) fn forked(&mut self) {
        // SAFETY: Perl is started and no request runs.
        unsafe { ffi::corral_perl_forked() };
    }

    /// Answers one request.
    pub(crate) fn serve(&mut self, request: &Request) -> Outcome {
        // SAFETY: Perl is started in this thread and runs no other request, and what `request` leads to stays as it is
        // until the call returns.
        unsafe { ffi::corral_perl_serve(request) }
    }
}

/// What a function of the shim says is wrong.
///
/// # Safety
/// `problem` is null or a NUL-terminated string.
unsafe fn check(problem: *const c_char) -> anyhow::Result<()> {
    if problem.is_null() {
        return Ok(());
    }
    // SAFETY: the caller's promise.
    let problem = unsafe { CStr::from_ptr(problem) };
    bail!("{}", problem.to_string_lossy().trim_end())
}

impl Drop for Interpreter {
    fn drop(&mut self) {
        // SAFETY: Perl was started by `start`, and no request runs.
        unsafe { ffi::corral_perl_stop() };
    }
}
