//! The figures of several routers, added up by what they are about: a router that takes over goes on where the one
//! before was, also if that was killed.

use std::collections::{HashMap, HashSet};

use super::status::{
    AppStatus, LimitStatus, ListenerFigures, MirrorStatus, ServerState, ServerStatus, Status, StepFigures,
    UpstreamStatus,
};
use super::traffic::add;

/// Figures of a thing that routers know by a name.
pub(super) trait NamedFigures: Clone {
    fn name(&self) -> &str;

    /// Adds those of another router.
    fn count(&mut self, other: &Self);

    /// The same, with those of parts that this router does not have.
    fn count_all(&mut self, other: &Self) {
        self.count(other);
    }

    /// The figures that go on counting when their router has ended: none that can fall.
    fn ended(&self) -> Self;
}

/// Adds the figures of what is known here.
pub(super) fn count_known<T: NamedFigures>(sums: &mut [T], others: &[T]) {
    if others.is_empty() {
        return;
    }
    let others: HashMap<_, _> = others.iter().map(|other| (other.name(), other)).collect();
    for sum in sums {
        if let Some(other) = others.get(sum.name()) {
            sum.count(other);
        }
    }
}

/// Adds all figures.
pub(super) fn count_all<T: NamedFigures>(sums: &mut Vec<T>, others: &[T]) {
    let known: HashSet<_> = sums.iter().map(NamedFigures::name).collect();
    let new: Vec<_> = others.iter().filter(|other| !known.contains(other.name())).cloned().collect();
    let others: HashMap<_, _> = others.iter().map(|other| (other.name(), other)).collect();
    for sum in &mut *sums {
        if let Some(other) = others.get(sum.name()) {
            sum.count_all(other);
        }
    }
    sums.extend(new);
}

fn ended<T: NamedFigures>(figures: &[T]) -> Vec<T> {
    figures.iter().map(NamedFigures::ended).collect()
}

impl Status {
    /// The figures by name that go on counting when the router has ended.
    #[must_use]
    pub fn ended(&self) -> Self {
        Self {
            listeners: ended(&self.listeners),
            steps: ended(&self.steps),
            applications: ended(&self.applications),
            upstreams: ended(&self.upstreams),
            limits: ended(&self.limits),
            mirrors: ended(&self.mirrors),
            traffic: self.traffic.ended(),
            ..Self::default()
        }
    }

    /// Forgets what is beyond `most` of each kind.
    pub fn bound(&mut self, most: usize) {
        self.listeners.truncate(most);
        self.steps.truncate(most);
        self.applications.truncate(most);
        self.upstreams.truncate(most);
        self.limits.truncate(most);
        self.mirrors.truncate(most);
        let mut n_left = most;
        for group in &mut self.upstreams {
            group.servers.truncate(n_left);
            n_left -= group.servers.len();
        }
        self.inner.authentication.remote_keys.truncate(most);
    }
}

impl NamedFigures for ListenerFigures {
    fn name(&self) -> &str {
        &self.address
    }

    fn count(&mut self, other: &Self) {
        ListenerFigures::count(self, other);
    }

    fn ended(&self) -> Self {
        Self { in_progress: 0, ..self.clone() }
    }
}

impl NamedFigures for StepFigures {
    fn name(&self) -> &str {
        &self.place
    }

    fn count(&mut self, other: &Self) {
        add(&mut self.requests, &other.requests);
    }

    fn ended(&self) -> Self {
        self.clone()
    }
}

/// Processes and queues are those of the router that is asked.
impl NamedFigures for AppStatus {
    fn name(&self) -> &str {
        &self.name
    }

    fn count(&mut self, other: &Self) {
        add(&mut self.requests, &other.requests);
        self.durations.count(&other.durations);
        self.waiting.count(&other.waiting);
        add([&mut self.left_state.requests], &[other.left_state.requests]);
        add(&mut self.left_state.kinds, &other.left_state.kinds);
    }

    fn ended(&self) -> Self {
        Self {
            name: self.name.clone(),
            requests: self.requests,
            durations: self.durations.clone(),
            waiting: self.waiting.ended(),
            left_state: self.left_state.clone(),
            ..Self::default()
        }
    }
}

impl NamedFigures for UpstreamStatus {
    fn name(&self) -> &str {
        &self.name
    }

    fn count(&mut self, other: &Self) {
        count_known(&mut self.servers, &other.servers);
    }

    fn count_all(&mut self, other: &Self) {
        count_all(&mut self.servers, &other.servers);
    }

    fn ended(&self) -> Self {
        Self { name: self.name.clone(), servers: ended(&self.servers), waiting: None }
    }
}

/// Connections that are kept, and processes, are those of the router that is asked.
impl NamedFigures for ServerStatus {
    fn name(&self) -> &str {
        &self.address
    }

    fn count(&mut self, other: &Self) {
        let Self { active, requests, failures, retries, .. } = self;
        let others = [other.active, other.requests, other.failures, other.retries];
        add([active, requests, failures, retries], &others);
        if let Some(times) = &other.times {
            self.times.get_or_insert_default().count(times);
        }
    }

    fn ended(&self) -> Self {
        Self { active: 0, kept: 0, processes: None, state: ServerState::default(), ..self.clone() }
    }
}

