//! The record of a connection that was passed on, as access logs have it: variables of requests with what is nearest to
//! them.

use std::io::Write;
use std::net::SocketAddr;
use std::time::Instant;

use corral_config::template::{TlsVariable, UpstreamVariable, Variable, Variables};

use super::attempts::NoServer;
use super::relay::RelayEnd;
use super::sessions::SessionEnd;
use crate::clock;
use crate::request::ip_text;
use crate::tls::TlsPeer;

/// The record of one connection.
pub(crate) struct ConnectionRecord {
    pub(crate) started: Instant,
    /// The host name that the client has asked for, where that was looked at.
    pub(crate) server_name: Box<str>,
    /// The address of the server that has taken it.
    pub(crate) server: Option<String>,
    /// Bytes from the client that the server has got.
    pub(crate) n_received: u64,
    /// Bytes from the server that the client has got.
    pub(crate) n_sent: u64,
    pub(crate) end: ConnectionEnd,
}

/// How a connection has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ConnectionEnd {
    Relay(RelayEnd),
    Session(SessionEnd),
    /// The listener is gone, and the time that its connections had.
    Drained,
    NoServer(NoServer),
    /// The PROXY protocol or TLS has not come as it should.
    Prelude,
    /// The client has too many connections.
    Limited,
}

impl ConnectionEnd {
    /// The status that nginx has for it.
    fn status(self) -> u16 {
        match self {
            Self::Session(SessionEnd::Refused) => 502,
            Self::Relay(_) | Self::Session(_) | Self::Drained => 200,
            Self::Prelude | Self::NoServer(NoServer::Wanted) => 400,
            Self::NoServer(NoServer::Available | NoServer::Named) => 502,
            Self::NoServer(NoServer::InTime) => 504,
            Self::Limited => 503,
        }
    }

    /// The reason in one word.
    fn word(self) -> &'static str {
        match self {
            Self::Relay(RelayEnd::Client) | Self::NoServer(NoServer::Wanted) => "client",
            Self::Relay(RelayEnd::Server) => "server",
            Self::Relay(RelayEnd::ClientBroken) => "client_error",
            Self::Relay(RelayEnd::ServerBroken) => "server_error",
            Self::Relay(RelayEnd::Idle) => "idle_timeout",
            Self::Session(SessionEnd::Answered) => "answered",
            Self::Session(SessionEnd::Idle) => "idle_timeout",
            Self::Session(SessionEnd::Refused) => "server_error",
            Self::Session(SessionEnd::Closed) => "closed",
            Self::Drained => "drain_timeout",
            Self::NoServer(NoServer::Available) => "no_server",
            Self::NoServer(NoServer::Named) => "no_name",
            Self::NoServer(NoServer::InTime) => "connect_timeout",
            Self::Prelude => "handshake",
            Self::Limited => "limit",
        }
    }
}

/// The variables of a connection. Before its end there is no record.
pub(crate) struct ConnectionVariables<'v> {
    pub(crate) protocol: &'static str,
    pub(crate) peer: Option<SocketAddr>,
    pub(crate) tls: Option<TlsPeer<'v>>,
    /// The listener, as the document calls it.
    pub(crate) listener: &'v dyn std::fmt::Display,
    pub(crate) record: Option<&'v ConnectionRecord>,
}

impl ConnectionVariables<'_> {
    fn append_tls(&self, variable: TlsVariable, out: &mut Vec<u8>) {
        match (&self.tls, self.record, variable) {
            (Some(peer), _, variable) => peer.append(variable, out),
            (None, Some(record), TlsVariable::ServerName) => {
                out.extend_from_slice(record.server_name.as_bytes());
            }
            (None, ..) => {}
        }
    }

    fn append_record(&self, record: &ConnectionRecord, variable: &Variable, out: &mut Vec<u8>) {
        let server = record.server.as_deref().unwrap_or("-");
        let written = match variable {
            Variable::RequestLine => write!(out, "{} {} {server}", self.protocol, self.listener),
            Variable::Upstream(UpstreamVariable::Address) => out.write_all(server.as_bytes()),
            Variable::Status => write!(out, "{}", record.end.status()),
            Variable::BodyBytesSent | Variable::BytesSent => write!(out, "{}", record.n_sent),
            Variable::RequestLength => write!(out, "{}", record.n_received),
            Variable::ConnectionEnd => write!(out, "{}", record.end.word()),
            Variable::RequestTime => {
                let elapsed = record.started.elapsed();
                write!(out, "{}.{:03}", elapsed.as_secs(), elapsed.subsec_millis())
            }
            _ => Ok(()),
        };
        written.expect("writing to memory cannot fail");
    }
}

impl Variables for ConnectionVariables<'_> {
    fn append(&mut self, variable: &Variable, out: &mut Vec<u8>) {
        match variable {
            Variable::Method | Variable::Protocol => out.extend_from_slice(self.protocol.as_bytes()),
            Variable::Listener => write!(out, "{}", self.listener).expect("writing to memory cannot fail"),
            Variable::RemotePort => {
                let port = self.peer.map_or(0, |peer| peer.port());
                write!(out, "{port}").expect("writing to memory cannot fail");
            }
            Variable::TimeIso8601 => clock::append_iso_time(clock::now(), out),
            Variable::RemoteAddr => ip_text::append(self.peer.map(|peer| peer.ip()), out),
            Variable::TimeLocal => clock::append_local_time(clock::now(), out),
            Variable::Tls(variable) => self.append_tls(*variable, out),
            variable => {
                if let Some(record) = self.record {
                    self.append_record(record, variable, out);
                }
            }
        }
    }
}

/// The words in the place of a method.
pub(crate) const TCP: &str = "TCP";
pub(crate) const UDP: &str = "UDP";
