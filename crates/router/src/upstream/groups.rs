//! All servers of a configuration: as all event loops share them, and as one uses them.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

use corral_channel::Lane;
use corral_config::Tables;
use corral_config::gateway::Servers;
use corral_config::table::Table;
use corral_config::upstream::{DynamicProxy, Origin, Proxy, Server as ConfiguredServer, Upstream};
use corral_ipc::bounded::MOST;
use corral_ipc::message::UpstreamStatus;

use crate::clock::Millis;
use crate::log_throttle::LogThrottle;
use crate::upstream::dynamic::{DynamicServers, LoopDynamic};
use crate::upstream::group::{LoopGroup, LoopServers};
use crate::upstream::resolve::NameResolver;
use crate::upstream::server::{ServerCounters, ServerGroup, UpstreamServer};
use crate::upstream::tls::{HTTP1, HTTP2, TlsError, TlsTrust};

/// All groups of a configuration.
#[derive(Default)]
pub(crate) struct ServerGroups {
    pub(crate) upstreams: Table<Upstream, Arc<ServerGroup>>,
    pub(crate) proxies: Table<Proxy, Arc<ServerGroup>>,
    pub(crate) dynamic: Table<DynamicProxy, Arc<DynamicServers>>,
}

/// All groups of a generation.
pub(crate) struct LoopGroups {
    pub(crate) upstreams: Table<Upstream, LoopGroup>,
    pub(crate) proxies: Table<Proxy, LoopGroup>,
    pub(crate) dynamic: Table<DynamicProxy, LoopDynamic>,
}

impl LoopGroups {
    /// The groups of a new generation; `servers` are those of this event loop.
    pub(crate) fn new(servers: &LoopServers, groups: &ServerGroups, lane: Lane) -> Self {
        servers.forget_unused();
        Self {
            upstreams: groups.upstreams.iter().map(|group| servers.group(group, lane)).collect(),
            proxies: groups.proxies.iter().map(|group| servers.group(group, lane)).collect(),
            dynamic: groups.dynamic.iter().map(|servers| LoopDynamic::new(servers, lane)).collect(),
        }
    }

    /// The group that an action names.
    pub(crate) fn group(&self, servers: Servers) -> &LoopGroup {
        match servers {
            Servers::Upstream(upstream) => &self.upstreams[upstream],
            Servers::Proxy(proxy) => &self.proxies[proxy],
        }
    }
}

/// The means to make servers of a configuration.
pub(crate) struct ServerBuilder<'w> {
    pub(crate) n_loops: usize,
    pub(crate) resolver: &'w Arc<NameResolver>,
    pub(crate) trust: TlsTrust<'w>,
    /// Servers that stay as they are are taken over, with all that is known of them.
    pub(crate) previous: Option<&'w ServerGroups>,
}

/// A server that cannot be spoken to as the configuration wants it.
#[derive(Debug, thiserror::Error)]
#[error("upstream \"{group}\", server \"{server}\"")]
pub(crate) struct ServerError {
    group: String,
    server: String,
    #[source]
    source: TlsError,
}

impl ServerBuilder<'_> {
    /// The groups of a configuration.
    pub(crate) fn groups(
        &mut self,
        upstreams: &Table<Upstream>,
        tables: &Tables,
    ) -> Result<ServerGroups, ServerError> {
        let known = |kind: fn(&ServerGroups) -> &[Arc<ServerGroup>]| self.previous.map(kind).map(index);
        let (known_upstreams, known_proxies) =
            (known(|known| known.upstreams.values()), known(|known| known.proxies.values()));
        let upstreams = upstreams.iter().map(|upstream| self.group(upstream, known_upstreams.as_ref()));
        let upstreams = upstreams.collect::<Result<_, _>>()?;
        let proxies = tables.proxies.iter().map(|proxy| self.group(proxy, known_proxies.as_ref()));
        let proxies = proxies.collect::<Result<_, _>>()?;
        let dynamic = tables.dynamic_proxies.iter().map(|proxy| self.dynamic(proxy));
        Ok(ServerGroups { upstreams, proxies, dynamic: dynamic.collect::<Result<_, _>>()? })
    }

    fn dynamic(&mut self, rules: &DynamicProxy) -> Result<Arc<DynamicServers>, ServerError> {
        let protocol = if rules.options.http2 { HTTP2 } else { HTTP1 };
        let speaks_tls = rules.url.begins_with(b"https://");
        let tls = speaks_tls.then(|| self.trust.config(&rules.options.tls, protocol)).transpose();
        let tls = tls.map_err(|source| ServerError {
            group: rules.name.clone(),
            server: rules.name.clone(),
            source,
        })?;
        Ok(Arc::new(DynamicServers {
            rules: rules.clone(),
            tls,
            resolver: Arc::clone(self.resolver),
            n_loops: self.n_loops,
            throttle: LogThrottle::default(),
        }))
    }

    fn group(
        &mut self,
        upstream: &Upstream,
        known: Option<&ServerIndex<'_>>,
    ) -> Result<Arc<ServerGroup>, ServerError> {
        let servers = upstream.servers.iter().map(|server| {
            let known = known.and_then(|known| known.get(&(upstream.name.as_str(), &server.origin)));
            match known.into_iter().flatten().find(|known| known.suits(upstream, server)) {
                Some(server) => Ok(Arc::clone(server)),
                None => {
                    let figures = known.and_then(|known| known.first()).map(|known| &known.figures);
                    self.server(upstream, server, figures)
                }
            }
        });
        let servers = servers.collect::<Result<_, _>>()?;
        Ok(Arc::new(ServerGroup::new(upstream.clone(), servers)))
    }

    /// A server that has not been there as it is; where there was one, its figures go on.
    fn server(
        &mut self,
        upstream: &Upstream,
        server: &ConfiguredServer,
        figures: Option<&Arc<[ServerCounters]>>,
    ) -> Result<Arc<UpstreamServer>, ServerError> {
        let mut made = UpstreamServer::at(upstream, server, self.n_loops);
        if let Some(figures) = figures {
            made.figures = Arc::clone(figures);
        }
        let tls = made.origin.tls.then(|| self.trust.target(&made.origin, &made.options)).transpose();
        made.tls = tls.map_err(|source| ServerError {
            group: upstream.name.clone(),
            server: made.text.clone(),
            source,
        })?;
        made.name = self.resolver.name(&server.origin.host);
        Ok(Arc::new(made))
    }
}

impl ServerGroups {
    /// The part of `/status` about the upstreams.
    pub(crate) fn status(&self) -> Vec<UpstreamStatus> {
        let now = Millis::of(Instant::now());
        self.upstreams.iter().map(|group| group.status(now)).take(MOST).collect()
    }
}

/// Servers by the name of their group and where they are.
type ServerIndex<'g> = HashMap<(&'g str, &'g Origin), Vec<&'g Arc<UpstreamServer>>>;

fn index(groups: &[Arc<ServerGroup>]) -> ServerIndex<'_> {
    let mut index = ServerIndex::new();
    for group in groups {
        for server in &group.servers {
            index.entry((group.upstream.name.as_str(), &server.origin)).or_default().push(server);
        }
    }
    index
}
