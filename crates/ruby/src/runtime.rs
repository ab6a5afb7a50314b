//! The Ruby runtime: one request at a time, or one in each thread.

use std::io;
use std::path::PathBuf;

use anyhow::{Context, bail};
use corral_channel::message::RequestView;
use corral_config::plan::{AppSpec, RubySpec, RuntimeSpec};
use corral_embed::Requests;
use corral_worker::{Exchange, Fork, RequestEnd, Runtime, ThreadLoop, WorkerThreads};

use crate::interpreter::Interpreter;

/// A Rack application in its interpreter.
pub(crate) struct RubyRuntime {
    interpreter: Interpreter,
    requests: Requests,
    ruby: RubySpec,
}

/// Ruby writes nothing while it loads.
pub(crate) fn scratch(_: &AppSpec) -> Vec<PathBuf> {
    Vec::new()
}

impl RubyRuntime {
    /// Starts Ruby, and loads the application if the workers shall share it.
    ///
    /// # Errors
    /// When it cannot be loaded, in Ruby's words.
    pub(crate) fn load(spec: &AppSpec) -> anyhow::Result<Box<dyn Runtime>> {
        let RuntimeSpec::Ruby(ruby) = &spec.runtime else { bail!("this is not an application of Ruby") };
        let interpreter = Interpreter::start()?;
        let mut runtime = Self { interpreter, requests: Requests::default(), ruby: ruby.clone() };
        if ruby.preload {
            runtime.load_script()?;
        }
        Ok(Box::new(runtime))
    }

    fn load_script(&mut self) -> anyhow::Result<()> {
        let script = std::path::absolute(&self.ruby.script).context("find the script")?;
        self.interpreter.load(&script, self.ruby.hooks.as_deref())
    }
}

impl Runtime for RubyRuntime {
    fn fork(&mut self) -> io::Result<Fork> {
        self.interpreter.fork()
    }

    fn has_start(&self) -> bool {
        true
    }

    fn start(&mut self) -> anyhow::Result<()> {
        if !self.ruby.preload {
            self.load_script()?;
        }
        self.interpreter.boot(self.ruby.threads)
    }

    fn idle(&mut self, wait: &mut dyn FnMut()) {
        self.interpreter.idle(wait);
    }

    fn sends_files(&self) -> bool {
        true
    }

    fn serve(&mut self, request: &RequestView<'_>, exchange: &mut dyn Exchange) -> RequestEnd {
        self.requests.serve(request, exchange, |request| self.interpreter.serve(request))
    }

    fn threads(&mut self) -> Option<&mut dyn WorkerThreads> {
        (self.ruby.threads.get() > 1).then_some(self)
    }

    /// Hooks, and what Ruby does at exit. With several threads crew.rb takes note of SIGTERM.
    fn has_end(&self) -> bool {
        self.ruby.threads.get() == 1
    }

    fn end(&mut self) {
        self.interpreter.shutdown();
    }
}

impl WorkerThreads for RubyRuntime {
    fn run(&mut self, life: &dyn ThreadLoop) {
        self.interpreter.run(life);
    }
}
