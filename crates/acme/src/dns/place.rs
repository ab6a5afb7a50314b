//! Where a record goes: its name after aliases, the zone, and the zone's servers.

use std::io;
use std::net::{IpAddr, SocketAddr};

use hickory_proto::op::Message;
use hickory_proto::rr::{Name, RData, Record, RecordType};
use hickory_resolver::TokioResolver;
use hickory_resolver::config::{ConnectionConfig, NameServerConfig, ResolverConfig};
use hickory_resolver::net::runtime::TokioRuntimeProvider;
use hickory_resolver::net::{DnsError as Negative, NetError};

use super::ask::ask;
use super::error::DnsError;
use super::name::text;

/// The port of DNS servers.
const PORT: u16 = 53;

/// How many aliases are followed.
const MAX_ALIASES: usize = 8;

/// A server of a zone. It has a record when one of its addresses says so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct NameServer {
    /// As the zone calls it.
    pub(super) name: String,
    /// At least one.
    pub(super) addresses: Vec<SocketAddr>,
}

/// A DNS server that answers questions about any name.
pub(super) struct Resolver {
    /// Missing where the system is not set up with one.
    inner: Option<TokioResolver>,
    /// Where it is, unless it is the system's.
    at: Option<SocketAddr>,
}

impl Resolver {
    /// The one at `HOST:PORT`, or the system's.
    pub(super) async fn new(place: Option<&str>) -> Result<Self, DnsError> {
        let Some(place) = place else {
            let inner = TokioResolver::builder_tokio().and_then(|builder| builder.build());
            return Ok(Self { inner: inner.ok(), at: None });
        };
        let at = address(place).await?;
        let connections = [ConnectionConfig::udp(), ConnectionConfig::tcp()].map(|mut connection| {
            connection.port = at.port();
            connection
        });
        let server = NameServerConfig::new(at.ip(), true, connections.to_vec());
        let config = ResolverConfig::from_name_servers(vec![server]);
        let inner = TokioResolver::builder_with_config(config, TokioRuntimeProvider::default()).build();
        Ok(Self { inner: inner.ok(), at: Some(at) })
    }

    async fn lookup(&self, name: &Name, kind: RecordType) -> Result<Vec<Record>, NetError> {
        let inner = self.inner.as_ref().ok_or(NetError::NoConnections)?;
        inner.lookup(name.clone(), kind).await.map(|found| found.answers().to_vec())
    }

    /// The name at the end of a name's aliases (CNAME). A resolver that does not answer knows none.
    pub(super) async fn alias(&self, name: &Name) -> Name {
        let mut name = name.clone();
        for _ in 0..MAX_ALIASES {
            let found = self.lookup(&name, RecordType::CNAME).await.unwrap_or_default();
            let target = found.into_iter().find_map(|record| match record.data {
                RData::CNAME(target) if record.name == name => Some(target.0),
                _ => None,
            });
            match target {
                Some(target) => name = target,
                None => break,
            }
        }
        name
    }

    /// The zone that a name lies in, also if the name does not exist: its SOA says so.
    async fn zone(&self, name: &Name) -> Result<Name, String> {
        match self.lookup(name, RecordType::SOA).await {
            Ok(found) => {
                let mut owners = found.into_iter().filter(|record| record.record_type() == RecordType::SOA);
                owners.next().map(|record| record.name).ok_or_else(|| "there is no SOA record".to_owned())
            }
            Err(NetError::Dns(Negative::NoRecordsFound(none))) => {
                none.soa.map(|soa| soa.name).ok_or_else(|| "there is no SOA record".to_owned())
            }
            Err(error) => Err(error.to_string()),
        }
    }

    async fn addresses(&self, name: &Name) -> Vec<IpAddr> {
        let Some(inner) = &self.inner else { return Vec::new() };
        inner.lookup_ip(name.clone()).await.map(|found| found.iter().collect()).unwrap_or_default()
    }
}

