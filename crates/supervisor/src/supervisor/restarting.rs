//! Restarts of applications that changed files ask for.

use std::time::Instant;

use corral_config::plan::AppSpec;
use corral_ipc::message::AppId;

use crate::children::Children;
use crate::configuration::Configuration;
use crate::configuration::jobs::Job;
use crate::restarts::Restarts;

/// Plans restarts of applications whose files have changed.
pub(super) fn look_at_files(
    restarts: &mut Restarts,
    configuration: &mut Configuration,
    children: &mut Children,
    now: Instant,
) {
    restarts.looked(now);
    let apps = configuration.in_force().map_or(&[][..], |build| &build.apps);
    let changed: Vec<_> = apps.iter().filter_map(|app| take_change(app, children)).collect();
    for name in changed {
        configuration.plan(Job::RestartApp { ticket: None, name });
    }
}

/// The name of an application, if one of its files has changed since that was looked at.
fn take_change((id, spec): &(AppId, AppSpec), children: &mut Children) -> Option<String> {
    let app = children.apps.get_mut(id)?;
    let path = app.changed_file()?.display();
    tracing::info!(target: "notice", "\"{path}\" has changed: restarting application \"{}\"", spec.name);
    // Even if that fails, it is not tried again before the next change.
    app.remember_files();
    Some(spec.name.clone())
}
