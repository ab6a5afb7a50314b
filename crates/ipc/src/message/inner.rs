//! Figures of the inside of the router: its event loops, channels, caches and logs.

use std::collections::{HashMap, HashSet};

use serde::{Deserialize, Serialize};

use super::by_place;
use crate::bounded;

/// Codings that bodies are compressed in, by the numbers that routers have for them.
pub const CODINGS: [&str; 4] = ["br", "zstd", "gzip", "deflate"];

/// The fates of requests that are to be permitted by another server, by the numbers that routers have for them.
pub const FORWARD_RESULTS: [&str; 4] = ["passed", "remembered", "refused", "failed"];

/// Figures of one router. Other routers add their counters to those of the router in charge; the rest is its own.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct InnerFigures {
    /// By event loop.
    #[serde(deserialize_with = "bounded::list")]
    pub loops: Vec<LoopFigures>,
    /// Between event loops and workers.
    pub channel: ChannelFigures,
    /// Files that are kept open.
    pub files: FileCacheFigures,
    /// Bodies that were compressed.
    pub compression: CompressionFigures,
    /// Records that were lost.
    pub lost: LossFigures,
    /// Checks of passwords, tokens and permissions.
    pub authentication: AuthenticationFigures,
    /// Bodies that wait.
    pub bodies: BodyFigures,
    /// Descriptors and connections against their bounds.
    pub room: RoomFigures,
}

/// Figures of one event loop.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct LoopFigures {
    /// Times that it has woken up and worked until nothing was left to do.
    pub turns: u64,
    /// The time that they took, in microseconds.
    pub busy_micros: u64,
    /// The time that the longest of the last one to two minutes took, in microseconds; not a counter.
    pub longest_micros: u64,
}

/// Wake-ups between event loops and workers.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ChannelFigures {
    /// Workers that were woken for their requests.
    pub sent: u64,
    /// Workers that were awake when they got requests.
    pub saved: u64,
    /// Sleeps of event loops that ended because a worker had something to say.
    pub bells: u64,
}

/// The cache of open files.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct FileCacheFigures {
    /// Files that are open now; not a counter.
    pub entries: u64,
    /// Bytes of their contents that are in memory now; not a counter.
    pub bytes: u64,
    /// Files that were asked for and open.
    pub hits: u64,
    /// Paths that had to be looked up.
    pub misses: u64,
}

/// Compression of bodies.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct CompressionFigures {
    /// By [`CODINGS`].
    #[serde(deserialize_with = "by_place::array")]
    pub codings: [CodingFigures; CODINGS.len()],
    /// Compressed files that were there.
    pub hits: u64,
    /// Files that had to be compressed.
    pub misses: u64,
    /// Bytes of the compressed files that are kept now; not a counter.
    pub bytes: u64,
}

/// Bytes that went through compressors of one coding.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct CodingFigures {
    /// Bytes before.
    pub input: u64,
    /// Bytes after.
    pub output: u64,
}

/// Records that could not be written or sent.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct LossFigures {
    /// Entries of access logs.
    pub log_entries: u64,
    /// Spans of telemetry.
    pub spans: u64,
}

/// Authentication of clients.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct AuthenticationFigures {
    /// Requests that another server has to permit, by [`FORWARD_RESULTS`].
    #[serde(deserialize_with = "by_place::array")]
    pub forward: [u64; FORWARD_RESULTS.len()],
    /// Checks of passwords that wait or run now; not a counter.
    pub password_checks: u64,
    /// Keys that servers have, by place of the configuration.
    #[serde(deserialize_with = "bounded::list")]
    pub remote_keys: Vec<RemoteKeyFigures>,
}

/// The keys that the tokens of one place are checked with.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RemoteKeyFigures {
    /// JSON pointer of the authentication in the configuration.
    #[serde(deserialize_with = "bounded::name")]
    pub place: String,
    /// Seconds since they were fetched, if they ever were; not a counter.
    pub age: Option<u64>,
    /// Fetches that have failed.
    pub failures: u64,
}

/// Bodies of requests and responses that wait.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct BodyFigures {
    /// Bytes of memory that they have now; not a counter.
    pub held: u64,
    /// Bytes that they may have; not a counter.
    pub most: u64,
    /// Bytes that were written to files.
    pub written: u64,
}

/// Bounds of the router's process; none of these is a counter.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RoomFigures {
    /// Descriptors that are open, if that is known.
    pub open_files: Option<u64>,
    /// Descriptors that may be; none for any number.
    pub most_files: Option<u64>,
    /// Connections of clients that there may be, if that is known.
    pub most_connections: Option<u64>,
}

impl RemoteKeyFigures {
    /// The figures of a place that uses the keys of two servers: the older ones, and the failures of both.
    #[must_use]
    pub fn joined(self, other: &Self) -> Self {
        let ages = self.age.zip(other.age);
        Self {
            age: ages.map(|(one, other)| one.max(other)),
            failures: self.failures.saturating_add(other.failures),
            ..self
        }
    }
}

impl InnerFigures {
    /// Adds the counters of another router, those of loops and places that are not known here, too.
    pub fn count(&mut self, other: &Self) {
        self.learn(other);
        self.count_known(other);
    }

    /// Makes the loops and places of another router known, without its counters.
    pub(super) fn learn(&mut self, other: &Self) {
        let n_loops = self.loops.len().max(other.loops.len());
        self.loops.resize_with(n_loops, LoopFigures::default);
        let ours = &mut self.authentication.remote_keys;
        let known: HashSet<_> = ours.iter().map(|keys| keys.place.clone()).collect();
        let new = other.authentication.remote_keys.iter().filter(|keys| !known.contains(&keys.place));
        ours.extend(
            new.map(|keys| RemoteKeyFigures { place: keys.place.clone(), ..RemoteKeyFigures::default() }),
        );
    }

