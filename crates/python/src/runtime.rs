//! The Python runtime: one request at a time, or one in each thread.

use anyhow::bail;
use corral_channel::message::RequestView;
use corral_config::plan::{AppSpec, PythonProtocol, PythonSpec, RuntimeSpec};
use corral_worker::{Crew, Exchange, Runtime, Served, ThreadedRuntime as _};
use pyo3::prelude::*;

use crate::application::Application;
use crate::errors;
use crate::interpreter::Interpreter;
use crate::wsgi::Wsgi;

/// Python, with the application in a worker. What holds objects comes before the interpreter.
pub(crate) struct PythonRuntime {
    wsgi: Option<Wsgi>,
    python: PythonSpec,
    interpreter: Interpreter,
}

impl PythonRuntime {
    /// Starts Python for an application.
    ///
    /// # Errors
    /// When it does not start.
    pub(crate) fn load(spec: &AppSpec) -> anyhow::Result<Box<dyn Runtime>> {
        let RuntimeSpec::Python(python) = &spec.runtime else { bail!("this is no application of Python") };
        let interpreter = Interpreter::start(spec, python)?;
        Ok(Box::new(Self { wsgi: None, python: python.clone(), interpreter }))
    }
}

impl Runtime for PythonRuntime {
    fn before_fork(&mut self) {
        self.interpreter.before_fork();
    }

    fn after_fork(&mut self) {
        self.interpreter.after_fork();
    }

    fn forked(&mut self) {
        self.interpreter.forked();
    }

    fn has_start(&self) -> bool {
        true
    }

    fn start(&mut self) -> anyhow::Result<()> {
        let wsgi = Python::attach(|py| {
            let application =
                Application::import(py, &self.python).map_err(|error| errors::describe(py, &error))?;
            match application.protocol {
                PythonProtocol::Wsgi => Wsgi::new(py, application.targets, self.python.threads)
                    .map_err(|error| errors::describe(py, &error)),
                PythonProtocol::Asgi => {
                    bail!("ASGI applications are not supported by this version of Corral yet")
                }
            }
        })?;
        self.wsgi = Some(wsgi);
        Ok(())
    }

    fn serve(&mut self, request: &RequestView<'_>, exchange: &mut dyn Exchange) -> Served {
        self.wsgi.as_ref().expect("it was started").serve(request, exchange)
    }

    fn crew(&mut self) -> Option<Crew<'_>> {
        let (runtime, n_threads) = (self.wsgi.as_ref()?, self.python.threads);
        (n_threads.get() > 1).then_some(Crew {
            runtime,
            n_threads,
            stack_size: self.python.thread_stack_size,
        })
    }

    fn has_end(&self) -> bool {
        true
    }

    fn end(&mut self) {
        self.wsgi = None;
        self.interpreter.end();
    }
}
