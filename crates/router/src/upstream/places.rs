//! Requests that wait for a place at a server, of which servers with `max_conns` have a number, for all event loops
//! together. They are served in the order in which they came: a place that becomes free goes to the first request that
//! its server may get, so that a place which is free while requests wait is of use for none of them.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use corral_config::upstream::Queue;
use parking_lot::Mutex;
use smallvec::SmallVec;
use tokio::sync::oneshot;

use crate::upstream::server::ServerGroup;

/// Servers that a request has been given to in vain.
pub(crate) type TriedServers = SmallVec<[usize; 8]>;

/// The requests of a group that wait.
pub(crate) struct PlaceQueue {
    most: usize,
    /// How long each may wait.
    pub(crate) timeout: Duration,
    waiting: Mutex<WaitingRequests>,
}

#[derive(Default)]
pub(super) struct WaitingRequests {
    queue: VecDeque<WaitingRequest>,
    /// So many of these have left.
    n_left: usize,
}

struct WaitingRequest {
    tried: TriedServers,
    granted: oneshot::Sender<usize>,
}

/// The places of one server that are taken. Nothing is counted where there is no limit.
#[derive(Debug, Default)]
pub(crate) struct TakenPlaces(AtomicU32);

/// A place at a server, which is free again when this is dropped.
pub(crate) struct Place {
    group: Arc<ServerGroup>,
    server: usize,
}

/// A request that waits for a place.
pub(crate) struct PlaceFuture {
    group: Arc<ServerGroup>,
    granted: oneshot::Receiver<usize>,
}

impl TakenPlaces {
    /// Takes one of so many, if one is free.
    fn take(&self, most: u32) -> bool {
        let taken = |n: u32| (n < most).then_some(n + 1);
        self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, taken).is_ok()
    }

    fn give_back(&self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }

    fn has_room(&self, most: u32) -> bool {
        self.0.load(Ordering::Relaxed) < most
    }
}

impl PlaceQueue {
    pub(super) fn new(rules: &Queue) -> Self {
        let Queue { size, timeout } = *rules;
        Self { most: size as usize, timeout, waiting: Mutex::default() }
    }

    /// The number of requests that wait.
    pub(super) fn n_waiting(&self) -> u64 {
        self.waiting.lock().len() as u64
    }

    /// Keeps places from being given to requests that wait, as long as the result lives.
    pub(super) fn lock(&self) -> parking_lot::MutexGuard<'_, WaitingRequests> {
        self.waiting.lock()
    }
}

impl WaitingRequests {
    /// Has one more request wait; none when as many wait as may.
    pub(super) fn push(&mut self, group: &Arc<ServerGroup>, tried: &TriedServers) -> Option<PlaceFuture> {
        let most = group.places.as_ref().map_or(0, |places| places.most);
        if self.len() >= most {
            return None;
        }
        let (granted, waiting) = oneshot::channel();
        self.queue.push_back(WaitingRequest { tried: tried.clone(), granted });
        Some(PlaceFuture { group: Arc::clone(group), granted: waiting })
    }

    fn len(&self) -> usize {
        self.queue.len() - self.n_left
    }

    /// Gives a place to the first request that the server may get. False when there is none.
    fn hand_over(&mut self, server: usize) -> bool {
        loop {
            let found = self.queue.iter().position(|request| !request.tried.contains(&server));
            let Some(request) = found.and_then(|idx| self.queue.remove(idx)) else { return false };
            if request.granted.send(server).is_ok() {
                return true;
            }
            self.n_left -= 1;
        }
    }

    /// One more request has left. They go together, so that each costs little.
    fn forget_one(&mut self) {
        self.n_left += 1;
        if self.n_left * 2 > self.queue.len() {
            self.queue.retain(|request| !request.granted.is_closed());
            self.n_left = 0;
        }
    }
}

impl ServerGroup {
    /// Whether a server has a place for one more request.
    pub(super) fn has_room(&self, server: usize) -> bool {
        let most = self.upstream.servers[server].max_conns;
        most.is_none_or(|most| self.servers[server].taken.has_room(most.get()))
    }

    /// Takes a place; `Ok(None)` at a server without a limit, `Err` when the last one has gone meanwhile.
    pub(super) fn take_place(self: &Arc<Self>, server: usize) -> Result<Option<Place>, NoRoom> {
        let Some(most) = self.upstream.servers[server].max_conns else { return Ok(None) };
        if !self.servers[server].taken.take(most.get()) {
            return Err(NoRoom);
        }
        Ok(Some(Place { group: Arc::clone(self), server }))
    }

    /// A request has given its place up: another one gets it, unless the server is to get none.
    fn place_is_free(&self, server: usize) {
        let Some(places) = &self.places else { return };
        let mut waiting = places.lock();
        let is_used = self.servers[server].health.is_up();
        if !is_used || !waiting.hand_over(server) {
            self.servers[server].taken.give_back();
        }
    }
}

/// All places of a server are taken.
#[derive(Debug)]
pub(super) struct NoRoom;

impl Drop for Place {
    fn drop(&mut self) {
        self.group.place_is_free(self.server);
    }
}

impl PlaceFuture {
    /// Waits for a place, and which server's it is. Cancel safe.
    pub(crate) async fn place(&mut self) -> (usize, Place) {
        match (&mut self.granted).await {
            Ok(server) => (server, Place { group: Arc::clone(&self.group), server }),
            // A request that is not closed is never dropped.
            Err(_) => std::future::pending().await,
        }
    }
}

impl Drop for PlaceFuture {
    fn drop(&mut self) {
        if self.granted.is_terminated() {
            return;
        }
        let Some(places) = &self.group.places else { return };
        // Nothing is granted while this is locked.
        let mut waiting = places.lock();
        self.granted.close();
        match self.granted.try_recv() {
            Ok(server) => {
                drop(waiting);
                self.group.place_is_free(server);
            }
            Err(_) => waiting.forget_one(),
        }
    }
}

#[cfg(test)]
mod tests;
