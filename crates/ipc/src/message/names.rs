//! Names of what has figures: with them, those are left out whose thing has left the configuration. One that is added
//! again later begins at zero.

use std::collections::{HashMap, HashSet};

use super::inner::RemoteKeyFigures;
use super::status::Status;
use super::sums::NamedFigures;

/// The names of everything that has figures.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FigureNames {
    listeners: HashSet<String>,
    steps: HashSet<String>,
    applications: HashSet<String>,
    /// The servers of each upstream.
    upstreams: HashMap<String, HashSet<String>>,
    limits: HashSet<String>,
    mirrors: HashSet<String>,
    remote_keys: HashSet<String>,
}

impl FigureNames {
    /// The names of all that a router tells of: of each thing in its configuration.
    #[must_use]
    pub fn of(status: &Status) -> Self {
        let upstreams = status.upstreams.iter();
        let keys = status.inner.authentication.remote_keys.iter();
        Self {
            listeners: names(&status.listeners),
            steps: names(&status.steps),
            applications: names(&status.applications),
            upstreams: upstreams.map(|group| (group.name.clone(), names(&group.servers))).collect(),
            limits: names(&status.limits),
            mirrors: names(&status.mirrors),
            remote_keys: keys.map(|keys| keys.place.clone()).collect(),
        }
    }

    /// Adds applications, which routers need not know.
    pub fn add_applications(&mut self, names: impl IntoIterator<Item = String>) {
        self.applications.extend(names);
    }

    /// Forgets the names that others do not have.
    pub fn keep_common(&mut self, others: &Self) {
        let Self { listeners, steps, applications, upstreams, limits, mirrors, remote_keys } = self;
        for (ours, theirs) in [
            (listeners, &others.listeners),
            (steps, &others.steps),
            (applications, &others.applications),
            (limits, &others.limits),
            (mirrors, &others.mirrors),
            (remote_keys, &others.remote_keys),
        ] {
            ours.retain(|name| theirs.contains(name));
        }
        upstreams.retain(|name, servers| match others.upstreams.get(name) {
            Some(theirs) => {
                servers.retain(|server| theirs.contains(server));
                true
            }
            None => false,
        });
    }
}

impl Status {
    /// Leaves out the figures of what has another name than these.
    pub fn keep(&mut self, names: &FigureNames) {
        keep(&mut self.listeners, &names.listeners);
        keep(&mut self.steps, &names.steps);
        keep(&mut self.applications, &names.applications);
        keep(&mut self.limits, &names.limits);
        keep(&mut self.mirrors, &names.mirrors);
        self.upstreams.retain_mut(|group| match names.upstreams.get(&group.name) {
            Some(servers) => {
                keep(&mut group.servers, servers);
                true
            }
            None => false,
        });
        let is_named = |keys: &RemoteKeyFigures| names.remote_keys.contains(&keys.place);
        self.inner.authentication.remote_keys.retain(is_named);
    }
}

fn names<T: NamedFigures>(figures: &[T]) -> HashSet<String> {
    figures.iter().map(|figures| figures.name().to_owned()).collect()
}

fn keep<T: NamedFigures>(figures: &mut Vec<T>, names: &HashSet<String>) {
    figures.retain(|figures| names.contains(figures.name()));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::{
        AppStatus, LimitStatus, ListenerFigures, MirrorStatus, ServerStatus, StepFigures, UpstreamStatus,
    };

    /// One thing of each kind with each of these names; servers have each one in each group.
    fn status(names: &[&str]) -> Status {
        let each = || names.iter().map(|name| (*name).to_owned());
        let servers: Vec<_> =
            each().map(|address| ServerStatus { address, ..ServerStatus::default() }).collect();
        let upstream = |name| UpstreamStatus { name, servers: servers.clone(), waiting: None };
        let mut status = Status {
            listeners: each().map(ListenerFigures::new).collect(),
            steps: each().map(|place| StepFigures { place, ..StepFigures::default() }).collect(),
            applications: each().map(|name| AppStatus { name, ..AppStatus::default() }).collect(),
            upstreams: each().map(upstream).collect(),
            limits: each().map(|place| LimitStatus { place, ..LimitStatus::default() }).collect(),
            mirrors: each().map(|place| MirrorStatus { place, ..MirrorStatus::default() }).collect(),
            requests: 7,
            ..Status::default()
        };
        let keys = |place| RemoteKeyFigures { place, ..RemoteKeyFigures::default() };
        status.inner.authentication.remote_keys = each().map(keys).collect();
        status
    }

    #[test]
    fn what_has_another_name_is_left_out() {
        let mut kept = status(&["a", "b", "c"]);
        kept.keep(&FigureNames::of(&status(&["b", "d"])));
        assert_eq!(format!("{kept:?}"), format!("{:?}", status(&["b"])));
        kept.keep(&FigureNames::default());
        assert_eq!(format!("{kept:?}"), format!("{:?}", status(&[])));
    }

    #[test]
    fn names_that_have_left_once_do_not_come_back() {
        let mut names = FigureNames::of(&status(&["a", "b"]));
        names.keep_common(&FigureNames::of(&status(&["b", "c"])));
        assert_eq!(names, FigureNames::of(&status(&["b"])));
        names.keep_common(&FigureNames::of(&status(&["a", "b", "c"])));
        assert_eq!(names, FigureNames::of(&status(&["b"])));
    }

    #[test]
    fn applications_that_no_router_knows_have_names_too() {
        let mut names = FigureNames::of(&status(&["a"]));
        names.add_applications(["job".to_owned()]);
        let mut kept = status(&["a", "job"]);
        kept.keep(&names);
        assert_eq!((kept.applications.len(), kept.listeners.len()), (2, 1));
    }
}
