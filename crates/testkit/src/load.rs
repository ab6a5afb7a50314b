//! Clients that never stop asking, for tests of what must not lose a request.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;

use crate::client::Client;
use crate::request::Request;
use crate::tls::TlsClient;
use crate::wait::eventually;

/// Threads that send requests until stopped.
#[derive(Debug)]
pub struct Load {
    shared: Arc<LoadState>,
    threads: Vec<JoinHandle<Vec<String>>>,
}

#[derive(Debug, Default)]
struct LoadState {
    stop: AtomicBool,
    n_good: AtomicU64,
}

/// The results of all clients together.
#[derive(Debug)]
pub struct Tally {
    /// Responses with status 200.
    pub n_good: u64,
    /// Everything else, in words.
    pub failures: Vec<String>,
}

impl Load {
    /// `n_clients` threads; each keeps its connection as long as the server does, and opens a new one
    /// when the server said that it closes.
    #[must_use]
    pub fn start(address: SocketAddr, target: &str, n_clients: usize) -> Self {
        Self::spawn(target, n_clients, usize::MAX, move || Client::try_connect(address))
    }

    /// As `start`, over TLS with `localhost`; a connection is used for ten requests, so that there are
    /// handshakes all the time.
    #[must_use]
    pub fn start_tls(address: SocketAddr, tls: &TlsClient, target: &str, n_clients: usize) -> Self {
        let tls = tls.clone();
        Self::spawn(target, n_clients, 10, move || Client::try_connect_tls(address, &tls, "localhost"))
    }

    fn spawn(
        target: &str,
        n_clients: usize,
        n_requests: usize,
        connect: impl Fn() -> io::Result<Client> + Clone + Send + 'static,
    ) -> Self {
        let shared = Arc::new(LoadState::default());
        let threads = (0..n_clients).map(|_| {
            let (shared, target, connect) = (Arc::clone(&shared), target.to_owned(), connect.clone());
            std::thread::spawn(move || run_client(&connect, &target, n_requests, &shared))
        });
        Self { threads: threads.collect(), shared }
    }

    /// Good responses so far.
    #[must_use]
    pub fn n_good(&self) -> u64 {
        self.shared.n_good.load(Ordering::Relaxed)
    }

    /// Waits until so many more requests have succeeded.
    #[track_caller]
    pub fn await_more(&self, n: u64) {
        let goal = self.n_good() + n;
        eventually("more requests succeed", || (self.n_good() >= goal).then_some(()));
    }

    /// Ends the clients after their current request.
    #[must_use]
    pub fn stop(self) -> Tally {
        self.shared.stop.store(true, Ordering::Relaxed);
        let failures =
            self.threads.into_iter().flat_map(|thread| thread.join().expect("a client does not panic"));
        let failures = failures.collect();
        Tally { n_good: self.shared.n_good.load(Ordering::Relaxed), failures }
    }
}

/// A client that has seen so many does not go on: the server is gone.
const MOST_FAILURES: usize = 1000;

fn run_client(
    connect: &dyn Fn() -> io::Result<Client>,
    target: &str,
    n_requests: usize,
    shared: &LoadState,
) -> Vec<String> {
    let mut failures = Vec::new();
    let mut connection = None;
    let mut n_left = n_requests;
    while !shared.stop.load(Ordering::Relaxed) && failures.len() < MOST_FAILURES {
        match one_request(connect, target, &mut connection) {
            Ok(()) => {
                shared.n_good.fetch_add(1, Ordering::Relaxed);
            }
            Err(failure) => failures.push(failure),
        }
        n_left -= 1;
        if n_left == 0 {
            connection = None;
            n_left = n_requests;
        }
    }
    failures
}

fn one_request(
    connect: &dyn Fn() -> io::Result<Client>,
    target: &str,
    connection: &mut Option<Client>,
) -> Result<(), String> {
    let mut client = match connection.take() {
        Some(client) => client,
        None => connect().map_err(|error| format!("connect: {error}"))?,
    };
    let response = client.try_send(&Request::get(target))?;
    if response.status != 200 {
        return Err(response.to_string());
    }
    if response.field("Connection").is_none_or(|value| !value.eq_ignore_ascii_case("close")) {
        *connection = Some(client);
    }
    Ok(())
}
