//! The Perl runtime: one request at a time.

use std::path::PathBuf;

use anyhow::{Context, bail};
use corral_channel::message::RequestView;
use corral_config::plan::{AppSpec, RuntimeSpec};
use corral_worker::cgi::Variables;
use corral_worker::{Exchange, Runtime, Served, complain};

use crate::ffi::{Field, Outcome};
use crate::interpreter::Interpreter;

/// A PSGI application in its interpreter.
pub(crate) struct PerlRuntime {
    interpreter: Interpreter,
    variables: Variables,
    fields: Vec<Field>,
}

/// Perl stores long bodies of requests there, but that is in workers.
pub(crate) fn scratch(_: &AppSpec) -> Vec<PathBuf> {
    Vec::new()
}

impl PerlRuntime {
    /// Starts Perl and loads an application.
    ///
    /// # Errors
    /// When the script cannot be loaded, in Perl's words.
    pub(crate) fn load(spec: &AppSpec) -> anyhow::Result<Box<dyn Runtime>> {
        let RuntimeSpec::Perl(perl) = &spec.runtime else { bail!("this is no application of Perl") };
        if perl.threads.get() > 1 {
            complain(format_args!("\"threads\" has no effect for Perl: use \"processes\""));
        }
        // `do` would look for a relative path among the modules.
        let script = std::path::absolute(&perl.script).context("find the script")?;
        let interpreter =
            Interpreter::start(&script).with_context(|| format!("load application \"{}\"", spec.name))?;
        Ok(Box::new(Self { interpreter, variables: Variables::default(), fields: Vec::new() }))
    }
}

impl Runtime for PerlRuntime {
    fn forked(&mut self) {
        self.interpreter.forked();
    }

    fn serve(&mut self, request: &RequestView<'_>, exchange: &mut dyn Exchange) -> Served {
        self.variables.describe(request);
        self.fields.clear();
        let variables = self.variables.iter();
        self.fields.extend(variables.map(|(name, value)| Field { name: name.into(), value: value.into() }));
        let length = request.head.content_length.unwrap_or(0);
        match self.interpreter.serve(exchange, &self.fields, length, request.head.tls) {
            Outcome::Served => Served::Done,
            Outcome::Leaves => Served::Leave,
        }
    }
}
