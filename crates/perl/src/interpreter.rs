//! Perl as a whole: interpreters with the application in them, which each fork copies.

use std::ffi::{CStr, CString, c_char};
use std::marker::PhantomData;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::ptr::NonNull;

use anyhow::{Context, bail};
use corral_embed::{HOST, Outcome, Request};

use crate::ffi;

/// The PSGI handler.
const HANDLER: &str = include_str!("../shim/corral.pl");

/// The version of the Perl that this program was compiled for, such as `5.36.0`.
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

/// Perl's state of a whole process; to be dropped after the interpreters.
///
/// Neither `Send` nor `Sync`: interpreters are made and ended in the thread that forks.
pub(crate) struct Process {
    _thread: PhantomData<*mut ()>,
}

impl Process {
    /// To be called once in a process.
    pub(crate) fn initialize() -> Self {
        // SAFETY: `HOST` is a static; and only `PerlRuntime::load` calls this, once for each process.
        unsafe { ffi::corral_perl_initialize(&raw const HOST) };
        Self { _thread: PhantomData }
    }

    /// Whether there can be several interpreters, each in a thread.
    pub(crate) fn has_threads() -> bool {
        // SAFETY: returns a constant of the shim.
        unsafe { ffi::corral_perl_has_threads() != 0 }
    }

    /// Starts an interpreter.
    ///
    /// # Errors
    /// When it does not start.
    pub(crate) fn start(&self, multithread: bool) -> anyhow::Result<Interpreter> {
        let handler = CString::new(HANDLER).context("the handler contains a NUL")?;
        // SAFETY: Perl is initialized.
        let perl = NonNull::new(unsafe { ffi::corral_perl_new() }).context("there is no memory for Perl")?;
        let interpreter = Interpreter { perl };
        // SAFETY: the interpreter is new, and the string lives until the call returns.
        let problem = unsafe { ffi::corral_perl_start(perl.as_ptr(), handler.as_ptr(), multithread.into()) };
        // SAFETY: what the shim has just returned.
        unsafe { check(problem) }?;
        Ok(interpreter)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // SAFETY: Perl was initialized; the owner of this drops the interpreters first.
        unsafe { ffi::corral_perl_terminate() };
    }
}

/// An interpreter; it ends with this value.
pub(crate) struct Interpreter {
    perl: NonNull<ffi::Perl>,
}

// SAFETY: the shim's functions make an interpreter the calling thread's first, and it keeps nothing elsewhere.
unsafe impl Send for Interpreter {}

impl Interpreter {
    /// Loads the application.
    ///
    /// # Errors
    /// With Perl's own words when the script is not there, does not compile, dies, or returns no application.
    pub(crate) fn load(&mut self, script: &Path) -> anyhow::Result<()> {
        let script =
            CString::new(script.as_os_str().as_bytes()).context("the script's path contains a NUL")?;
        // SAFETY: the interpreter is started and borrowed alone, and the string lives until the call returns.
        let problem = unsafe { ffi::corral_perl_load(self.perl.as_ptr(), script.as_ptr()) };
        // SAFETY: what the shim has just returned.
        unsafe { check(problem) }
    }

    /// To be called first in a forked child.
    pub(crate) fn forked(&mut self) {
        // SAFETY: the interpreter is started and runs no request.
        unsafe { ffi::corral_perl_forked(self.perl.as_ptr()) };
    }

    /// Answers one request.
    pub(crate) fn serve(&mut self, request: &Request) -> Outcome {
        // SAFETY: the interpreter is started and borrowed alone, so that it runs no other request, and what `request`
        // leads to stays as it is until the call returns.
        unsafe { ffi::corral_perl_serve(self.perl.as_ptr(), request) }
    }
}

/// The problem that a function of the shim reports.
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
        // SAFETY: it is the shim's, runs no request, and is not used again.
        unsafe { ffi::corral_perl_free(self.perl.as_ptr()) };
    }
}
