//! The answer to `corral exec`, which starts its command itself, with what only main knows.

use corral_config::plan::{AppSpec, RuntimeSpec};
use corral_ipc::message::{ExecContext, Ticket, ToController};
use corral_sys::user;

use super::Supervisor;
use crate::programs::Programs;

impl Supervisor {
    /// Says what a command is run with. `uid` is the user of the process that asks.
    pub(super) fn describe_exec(&mut self, ticket: Ticket, name: &str, uid: u32) {
        let found = self.configuration.in_force().and_then(|build| build.find_app(name));
        let context = match found {
            Some((_, spec)) => exec_context(&self.programs, spec, uid),
            None => Err("it is not in force".to_owned()),
        };
        let context = context.map_err(|reason| format!("application \"{name}\": {reason}"));
        self.children.controller.send(&ToController::ExecContext { ticket, context });
    }
}

fn exec_context(programs: &Programs, spec: &AppSpec, uid: u32) -> Result<Vec<u8>, String> {
    match &spec.runtime {
        RuntimeSpec::Unusable(reason) => return Err(reason.clone()),
        RuntimeSpec::Wasm(_) => {
            return Err(
                "a component of WebAssembly has no processes that a command could be run beside".to_owned()
            );
        }
        _ => {}
    }
    let context = programs.exec_context(spec)?;
    if !may_have(&context, uid) {
        let owner = user::user_by_uid(context.owner);
        let owner = owner.map_or_else(|_| context.owner.to_string(), |user| user.name);
        return Err(format!("it runs as \"{owner}\": only root and that user can run commands as it"));
    }
    context.to_bytes().map_err(|error| error.to_string())
}

/// Root, the user of the application, and that of the daemon, from which nothing is kept.
fn may_have(context: &ExecContext, uid: u32) -> bool {
    [0, context.owner, context.daemon.uid].contains(&uid)
}
