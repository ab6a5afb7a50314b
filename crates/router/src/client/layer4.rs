//! Connections of listeners that pass them on: what comes before, the limits, and what is logged of their end.

use std::future::poll_fn;
use std::mem;
use std::net::SocketAddr;
use std::pin::pin;
use std::rc::Rc;
use std::time::Duration;

use corral_config::layer4::Layer4;
use corral_config::table::Key;
use corral_config::upstream::{Balance, Upstream};
use corral_ipc::log;
use corral_ipc::message::ConnectionProtocol;
use corral_syntax::client_network;

use crate::client::connection::ClientConnection;
use crate::client::linger;
use crate::client::listener_handle::ListenerHandle;
use crate::client::prelude::{PreludeOutcome, ShownPeer};
use crate::clock::deadline::Elapsed;
use crate::counters::connections::ActiveConnection;
use crate::generation::listener_settings::ListenerSettings;
use crate::io::session::ServerSession;
use crate::layer4::{
    self, ClientHello, ConnectionEnd, ConnectionRecord, ConnectionVariables, HelloError, NoServer,
    PassedConnection, RawClient, Relay, RelayEnd, TCP,
};
use crate::limits::ConcurrencyPermit;
use crate::services::LoopServices;
use crate::storage::buffers;

/// The times that a connection has, whatever the configuration becomes.
#[derive(Clone, Copy)]
struct RelayTimeouts {
    idle: Duration,
    drain: Duration,
}

/// Passes a connection on until its end.
pub(super) async fn run(mut connection: Box<ClientConnection>) {
    let counters = &Rc::clone(&connection.services).counters;
    let _active = ActiveConnection::begin(counters);
    let _speaking = counters.traffic.speak(ConnectionProtocol::Tcp);
    let id = connection.id;
    let mut passing = Box::pin(connection.pass_on());
    poll_fn(|context| log::about(id, || passing.as_mut().poll(context))).await;
    drop(passing);
    connection.stream.say_goodbye();
}

impl ClientConnection {
    async fn pass_on(&mut self) {
        let started = self.now();
        let mut record = ConnectionRecord {
            started,
            server_name: Box::default(),
            server: None,
            n_received: 0,
            n_sent: 0,
            end: ConnectionEnd::Prelude,
        };
        let mut input = buffers::take();
        // Nothing is known of what is spoken: a server that says nothing acknowledges nothing either.
        self.stream.acknowledge();
        let lingers = match self.prepare(&mut input).await {
            PreludeOutcome::Ready | PreludeOutcome::Waiting => {
                self.pass_to_server(mem::take(&mut input), &mut record).await;
                record.end == ConnectionEnd::Relay(RelayEnd::Server)
            }
            PreludeOutcome::NoCertificate(reason) => {
                self.note_no_certificate(reason);
                true
            }
            PreludeOutcome::Broken | PreludeOutcome::Validated => true,
            PreludeOutcome::PlainOnTls | PreludeOutcome::Refused | PreludeOutcome::Gone => false,
        };
        self.log(&record);
        if lingers {
            linger::run(&mut self.stream, &self.deadline, &mut input).await;
        }
        buffers::give(input);
    }

    async fn pass_to_server(&mut self, mut input: Vec<u8>, record: &mut ConnectionRecord) {
        // The configuration may be replaced long before the connection ends, and is not kept until then.
        let settings = self.handle.settings();
        let Some(layer4) = settings.listener().layer4.as_deref() else { return };
        let timeouts = RelayTimeouts { idle: layer4.idle_timeout, drain: layer4.drain_timeout };
        let Ok(held) = ask_limits(&self.services, &settings, self.peer) else {
            record.end = ConnectionEnd::Limited;
            return;
        };
        let upstream = match self.choose(&settings, layer4, &mut input, record).await {
            Ok(upstream) => upstream,
            Err(end) => {
                record.end = end;
                return buffers::give(input);
            }
        };
        let connected = self.connect(&settings, upstream).await;
        drop(settings);
        match connected {
            Ok(connected) => self.relay(connected, input, timeouts, record).await,
            Err(reason) => record.end = ConnectionEnd::NoServer(reason),
        }
        drop(held);
    }

