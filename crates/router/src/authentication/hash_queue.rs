//! The queue before the threads that hash passwords: short, and not all of it for one client.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, LazyLock};

use parking_lot::Mutex;
use tokio::sync::Semaphore;

/// The one queue of the process.
pub(super) static QUEUE: LazyLock<Arc<HashQueue>> = LazyLock::new(|| Arc::new(HashQueue::new()));

/// Checks that wait or run.
pub(crate) fn n_checks() -> u64 {
    QUEUE.waiting.lock().n_all.into()
}

pub(super) struct HashQueue {
    /// Passwords are hashed by so many threads at a time: event loops get the other processors.
    pub(super) threads: Semaphore,
    waiting: Mutex<QueuedHash>,
}

#[derive(Default)]
struct QueuedHash {
    /// By client; those of a Unix socket are one. No entry is zero.
    clients: HashMap<Option<IpAddr>, u32>,
    n_all: u32,
}

/// A place in the queue, until the password was checked.
pub(super) struct HashPermit {
    queue: Arc<HashQueue>,
    client: Option<IpAddr>,
}

/// Why there is no place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HashQueueFull {
    /// Others have filled the queue.
    Crowded,
    /// The client itself has too many places.
    Greedy,
}

impl HashQueue {
    fn new() -> Self {
        let n_processors = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let threads = Semaphore::new(n_processors.div_ceil(2));
        Self { threads, waiting: Mutex::default() }
    }

    pub(super) fn enter(self: &Arc<Self>, client: Option<IpAddr>) -> Result<HashPermit, HashQueueFull> {
        let mut waiting = self.waiting.lock();
        let n_own = waiting.clients.get(&client).copied().unwrap_or_default();
        if n_own >= MOST_OF_CLIENT {
            return Err(HashQueueFull::Greedy);
        }
        if waiting.n_all >= MOST {
            return Err(HashQueueFull::Crowded);
        }
        waiting.clients.insert(client, n_own + 1);
        waiting.n_all += 1;
        Ok(HashPermit { queue: Arc::clone(self), client })
    }
}

impl Drop for HashPermit {
    fn drop(&mut self) {
        let mut waiting = self.queue.waiting.lock();
        waiting.n_all -= 1;
        if let Some(n_own) = waiting.clients.get_mut(&self.client) {
            *n_own -= 1;
            if *n_own == 0 {
                waiting.clients.remove(&self.client);
            }
        }
    }
}

/// Checks that wait or run, of all clients. At 50 ms each, the last waits for some seconds.
const MOST: u32 = 128;

/// The same for one client: a browser has six connections.
const MOST_OF_CLIENT: u32 = 16;

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    #[test]
    fn no_client_has_the_whole_queue() {
        let queue = Arc::new(HashQueue::new());
        let client = |n: u32| Some(IpAddr::from(Ipv4Addr::from_bits(n)));
        let mut permits: Vec<_> = (0..MOST_OF_CLIENT).map(|_| queue.enter(client(1)).ok().unwrap()).collect();
        assert_eq!(queue.enter(client(1)).err(), Some(HashQueueFull::Greedy));
        permits.extend(
            (2..).take((MOST - MOST_OF_CLIENT) as usize).map(|n| queue.enter(client(n)).ok().unwrap()),
        );
        assert_eq!(queue.enter(client(2)).err(), Some(HashQueueFull::Crowded));
        permits.pop();
        assert!(queue.enter(client(2)).is_ok());
        drop(permits);
        assert!(queue.waiting.lock().clients.is_empty());
        assert_eq!(queue.waiting.lock().n_all, 0);
    }
}
