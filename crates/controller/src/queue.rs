//! Changes that are made or wait for their turn, and which of them a newer one supersedes: no client has to wait until
//! something is in force that is replaced at once, as that may take minutes, or never end.

use std::future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use corral_config::json::Bytes;
use tokio::sync::Notify;

/// Changes in their order.
#[derive(Default)]
pub(crate) struct ChangeQueue {
    places: Mutex<Vec<Arc<QueueEntry>>>,
}

struct QueueEntry {
    /// The path of all that the change may alter.
    area: Vec<Bytes>,
    superseded: Notify,
}

/// The place of one change, which it leaves in the end.
pub(crate) struct QueuePlace {
    queue: Arc<ChangeQueue>,
    entry: Arc<QueueEntry>,
}

impl ChangeQueue {
    /// Takes the last place, for a change of what is at `area`.
    pub(crate) fn enter(self: &Arc<Self>, area: &[Bytes]) -> QueuePlace {
        let entry = Arc::new(QueueEntry { area: area.to_vec(), superseded: Notify::new() });
        self.places().push(Arc::clone(&entry));
        QueuePlace { queue: Arc::clone(self), entry }
    }

    /// Whether something waits that a change of everything at `path` makes void. It does not while an older one goes on
    /// that `path` may be a part of, as what is there then is not known yet.
    pub(crate) fn has_void(&self, path: &[Bytes]) -> bool {
        let places = self.places();
        let is_part =
            |entry: &Arc<QueueEntry>| entry.area.len() < path.len() && path.starts_with(&entry.area);
        places.iter().any(|entry| entry.area.starts_with(path)) && !places.iter().any(is_part)
    }

    /// Whether something waits that alters this and no more.
    pub(crate) fn has_same(&self, path: &[Bytes]) -> bool {
        self.places().iter().any(|entry| entry.area == path)
    }

    /// Tells all that a change of everything at `path` makes void. They leave as soon as they can.
    pub(crate) fn supersede(&self, path: &[Bytes]) {
        let places = self.places();
        let void = places.iter().filter(|entry| entry.area.starts_with(path));
        void.for_each(|entry| entry.superseded.notify_one());
    }

    /// Nothing can panic while the lock is held.
    fn places(&self) -> MutexGuard<'_, Vec<Arc<QueueEntry>>> {
        self.places.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl QueuePlace {
    /// Waits until a newer change has superseded this one. True once for each that does.
    pub(crate) async fn superseded(&self) {
        self.entry.superseded.notified().await;
    }
}

impl Drop for QueuePlace {
    fn drop(&mut self) {
        self.queue.places().retain(|entry| !Arc::ptr_eq(entry, &self.entry));
    }
}

/// As [`QueuePlace::superseded`]; never for what has no place.
pub(crate) async fn superseded(place: Option<&QueuePlace>) {
    match place {
        Some(place) => place.superseded().await,
        None => future::pending().await,
    }
}
