//! Servers that requests name. An event loop keeps those that were named last, each as a group of its own, with its
//! connections.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Instant;

use corral_channel::Lane;
use corral_config::address::ListenAddress;
use corral_config::upstream::{DynamicProxy, Origin, Upstream, UpstreamHost};
use rustls::ClientConfig;

use crate::log_throttle::LogThrottle;
use crate::upstream::group::{LoopGroup, LoopServers};
use crate::upstream::resolve::NameResolver;
use crate::upstream::server::{ServerGroup, UpstreamServer};
use crate::upstream::tls::{TlsError, TlsTarget, server_name};

/// Servers that one event loop keeps for one action.
const MOST_SERVERS: usize = 256;

/// The servers that requests of one action may name, for all event loops.
pub(crate) struct DynamicServers {
    pub(crate) rules: DynamicProxy,
    /// For `https://`.
    pub(super) tls: Option<Arc<ClientConfig>>,
    pub(super) resolver: Arc<NameResolver>,
    pub(super) n_loops: usize,
    pub(crate) throttle: LogThrottle,
}

/// The servers of one event loop.
pub(crate) struct LoopDynamic {
    pub(crate) shared: Arc<DynamicServers>,
    lane: Lane,
    known: RefCell<HashMap<Origin, KnownServer>>,
}

struct KnownServer {
    group: Rc<LoopGroup>,
    used: Instant,
}

/// Why a request gets no server.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NotReachable {
    #[error("\"{0}\" is not the address of a server")]
    Malformed(String),
    #[error("\"{0}\" is not in \"allow\"")]
    NotAllowed(Origin),
    #[error("too many names are being looked up")]
    TooMany,
    #[error("\"{0}\"")]
    Tls(Origin, #[source] TlsError),
}

impl NotReachable {
    /// The status of the reply.
    pub(crate) fn status(&self) -> u16 {
        match self {
            Self::Malformed(_) | Self::Tls(..) => 502,
            Self::NotAllowed(_) => 403,
            Self::TooMany => 503,
        }
    }
}

impl DynamicServers {
    /// The server at a URL, where the port may be missing.
    fn origin(&self, url: &[u8]) -> Result<Origin, NotReachable> {
        let malformed = || NotReachable::Malformed(url.escape_ascii().to_string());
        let usual_port: &[u8] = if url.starts_with(b"https:") { b":443" } else { b":80" };
        let origin = Origin::parse_url(url).or_else(|| Origin::parse_url(&[url, usual_port].concat()));
        let origin = origin.ok_or_else(malformed)?;
        let is_allowed = match &origin.host {
            UpstreamHost::Named { name, .. } => self.rules.allow.has_name(name),
            UpstreamHost::Address(ListenAddress::Inet(address)) => self.rules.allow.has_address(address.ip()),
            // Files of this machine are not for clients to name.
            UpstreamHost::Address(_) => false,
        };
        if is_allowed { Ok(origin) } else { Err(NotReachable::NotAllowed(origin)) }
    }

    fn group(&self, origin: &Origin) -> Result<Arc<ServerGroup>, NotReachable> {
        if matches!(origin.host, UpstreamHost::Named { .. }) && self.resolver.is_full() {
            return Err(NotReachable::TooMany);
        }
        let options = &self.rules.options;
        let tls = self.tls.as_ref().filter(|_| origin.tls).map(|config| {
            server_name(origin, &options.tls).map(|name| TlsTarget { config: Arc::clone(config), name })
        });
        let tls = tls.transpose().map_err(|source| NotReachable::Tls(origin.clone(), source))?;
        let upstream = Upstream::single(origin.to_string(), origin.clone(), options.clone());
        let mut server = UpstreamServer::at(&upstream, &upstream.servers[0], self.n_loops);
        server.name = self.resolver.name(&origin.host);
        server.tls = tls;
        server.allow = Some(Arc::clone(&self.rules.allow));
        Ok(Arc::new(ServerGroup::new(upstream, vec![Arc::new(server)])))
    }
}

impl LoopDynamic {
    pub(super) fn new(shared: &Arc<DynamicServers>, lane: Lane) -> Self {
        Self { shared: Arc::clone(shared), lane, known: RefCell::default() }
    }

    /// The server at a URL; `servers` are those of this event loop.
    pub(crate) fn group(
        &self,
        servers: &LoopServers,
        url: &[u8],
        now: Instant,
    ) -> Result<Rc<LoopGroup>, NotReachable> {
        let origin = self.shared.origin(url)?;
        let mut known = self.known.borrow_mut();
        if let Some(server) = known.get_mut(&origin) {
            server.used = now;
            return Ok(Rc::clone(&server.group));
        }
        let group = Rc::new(servers.group(&self.shared.group(&origin)?, self.lane));
        if known.len() >= MOST_SERVERS {
            let oldest = known.iter().min_by_key(|(_, server)| server.used).map(|(origin, _)| origin.clone());
            if let Some(oldest) = oldest {
                known.remove(&oldest);
            }
        }
        known.insert(origin, KnownServer { group: Rc::clone(&group), used: now });
        Ok(group)
    }
}
