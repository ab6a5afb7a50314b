//! The files that one event loop keeps open. One that is not asked for leaves within seconds, so that removed files
//! give their space back and mounts are free; while there is none, nothing wakes up.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use std::time::{Duration, Instant};

use tokio::sync::Notify;

use super::OpenFile;
use crate::counters::inner;

/// Files that one event loop keeps open.
const MAX_OPEN: usize = 512;

/// A file that was not asked for in this time leaves.
const IDLE: Duration = Duration::from_secs(3);

/// How often those are looked for.
const SWEEP_INTERVAL: Duration = Duration::from_secs(2);

/// The same when there are too many.
const IDLE_IN_A_CROWD: Duration = Duration::from_secs(1);

thread_local! {
    static KEPT: RefCell<HashMap<Vec<u8>, Rc<OpenFile>>> = RefCell::new(HashMap::new());
    /// The first file was opened after a time without any.
    static FIRST: Rc<Notify> = Rc::default();
}

pub(super) fn find(key: &[u8]) -> Option<Rc<OpenFile>> {
    KEPT.with_borrow(|kept| kept.get(key).cloned())
}

pub(super) fn forget(key: &[u8]) {
    KEPT.with_borrow_mut(|kept| {
        kept.remove(key);
        count(kept);
    });
}

pub(super) fn keep(key: &[u8], file: &Rc<OpenFile>, now: Instant) {
    KEPT.with_borrow_mut(|kept| {
        if kept.len() >= MAX_OPEN {
            retain_used(kept, now, IDLE_IN_A_CROWD);
        }
        if kept.is_empty() {
            FIRST.with(|first| first.notify_one());
        }
        if kept.len() < MAX_OPEN {
            kept.insert(key.to_vec(), Rc::clone(file));
        }
        count(kept);
    });
}

/// Closes all of them, unless they are being sent: another configuration may not name them.
pub(crate) fn forget_all() {
    let kept = KEPT.take();
    count(&HashMap::new());
    drop(kept);
}

/// Closes what is not asked for, for ever; sleeps while there is nothing.
pub(crate) async fn keep_sweeping() {
    let first = FIRST.with(Rc::clone);
    loop {
        first.notified().await;
        while !KEPT.with_borrow(HashMap::is_empty) {
            tokio::time::sleep(SWEEP_INTERVAL).await;
            KEPT.with_borrow_mut(|kept| {
                retain_used(kept, Instant::now(), IDLE);
                count(kept);
                if kept.is_empty() {
                    kept.shrink_to_fit();
                }
            });
        }
    }
}

fn count(kept: &HashMap<Vec<u8>, Rc<OpenFile>>) {
    inner::note(|counters| counters.file_entries.set(kept.len() as u64));
}

fn retain_used(kept: &mut HashMap<Vec<u8>, Rc<OpenFile>>, now: Instant, within: Duration) {
    kept.retain(|_, file| now.saturating_duration_since(file.last_use()) < within);
}
