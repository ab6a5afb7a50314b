//! The Python runtime: one request at a time, or one in each thread, or many in event loops.

use anyhow::bail;
use corral_channel::message::RequestView;
use corral_config::plan::{AppSpec, PythonProtocol, PythonSpec, RuntimeSpec};
use corral_worker::{EventLoop, Exchange, RequestEnd, Runtime, Threads, WorkerThreads, is_stranger};
use pyo3::prelude::*;

use crate::application::ImportedCallable;
use crate::asgi::Asgi;
use crate::elsewhere;
use crate::errors;
use crate::interpreter::{self, Interpreter};
use crate::wsgi::Wsgi;

/// Python, with the application in a worker. What holds objects comes before the interpreter.
pub(crate) struct PythonRuntime {
    application: Option<ImportedApp>,
    python: PythonSpec,
    interpreter: Interpreter,
}

/// An application that was imported, by its protocol.
enum ImportedApp {
    Wsgi(Box<Wsgi>),
    Asgi(Asgi),
}

impl PythonRuntime {
    /// Starts Python for an application.
    ///
    /// # Errors
    /// When it does not start.
    pub(crate) fn load(spec: &AppSpec) -> anyhow::Result<Box<dyn Runtime>> {
        let RuntimeSpec::Python(python) = &spec.runtime else {
            bail!("this is not an application of Python")
        };
        let interpreter = Interpreter::start(spec, python)?;
        Ok(Box::new(Self { application: None, python: python.clone(), interpreter }))
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
        let threads = Threads { n: self.python.threads, stack_size: self.python.thread_stack_size };
        let import = |py: Python<'_>| -> PyResult<ImportedApp> {
            let ImportedCallable { targets, protocol } = ImportedCallable::import(py, &self.python)?;
            Ok(match protocol {
                PythonProtocol::Wsgi => ImportedApp::Wsgi(Box::new(Wsgi::new(py, targets, threads)?)),
                PythonProtocol::Asgi => ImportedApp::Asgi(Asgi::start(py, targets, threads)?),
            })
        };
        let running = Python::attach(|py| {
            let running = import(py);
            if is_stranger() {
                interpreter::end_process(py, running.err());
            }
            running.map_err(|error| match elsewhere::advice(py, &error, self.python.home.as_deref()) {
                Some(advice) => errors::describe(py, &error).context(advice),
                None => errors::describe(py, &error),
            })
        });
        let running = running.map_err(|error| match interpreter::mismatch(&self.python) {
            Some(mismatch) => error.context(mismatch),
            None => error,
        })?;
        self.application = Some(running);
        Ok(())
    }

    fn may_loop(&self) -> bool {
        self.python.protocol != Some(PythonProtocol::Wsgi)
    }

    fn event_loop(&mut self) -> Option<&mut dyn EventLoop> {
        match &mut self.application {
            Some(ImportedApp::Asgi(asgi)) => Some(asgi),
            _ => None,
        }
    }

    fn sends_files(&self) -> bool {
        true
    }

    fn serve(&mut self, request: &RequestView<'_>, exchange: &mut dyn Exchange) -> RequestEnd {
        match &self.application {
            Some(ImportedApp::Wsgi(wsgi)) => wsgi.serve(request, exchange),
            Some(ImportedApp::Asgi(_)) | None => {
                unreachable!("one that was started is asked, and a loop serves itself")
            }
        }
    }

    fn threads(&mut self) -> Option<&mut dyn WorkerThreads> {
        match &mut self.application {
            Some(ImportedApp::Wsgi(wsgi)) if self.python.threads.get() > 1 => Some(wsgi.as_mut()),
            _ => None,
        }
    }

    fn has_end(&self) -> bool {
        true
    }

    fn end(&mut self) {
        self.application = None;
        self.interpreter.end();
    }
}
