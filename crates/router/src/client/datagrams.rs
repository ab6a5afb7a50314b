//! Datagrams of one listener, in the one event loop that has it.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::ptr;
use std::rc::{Rc, Weak};
use std::sync::Arc;

use corral_config::layer4::Layer4;
use corral_config::upstream::Balance;
use corral_ipc::message::ConnectionProtocol;
use corral_sys::datagram::{self, Datagram};
use corral_sys::watched::Watched;
use tokio::io::Interest;

use crate::client::address;
use crate::client::layer4::ask_limits;
use crate::client::listener_handle::ListenerHandle;
use crate::counters::connections::{ActiveConnection, OpenConnection};
use crate::generation::LoopGeneration;
use crate::generation::listener_settings::ListenerSettings;
use crate::layer4::{
    ConnectionEnd, ConnectionRecord, ConnectionVariables, Session, SessionKey, Sessions, UDP,
};
use crate::limits::ConcurrencyPermit;
use crate::services::LoopServices;
use crate::services::admission::ConnectionPermit;

/// No datagram is larger.
const MAX_DATAGRAM: usize = 64 * 1024;

/// Datagrams that are passed on before others get their turn.
const DATAGRAMS_PER_TURN: usize = 64;

/// A listener of UDP.
struct DatagramListener {
    services: Rc<LoopServices>,
    handle: Rc<ListenerHandle>,
    sessions: Rc<Sessions>,
}

/// A place for a session among all connections, and among those of its client.
struct SessionPermits {
    _all: ConnectionPermit,
    _of_client: Vec<ConcurrencyPermit>,
}

/// Passes datagrams on until the listener is closed.
pub(crate) async fn run(services: Rc<LoopServices>, socket: Arc<OwnedFd>, handle: Rc<ListenerHandle>) {
    let sessions = Sessions::new(Arc::clone(&socket), Arc::clone(&services.counters));
    match Watched::new(socket, Interest::READABLE) {
        Ok(socket) => {
            let (handle, sessions) = (Rc::clone(&handle), Rc::clone(&sessions));
            DatagramListener { services, handle, sessions }.receive(socket).await;
        }
        Err(error) => tracing::error!("take over the socket of a listener: {error}"),
    }
    // After an upgrade another process reads the datagrams, and what was asked before may be answered.
    if let Some(limit) = handle.keep_idle().filter(|limit| !limit.is_zero()) {
        handle.release();
        tokio::time::sleep(limit).await;
    }
    sessions.close();
    handle.release();
}

impl DatagramListener {
    async fn receive(self, socket: Watched) {
        let mut room = vec![0; MAX_DATAGRAM];
        // Not to be kept by it.
        let mut known: Weak<LoopGeneration> = Weak::new();
        while !self.handle.is_closed() {
            let ready = tokio::select! {
                biased;
                ready = socket.readable() => ready,
                () = self.handle.closing() => break,
            };
            let Ok(mut ready) = ready else { break };
            let settings = self.handle.settings();
            if !ptr::eq(known.as_ptr(), Rc::as_ptr(&settings.generation)) {
                self.change(&settings);
                known = Rc::downgrade(&settings.generation);
            }
            match self.pass_on(ready.get_inner().as_fd(), &settings, &mut room) {
                Received::All => ready.clear_ready(),
                Received::Some => tokio::task::yield_now().await,
            }
        }
    }

    /// Sessions with servers that are gone are not kept.
    fn change(&self, settings: &ListenerSettings) {
        let pass = settings.listener().layer4.as_ref().and_then(|layer4| layer4.pass);
        let groups = &settings.generation.servers.upstreams;
        let groups: Vec<_> = pass.and_then(|pass| groups.get(pass)).into_iter().collect();
        self.sessions.keep_servers(&groups);
    }

