//! Copies of requests for other servers: how many are on their way, and what has become of them.
//!
//! Which requests are copied, and how the copies are sent, belongs to `answer::proxy::mirror`.

use std::cell::Cell;
use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::rc::Rc;
use std::sync::{Arc, LazyLock};

use corral_config::mirror::Mirror;
use corral_config::table::{Key, Table};
use corral_ipc::message::MirrorStatus;

use crate::counters::Counter;
use crate::log_throttle::LogThrottle;

/// All mirrors of a generation.
#[derive(Default)]
pub(crate) struct Mirrors(Table<Mirror, Arc<MirrorTally>>);

/// The fate of the copies of one action's requests.
pub(crate) struct MirrorTally {
    /// Where it is in the configuration.
    pub(crate) place: String,
    /// One for each event loop.
    figures: Box<[MirrorCounters]>,
    pub(crate) failures: LogThrottle,
    pub(crate) drops: LogThrottle,
}

/// The copies of one event loop. No two loops write to the same cache line.
#[derive(Debug, Default)]
#[repr(align(64))]
pub(crate) struct MirrorCounters {
    /// Copies that were answered.
    pub(crate) answered: Counter,
    /// Copies that a server has failed to answer in time.
    pub(crate) failed: Counter,
    /// Copies that were not sent: too many were on their way, or the body was too large.
    pub(crate) dropped: Counter,
}

impl Mirrors {
    /// The mirrors of a configuration; those at a place that `previous` has, too, go on counting.
    pub(crate) fn new(mirrors: &Table<Mirror>, n_loops: usize, previous: Option<&Self>) -> Self {
        let previous = previous.into_iter().flat_map(|mirrors| &mirrors.0);
        let known: HashMap<&str, _> = previous.map(|tally| (&*tally.place, tally)).collect();
        let tally = |mirror: &Mirror| match known.get(&*mirror.place) {
            Some(tally) if tally.figures.len() == n_loops => Arc::clone(tally),
            _ => Arc::new(MirrorTally::new(mirror.place.clone(), n_loops)),
        };
        Self(mirrors.iter().map(tally).collect())
    }

    pub(crate) fn get(&self, key: Key<Mirror>) -> Option<&Arc<MirrorTally>> {
        self.0.get(key)
    }

    pub(crate) fn status(&self) -> impl Iterator<Item = MirrorStatus> {
        self.0.iter().map(|tally| tally.status())
    }
}

impl MirrorTally {
    fn new(place: String, n_loops: usize) -> Self {
        let figures = (0..n_loops).map(|_| MirrorCounters::default()).collect();
        Self { place, figures, failures: LogThrottle::default(), drops: LogThrottle::default() }
    }

    /// The counters of one event loop.
    pub(crate) fn figures(&self, lane: usize) -> &MirrorCounters {
        &self.figures[lane]
    }

    fn status(&self) -> MirrorStatus {
        let sum =
            |figure: fn(&MirrorCounters) -> &Counter| self.figures.iter().map(|one| figure(one).get()).sum();
        MirrorStatus {
            place: self.place.clone(),
            answered: sum(|figures| &figures.answered),
            failed: sum(|figures| &figures.failed),
            dropped: sum(|figures| &figures.dropped),
        }
    }
}

/// The copies of one event loop that are on their way.
#[derive(Debug, Default)]
pub(crate) struct CopiesInFlight {
    n: Cell<usize>,
    n_bytes: Cell<usize>,
}

/// A place among them, with so much memory; until it is dropped.
#[derive(Debug)]
pub(crate) struct MirrorPermit {
    among: Rc<CopiesInFlight>,
    n_bytes: usize,
}

impl CopiesInFlight {
    /// A place for a copy of so many bytes, if there is one.
    pub(crate) fn permit(self: &Rc<Self>, n_bytes: usize) -> Option<MirrorPermit> {
        let (n, total) = (self.n.get() + 1, self.n_bytes.get() + n_bytes);
        (n <= MOST && total <= MOST_BYTES).then(|| {
            self.n.set(n);
            self.n_bytes.set(total);
            MirrorPermit { among: Rc::clone(self), n_bytes }
        })
    }
}

impl Drop for MirrorPermit {
    fn drop(&mut self) {
        let CopiesInFlight { n, n_bytes } = &*self.among;
        n.set(n.get() - 1);
        n_bytes.set(n_bytes.get() - self.n_bytes);
    }
}

/// The field that each copy has, one for each mirror that it has been through.
pub(crate) const FIELD: &[u8] = b"Corral-Mirrored";

/// The value of the field: the router's own, which clients do not know, so that none of them can keep its requests from
/// being copied.
pub(crate) fn mark() -> &'static [u8] {
    static MARK: LazyLock<String> = LazyLock::new(|| format!("{:016x}", RandomState::new().hash_one(0)));
    MARK.as_bytes()
}

/// Copies of copies: a request that has been through as many mirrors of this router goes round in circles.
pub(crate) const MOST_DEEP: usize = 3;

/// Copies of one event loop that are on their way at the same time.
const MOST: usize = 64;

/// The room that they take at most, in bytes.
const MOST_BYTES: usize = 16 * 1024 * 1024;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_on_their_way_are_bounded() {
        let all = Rc::<CopiesInFlight>::default();
        let large = all.permit(MOST_BYTES).expect("there is room");
        assert!(all.permit(1).is_none());
        let small = all.permit(0).expect("there is room");
        drop(large);
        let many: Vec<_> = (0..MOST).map_while(|_| all.permit(1)).collect();
        assert_eq!(many.len(), MOST - 1);
        drop((small, many));
        assert_eq!((all.n.get(), all.n_bytes.get()), (0, 0));
    }

    #[test]
    fn figures_stay_with_their_place() {
        let mirror = |place: &str| Mirror {
            place: place.to_owned(),
            to: Vec::new(),
            body: true,
            sample: 1,
            timeout: std::time::Duration::ZERO,
        };
        let before = Mirrors::new(&["/a", "/b"].map(mirror).into_iter().collect(), 2, None);
        before.get(Key::nth(1)).expect("it is there").figures(1).failed.add(3);
        let after = Mirrors::new(&["/b", "/c"].map(mirror).into_iter().collect(), 2, Some(&before));
        assert_eq!(after.status().map(|status| status.failed).collect::<Vec<_>>(), [3, 0]);
    }
}
