//! A server between the daemon and an authority: it holds requests, or answers them in the authority's place.

use std::io::{self, BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use rustls::{ServerConfig, ServerConnection, StreamOwned};
use serde_json::json;

use super::Pebble;
use crate::address::Address;
use crate::client::Client;
use crate::request::Request;
use crate::tls::{Authority, TlsClient};

/// Passes requests on to pebble, except those that a test has named by the beginnings of their paths. pebble's are
/// `/dir`, `/nonce-plz`, `/sign-me-up` (a new account), `/order-plz` (a new order), `/authZ/`, `/chalZ/`,
/// `/my-order/`, `/finalize-order/`, `/certZ/` and `/draft-ietf-acme-ari-03/`.
///
/// The front of pebble, whose URLs are in pebble's answers: the client has asked it.
#[derive(Debug)]
pub struct Front {
    place: Address,
    authority: Authority,
    shared: Arc<FrontShared>,
}

/// At which end of a request it is held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    /// pebble has not seen it.
    Asked,
    /// pebble has answered it; the daemon has not seen that.
    Answered,
}

/// An error of ACME (RFC 8555 section 6.7), as the front gives it.
#[derive(Debug, Clone, Copy)]
pub struct Refusal {
    /// The status: 429 for a limit.
    pub status: u16,
    /// The last part of its type: `rateLimited`.
    pub kind: &'static str,
    /// For people.
    pub detail: &'static str,
    /// Seconds, or a date of HTTP.
    pub retry_after: Option<&'static str>,
}

#[derive(Debug)]
struct FrontShared {
    behind: SocketAddr,
    trusted: TlsClient,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    hold: Option<(&'static str, When)>,
    is_held: bool,
    refuse: Option<(&'static str, Refusal)>,
    seen: Vec<String>,
}

impl Front {
    /// Starts one at a port of its own. pebble may be stopped and started again behind it.
    #[must_use]
    #[track_caller]
    pub fn start(pebble: &Pebble) -> Self {
        let (place, authority) = (Address::fresh(), Authority::new("The front"));
        let bundle = authority.server("front", &[&place.socket().ip().to_string()]);
        let config = Arc::new(bundle.server_config());
        let shared = Arc::new(FrontShared {
            behind: pebble.address(),
            trusted: TlsClient::trusting(&pebble.root_ca_pem()),
            state: Mutex::default(),
            changed: Condvar::new(),
        });
        let listener = TcpListener::bind(place.socket()).expect("the port is free");
        let accepted = Arc::clone(&shared);
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let (shared, config) = (Arc::clone(&accepted), Arc::clone(&config));
                thread::spawn(move || drop(shared.serve(config, client)));
            }
        });
        Self { place, authority, shared }
    }

    /// The URL of pebble's directory through the front.
    #[must_use]
    pub fn directory_url(&self) -> String {
        format!("https://{}/dir", self.place)
    }

    /// The authority that the front is verified by.
    #[must_use]
    pub fn root_ca_pem(&self) -> String {
        self.authority.bundle().certificate
    }

    /// Holds the next request whose path begins so.
    pub fn hold(&self, path: &'static str, when: When) {
        let mut state = self.shared.state();
        state.hold = Some((path, when));
        state.is_held = false;
    }

    /// Whether one is held before the time is over.
    #[must_use]
    pub fn await_held(&self, limit: Duration) -> bool {
        let state = self.shared.state();
        let waited = self.shared.changed.wait_timeout_while(state, limit, |state| !state.is_held);
        waited.unwrap_or_else(PoisonError::into_inner).0.is_held
    }

    /// Answers all requests whose paths begin so.
    pub fn refuse(&self, path: &'static str, refusal: Refusal) {
        self.shared.state().refuse = Some((path, refusal));
    }

    /// Breaks the connection of what is held; everything passes from then on.
    pub fn release(&self) {
        let mut state = self.shared.state();
        (state.hold, state.refuse) = (None, None);
        self.shared.changed.notify_all();
    }

    /// How many requests there were whose paths begin so.
    #[must_use]
    pub fn count(&self, path: &str) -> usize {
        self.shared.state().seen.iter().filter(|seen| seen.starts_with(path)).count()
    }
}

