//! Bounds of what another process says, for the fields of messages: lists with so many members, words of such a length.

use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::marker::PhantomData;

use serde::de::{Deserialize, Deserializer, Error, SeqAccess, Visitor};

use crate::reason;

/// Most members of a list. Each takes much more memory than it has in a message.
pub const MOST: usize = 100_000;

/// A list of so many members; a longer one is not a message.
pub(crate) fn list<'de, D: Deserializer<'de>, T: Deserialize<'de>>(from: D) -> Result<Vec<T>, D::Error> {
    from.deserialize_seq(Members(PhantomData))
}

/// Words that may be anybody's, as [`reason::cut`] leaves them.
pub(crate) fn words<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    String::deserialize(from).map(reason::cut)
}

/// As [`words`], if there are any.
pub(crate) fn words_if_any<'de, D: Deserializer<'de>>(from: D) -> Result<Option<String>, D::Error> {
    Option::deserialize(from).map(|words: Option<String>| words.map(reason::cut))
}

/// A name by which figures are told apart. The configuration has no bound for its names, so what is cut ends in a
/// number that all of it has made: two names do not become one.
pub(crate) fn name<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    String::deserialize(from).map(cut_name)
}

/// Longest name in bytes. No path, address or place of use is as long.
const LONGEST_NAME: usize = 4 * 1024;

/// Room for the number behind one that was cut.
const NAME_MARK: usize = 32;

fn cut_name(name: String) -> String {
    if name.len() <= LONGEST_NAME {
        return name;
    }
    let mut hasher = DefaultHasher::new();
    name.hash(&mut hasher);
    format!("{}[... {:016x}]", &name[..name.floor_char_boundary(LONGEST_NAME - NAME_MARK)], hasher.finish())
}

struct Members<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for Members<T> {
    type Value = Vec<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a list of up to {MOST} members")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Vec<T>, A::Error> {
        let mut members = Vec::new();
        while let Some(member) = seq.next_element()? {
            if members.len() == MOST {
                return Err(A::Error::custom("a list is too long"));
            }
            members.push(member);
        }
        Ok(members)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::Link;
    use crate::message::{
        AppId, AppStatus, Backtrace, FailedListener, FromRouter, GenerationId, LimitStatus, ListenerFigures,
        MirrorStatus, RemoteKeyFigures, RunningRequest, ServerStatus, Status, StepFigures, Ticket,
        UpstreamStatus, WorkerId, WorkerState, WorkerStatus,
    };

    #[track_caller]
    fn taken(message: &FromRouter) -> Option<FromRouter> {
        let (main, router) = Link::pair().unwrap();
        router.send(message, &[]).unwrap();
        main.take().ok().flatten().map(|(message, _)| message)
    }

    #[test]
    fn long_names_are_cut_and_stay_apart() {
        let long = |end: &str| format!("{}{end}", "ä".repeat(1 << 20));
        for name in ["", "*:80", &"x".repeat(LONGEST_NAME)] {
            assert_eq!(cut_name(name.to_owned()), name);
        }
        let (one, other) = (cut_name(long("1")), cut_name(long("2")));
        assert!(one.len() <= LONGEST_NAME && one.starts_with("ää"), "{one}");
        assert_ne!(one, other);
        assert_eq!((cut_name(long("1")), cut_name(one.clone())), (one.clone(), one));
    }

    /// No figures of a router are kept under a longer name than that.
    #[test]
    fn every_name_that_a_router_tells_is_cut() {
        let long = || "x".repeat(1 << 20);
        let server = ServerStatus { address: long(), ..ServerStatus::default() };
        let mut status = Status {
            listeners: vec![ListenerFigures::new(long())],
            steps: vec![StepFigures { place: long(), ..StepFigures::default() }],
            applications: vec![AppStatus { name: long(), ..AppStatus::default() }],
            upstreams: vec![UpstreamStatus { name: long(), servers: vec![server], waiting: None }],
            limits: vec![LimitStatus { place: long(), ..LimitStatus::default() }],
            mirrors: vec![MirrorStatus { place: long(), ..MirrorStatus::default() }],
            ..Status::default()
        };
        let keys = RemoteKeyFigures { place: long(), ..RemoteKeyFigures::default() };
        status.inner.authentication.remote_keys = vec![keys];
        let Some(FromRouter::Status { status, .. }) = taken(&figures(status)) else {
            panic!("it is a message")
        };
        assert!(format!("{status:?}").len() < 8 * LONGEST_NAME + 16 * 1024);
    }

    fn figures(status: Status) -> FromRouter {
        FromRouter::Status { ticket: Ticket(1), status }
    }

    #[test]
    fn a_list_of_many_members_is_taken_and_a_longer_one_is_not() {
        for (n, is_taken) in [(0, true), (MOST, true), (MOST + 1, false), (2_000_000, false)] {
            let applications = vec![AppStatus::default(); n];
            assert_eq!(
                taken(&figures(Status { applications, ..Status::default() })).is_some(),
                is_taken,
                "{n}"
            );
            let upstreams = vec![UpstreamStatus { name: String::new(), servers: vec![], waiting: None }; n];
            assert_eq!(taken(&figures(Status { upstreams, ..Status::default() })).is_some(), is_taken, "{n}");
            let failed = vec![FailedListener { address: String::new(), reason: String::new() }; n];
            let prepared = FromRouter::Prepared { generation: GenerationId(1), failed };
            assert_eq!(taken(&prepared).is_some(), is_taken, "{n}");
        }
    }

    #[test]
    fn words_are_cut() {
        let long = || "x".repeat(1 << 20);
        let failed = vec![FailedListener { address: long(), reason: long() }];
        let Some(FromRouter::Prepared { failed, .. }) =
            taken(&FromRouter::Prepared { generation: GenerationId(1), failed })
        else {
            panic!("it is a message")
        };
        assert!(failed[0].reason.len() <= reason::LONGEST && failed[0].address.len() <= reason::LONGEST);
        let app = AppStatus { last_error: Some(long()), ..AppStatus::default() };
        let Some(FromRouter::Status { status, .. }) =
            taken(&figures(Status { applications: vec![app], ..Status::default() }))
        else {
            panic!("it is a message")
        };
        assert!(
            status.applications[0].last_error.as_ref().is_some_and(|words| words.len() <= reason::LONGEST)
        );
    }

    #[test]
    fn words_about_requests_are_cut() {
        let (long, time) = (|| "x".repeat(1 << 20), std::time::Duration::ZERO);
        let backtrace = Some(Backtrace { text: long(), time });
        let request = RunningRequest { method: long(), path: long(), script: long(), time, backtrace };
        let worker =
            WorkerStatus { request: Some(request), ..WorkerStatus::new(WorkerId(1), WorkerState::Busy) };
        let told = FromRouter::Workers { ticket: Ticket(1), app: AppId(1), workers: vec![worker] };
        let Some(FromRouter::Workers { workers, .. }) = taken(&told) else { panic!("it is a message") };
        let RunningRequest { method, path, script, backtrace, .. } = workers[0].request.as_ref().unwrap();
        for words in [method, path, script, &backtrace.as_ref().unwrap().text] {
            assert!(words.len() <= reason::LONGEST, "{}", words.len());
        }
    }
}