    fn pass_on(&self, socket: BorrowedFd<'_>, settings: &ListenerSettings, room: &mut [u8]) -> Received {
        for _ in 0..DATAGRAMS_PER_TURN {
            match datagram::receive(socket, room) {
                Ok(datagram) => {
                    let bytes = room.get(..datagram.len).unwrap_or_default();
                    if datagram.is_truncated || !self.take(&datagram, bytes, settings) {
                        self.sessions.drop_datagram();
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Received::All,
                // What has become of an earlier answer.
                Err(_) => self.sessions.drop_datagram(),
            }
        }
        Received::Some
    }

    /// Passes a datagram on; false if it goes nowhere.
    fn take(&self, datagram: &Datagram, bytes: &[u8], settings: &ListenerSettings) -> bool {
        let key = SessionKey { peer: datagram.peer, local: datagram.local };
        let now = self.services.deadlines.now();
        match self.sessions.find(&key).or_else(|| self.open(key, settings)) {
            Some(session) => session.forward(bytes, now),
            None => false,
        }
    }

    fn open(&self, key: SessionKey, settings: &ListenerSettings) -> Option<Rc<Session>> {
        let layer4 = settings.listener().layer4.as_deref()?;
        if self.sessions.len() >= layer4.sessions.most as usize {
            return None;
        }
        let permits = self.admit(key, settings)?;
        let group = settings.generation.servers.upstreams.get(layer4.pass?)?;
        let mut balance_key = Vec::new();
        if let Balance::Hash(template) = &group.shared.upstream.balance {
            // A text that a script would make is empty here: the same server for all.
            let _ = template.render(&mut variables(&self.handle, key, None), &mut balance_key);
        }
        let now = self.services.deadlines.now();
        let session = self.sessions.open(key, group, &balance_key, layer4.sessions, now)?;
        self.serve(&session, key, layer4, permits);
        Some(session)
    }

    fn admit(&self, key: SessionKey, settings: &ListenerSettings) -> Option<SessionPermits> {
        let mut permit = self.services.admission.try_enter()?;
        if !address::admit(&self.services, settings, Some(key.peer), &mut permit) {
            return None;
        }
        let of_client = ask_limits(&self.services, settings, Some(key.peer)).ok()?;
        Some(SessionPermits { _all: permit, _of_client: of_client })
    }

    /// Serves a session in a task of its own.
    fn serve(&self, session: &Rc<Session>, key: SessionKey, layer4: &Layer4, permits: SessionPermits) {
        let (services, handle) = (Rc::clone(&self.services), Rc::clone(&self.handle));
        let (sessions, session) = (Rc::clone(&self.sessions), Rc::clone(session));
        let (idle, started) = (layer4.idle_timeout, services.deadlines.now());
        services.counters.accepted.add(1);
        tokio::task::spawn_local(async move {
            let _open = OpenConnection::accepted(&services.counters);
            let _active = ActiveConnection::begin(&services.counters);
            let _speaking = services.counters.traffic.speak(ConnectionProtocol::Udp);
            let deadline = services.deadlines.add(handle.id());
            let now = || services.deadlines.now();
            let end = session.serve(&sessions, &deadline, idle, now).await;
            let (n_received, n_sent) = session.n_passed();
            let record = ConnectionRecord {
                started,
                server_name: Box::default(),
                server: Some(session.server_address()),
                n_received,
                n_sent,
                end: ConnectionEnd::Session(end),
            };
            let settings = handle.settings();
            for log in settings.generation.shared.common_logs() {
                log.write(services.lane, &mut variables(&handle, key, Some(&record)));
            }
            drop(permits);
        });
    }
}

/// How much has been received of what there is.
enum Received {
    All,
    Some,
}

fn variables<'v>(
    handle: &'v ListenerHandle,
    key: SessionKey,
    record: Option<&'v ConnectionRecord>,
) -> ConnectionVariables<'v> {
    ConnectionVariables { protocol: UDP, peer: Some(key.peer), tls: None, listener: &handle.address, record }
}
