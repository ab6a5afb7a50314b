//! Sums of counters in a form that other versions read: each number has its name, or its place in a list. What a reader
//! does not know is left out, and what the writer did not know is zero. A histogram with other ranges is left out.

use crate::message::Status;

/// The sums as bytes.
///
/// # Errors
/// When there is no memory for them.
pub fn to_bytes(sums: &Status) -> Result<Vec<u8>, rmp_serde::encode::Error> {
    rmp_serde::to_vec_named(sums)
}

/// The sums in these bytes.
///
/// # Errors
/// When they are of a version that has counted otherwise.
pub fn from_bytes(bytes: &[u8]) -> Result<Status, rmp_serde::decode::Error> {
    rmp_serde::from_slice(bytes)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::time::Duration;

    use serde::Serialize;

    use super::*;
    use crate::message::{
        AppStatus, DaemonStatus, InnerFigures, ListenerFigures, LoopFigures, MainFigures, ProcessFigures,
        StepFigures,
    };

    fn sums() -> Status {
        let mut listener = ListenerFigures::new("*:80".to_owned());
        (listener.requests[2][5], listener.sent) = (7, u64::MAX);
        let mut main = MainFigures { generation: 12, ..MainFigures::default() };
        main.processes[1] = ProcessFigures { memory: None, cpu: Duration::from_nanos(1_500_000_001) };
        Status {
            accepted: 5,
            requests: 300,
            listeners: vec![listener],
            steps: vec![StepFigures { place: "/routes/0".to_owned(), requests: [1; 6] }],
            applications: vec![AppStatus { name: "blog".to_owned(), crashes: 3, ..AppStatus::default() }],
            inner: InnerFigures {
                loops: vec![LoopFigures { turns: 9, ..LoopFigures::default() }],
                ..InnerFigures::default()
            },
            daemon: DaemonStatus { config_changes: 4, main, ..DaemonStatus::default() },
            ..Status::default()
        }
    }

    #[test]
    fn sums_come_back() {
        let (sums, bytes) = (sums(), to_bytes(&sums()).unwrap());
        assert_eq!(format!("{:?}", from_bytes(&bytes).unwrap()), format!("{sums:?}"));
    }

    /// A version that has counted something else.
    #[derive(Serialize)]
    struct OtherVersion {
        requests: u64,
        teapots: BTreeMap<String, u64>,
        listeners: Vec<BTreeMap<&'static str, String>>,
    }

    #[test]
    fn versions_understand_what_they_share() {
        let teapots = BTreeMap::from([("brown".to_owned(), 1)]);
        let listener = BTreeMap::from([("address", "*:81".to_owned()), ("colour", "red".to_owned())]);
        let other = OtherVersion { requests: 8, teapots, listeners: vec![listener] };
        let sums = from_bytes(&rmp_serde::to_vec_named(&other).unwrap()).unwrap();
        assert_eq!((sums.requests, sums.accepted, &*sums.listeners[0].address), (8, 0, "*:81"));
    }

    /// A version that knows another number of reasons, causes and kinds.
    #[derive(Serialize)]
    struct OtherWords {
        requests: u64,
        traffic: BTreeMap<&'static str, Vec<u64>>,
        applications: Vec<BTreeMap<&'static str, BTreeMap<&'static str, Vec<u64>>>>,
        daemon: BTreeMap<&'static str, BTreeMap<&'static str, Vec<u64>>>,
    }

    #[test]
    fn versions_with_more_words_or_fewer_understand_each_other() {
        for n in [0, 1, 100] {
            let counts = |name| BTreeMap::from([(name, vec![3; n])]);
            let app = BTreeMap::from([("left_state", counts("kinds")), ("waiting", counts("refused"))]);
            let other = OtherWords {
                requests: 8,
                traffic: counts("refused"),
                applications: vec![app],
                daemon: BTreeMap::from([("main", counts("restarts"))]),
            };
            let sums = from_bytes(&rmp_serde::to_vec_named(&other).unwrap()).unwrap();
            let (app, expected) = (&sums.applications[0], n.min(1) as u64 * 3);
            assert_eq!((sums.requests, sums.traffic.refused[0]), (8, expected), "{n}");
            assert_eq!((app.left_state.kinds[0], app.waiting.refused[0]), (expected, expected), "{n}");
            assert_eq!(sums.daemon.main.restarts[0], expected, "{n}");
        }
    }

    #[test]
    fn bytes_of_anything_else_are_refused() {
        let bytes = to_bytes(&sums()).unwrap();
        for cut in [0, 1, bytes.len() / 2, bytes.len() - 1] {
            assert!(from_bytes(&bytes[..cut]).is_err(), "{cut}");
        }
        for bytes in [&b"{\"requests\":1}"[..], &[0xdf, 0xff, 0xff, 0xff, 0xff], &[0xc0]] {
            assert!(from_bytes(bytes).is_err(), "{bytes:?}");
        }
        let wrong = BTreeMap::from([("requests", "many")]);
        assert!(from_bytes(&rmp_serde::to_vec_named(&wrong).unwrap()).is_err());
    }
}
