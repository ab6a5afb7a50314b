//! The PHP runtime: one request at a time.

use anyhow::{Context, bail};
use corral_channel::message::RequestView;
use corral_config::plan::{AppSpec, Limits, RuntimeSpec};
use corral_worker::{Call, Exchange, Runtime, Served};

use crate::ffi::{self, Outcome};
use crate::module::Module;
use crate::request::{self, Scratch};
use crate::site::{Chosen, Resolved, Site};
use crate::slow::SlowLog;

/// PHP with the targets of one application. Fields are dropped in this order: the strings of the
/// sites must go before PHP does.
pub(crate) struct PhpRuntime {
    sites: Vec<Site>,
    scratch: Scratch,
    limits: Limits,
    /// In a worker, if there is a limit that it is for.
    slow_log: Option<SlowLog>,
    module: Module,
}

impl PhpRuntime {
    /// Starts PHP for an application and checks its targets.
    ///
    /// # Errors
    /// When PHP does not start or a root or script is missing.
    pub(crate) fn load(spec: &AppSpec) -> anyhow::Result<Box<dyn Runtime>> {
        let RuntimeSpec::Php(php) = &spec.runtime else { bail!("this is no application of PHP") };
        let module = Module::start(php)?;
        let open = |target| {
            let name = &spec.name;
            Site::open(&module, target).with_context(|| format!("prepare application \"{name}\""))
        };
        let sites = php.targets.iter().map(open).collect::<anyhow::Result<Vec<_>>>()?;
        let limits = spec.limits.clone();
        Ok(Box::new(Self { sites, scratch: Scratch::default(), limits, slow_log: None, module }))
    }
}

impl Runtime for PhpRuntime {
    fn forked(&mut self) {
        self.module.forked();
        self.slow_log = SlowLog::start(&self.limits);
    }

    fn serve(&mut self, request: &RequestView<'_>, exchange: &mut dyn Exchange) -> Served {
        let Some(site) = self.sites.get_mut(usize::from(request.head.app_target)) else {
            exchange.respond(404, &[]);
            return Served::Done;
        };
        match site.resolve(&self.module, request.head.path) {
            Resolved::Run(chosen) => {
                exchange.note(&chosen.script.label);
                self.slow_log.as_ref().inspect(|log| log.begin());
                run(request, &chosen, &mut self.scratch, exchange);
                self.slow_log.as_ref().inspect(|log| log.end());
            }
            Resolved::Folder => {
                let location = request::folder_location(request);
                exchange.respond(301, &[(b"Location", &location)]);
            }
            Resolved::Refuse(status) => exchange.respond(status, &[]),
        }
        Served::Done
    }
}

fn run(view: &RequestView<'_>, chosen: &Chosen<'_>, scratch: &mut Scratch, exchange: &mut dyn Exchange) {
    let mut call = Call::new(exchange);
    let request = scratch.describe(view, chosen, call.as_ptr());
    // SAFETY: PHP is started in this thread and runs no other request. `request` leads to `view`,
    // `chosen`, `scratch` and `call`, which stay as they are until the call returns.
    let outcome = unsafe { ffi::corral_request_run(&raw const request) };
    let (exchange, responded) = call.finish();
    if responded {
        return;
    }
    // PHP could not begin, or was stopped before it came to its head.
    exchange.respond(if outcome == Outcome::Forbidden { 403 } else { 500 }, &[]);
}
