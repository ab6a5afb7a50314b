//! Ruby as a whole: started once in the prototype, and copied by each fork.

use std::ffi::{CStr, CString, c_char, c_void};
use std::io;
use std::marker::PhantomData;
use std::num::NonZeroU32;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::ptr;

use anyhow::{Context, bail};
use corral_channel::message::RequestView;
use corral_embed::{HOST, Outcome, Request, Requests};
use corral_worker::{Exchange, Fork, Pid, RequestEnd, Server, ThreadLoop};

use crate::ffi;

/// The Rack handler.
const HANDLER: [(&CStr, &str); 3] = [
    (c"request.rb", include_str!("../shim/request.rb")),
    (c"crew.rb", include_str!("../shim/crew.rb")),
    (c"corral.rb", include_str!("../shim/corral.rb")),
];

/// The version of the Ruby that this program is linked with, such as `3.1.2`.
pub(crate) fn version() -> &'static str {
    // SAFETY: returns a constant of Ruby's.
    let version = unsafe { ffi::corral_ruby_version() };
    // SAFETY: a NUL-terminated constant.
    let version = unsafe { CStr::from_ptr(version) };
    version.to_str().unwrap_or("unknown")
}

/// Folders of libraries and gems.
pub(crate) fn folders() -> Vec<PathBuf> {
    env!("CORRAL_RUBY_FOLDERS").split(':').map(PathBuf::from).filter(|path| path.is_absolute()).collect()
}

/// Ruby, started. There can be one in a process; it ends with this value.
///
/// Neither `Send` nor `Sync`: all calls must come from the thread that started it.
pub(crate) struct Interpreter {
    _thread: PhantomData<*mut ()>,
}

impl Interpreter {
    /// Starts Ruby.
    ///
    /// # Errors
    /// When it does not start.
    pub(crate) fn start() -> anyhow::Result<Self> {
        // SAFETY: `HOST` is a static; and only `RubyRuntime::load` calls this, once for each process.
        let problem = unsafe { ffi::corral_ruby_start(&raw const HOST) };
        let mut interpreter = Self { _thread: PhantomData };
        // SAFETY: what the shim has just returned.
        unsafe { check(problem) }?;
        for (name, text) in HANDLER {
            interpreter.eval(name, text)?;
        }
        Ok(interpreter)
    }

    fn eval(&mut self, name: &CStr, text: &str) -> anyhow::Result<()> {
        let text = CString::new(text).context("the handler contains a NUL")?;
        // SAFETY: Ruby is started, and the strings live until the call returns.
        let problem = unsafe { ffi::corral_ruby_eval(name.as_ptr(), text.as_ptr()) };
        // SAFETY: what the shim has just returned.
        unsafe { check(problem) }
    }

    /// Loads the application, and hooks if there are any.
    ///
    /// # Errors
    /// With Ruby's own words when a file is not there, does not compile or raises an exception.
    pub(crate) fn load(&mut self, script: &Path, hooks: Option<&Path>) -> anyhow::Result<()> {
        let script = c_path(script)?;
        let hooks = hooks.map(c_path).transpose()?;
        let hooks = hooks.as_ref().map_or(ptr::null(), |hooks| hooks.as_ptr());
        // SAFETY: Ruby is started, and the strings live until the call returns.
        let problem = unsafe { ffi::corral_ruby_load(script.as_ptr(), hooks) };
        // SAFETY: what the shim has just returned.
        unsafe { check(problem) }
    }

    /// Copies the process.
    pub(crate) fn fork(&mut self) -> io::Result<Fork> {
        // SAFETY: Ruby is started and no request runs. It leaves the child with this thread alone, and knows that.
        match unsafe { ffi::corral_ruby_fork() } {
            0 => Ok(Fork::Child),
            pid => match Pid::from_raw(pid).filter(|_| pid > 0) {
                Some(pid) => Ok(Fork::Parent(pid)),
                None => Err(io::Error::last_os_error()),
            },
        }
    }

    /// Calls the hooks of a new worker, and makes its threads if it has several.
    ///
    /// # Errors
    /// When a hook raises an exception.
    pub(crate) fn boot(&mut self, n_threads: NonZeroU32) -> anyhow::Result<()> {
        // SAFETY: Ruby is started and no request runs.
        let problem = unsafe { ffi::corral_ruby_boot(n_threads.get()) };
        // SAFETY: what the shim has just returned.
        unsafe { check(problem) }
    }

    /// Answers one request.
    pub(crate) fn serve(&mut self, request: &Request) -> Outcome {
        // SAFETY: Ruby is started in this thread and runs no other request, and what `request` leads to stays as it is
        // until the call returns.
        unsafe { ffi::corral_ruby_serve(request) }
    }

    /// Has each of the threads that [`Self::boot`] has made live `life`, and returns when all have.
    pub(crate) fn run(&mut self, life: &dyn ThreadLoop) {
        // SAFETY: Ruby is started and no request runs; `life` stays until the call returns.
        unsafe { ffi::corral_ruby_run(live, leave, (&raw const life).cast_mut().cast()) };
    }

    /// Lets other threads of Ruby run while this one waits.
    pub(crate) fn idle(&mut self, mut wait: &mut dyn FnMut()) {
        // SAFETY: Ruby is started and no request runs; `wait` stays until the call returns.
        unsafe { ffi::corral_ruby_idle(call, (&raw mut wait).cast()) };
    }

    /// Calls the hooks of a worker that leaves.
    pub(crate) fn shutdown(&mut self) {
        // SAFETY: Ruby is started and no request runs.
        unsafe { ffi::corral_ruby_shutdown() };
    }
}

/// A thread of Ruby, while it does not hold the lock.
#[derive(Default)]
struct Thread {
    requests: Requests,
}

impl Server for Thread {
    fn serve(&mut self, request: &RequestView<'_>, exchange: &mut dyn Exchange) -> RequestEnd {
        self.requests.serve(request, exchange, |request| {
            // SAFETY: only `Interpreter::run` makes values of this type, in threads of Ruby that have let go of the
            // lock and run no request; what `request` leads to stays as it is until the call returns.
            unsafe { ffi::corral_ruby_serve_in_thread(request) }
        })
    }
}

/// # Safety
/// `data` leads to a `&dyn ThreadLoop`.
unsafe extern "C" fn live(data: *mut c_void) {
    // SAFETY: the caller's promise.
    let life = unsafe { *data.cast::<&dyn ThreadLoop>() };
    life.live(&mut Thread::default());
}

/// # Safety
/// `data` leads to a `&dyn ThreadLoop`.
unsafe extern "C" fn leave(data: *mut c_void) {
    // SAFETY: the caller's promise.
    let life = unsafe { *data.cast::<&dyn ThreadLoop>() };
    life.leave();
}

/// # Safety
/// `data` leads to a `&mut dyn FnMut()` that nothing else uses.
unsafe extern "C" fn call(data: *mut c_void) {
    // SAFETY: the caller's promise.
    let wait = unsafe { &mut *data.cast::<&mut dyn FnMut()>() };
    wait();
}

fn c_path(path: &Path) -> anyhow::Result<CString> {
    CString::new(path.as_os_str().as_bytes()).context("a path contains a NUL")
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
        // SAFETY: Ruby was started by `start`, and no request runs.
        unsafe { ffi::corral_ruby_stop() };
    }
}