impl FrontShared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a request was held; returns when it no longer is.
    fn held(&self, path: &str, now: When) -> bool {
        let mut state = self.state();
        if !state.hold.is_some_and(|(held, when)| path.starts_with(held) && when == now) || state.is_held {
            return false;
        }
        state.is_held = true;
        self.changed.notify_all();
        drop(self.changed.wait_while(state, |state| state.hold.is_some()));
        true
    }

    /// The answer in pebble's place.
    fn refused(&self, path: &str) -> Option<Refusal> {
        let mut state = self.state();
        state.seen.push(path.to_owned());
        state.refuse.filter(|(refused, _)| path.starts_with(refused)).map(|(_, refusal)| refusal)
    }

    /// Answers the requests of one connection, each by a connection to pebble.
    fn serve(&self, config: Arc<ServerConfig>, client: TcpStream) -> io::Result<()> {
        let connection = ServerConnection::new(config).map_err(io::Error::other)?;
        let mut stream = BufReader::new(StreamOwned::new(connection, client));
        while let Some((request, path)) = read_request(&mut stream)? {
            let answer = match self.refused(&path) {
                Some(refusal) => refusal.encode(),
                None => {
                    if self.held(&path, When::Asked) {
                        break;
                    }
                    let answer = self.ask(&request)?;
                    if self.held(&path, When::Answered) {
                        break;
                    }
                    answer
                }
            };
            stream.get_mut().write_all(&answer)?;
            stream.get_mut().flush()?;
        }
        Ok(())
    }

    /// pebble's answer, as it is sent on.
    fn ask(&self, request: &Request) -> io::Result<Vec<u8>> {
        let host = self.behind.ip().to_string();
        let mut pebble = Client::try_connect_http1(self.behind)?.into_tls(&self.trusted, &host)?;
        let response = pebble.try_send(request).map_err(io::Error::other)?;
        let length = response.body.len();
        let mut head = format!("HTTP/1.1 {} Passed\r\nContent-Length: {length}\r\n", response.status);
        for name in ["Content-Type", "Link", "Location", "Replay-Nonce", "Retry-After"] {
            for value in response.all(name) {
                head += &format!("{name}: {value}\r\n");
            }
        }
        Ok([head.as_bytes(), b"\r\n", &response.body].concat())
    }
}

impl Refusal {
    fn encode(&self) -> Vec<u8> {
        let kind = format!("urn:ietf:params:acme:error:{}", self.kind);
        let body = json!({ "type": kind, "detail": self.detail, "status": self.status }).to_string();
        let retry_after = self.retry_after.map(|value| format!("Retry-After: {value}\r\n"));
        format!(
            "HTTP/1.1 {} Refused\r\nContent-Type: application/problem+json\r\nContent-Length: {}\r\n{}\r\n{body}",
            self.status,
            body.len(),
            retry_after.unwrap_or_default()
        )
        .into_bytes()
    }
}

/// A request as it is sent on, and its path; none at the end of the connection.
fn read_request(stream: &mut impl BufRead) -> io::Result<Option<(Request, String)>> {
    let mut line = String::new();
    if stream.read_line(&mut line)? == 0 {
        return Ok(None);
    }
    let mut words = line.split_whitespace();
    let (Some(method), Some(path)) = (words.next(), words.next()) else { return Ok(None) };
    let mut request = Request::new(method, path);
    let mut length = 0;
    loop {
        let mut line = String::new();
        stream.read_line(&mut line)?;
        let Some((name, value)) = line.trim_end().split_once(": ") else { break };
        if name.eq_ignore_ascii_case("content-length") {
            length = value.parse().map_err(io::Error::other)?;
        } else {
            request = request.field(name, value);
        }
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body)?;
    Ok(Some((request.body(body), path.to_owned())))
}
