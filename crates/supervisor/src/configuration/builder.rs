//! Building a configuration beside the one in force: binds and opens what is new, and starts nothing.

use std::rc::Rc;

use corral_config::plan::{AppSpec, Plan};
use corral_ipc::message::{AppId, GenerationId};
use corral_sys::process;

use crate::configuration::build::{Build, Content, access_logs};
use crate::configuration::jobs::Purpose;
use crate::decide::changes::{self, Placement};
use crate::decide::descriptors;
use crate::listeners::{self, BindError, BoundListener};
use crate::machine;
use crate::programs::Programs;

/// Listeners that are bound, and the errors of those that cannot be.
type Listeners = (Vec<Rc<BoundListener>>, Vec<BindError>);

/// An application where it runs, and as what.
type Placed = (Placement, AppSpec);

/// Builds a configuration beside the one in force.
pub(crate) struct Builder<'a> {
    pub(crate) in_force: Option<&'a Build>,
    /// Whether running instances can be kept: workers answer the event loops of one router only.
    pub(crate) keeps_apps: bool,
    pub(crate) programs: &'a Programs,
    /// Listeners of the process that this one takes over from.
    pub(crate) handed_over: &'a [Rc<BoundListener>],
    /// Listeners of a service manager.
    pub(crate) given: &'a [Rc<BoundListener>],
    /// Event loops of the router.
    pub(crate) n_threads: u16,
    /// Whether what the system refuses is logged in Unit's words; a person at a terminal is told in one line.
    pub(crate) alerts: bool,
}

impl Builder<'_> {
    /// Returns the build and its new instances. When it fails, nothing of it is left.
    pub(crate) fn build(
        &self,
        purpose: &Purpose,
        content: Content,
        generation: GenerationId,
        new_id: impl FnMut() -> AppId,
    ) -> Result<(Build, Vec<AppId>), String> {
        let Content { plan, document, assets } = content;
        let placed = self.place_apps(purpose, &plan)?;
        let (listeners, unbound) = self.bind_listeners(&plan, purpose)?;
        let ours = self.in_force.map_or(&[][..], |build| &build.access_logs);
        let access_logs = access_logs(&plan, ours, purpose.tolerates_failures());
        let access_logs = access_logs.map_err(|error| error.to_string())?;
        let (apps, new_apps) = number(placed, new_id);
        let unserved = self.in_force.map(|build| build.unserved.clone()).unwrap_or_default();
        let build =
            Build { generation, plan, document, assets, listeners, unbound, unserved, apps, access_logs };
        Ok((build, new_apps))
    }

    /// Decides which applications need a new instance, and whether each of those could be started. What cannot start is
    /// done without if that is tolerated, and so is what the machine cannot carry.
    fn place_apps(&self, purpose: &Purpose, plan: &Plan) -> Result<Vec<Placed>, String> {
        let running = self.in_force.map(Build::asked_apps).unwrap_or_default();
        let is_kept = |spec: &AppSpec| self.keeps_apps || spec.is_background();
        let wanted: Vec<_> = plan.all_applications().collect();
        let placements = changes::place_apps(&running, &wanted, is_kept, purpose.replaces());
        let as_it_runs = |placement: &Placement| match placement {
            Placement::Keep(id) => self.in_force.and_then(|build| build.app(*id)),
            Placement::Start => None,
        };
        let place = |(placement, asked): (Placement, &AppSpec)| {
            let spec = as_it_runs(&placement).unwrap_or(asked).clone();
            (placement, spec)
        };
        let mut placed: Vec<_> = placements.into_iter().zip(wanted).map(place).collect();
        let (started, kept): (Vec<_>, Vec<_>) =
            placed.iter_mut().partition(|(placement, _)| *placement == Placement::Start);
        let kept: Vec<_> = kept.into_iter().map(|(_, spec)| &*spec).collect();
        if purpose.tolerates_failures() {
            machine::capacity().fit(&kept, started.into_iter().map(|(_, spec)| spec));
        } else {
            let started: Vec<_> = started.into_iter().map(|(_, spec)| &*spec).collect();
            machine::capacity().check(&kept, &started).map_err(|error| error.to_string())?;
            started.into_iter().try_for_each(|spec| self.programs.check(spec))?;
        }
        Ok(placed)
    }

    /// Binds what is new. A listener that could not be bound before does not keep others from being
    /// changed.
    fn bind_listeners(&self, plan: &Plan, purpose: &Purpose) -> Result<Listeners, String> {
        let (ours, unbound) =
            self.in_force.map_or((self.handed_over, &[][..]), |build| (&build.listeners, &build.unbound));
        let ours: Vec<_> = ours.iter().chain(self.given).cloned().collect();
        let is_known = |error: &BindError| unbound.iter().any(|other| other.address() == error.address());
        let limit = process::descriptor_limit();
        let n_sockets = descriptors::sockets_each(&plan.listeners, self.n_threads, limit);
        let (listeners, failed) = listeners::bind_all(&plan.listeners, &ours, n_sockets, |error| {
            purpose.tolerates_failures() || is_known(error)
        })
        .map_err(|error| {
            if self.alerts {
                error.report();
            }
            error.to_string()
        })?;
        if *purpose == Purpose::Rebind && failed.len() >= unbound.len() {
            return Err("no listener can be bound that could not be bound before".to_owned());
        }
        for error in failed.iter().filter(|error| !is_known(error)) {
            tracing::error!(target: "alert", "{error}; trying again");
        }
        Ok((listeners, failed))
    }
}

/// Gives new instances numbers. Returns all instances, and the new ones among them.
fn number(placed: Vec<Placed>, mut new_id: impl FnMut() -> AppId) -> (Vec<(AppId, AppSpec)>, Vec<AppId>) {
    let mut new_apps = Vec::new();
    let mut place = |placement| match placement {
        Placement::Keep(id) => id,
        Placement::Start => {
            let id = new_id();
            new_apps.push(id);
            id
        }
    };
    let apps = placed.into_iter().map(|(placement, spec)| (place(placement), spec)).collect();
    (apps, new_apps)
}
