//! Applications that run as the user of the daemon's own processes: whoever looks after them is told.

use corral_config::plan::AppSpec;

use super::Supervisor;

impl Supervisor {
    /// Says of the applications in force what has not been said of them before.
    pub(super) fn report_sharing(&mut self) {
        let Some(build) = self.in_force.as_ref().filter(|_| self.parts.console.is_none()) else { return };
        let launcher = &self.parts.launcher;
        let is_news =
            |spec: &&AppSpec| launcher.shares_user(spec) && !self.known_to_share.contains(&spec.name);
        let news: Vec<_> = build.plan.applications.iter().filter(is_news).collect();
        if !launcher.may_change_users() && !news.is_empty() {
            let names: Vec<_> = news.iter().map(|spec| format!("\"{}\"", spec.name)).collect();
            tracing::warn!(
                "not started as root: these run as the user of the daemon itself: {}",
                names.join(", ")
            );
        }
        for spec in &news {
            if let Some(warning) = self.warning_about(spec) {
                tracing::warn!("application \"{}\": {warning}", spec.name);
            }
        }
        let names: Vec<_> = news.iter().map(|spec| spec.name.clone()).collect();
        self.known_to_share.extend(names);
    }

    /// What to change about an application that could have another user.
    pub(super) fn warning_about(&self, spec: &AppSpec) -> Option<String> {
        let launcher = &self.parts.launcher;
        if !launcher.may_change_users() || !launcher.shares_user(spec) {
            return None;
        }
        let danger = if launcher.can_wall(spec) { "" } else { " and can end them" };
        Some(format!("it runs as the user of the daemon's own processes{danger}; give it another \"user\""))
    }
}
