//! A queue for several event loops. A request waits until one of them takes it, so that none is behind another that
//! blocks while a loop is free; events of a request that runs go to the loop that has it.
//!
//! A loop cannot be seen to be blocked: it has been called, and does not come. Those that come take one request at a
//! time.

use std::collections::{HashMap, VecDeque};
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use corral_worker::RequestKey;

/// The queue of a worker, which its threads share.
#[derive(Clone)]
pub(super) struct SharedQueue(Arc<Mutex<LoopQueue<RequestKey, Arc<Vec<u8>>>>>);

impl SharedQueue {
    pub(super) fn new(n_loops: usize) -> Self {
        Self(Arc::new(Mutex::new(LoopQueue::new(n_loops))))
    }

    /// No call into Python is made while it is held.
    pub(super) fn lock(&self) -> MutexGuard<'_, LoopQueue<RequestKey, Arc<Vec<u8>>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Requests by their keys, and loops by their numbers.
pub(super) struct LoopQueue<K, R> {
    /// Requests that no loop has taken.
    waiting: VecDeque<(K, R)>,
    loops: Vec<Taker<K>>,
    /// Which loop has a request.
    owners: HashMap<K, usize>,
}

/// One of the loops.
struct Taker<K> {
    n_requests: usize,
    /// Running requests for which something has come.
    changed: Vec<K>,
    /// The loop was asked to come, and has not.
    is_called: bool,
}

/// Everything that a loop gets when it comes.
pub(super) struct Taken<K, R> {
    pub(super) changed: Vec<K>,
    pub(super) request: Option<(K, R)>,
    /// Others wait, and it is to come again.
    pub(super) has_more: bool,
}

impl<K: Copy + Eq + Hash, R> LoopQueue<K, R> {
    fn new(n_loops: usize) -> Self {
        let taker = || Taker { n_requests: 0, changed: Vec::new(), is_called: false };
        Self {
            waiting: VecDeque::new(),
            loops: std::iter::repeat_with(taker).take(n_loops).collect(),
            owners: HashMap::new(),
        }
    }

    /// Adds a request. Gives the loop to call: the one with the fewest requests of those that were not called.
    pub(super) fn add(&mut self, key: K, request: R) -> Option<usize> {
        self.waiting.push_back((key, request));
        let uncalled = self.loops.iter().enumerate().filter(|(_, taker)| !taker.is_called);
        let (idx, _) = uncalled.min_by_key(|(_, taker)| taker.n_requests)?;
        self.call(idx)
    }

    /// Something has come for a request. One that was not taken yet is looked at when it is begun.
    pub(super) fn change(&mut self, key: K) -> Option<usize> {
        let idx = *self.owners.get(&key)?;
        self.loops[idx].changed.push(key);
        self.call(idx)
    }

    fn call(&mut self, idx: usize) -> Option<usize> {
        let was_called = std::mem::replace(&mut self.loops[idx].is_called, true);
        (!was_called).then_some(idx)
    }

    /// Whether a request waits that loops could take that were not called.
    pub(super) fn has_others(&self) -> bool {
        !self.waiting.is_empty() && self.loops.iter().any(|taker| !taker.is_called)
    }

    /// Gives those loops, which are called now.
    pub(super) fn call_others(&mut self) -> Vec<usize> {
        if self.waiting.is_empty() {
            return Vec::new();
        }
        (0..self.loops.len()).filter_map(|idx| self.call(idx)).collect()
    }

    /// A loop has come.
    pub(super) fn take(&mut self, idx: usize) -> Taken<K, R> {
        let request = self.waiting.pop_front();
        let has_more = !self.waiting.is_empty();
        let taker = &mut self.loops[idx];
        taker.is_called = has_more;
        if let Some((key, _)) = &request {
            taker.n_requests += 1;
            self.owners.insert(*key, idx);
        }
        Taken { changed: std::mem::take(&mut taker.changed), request, has_more }
    }

    /// A request has ended.
    pub(super) fn end(&mut self, key: K) {
        if let Some(idx) = self.owners.remove(&key) {
            self.loops[idx].n_requests -= 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queue(n_loops: usize) -> LoopQueue<u32, ()> {
        LoopQueue::new(n_loops)
    }

    fn taken(queue: &mut LoopQueue<u32, ()>, idx: usize) -> (Option<u32>, bool) {
        let taken = queue.take(idx);
        (taken.request.map(|(key, ())| key), taken.has_more)
    }

    #[test]
    fn each_request_calls_another_loop() {
        let mut queue = queue(2);
        assert_eq!([queue.add(1, ()), queue.add(2, ()), queue.add(3, ())], [Some(0), Some(1), None]);
        assert_eq!(taken(&mut queue, 1), (Some(1), true));
        assert_eq!(taken(&mut queue, 0), (Some(2), true));
        assert_eq!(queue.add(4, ()), None, "both come again without being called");
        assert_eq!(taken(&mut queue, 0), (Some(3), true));
        assert_eq!(taken(&mut queue, 1), (Some(4), false));
        assert_eq!(taken(&mut queue, 0), (None, false));
    }

    #[test]
    fn the_loop_with_the_fewest_requests_is_called() {
        let mut queue = queue(2);
        assert_eq!(queue.add(1, ()), Some(0));
        queue.take(0);
        assert_eq!(queue.add(2, ()), Some(1));
        queue.take(1);
        queue.end(1);
        assert_eq!(queue.add(3, ()), Some(0));
    }

    #[test]
    fn loops_that_do_not_come_are_made_up_for_by_the_others() {
        let mut queue = queue(3);
        assert!(!queue.has_others());
        assert_eq!(queue.add(1, ()), Some(0));
        assert!(queue.has_others());
        assert_eq!((queue.call_others(), queue.has_others()), (vec![1, 2], false));
        assert_eq!(taken(&mut queue, 2), (Some(1), false));
        assert_eq!((queue.call_others(), queue.has_others()), (vec![], false), "nothing waits");
    }

    #[test]
    fn what_comes_for_a_request_goes_to_its_loop() {
        let mut queue = queue(2);
        queue.add(1, ());
        assert_eq!(queue.change(1), None, "nobody has it");
        queue.take(1);
        assert_eq!((queue.change(1), queue.change(1)), (Some(1), None));
        queue.add(2, ());
        let taken = queue.take(1);
        assert_eq!((taken.changed, taken.request), (vec![1, 1], Some((2, ()))));
        queue.end(1);
        assert_eq!(queue.change(1), None, "it has ended");
        queue.end(7);
    }
}
