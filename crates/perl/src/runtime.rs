//! The Perl runtime: one request at a time, or one in each thread.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use anyhow::{Context, bail};
use corral_channel::message::RequestView;
use corral_config::plan::{AppSpec, PerlSpec, RuntimeSpec};
use corral_embed::Requests;
use corral_worker::{Exchange, RequestEnd, Runtime, Server, ThreadLoop, Threads, WorkerThreads, complain};

use crate::interpreter::{Interpreter, Process};

/// A PSGI application in its interpreters, one for each thread. They are dropped before what they have in common.
pub(crate) struct PerlRuntime {
    interpreters: Vec<Interpreter>,
    requests: Requests,
    perl: PerlSpec,
    _process: Process,
}

/// Perl writes nothing while it loads.
pub(crate) fn scratch(_: &AppSpec) -> Vec<PathBuf> {
    Vec::new()
}

impl PerlRuntime {
    /// Starts Perl, and loads the application if the workers shall share it.
    ///
    /// # Errors
    /// When the script cannot be loaded, in Perl's words.
    pub(crate) fn load(spec: &AppSpec) -> anyhow::Result<Box<dyn Runtime>> {
        let RuntimeSpec::Perl(perl) = &spec.runtime else { bail!("this is not an application of Perl") };
        let process = Process::initialize();
        let n = n_interpreters(perl);
        let interpreters = (0..n).map(|_| process.start(n > 1)).collect::<anyhow::Result<_>>()?;
        let requests = Requests::default();
        let mut runtime = Self { interpreters, requests, perl: perl.clone(), _process: process };
        if perl.preload {
            runtime.load_script()?;
        }
        Ok(Box::new(runtime))
    }

    /// Each interpreter loads it by itself: a copy of one that has loaded it would share what modules in C keep.
    fn load_script(&mut self) -> anyhow::Result<()> {
        // `do` would look for a relative path among the modules.
        let script = std::path::absolute(&self.perl.script).context("find the script")?;
        self.interpreters.iter_mut().try_for_each(|interpreter| interpreter.load(&script))
    }
}

fn n_interpreters(perl: &PerlSpec) -> u32 {
    let n = perl.threads.get();
    if n > 1 && !Process::has_threads() {
        complain("\"threads\" has no effect: this Perl was built without (usethreads); use \"processes\"");
        return 1;
    }
    n
}

impl Runtime for PerlRuntime {
    fn forked(&mut self) {
        self.interpreters.iter_mut().for_each(Interpreter::forked);
    }

    fn has_start(&self) -> bool {
        !self.perl.preload
    }

    fn start(&mut self) -> anyhow::Result<()> {
        if self.perl.preload { Ok(()) } else { self.load_script() }
    }

    /// Blocks of `END` and destructors, which run when the interpreters are dropped.
    fn has_end(&self) -> bool {
        true
    }

    fn sends_files(&self) -> bool {
        true
    }

    fn serve(&mut self, request: &RequestView<'_>, exchange: &mut dyn Exchange) -> RequestEnd {
        let interpreter = self.interpreters.first_mut().expect("there is one for each thread");
        self.requests.serve(request, exchange, |request| interpreter.serve(request))
    }

    fn threads(&mut self) -> Option<&mut dyn WorkerThreads> {
        (self.interpreters.len() > 1).then_some(self)
    }
}

impl WorkerThreads for PerlRuntime {
    fn run(&mut self, life: &dyn ThreadLoop) {
        let threads = Threads { n: self.perl.threads, stack_size: self.perl.thread_stack_size };
        let interpreters = Mutex::new(self.interpreters.iter_mut());
        threads.run(|| {
            let next = interpreters.lock().unwrap_or_else(PoisonError::into_inner).next();
            let interpreter = next.expect("there is one for each thread");
            life.live(&mut Thread { interpreter, requests: Requests::default() });
        });
    }
}

/// A thread with its interpreter.
struct Thread<'a> {
    interpreter: &'a mut Interpreter,
    requests: Requests,
}

impl Server for Thread<'_> {
    fn serve(&mut self, request: &RequestView<'_>, exchange: &mut dyn Exchange) -> RequestEnd {
        self.requests.serve(request, exchange, |request| self.interpreter.serve(request))
    }
}
