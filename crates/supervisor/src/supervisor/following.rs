//! `corral run --watch`: applications are restarted when their code changes, and requests wait until that is done.

use std::time::Instant;

use corral_ipc::message::{DevQuestion, Ticket, ToRouter};

use super::Supervisor;
use crate::audience::say;
use crate::children::Children;
use crate::configuration::Configuration;
use crate::ids::RouterId;
use crate::watch::Watch;

impl Supervisor {
    /// When a change is acted on.
    pub(super) fn next_change(&self) -> Option<Instant> {
        // A change during the first start waits for its end.
        let is_time = !self.stopping.has_begun() && self.configuration.in_force().is_some();
        self.watch.as_ref().filter(|_| is_time)?.changed_at()
    }

    /// Restarts what has changed.
    pub(super) fn follow_change(&mut self) {
        if self.next_change().is_some()
            && let Some(watch) = &mut self.watch
        {
            restart_changed(watch, &mut self.configuration, &mut self.children);
        }
    }

    pub(super) fn on_desk_question(&mut self, router: RouterId, ticket: Ticket, question: DevQuestion) {
        match question {
            DevQuestion::LastWords { within } => {
                // A daemon does not show them.
                let explains = self.audience.console.as_ref().is_some_and(|console| console.explains);
                let since = within.and_then(|within| Instant::now().checked_sub(within));
                let words = if explains { self.children.outputs.words_of_apps(since) } else { Vec::new() };
                self.children.tell_router(router, &ToRouter::Told { ticket, words });
            }
            DevQuestion::IsCurrent => {
                self.watch.iter_mut().for_each(|watch| watch.look(Instant::now()));
                self.follow_change();
                match &mut self.watch {
                    Some(watch) => watch.ask(router, ticket),
                    None => {
                        self.children.tell_router(router, &ToRouter::Told { ticket, words: Vec::new() });
                    }
                }
            }
        }
    }

    /// Lets requests go on when nothing is being restarted.
    pub(super) fn answer_desk(&mut self) {
        let is_quiet = self.configuration.is_quiet();
        let Some(watch) = self.watch.as_mut().filter(|_| is_quiet) else { return };
        for (router, ticket) in watch.answer() {
            self.children.tell_router(router, &ToRouter::Told { ticket, words: Vec::new() });
        }
    }
}

fn restart_changed(watch: &mut Watch, configuration: &mut Configuration, children: &mut Children) {
    let Some(path) = watch.take_change() else { return };
    say(&format!("{} has changed", path.display()));
    let in_force = configuration.in_force();
    let apps: Vec<_> = in_force
        .into_iter()
        .flat_map(|build| &build.apps)
        .filter(|(_, spec)| !spec.is_restarted_with_another())
        .map(|(id, spec)| (*id, spec.name.clone()))
        .collect();
    for (id, name) in apps {
        let app = children.apps.get(&id);
        if app.is_some_and(|app| app.strays && !app.workers.is_empty()) {
            // A program with a port of its own choice ends before it is started anew; requests wait for it meanwhile.
            children.retire_workers(id);
            watch.replaces(id);
        } else {
            configuration.plan_restart_once(name);
        }
    }
}
