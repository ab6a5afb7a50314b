//! The Perl runtime: one request at a time.

use std::path::PathBuf;

use anyhow::{Context, bail};
use corral_channel::message::RequestView;
use corral_config::plan::{AppSpec, PerlSpec, RuntimeSpec};
use corral_embed::Requests;
use corral_worker::{Exchange, Runtime, Served, complain};

use crate::interpreter::Interpreter;

/// A PSGI application in its interpreter.
pub(crate) struct PerlRuntime {
    interpreter: Interpreter,
    requests: Requests,
    perl: PerlSpec,
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
        let RuntimeSpec::Perl(perl) = &spec.runtime else { bail!("this is no application of Perl") };
        if perl.threads.get() > 1 {
            complain(format_args!("\"threads\" has no effect for Perl: use \"processes\""));
        }
        let interpreter = Interpreter::start()?;
        let mut runtime = Self { interpreter, requests: Requests::default(), perl: perl.clone() };
        if perl.preload {
            runtime.load_script()?;
        }
        Ok(Box::new(runtime))
    }

    fn load_script(&mut self) -> anyhow::Result<()> {
        // `do` would look for a relative path among the modules.
        let script = std::path::absolute(&self.perl.script).context("find the script")?;
        self.interpreter.load(&script)
    }
}

impl Runtime for PerlRuntime {
    fn forked(&mut self) {
        self.interpreter.forked();
    }

    fn has_start(&self) -> bool {
        !self.perl.preload
    }

    fn start(&mut self) -> anyhow::Result<()> {
        if self.perl.preload { Ok(()) } else { self.load_script() }
    }

    fn serve(&mut self, request: &RequestView<'_>, exchange: &mut dyn Exchange) -> Served {
        self.requests.serve(request, exchange, |request| self.interpreter.serve(request))
    }
}
