//! Python's start, its forks and its end, by PEP 587.

use std::ffi::{CStr, CString, c_char};
use std::mem::MaybeUninit;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use anyhow::{Context, bail};
use corral_config::plan::{AppSpec, PythonSpec};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyModule};

use crate::{environment, errors, files};

/// The release of Python, such as `3.11.2`.
pub(crate) fn version() -> &'static str {
    // SAFETY: returns a constant; Python need not have been started.
    let version = unsafe { ffi::Py_GetVersion() };
    // SAFETY: a NUL-terminated constant.
    let version = unsafe { CStr::from_ptr(version) };
    version.to_str().ok().and_then(|text| text.split_ascii_whitespace().next()).unwrap_or("unknown")
}

/// Why the application may not find its modules.
pub(crate) fn mismatch(python: &PythonSpec) -> Option<String> {
    python.home.as_deref().and_then(|home| environment::mismatch(home, version()))
}

/// The interpreter of this process; there is one, started in the thread that forks.
pub(crate) struct Interpreter {
    /// The state of the first thread, while that is not in Python.
    thread: *mut ffi::PyThreadState,
}

impl Interpreter {
    /// Starts it for an application, and says where modules are.
    ///
    /// # Errors
    /// When Python does not start, which is mostly for a `home` that is none.
    pub(crate) fn start(spec: &AppSpec, python: &PythonSpec) -> anyhow::Result<Self> {
        preinitialize(python.home.is_some())?;
        let mismatch = mismatch(python);
        initialize(python.home.as_deref()).with_context(|| match (&python.home, mismatch) {
            (_, Some(mismatch)) => mismatch,
            (Some(home), None) => format!("start Python with the home \"{}\"", home.display()),
            (None, None) => "start Python".to_owned(),
        })?;
        // SAFETY: `initialize` has left this thread attached.
        let thread = unsafe { ffi::PyEval_SaveThread() };
        let interpreter = Self { thread };
        Python::attach(|py| prepare(py, spec, python).map_err(|error| errors::describe(py, &error)))?;
        Ok(interpreter)
    }

    /// In the prototype, before each fork: takes what no other thread may hold meanwhile.
    pub(crate) fn before_fork(&self) {
        // SAFETY: it is this thread's state, which `start` or `after_fork` has put away.
        unsafe { ffi::PyEval_RestoreThread(self.thread) };
        // SAFETY: this thread is attached.
        unsafe { ffi::PyOS_BeforeFork() };
    }

    /// In the prototype, after it.
    pub(crate) fn after_fork(&mut self) {
        // SAFETY: follows `before_fork` in the same thread.
        unsafe { ffi::PyOS_AfterFork_Parent() };
        // SAFETY: this thread is attached.
        self.thread = unsafe { ffi::PyEval_SaveThread() };
    }

    /// In the worker, after it: runs the hooks of `os.register_at_fork`.
    pub(crate) fn forked(&mut self) {
        // SAFETY: follows `before_fork` in the thread that forked, which is the only one here.
        unsafe { ffi::PyOS_AfterFork_Child() };
        // SAFETY: this thread is attached.
        self.thread = unsafe { ffi::PyEval_SaveThread() };
    }

    /// Waits for the application's threads and runs what it has left with `atexit`.
    pub(crate) fn end(&mut self) {
        // SAFETY: it is this thread's state, and no other thread of this program uses Python any more.
        unsafe { ffi::PyEval_RestoreThread(self.thread) };
        // SAFETY: this is the thread that started Python. What it holds afterwards is not used again: the process ends.
        unsafe { ffi::Py_FinalizeEx() };
    }
}

/// Ends a process that the application has forked off, with what was registered for its end and the exit code that
/// `python` has for an uncaught exception. Python is not taken down: objects of an event loop may wait for what is in
/// the parent.
pub(crate) fn end_process(py: Python<'_>, raised: Option<PyErr>) -> ! {
    let end = || -> PyResult<()> {
        let module = PyModule::from_code(py, END, c"corral/end.py", c"corral_end")?;
        module.getattr("end")?.call1((raised.map(|error| error.into_value(py)),)).map(drop)
    };
    let _ = end();
    std::process::exit(1)
}

/// Does not return.
const END: &CStr = c"
import atexit, os, sys, threading, traceback

def code_of(error):
    if error is None:
        return 0
    if isinstance(error, SystemExit):
        if error.code is None or isinstance(error.code, int):
            return error.code or 0
        print(error.code, file=sys.stderr)
    else:
        traceback.print_exception(error)
    return 1

def end(error):
    code = 1
    try:
        code = code_of(error)
        threading._shutdown()
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        os._exit(code & 0xff)
";

/// Runs the life of a thread of this program as one of Python's: what the application keeps for each thread stays
/// from one request to the next.
pub(crate) fn in_thread(body: &mut dyn FnMut()) {
    struct Here<'a>(&'a mut dyn FnMut());
    // SAFETY: `detach` runs what it is given in the thread that calls it.
    unsafe impl Send for Here<'_> {}

    impl Here<'_> {
        fn run(self) {
            (self.0)();
        }
    }

    let here = Here(body);
    Python::attach(|py| py.detach(|| here.run()));
}

