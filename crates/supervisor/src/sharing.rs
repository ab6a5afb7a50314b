//! Applications that run as the user of the daemon's own processes: the operator is told.

use std::collections::BTreeSet;

use corral_config::plan::AppSpec;

use crate::programs::Programs;

/// The applications that were reported.
#[derive(Debug, Default)]
pub(crate) struct Sharing {
    /// Names of applications.
    known: BTreeSet<String>,
}

impl Sharing {
    /// Says of the applications in force what has not been said of them before.
    pub(crate) fn report<'a>(
        &mut self,
        applications: impl Iterator<Item = &'a AppSpec>,
        programs: &Programs,
    ) {
        let launcher = &programs.launcher;
        let is_news = |spec: &&AppSpec| launcher.shares_user(spec) && !self.known.contains(&spec.name);
        let events: Vec<_> = applications.filter(is_news).collect();
        if !launcher.may_change_users() && !events.is_empty() {
            let names: Vec<_> = events.iter().map(|spec| format!("\"{}\"", spec.name)).collect();
            tracing::warn!(
                "not started as root: these run as the user of the daemon itself: {}",
                names.join(", ")
            );
        }
        for spec in &events {
            if let Some(warning) = programs.warning_about(spec) {
                tracing::warn!("application \"{}\": {warning}", spec.name);
            }
        }
        self.known.extend(events.into_iter().map(|spec| spec.name.clone()));
    }
}