/// The first address of `HOST:PORT`.
pub(super) async fn address(place: &str) -> Result<SocketAddr, DnsError> {
    let unknown = |source| DnsError::ServerName { server: place.to_owned(), source };
    let mut found = tokio::net::lookup_host(place).await.map_err(unknown)?;
    found.next().ok_or_else(|| unknown(io::ErrorKind::NotFound.into()))
}

/// The servers of a name's zone as the resolver knows them.
pub(super) async fn servers_by_resolver(
    resolver: &Resolver,
    name: &Name,
) -> Result<Vec<NameServer>, DnsError> {
    let unknown = |reason: String| DnsError::NoServers { name: text(name), reason };
    let zone = resolver.zone(name).await.map_err(unknown)?;
    let found = resolver.lookup(&zone, RecordType::NS).await.map_err(|error| unknown(error.to_string()))?;
    let mut servers = Vec::new();
    for server in names_of_servers(&found) {
        let addresses = resolver.addresses(&server).await;
        servers.extend(at_ports(&server, &addresses, &[resolver.at]));
    }
    if servers.is_empty() {
        return Err(unknown(format!("the servers of {} have no addresses", text(&zone))));
    }
    Ok(servers)
}

/// The servers of a zone as its primary server knows them; that one alone if it names none.
pub(super) async fn servers_by_server(
    resolver: &Resolver,
    primary: SocketAddr,
    zone: &Name,
) -> Vec<NameServer> {
    let mut servers = Vec::new();
    for server in names_of_servers(&answers(primary, zone, RecordType::NS).await) {
        let mut addresses = Vec::new();
        for kind in [RecordType::A, RecordType::AAAA] {
            let found = answers(primary, &server, kind).await;
            addresses.extend(found.iter().filter_map(|record| record.data.ip_addr()));
        }
        if addresses.is_empty() {
            addresses = resolver.addresses(&server).await;
        }
        servers.extend(at_ports(&server, &addresses, &[Some(primary), resolver.at]));
    }
    if servers.is_empty() {
        servers.push(NameServer { name: primary.to_string(), addresses: vec![primary] });
    }
    servers
}

async fn answers(server: SocketAddr, name: &Name, kind: RecordType) -> Vec<Record> {
    ask(server, name, kind).await.map(|message| message.answers).unwrap_or_default()
}

/// The zone of a name at the server that takes updates.
pub(super) async fn zone_by_server(server: SocketAddr, name: &Name) -> Result<Name, DnsError> {
    let answer = ask(server, name, RecordType::SOA).await?;
    zone_in(&answer, name).ok_or_else(|| DnsError::NoZone {
        server,
        name: text(name),
        reason: answer.metadata.response_code.to_string(),
    })
}

/// The zone that an authoritative answer about a name tells, whether the name exists or not.
pub(super) fn zone_in(answer: &Message, name: &Name) -> Option<Name> {
    if !answer.metadata.authoritative {
        return None;
    }
    let records = answer.answers.iter().chain(&answer.authorities);
    let mut zones = records.filter(|record| record.record_type() == RecordType::SOA);
    zones.find(|record| record.name.zone_of(name)).map(|record| record.name.clone())
}

fn names_of_servers(records: &[Record]) -> Vec<Name> {
    let names = records.iter().filter_map(|record| match &record.data {
        RData::NS(name) => Some(name.0.clone()),
        _ => None,
    });
    names.collect()
}

/// A server with its addresses. One that a `known` server has is that very server, and listens at the same port.
fn at_ports(name: &Name, addresses: &[IpAddr], known: &[Option<SocketAddr>]) -> Option<NameServer> {
    let place = |ip: &IpAddr| {
        let known = known.iter().flatten().find(|known| known.ip() == *ip);
        known.copied().unwrap_or_else(|| SocketAddr::new(*ip, PORT))
    };
    let addresses: Vec<_> = addresses.iter().map(place).collect();
    (!addresses.is_empty()).then(|| NameServer { name: text(name), addresses })
}
