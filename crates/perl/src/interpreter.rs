//! Perl as a whole: started once in the prototype, with the application in it, and copied by each fork.

use std::ffi::{CStr, CString};
use std::marker::PhantomData;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use corral_worker::{Call, Exchange};

use crate::callbacks;
use crate::ffi::{self, Field, Outcome, Request};

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
    /// Starts Perl and loads the application.
    ///
    /// # Errors
    /// With Perl's own words when the script is not there, does not compile, dies, or returns no application.
    pub(crate) fn start(script: &Path) -> anyhow::Result<Self> {
        let script =
            CString::new(script.as_os_str().as_bytes()).context("the script's path contains a NUL")?;
        let handler = CString::new(HANDLER).context("the handler contains a NUL")?;
        // SAFETY: the strings live until the call returns, `HOST` is a static; and only `PerlRuntime::load` calls this,
        // once for each process.
        let problem =
            unsafe { ffi::corral_perl_start(&raw const callbacks::HOST, handler.as_ptr(), script.as_ptr()) };
        let interpreter = Self { _thread: PhantomData };
        if !problem.is_null() {
            // SAFETY: the shim's NUL-terminated string, which stays until it is called again.
            let problem = unsafe { CStr::from_ptr(problem) };
            bail!("{}", problem.to_string_lossy().trim_end());
        }
        Ok(interpreter)
    }

    /// To be called first in a forked child.
    pub(crate) fn forked(&mut self) {
        // SAFETY: Perl is started and no request runs.
        unsafe { ffi::corral_perl_forked() };
    }

    /// Answers one request; says whether the application wants the process to end.
    pub(crate) fn serve(
        &mut self,
        exchange: &mut dyn Exchange,
        variables: &[Field],
        content_length: u64,
        https: bool,
    ) -> Outcome {
        let mut call = Call::new(exchange);
        let request = Request {
            call: call.as_ptr(),
            variables: variables.as_ptr(),
            n_variables: variables.len(),
            content_length,
            https: https.into(),
        };
        // SAFETY: Perl is started in this thread and runs no other request. `request` leads to `call` and `variables`,
        // which stay as they are until the call returns.
        let outcome = unsafe { ffi::corral_perl_serve(&raw const request) };
        let (exchange, responded) = call.finish();
        if !responded {
            exchange.respond(500, &[]);
        }
        outcome
    }
}

impl Drop for Interpreter {
    fn drop(&mut self) {
        // SAFETY: Perl was started by `start`, and no request runs.
        unsafe { ffi::corral_perl_stop() };
    }
}
