//! The script of a worker, which stays in memory and asks for its requests.
//!
//! The script calls the shim (`shim/corral_worker.c`), the shim calls this host, and the host calls back with a
//! request. `shim/corral_turn.c` does a part of what PHP does at a request's start and end. Alarms and signal handlers
//! are taken back after each request; after a `chroot()` or `proc_nice()` the process is replaced.

use std::any::Any;
use std::ffi::{c_char, c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use std::path::PathBuf;

use anyhow::{bail, ensure};
use corral_channel::message::RequestView;
use corral_config::plan::{PhpTarget, PhpWorker};
use corral_embed::{Field, bytes};
use corral_worker::{Exchange, RequestEnd, Requests};

use crate::ffi::{self, Answer, Outcome, Worker};
use crate::module::SapiModule;
use crate::request::Scratch;
use crate::runtime;
use crate::site::ScriptPlace;
use crate::slow::SlowLog;

/// Says that a script is a worker's.
const MARK: &str = "CORRAL_WORKER";

/// The same for frameworks that look for FrankenPHP.
const COMPATIBLE_MARK: &str = "FRANKENPHP_WORKER";

/// An application whose script stays in memory.
pub(crate) struct LoadedScript {
    target: PhpTarget,
    script: PathBuf,
    variables: Vec<(String, String)>,
}

impl LoadedScript {
    /// Checks that there is such a script.
    ///
    /// # Errors
    /// When there is none.
    pub(crate) fn new(module: &SapiModule, target: &PhpTarget, worker: &PhpWorker) -> anyhow::Result<Self> {
        let marks = [Some(MARK), worker.compatibility.then_some(COMPATIBLE_MARK)];
        let marks = marks.into_iter().flatten().map(|mark| (mark.to_owned(), "1".to_owned()));
        let variables = worker.environment.iter().cloned().chain(marks).collect();
        let loaded_script = Self { target: target.clone(), script: worker.script.clone(), variables };
        loaded_script.place(module)?;
        Ok(loaded_script)
    }

    /// Where the script is now: a deployment may have moved a link since the last process was forked.
    fn place(&self, module: &SapiModule) -> anyhow::Result<ScriptPlace> {
        ScriptPlace::of_worker(module, &self.target.root, &self.script)
    }

    /// Runs the script until it ends.
    ///
    /// # Errors
    /// When it ended by itself with an error, or has never asked for a request.
    pub(crate) fn run(
        &self,
        module: &SapiModule,
        slow_log: Option<&SlowLog>,
        requests: &mut dyn Requests,
    ) -> anyhow::Result<()> {
        let place = self.place(module)?;
        let chosen = place.chosen(b"");
        let field = |(name, value): &(String, String)| Field {
            name: name.as_bytes().into(),
            value: value.as_bytes().into(),
        };
        let variables: Vec<_> = self.variables.iter().map(field).collect();
        let mut session = ScriptSession {
            requests,
            place: &place,
            slow_log,
            scratch: Scratch::default(),
            failure: None,
            state: ScriptState::Starts,
            panic: None,
        };
        let worker = Worker {
            host: (&raw mut session).cast(),
            next,
            failed,
            script: chosen.script.path.as_ptr(),
            document_root: chosen.document_root.as_ptr(),
            directory: chosen.script.directory.as_ptr(),
            script_name: chosen.script_name.into(),
            variables: variables.as_ptr(),
            n_variables: variables.len(),
        };
        // SAFETY: PHP is started in this thread, and is idle. `worker` leads to `session`, `chosen` and `variables`,
        // which outlive the call and are not used otherwise meanwhile; a process has one resident.
        let status = unsafe { ffi::corral_worker_run(&raw const worker) };
        session.conclude(status)
    }
}

/// How far the script is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ScriptState {
    /// The script has not asked for a request.
    Starts,
    Serves,
    /// The script was told that there are no more, or has ended a request by which it ends.
    Ends,
}

/// The host's side of a script that runs: its requests, and how it stands with them.
struct ScriptSession<'a> {
    requests: &'a mut dyn Requests,
    place: &'a ScriptPlace,
    slow_log: Option<&'a SlowLog>,
    scratch: Scratch,
    /// PHP's last error.
    failure: Option<String>,
    state: ScriptState,
    panic: Option<Box<dyn Any + Send>>,
}

impl ScriptSession<'_> {
    fn next(&mut self, answer: Answer, job: *mut c_void) -> bool {
        self.state = ScriptState::Serves;
        let (place, slow_log, scratch) = (self.place, self.slow_log, &mut self.scratch);
        let mut ends = false;
        let mut serve = |view: &RequestView<'_>, exchange: &mut dyn Exchange| {
            let chosen = place.chosen(view.head.path);
            exchange.note(&chosen.script.label);
            slow_log.inspect(|log| log.begin());
            let outcome = runtime::run(view, &chosen, scratch, exchange, |request| {
                // SAFETY: the shim's own function, with what it gave along with it, while it waits for this.
                unsafe { answer(job, request) }
            });
            slow_log.inspect(|log| log.end());
            // SAFETY: asks for a number that the shim has kept since.
            let left = unsafe { ffi::corral_worker_left_state() };
            if left != 0 {
                exchange.leave_state(left);
            }
            ends = outcome == Outcome::ServedLast;
            if ends { RequestEnd::Leave } else { RequestEnd::Done }
        };
        let served = self.requests.next(&mut serve);
        if ends || !served {
            self.state = ScriptState::Ends;
        }
        served
    }

    /// Continues a panic, or says how the script ended.
    fn conclude(self, status: c_int) -> anyhow::Result<()> {
        if let Some(panic) = self.panic {
            resume_unwind(panic);
        }
        let path = String::from_utf8_lossy(self.place.label());
        let asked = self.state != ScriptState::Starts;
        match self.failure {
            Some(failure) => bail!("the worker's script \"{path}\" has failed: {failure}"),
            None => ensure!(
                asked,
                "the worker's script \"{path}\" ended with status {status} before it called \
                 corral_handle_request(); what it printed is in the log"
            ),
        }
        Ok(())
    }
}

/// # Safety
/// `host` is that of the worker that runs.
unsafe fn session_of<'a>(host: *mut c_void) -> &'a mut ScriptSession<'a> {
    // SAFETY: the caller's promise; the thread that made it waits for the shim.
    unsafe { &mut *host.cast::<ScriptSession<'a>>() }
}

/// # Safety
/// `host` is that of the worker that runs, and `answer` may be called with `job` until this returns.
unsafe extern "C" fn next(host: *mut c_void, answer: Answer, job: *mut c_void) -> c_int {
    // SAFETY: called by the shim with the running worker's pointer.
    let session = unsafe { session_of(host) };
    if session.panic.is_some() {
        return 0;
    }
    match catch_unwind(AssertUnwindSafe(|| session.next(answer, job))) {
        Ok(served) => served.into(),
        Err(panic) => {
            session.panic = Some(panic);
            0
        }
    }
}

/// # Safety
/// `host` is that of the worker that runs, and `text` leads to `len` readable bytes.
unsafe extern "C" fn failed(host: *mut c_void, text: *const c_char, len: usize) {
    // SAFETY: called by the shim with the running worker's pointer.
    let session = unsafe { session_of(host) };
    // SAFETY: the shim passes its own string, which does not change during the call.
    let text = unsafe { bytes(text, len) };
    session.failure = Some(String::from_utf8_lossy(text).into_owned());
}
