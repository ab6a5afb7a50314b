//! The programs that main starts, and what they consist of.

use std::path::PathBuf;

use corral_config::plan::{AppSpec, RuntimeSpec};
use corral_ipc::message::{Console, DevMode, ExecContext, Module, ToRouter};

use crate::issued_secrets::IssuedSecrets;
use crate::launch::{LaunchError, Launcher, OrderedCopy, StartedProcess};
use crate::output::Output;
use crate::peer::Peer;

/// Options that a router is told whenever one is started.
pub(crate) struct RouterOptions {
    pub(crate) temp_dir: PathBuf,
    /// Whether and how it shows requests.
    pub(crate) console: Option<Console>,
    pub(crate) dev_mode: DevMode,
}

/// How every program is started.
pub(crate) struct Programs {
    pub(crate) launcher: Launcher,
    /// The runtimes that were found.
    pub(crate) modules: Vec<Module>,
    /// The files that this executable consists of.
    pub(crate) own_files: fn() -> Vec<PathBuf>,
    pub(crate) router: RouterOptions,
}

/// Why a prototype was not started.
pub(crate) enum NoStart {
    /// The start may be possible later.
    Now(String),
    /// The start takes another configuration, or another start of the daemon.
    Never(String),
}

impl Programs {
    /// Whether an application could be started, before that is done, which for some is much later: the
    /// controller may only name executables that main itself has found, and users and roots must exist.
    pub(crate) fn check(&self, spec: &AppSpec) -> Result<(), String> {
        let name = &spec.name;
        if self.host_files(spec).is_none() {
            let path = spec.module.display();
            return Err(format!(
                "application \"{name}\": \"{path}\" is not among the modules found at start"
            ));
        }
        let checked = self.launcher.check(spec);
        checked.map_err(|error| format!("application \"{name}\": {:#}", anyhow::Error::new(error)))
    }

    /// The files that the host executable of an application consists of; none when it was not found.
    fn host_files(&self, spec: &AppSpec) -> Option<Vec<PathBuf>> {
        let module = self.modules.iter().find(|module| module.path == spec.module);
        let dependencies = module.map(|module| module.dependencies.clone());
        if let RuntimeSpec::Http(_) | RuntimeSpec::Process(_) = spec.runtime {
            return Some([(self.own_files)(), dependencies.unwrap_or_default()].concat());
        }
        dependencies
    }

    pub(crate) fn start_prototype(&self, spec: &AppSpec) -> Result<StartedProcess, NoStart> {
        if let RuntimeSpec::Unusable(reason) = &spec.runtime {
            return Err(NoStart::Never(reason.clone()));
        }
        // Modules are looked for only once.
        let Some(files) = self.host_files(spec) else {
            let reason = "the module that runs it was not found when the daemon started";
            return Err(NoStart::Never(reason.to_owned()));
        };
        let started = self.launcher.start_prototype(spec, &files);
        started.map_err(|error| NoStart::Now(format!("{:#}", anyhow::Error::new(error))))
    }

    /// Orders a copy of an image that is to become the prototype of an application.
    pub(crate) fn order_copy(&self, image: &mut Peer, spec: &AppSpec) -> Result<OrderedCopy, LaunchError> {
        self.launcher.order_copy(image, spec, &self.host_files(spec).unwrap_or_default())
    }

    /// All that `corral exec` has to know to run a command as an application.
    pub(crate) fn exec_context(&self, spec: &AppSpec) -> Result<ExecContext, String> {
        // The process beside the command is this executable.
        let files = [(self.own_files)(), self.host_files(spec).unwrap_or_default()].concat();
        let context = self.launcher.exec_context(spec, &files);
        context.map_err(|error| format!("{:#}", anyhow::Error::new(error)))
    }

    /// Starts a router with this many event loops, and all that was provided before.
    pub(crate) fn start_router(
        &self,
        name: &str,
        n_threads: u16,
        secrets: &IssuedSecrets,
    ) -> Result<(Peer, Vec<Output>), LaunchError> {
        let RouterOptions { temp_dir, console, dev_mode } = &self.router;
        let (mut peer, outputs) = self.launcher.start_own(name, console.is_some())?;
        let start =
            ToRouter::Start { n_threads, temp_dir: temp_dir.clone(), console: *console, dev_mode: *dev_mode };
        peer.send(&start, &[]);
        secrets.message().into_iter().for_each(|message| peer.send(&message, &[]));
        Ok((peer, outputs))
    }

    /// Advice about an application that could have another user than the daemon's own processes.
    pub(crate) fn warning_about(&self, spec: &AppSpec) -> Option<String> {
        let launcher = &self.launcher;
        if !launcher.may_change_users() || !launcher.shares_user(spec) {
            return None;
        }
        let danger = if launcher.can_wall(spec) { "" } else { " and can end them" };
        Some(format!("it runs as the user of the daemon's own processes{danger}; give it another \"user\""))
    }
}