    /// Adds the counters of another router, as far as its loops and places are known here.
    pub fn count_known(&mut self, other: &Self) {
        let others = other.authentication.remote_keys.iter();
        let others: HashMap<_, _> = others.map(|keys| (&*keys.place, keys.failures)).collect();
        for keys in &mut self.authentication.remote_keys {
            let theirs = others.get(&*keys.place).copied().unwrap_or_default();
            keys.failures = keys.failures.saturating_add(theirs);
        }
        for (ours, theirs) in self.loops.iter_mut().zip(&other.loops) {
            ours.turns = ours.turns.saturating_add(theirs.turns);
            ours.busy_micros = ours.busy_micros.saturating_add(theirs.busy_micros);
        }
        let mut other = other.clone();
        let others = other.counters();
        self.counters().into_iter().zip(others).for_each(|(sum, n)| *sum = sum.saturating_add(*n));
    }

    /// The counters alone, which go on when the router has ended.
    #[must_use]
    pub fn totals(&self) -> Self {
        let mut totals = Self::default();
        totals.count(self);
        totals
    }

    /// The counters that every router has once.
    fn counters(&mut self) -> Vec<&mut u64> {
        let Self { channel, files, compression, lost, authentication, bodies, .. } = self;
        let once = [
            &mut channel.sent,
            &mut channel.saved,
            &mut channel.bells,
            &mut files.hits,
            &mut files.misses,
            &mut compression.hits,
            &mut compression.misses,
            &mut lost.log_entries,
            &mut lost.spans,
            &mut bodies.written,
        ];
        let codings =
            compression.codings.iter_mut().flat_map(|coding| [&mut coding.input, &mut coding.output]);
        once.into_iter().chain(codings).chain(&mut authentication.forward).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Figures in which every number is this one.
    fn all(n: u64, n_loops: usize, places: &[&str]) -> InnerFigures {
        let key = |place: &&str| RemoteKeyFigures { place: (*place).to_owned(), age: Some(n), failures: n };
        InnerFigures {
            loops: vec![LoopFigures { turns: n, busy_micros: n, longest_micros: n }; n_loops],
            channel: ChannelFigures { sent: n, saved: n, bells: n },
            files: FileCacheFigures { entries: n, bytes: n, hits: n, misses: n },
            compression: CompressionFigures {
                codings: [(); 4].map(|()| CodingFigures { input: n, output: n }),
                hits: n,
                misses: n,
                bytes: n,
            },
            lost: LossFigures { log_entries: n, spans: n },
            authentication: AuthenticationFigures {
                forward: [n; 4],
                password_checks: n,
                remote_keys: places.iter().map(key).collect(),
            },
            bodies: BodyFigures { held: n, most: n, written: n },
            room: RoomFigures { open_files: Some(n), most_files: Some(n), most_connections: Some(n) },
        }
    }

    #[test]
    fn counters_are_added_and_levels_are_not() {
        let mut sum = all(5, 1, &["/a"]);
        sum.count(&all(2, 1, &["/a"]));
        let expected = InnerFigures {
            loops: vec![LoopFigures { turns: 7, busy_micros: 7, longest_micros: 5 }],
            files: FileCacheFigures { entries: 5, bytes: 5, hits: 7, misses: 7 },
            compression: CompressionFigures { bytes: 5, ..all(7, 0, &[]).compression },
            authentication: AuthenticationFigures {
                forward: [7; 4],
                password_checks: 5,
                remote_keys: vec![RemoteKeyFigures { place: "/a".to_owned(), age: Some(5), failures: 7 }],
            },
            bodies: BodyFigures { held: 5, most: 5, written: 7 },
            room: all(5, 0, &[]).room,
            ..all(7, 0, &[])
        };
        assert_eq!(sum, expected);
    }

    #[test]
    fn a_sum_has_all_loops_and_places_and_an_answer_those_that_are_there() {
        let mut sum = all(1, 1, &["/a"]);
        sum.count(&all(1, 3, &["/b"]));
        assert_eq!(sum.loops.iter().map(|one| one.turns).collect::<Vec<_>>(), [2, 1, 1]);
        let places: Vec<_> =
            sum.authentication.remote_keys.iter().map(|key| (&*key.place, key.age)).collect();
        assert_eq!(places, [("/a", Some(1)), ("/b", None)]);
        let mut answer = all(1, 2, &["/b"]);
        answer.count_known(&sum);
        assert_eq!(answer.loops.iter().map(|one| one.turns).collect::<Vec<_>>(), [3, 2]);
        assert_eq!(answer.authentication.remote_keys.len(), 1);
        assert_eq!(answer.authentication.remote_keys[0].failures, 2);
    }

    #[test]
    fn keys_of_two_servers_are_as_old_as_the_older_ones() {
        let keys = |age, failures| RemoteKeyFigures { place: "/a".to_owned(), age, failures };
        assert_eq!(keys(Some(1), 2).joined(&keys(Some(3), 4)), keys(Some(3), 6));
        assert_eq!(keys(Some(1), 2).joined(&keys(None, 1)), keys(None, 3));
    }

    #[test]
    fn totals_have_no_levels_and_no_sum_runs_over() {
        let mut totals = all(u64::MAX, 1, &["/a"]).totals();
        assert_eq!((totals.files.entries, totals.bodies.held, totals.room.open_files), (0, 0, None));
        assert_eq!(totals.authentication.remote_keys[0].age, None);
        totals.count(&all(1, 1, &["/a"]));
        assert_eq!((totals.channel.sent, totals.loops[0].turns), (u64::MAX, u64::MAX));
    }
}
