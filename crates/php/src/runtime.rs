//! The PHP runtime: one request at a time.

use anyhow::{Context, bail};
use corral_channel::message::RequestView;
use corral_config::plan::{AppSpec, Limits, PhpSpec, RuntimeSpec};
use corral_worker::{Call, Exchange, RequestEnd, Requests, Runtime, WorkerScript, complain};

use crate::ffi::{self, Outcome, Request};
use crate::module::SapiModule;
use crate::path_settings::PathSettings;
use crate::request::{self, Scratch};
use crate::site::{Chosen, Resolved};
use crate::slow::SlowLog;
use crate::target_sites::TargetSites;
use crate::worker_script::LoadedScript;

/// PHP with the targets of one application. Fields are dropped in this order: the strings of the
/// sites must go before PHP does.
pub(crate) struct PhpRuntime {
    sites: Vec<TargetSites>,
    path_settings: PathSettings,
    loaded_script: Option<LoadedScript>,
    scratch: Scratch,
    limits: Limits,
    /// In a worker, if there is a limit that it is for.
    slow_log: Option<SlowLog>,
    module: SapiModule,
}

impl PhpRuntime {
    /// Starts PHP for an application and checks its targets.
    ///
    /// # Errors
    /// When PHP does not start or a root or script is missing.
    pub(crate) fn load(spec: &AppSpec) -> anyhow::Result<Box<dyn Runtime>> {
        let RuntimeSpec::Php(php) = &spec.runtime else { bail!("this is not an application of PHP") };
        Self::with(SapiModule::start(php)?, spec, php)
    }

    /// Checks the targets of an application, for which PHP was started.
    pub(crate) fn with(
        module: SapiModule,
        spec: &AppSpec,
        php: &PhpSpec,
    ) -> anyhow::Result<Box<dyn Runtime>> {
        let open = |target| {
            let name = &spec.name;
            TargetSites::open(&module, target).with_context(|| format!("prepare application \"{name}\""))
        };
        let path_settings = PathSettings::new(&module, php)?;
        let sites = php.targets.iter().map(open).collect::<anyhow::Result<Vec<_>>>()?;
        let only = php.targets.first().zip(php.worker());
        let loaded_script =
            only.map(|(target, worker)| LoadedScript::new(&module, target, worker)).transpose();
        let loaded_script =
            loaded_script.with_context(|| format!("prepare application \"{}\"", spec.name))?;
        let limits = spec.limits.clone();
        Ok(Box::new(Self {
            sites,
            path_settings,
            loaded_script,
            scratch: Scratch::default(),
            limits,
            slow_log: None,
            module,
        }))
    }
}

impl WorkerScript for PhpRuntime {
    fn run(&mut self, requests: &mut dyn Requests) -> anyhow::Result<()> {
        let loaded_script = self.loaded_script.as_ref().context("run a worker's script")?;
        loaded_script.run(&self.module, self.slow_log.as_ref(), requests)
    }
}

impl Runtime for PhpRuntime {
    fn forked(&mut self) {
        self.module.forked();
        self.slow_log = SlowLog::start(&self.limits);
    }

    fn has_start(&self) -> bool {
        self.loaded_script.is_some()
    }

    /// The script cleans up.
    fn has_end(&self) -> bool {
        self.loaded_script.is_some()
    }

    fn worker_script(&mut self) -> Option<&mut dyn WorkerScript> {
        self.loaded_script.is_some().then_some(self)
    }

    fn serve(&mut self, request: &RequestView<'_>, exchange: &mut dyn Exchange) -> RequestEnd {
        let sites = self.sites.get_mut(usize::from(request.head.app_target));
        let Some(site) = sites.and_then(|sites| sites.choose(&self.module, request)) else {
            exchange.refuse(404);
            return RequestEnd::Done;
        };
        match site.resolve(&self.module, request.head.path) {
            Resolved::Run(chosen) => {
                let settings = match self.path_settings.choose(request.head.path) {
                    Ok(settings) => settings,
                    Err(given_up) => {
                        complain(format_args!("options_by_path: {given_up}"));
                        exchange.respond(500, &[]);
                        return RequestEnd::Done;
                    }
                };
                exchange.note(&chosen.script.label);
                self.slow_log.as_ref().inspect(|log| log.begin());
                let outcome = run(request, &chosen, &mut self.scratch, exchange, |request| {
                    let request =
                        &Request { settings: settings.as_ptr(), n_settings: settings.len(), ..*request };
                    // SAFETY: PHP is started in this thread and runs no other request. What `request` leads to stays as
                    // it is until the call returns.
                    unsafe { ffi::corral_request_run(request) }
                });
                self.slow_log.as_ref().inspect(|log| log.end());
                if outcome == Outcome::ServedLast {
                    return RequestEnd::Leave;
                }
            }
            Resolved::Folder => match request::folder_location(request) {
                Some(location) => exchange.respond(301, &[(b"Location", &location)]),
                None => exchange.refuse(404),
            },
            Resolved::Refuse(status) => exchange.refuse(status),
        }
        RequestEnd::Done
    }
}

/// Has PHP answer a request as `run` says, and answers what it leaves unanswered.
pub(crate) fn run(
    view: &RequestView<'_>,
    chosen: &Chosen<'_>,
    scratch: &mut Scratch,
    exchange: &mut dyn Exchange,
    run: impl FnOnce(&Request) -> Outcome,
) -> Outcome {
    let mut call = Call::new(exchange);
    let request = scratch.describe(view, chosen, call.as_ptr());
    let outcome = run(&request);
    let (exchange, responded) = call.finish();
    if !responded {
        // PHP could not begin, or was stopped before it came to its head.
        exchange.refuse(if outcome == Outcome::Forbidden { 403 } else { 500 });
    }
    outcome
}