    /// The servers for the name that the client asks for, or those for all others.
    async fn choose(
        &mut self,
        settings: &ListenerSettings,
        layer4: &Layer4,
        input: &mut Vec<u8>,
        record: &mut ConnectionRecord,
    ) -> Result<Key<Upstream>, ConnectionEnd> {
        if !layer4.sni.is_empty() {
            record.server_name = match self.stream.tls() {
                Some(session) => session.server_name().into(),
                None => self.asked_name(settings, input).await.ok_or(ConnectionEnd::Prelude)?,
            };
        }
        let named = layer4.sni.find(&record.server_name);
        named.or(layer4.pass).ok_or(ConnectionEnd::NoServer(NoServer::Named))
    }

    /// The name that a client asks for whose TLS is passed on; empty if it asks for none. None if that cannot be known.
    async fn asked_name(&mut self, settings: &ListenerSettings, input: &mut Vec<u8>) -> Option<Box<str>> {
        let limit = settings.generation.shared.request_settings.header_read_timeout;
        let Self { stream, deadline, peer, .. } = self;
        let reading = Box::pin(layer4::read_hello(stream, input));
        match deadline.limit_greeting(limit, pin!(reading)).await {
            Ok(Ok(ClientHello::Named(name))) => Some(name),
            Ok(Ok(ClientHello::Nameless | ClientHello::Other)) => Some(Box::default()),
            Ok(Err(HelloError::Gone)) => None,
            Ok(Err(error)) => {
                tracing::info!("{}: {error}", ShownPeer(*peer));
                None
            }
            Err(Elapsed) => {
                tracing::info!("{}: the connection was not ready in time", ShownPeer(*peer));
                None
            }
        }
    }

    async fn connect(
        &mut self,
        settings: &ListenerSettings,
        upstream: Key<Upstream>,
    ) -> Result<PassedConnection, NoServer> {
        let group = &settings.generation.servers.upstreams[upstream];
        let mut key = Vec::new();
        if let Balance::Hash(template) = &group.shared.upstream.balance {
            // A text that a script would make is empty here: the same server for all.
            let _ = template.render(&mut self.variables(None), &mut key);
        }
        let Self { services, stream, deadline, peer, .. } = self;
        let client = RawClient { services, stream, deadline, peer: *peer };
        Box::pin(layer4::connect(&client, group, &key)).await
    }

    async fn relay(
        &mut self,
        connected: PassedConnection,
        input: Vec<u8>,
        timeouts: RelayTimeouts,
        record: &mut ConnectionRecord,
    ) {
        let PassedConnection { mut connection, server } = connected;
        record.server = Some(server.address());
        let Self { stream, deadline, handle, .. } = self;
        let mut relay = Relay::new(stream, &mut connection, input);
        record.end = tokio::select! {
            end = relay.run(deadline, timeouts.idle) => ConnectionEnd::Relay(end),
            () = drained(handle, timeouts.drain) => ConnectionEnd::Drained,
        };
        (record.n_received, record.n_sent) = relay.n_passed();
    }

    fn log(&self, record: &ConnectionRecord) {
        let settings = self.handle.settings();
        for log in settings.generation.shared.common_logs() {
            log.write(self.services.lane, &mut self.variables(Some(record)));
        }
    }

    fn variables<'v>(&'v self, record: Option<&'v ConnectionRecord>) -> ConnectionVariables<'v> {
        ConnectionVariables {
            protocol: TCP,
            peer: self.peer,
            tls: self.stream.tls().map(ServerSession::peer),
            listener: &self.handle.address,
            record,
        }
    }
}

/// Asks the limits of a listener for one more connection; `Err` is a refusal.
pub(super) fn ask_limits(
    services: &LoopServices,
    settings: &ListenerSettings,
    peer: Option<SocketAddr>,
) -> Result<Vec<ConcurrencyPermit>, ()> {
    let mut permits = Vec::new();
    let (generation, now) = (&settings.generation, services.deadlines.now());
    for &key in &settings.listener().limits {
        let limit = generation.shared.limits.get(key).zip(generation.config.tables.throttles.get(key));
        let Some((limit, throttle)) = limit.filter(|(_, throttle)| !throttle.exempt.matches(peer)) else {
            continue;
        };
        let network = peer.map(|peer| client_network(peer.ip()));
        let answer = limit.ask(limit.count(network), now);
        if answer.is_refused {
            limit.warn(ShownPeer(peer), now);
        }
        if answer.is_refused && !throttle.dry_run {
            return Err(());
        }
        permits.extend(answer.held);
    }
    Ok(permits)
}

/// Waits for the end of the time that connections have after that of their listener. Cancel safe.
async fn drained(handle: &ListenerHandle, limit: Duration) {
    handle.closed_for_streams().await;
    tokio::time::sleep(limit).await;
}