/// Chooses encodings by the locale. A service mostly has none; Python takes UTF-8 then.
fn preinitialize(is_isolated: bool) -> anyhow::Result<()> {
    let mut config = MaybeUninit::<ffi::PyPreConfig>::zeroed();
    // SAFETY: fills the structure, which is large enough for it.
    unsafe { ffi::PyPreConfig_InitPythonConfig(config.as_mut_ptr()) };
    // SAFETY: filled by the call above; all of its members are numbers.
    let config = unsafe { config.assume_init_mut() };
    config.parse_argv = 0;
    if is_isolated {
        config.isolated = 1;
        config.use_environment = 0;
    }
    // SAFETY: a configuration as Python has made it.
    check(unsafe { ffi::Py_PreInitialize(config) }).context("choose Python's encodings")
}

/// The configuration of an interpreter, cleared when dropped.
struct InterpreterConfig(Box<ffi::PyConfig>);

impl InterpreterConfig {
    fn new(is_isolated: bool) -> Self {
        // SAFETY: the structure is made of numbers and pointers, for which zeros are values.
        let mut config: Box<ffi::PyConfig> = Box::new(unsafe { MaybeUninit::zeroed().assume_init() });
        if is_isolated {
            // SAFETY: fills the structure.
            unsafe { ffi::PyConfig_InitIsolatedConfig(&raw mut *config) };
        } else {
            // SAFETY: as above.
            unsafe { ffi::PyConfig_InitPythonConfig(&raw mut *config) };
        }
        // Signals are the server's: SIGTERM ends a worker, and there is no terminal for Ctrl-C.
        config.install_signal_handlers = 0;
        config.parse_argv = 0;
        Self(config)
    }

    /// Sets one of its strings.
    fn set<W>(&mut self, member: fn(&mut ffi::PyConfig) -> &mut *mut W, value: &[u8]) -> anyhow::Result<()> {
        let value = CString::new(value)?;
        let member: *mut *mut W = member(&mut self.0);
        let config = &raw mut *self.0;
        // SAFETY: both lead into the same configuration, whose strings are of one type, and Python copies the text.
        check(unsafe { ffi::PyConfig_SetBytesString(config, member.cast(), value.as_ptr()) })
    }

    fn set_argv(&mut self, argument: &CStr) -> anyhow::Result<()> {
        let mut arguments: [*mut c_char; 1] = [argument.as_ptr().cast_mut()];
        // SAFETY: one argument is there, and Python copies it without changing it.
        check(unsafe { ffi::PyConfig_SetBytesArgv(&raw mut *self.0, 1, arguments.as_mut_ptr().cast()) })
    }
}

impl Drop for InterpreterConfig {
    fn drop(&mut self) {
        // SAFETY: made by one of the functions that make them, and cleared once.
        unsafe { ffi::PyConfig_Clear(&raw mut *self.0) };
    }
}

/// Starts the interpreter; this thread is attached afterwards.
fn initialize(home: Option<&Path>) -> anyhow::Result<()> {
    let mut config = InterpreterConfig::new(home.is_some());
    config.set_argv(c"unit")?;
    match home {
        // The interpreter of a virtual environment finds the rest by the file that makes it one.
        Some(home) if home.join("pyvenv.cfg").exists() => {
            let program = home.join("bin/python");
            config.set(|config| &mut config.program_name, program.as_os_str().as_bytes())?;
        }
        Some(home) => {
            config.set(|config| &mut config.program_name, files::EXECUTABLE.as_bytes())?;
            config.set(|config| &mut config.home, home.as_os_str().as_bytes())?;
        }
        None => config.set(|config| &mut config.program_name, files::EXECUTABLE.as_bytes())?,
    }
    // SAFETY: Python has not been started in this process.
    check(unsafe { ffi::Py_InitializeFromConfig(&raw const *config.0) })
}

fn check(status: ffi::PyStatus) -> anyhow::Result<()> {
    // SAFETY: only looks at the status.
    if unsafe { ffi::PyStatus_Exception(status) } == 0 {
        return Ok(());
    }
    if status.err_msg.is_null() {
        bail!("Python ends with code {}", status.exitcode);
    }
    // SAFETY: the message of a status is a constant.
    let message = unsafe { CStr::from_ptr(status.err_msg) };
    bail!("Python says: {}", message.to_string_lossy())
}

/// Says where modules are, and lets lines of `print` appear when they are complete.
fn prepare(py: Python<'_>, spec: &AppSpec, python: &PythonSpec) -> PyResult<()> {
    let sys = py.import("sys")?;
    let path = sys.getattr("path")?.cast_into::<PyList>()?;
    let own = python.path.iter().chain(&spec.working_directory);
    for (idx, folder) in own.enumerate() {
        path.insert(idx, folder.as_os_str())?;
    }
    for stream in ["stdout", "stderr"] {
        let stream = sys.getattr(stream)?;
        if !stream.is_none() {
            let options = pyo3::types::PyDict::new(py);
            options.set_item("line_buffering", true)?;
            stream.call_method("reconfigure", (), Some(&options))?;
        }
    }
    Ok(())
}
