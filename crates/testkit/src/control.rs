//! The control API over its Unix socket, or its port.

use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::carrier::Carrier;
use crate::client::Client;
use crate::request::Request;
use crate::response::Response;

/// Where the control API listens.
#[derive(Debug, Clone)]
pub struct ControlClient {
    place: Place,
}

#[derive(Debug, Clone)]
enum Place {
    Socket(PathBuf),
    Port(SocketAddr),
}

/// A reply of the control API.
#[derive(Debug, Clone)]
pub struct ControlReply(pub Response);

impl ControlClient {
    pub(crate) fn new(socket: &Path) -> Self {
        Self { place: Place::Socket(socket.to_owned()) }
    }

    pub(crate) fn at_port(address: SocketAddr) -> Self {
        Self { place: Place::Port(address) }
    }

    /// A connection to it.
    ///
    /// # Errors
    /// Errors of the system.
    pub fn try_connect(&self) -> io::Result<Client> {
        match &self.place {
            Place::Socket(path) => Client::try_connect_unix(path),
            Place::Port(address) => Client::try_connect_http1(*address),
        }
    }

    /// The value at a path.
    #[track_caller]
    pub fn get(&self, path: &str) -> ControlReply {
        self.send(&Request::get(path))
    }

    /// Replaces the value at a path.
    #[track_caller]
    pub fn put(&self, path: &str, value: &Value) -> ControlReply {
        let mut value = value.clone();
        Carrier::of_this_run().teach(path, &mut value);
        self.put_text(path, &value.to_string())
    }

    /// Replaces the value at a path by what may not even be JSON.
    #[track_caller]
    pub fn put_text(&self, path: &str, text: &str) -> ControlReply {
        self.send(&Request::new("PUT", path).body(text))
    }

    /// Removes the value at a path.
    #[track_caller]
    pub fn delete(&self, path: &str) -> ControlReply {
        self.send(&Request::new("DELETE", path))
    }

    /// Any request.
    #[track_caller]
    pub fn send(&self, request: &Request) -> ControlReply {
        self.try_send(request).unwrap_or_else(|error| panic!("control API: {request:?}: {error}"))
    }

    /// Any request, on a connection of its own.
    ///
    /// # Errors
    /// Errors of the connection.
    pub fn try_send(&self, request: &Request) -> Result<ControlReply, String> {
        let mut client = self.try_connect().map_err(|error| error.to_string())?;
        client.try_send(request).map(ControlReply)
    }
}

impl ControlReply {
    /// Fails unless the change took effect.
    #[track_caller]
    pub fn expect_done(self) -> Self {
        let reply = Self(self.0.expect(200));
        assert_eq!(reply.json()["success"], "Reconfiguration done.", "\n{}", reply.0);
        reply
    }

    /// Fails unless the change was refused with this status and title; returns the detail.
    #[track_caller]
    pub fn expect_refused(self, status: u16, title: &str) -> String {
        let reply = Self(self.0.expect(status));
        let body = reply.json();
        assert_eq!(body["error"], title, "\n{}", reply.0);
        body["detail"].as_str().unwrap_or_default().to_owned()
    }

    /// The body.
    #[must_use]
    #[track_caller]
    pub fn json(&self) -> Value {
        self.0.json()
    }
}

/// Whether the detail of a refusal is these words, with advice behind them or without.
#[must_use]
pub fn says(detail: &str, words: &str) -> bool {
    let advice = detail.strip_prefix(words);
    advice.is_some_and(|advice| advice.is_empty() || advice.starts_with(' ') || advice.starts_with(". "))
}

/// Fails unless the detail of a refusal is these words, with advice behind them or without.
#[track_caller]
pub fn assert_says(detail: &str, words: &str) {
    assert!(says(detail, words), "{detail:?} instead of {words:?}");
}