impl NamedFigures for LimitStatus {
    fn name(&self) -> &str {
        &self.place
    }

    fn count(&mut self, other: &Self) {
        let Self { passed, delayed, refused, .. } = self;
        add([passed, delayed, refused], &[other.passed, other.delayed, other.refused]);
    }

    fn ended(&self) -> Self {
        Self { keys: 0, ..self.clone() }
    }
}

impl NamedFigures for MirrorStatus {
    fn name(&self) -> &str {
        &self.place
    }

    fn count(&mut self, other: &Self) {
        let Self { answered, failed, dropped, .. } = self;
        add([answered, failed, dropped], &[other.answered, other.failed, other.dropped]);
    }

    fn ended(&self) -> Self {
        self.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::{LeftState, RemoteKeyFigures, ServerProcesses, ServerTimes, WaitingFigures};

    /// Figures that have this number everywhere.
    fn server(address: &str, n: u64) -> ServerStatus {
        let mut times = ServerTimes::default();
        times.response.micros = n;
        ServerStatus {
            address: address.to_owned(),
            state: ServerState::Up,
            active: n,
            requests: n,
            failures: n,
            retries: n,
            kept: n,
            times: Some(Box::new(times)),
            processes: Some(ServerProcesses { most: 1, busy: 1, waiting: 1 }),
        }
    }

    fn status(n: u64, servers: &[&str]) -> Status {
        let mut listener = ListenerFigures::new("*:80".to_owned());
        (listener.received, listener.in_progress, listener.requests[0][0]) = (n, n, n);
        let small = u32::try_from(n).unwrap();
        let app = AppStatus {
            name: "blog".to_owned(),
            running: small,
            active_requests: small,
            requests: [n; 6],
            memory: n,
            waiting: WaitingFigures { waiting: small, refused: [n; 3], ..WaitingFigures::default() },
            left_state: LeftState { requests: n, ..LeftState::default() },
            ..AppStatus::default()
        };
        let place = "/a".to_owned();
        Status {
            listeners: vec![listener],
            steps: vec![StepFigures { place: place.clone(), requests: [n; 6] }],
            applications: vec![app],
            upstreams: vec![UpstreamStatus {
                name: "pool".to_owned(),
                servers: servers.iter().map(|address| server(address, n)).collect(),
                waiting: Some(n),
            }],
            limits: vec![LimitStatus {
                place: place.clone(),
                dry_run: true,
                passed: n,
                delayed: n,
                refused: n,
                keys: n,
            }],
            mirrors: vec![MirrorStatus { place, answered: n, failed: n, dropped: n }],
            ..Status::default()
        }
    }

    #[test]
    fn counts_of_a_router_that_has_ended_go_on_and_levels_do_not() {
        let mut sum = status(1, &["a"]);
        sum.count_known(&status(10, &["a", "b"]).ended());
        let listener = &sum.listeners[0];
        assert_eq!((listener.received, listener.requests[0][0], listener.in_progress), (11, 11, 1));
        assert_eq!(sum.steps[0].requests, [11; 6]);
        let app = &sum.applications[0];
        assert_eq!((app.requests, app.waiting.refused, app.left_state.requests), ([11; 6], [11; 3], 11));
        assert_eq!((app.running, app.active_requests, app.memory, app.waiting.waiting), (1, 1, 1, 1));
        let [server] = &sum.upstreams[0].servers[..] else { panic!("one is known") };
        assert_eq!((server.requests, server.failures, server.retries), (11, 11, 11));
        assert_eq!((server.active, server.kept, sum.upstreams[0].waiting), (1, 1, Some(1)));
        assert_eq!(server.times.as_ref().map(|times| times.response.micros), Some(11));
        assert!(server.processes.is_some());
        let (limit, mirror) = (&sum.limits[0], &sum.mirrors[0]);
        assert_eq!((limit.passed, limit.delayed, limit.refused, limit.keys), (11, 11, 11, 1));
        assert_eq!((mirror.answered, mirror.failed, mirror.dropped), (11, 11, 11));
    }

    #[test]
    fn sums_of_routers_that_have_ended_have_all_that_was_there_within_bounds() {
        let mut sum = Status::default();
        sum.count(&status(1, &["a"]).ended());
        sum.count(&status(2, &["b", "c"]).ended());
        let servers = |sum: &Status| -> Vec<_> {
            sum.upstreams[0].servers.iter().map(|server| (server.address.clone(), server.requests)).collect()
        };
        assert_eq!(servers(&sum), [("a".to_owned(), 1), ("b".to_owned(), 2), ("c".to_owned(), 2)]);
        assert_eq!((sum.applications[0].requests[0], sum.limits[0].passed), (3, 3));
        sum.inner.authentication.remote_keys = vec![RemoteKeyFigures::default(); 3];
        sum.bound(2);
        assert_eq!((servers(&sum).len(), sum.inner.authentication.remote_keys.len()), (2, 2));
        sum.bound(0);
        assert!(sum.upstreams.is_empty() && sum.applications.is_empty() && sum.mirrors.is_empty());
    }

    #[test]
    fn what_is_not_here_any_more_is_not_told_of() {
        let mut sum = Status::default();
        sum.count_known(&status(1, &["a"]));
        assert!(sum.applications.is_empty() && sum.upstreams.is_empty() && sum.limits.is_empty());
    }
}
