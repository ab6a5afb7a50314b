//! `dns-01` (RFC 8555 section 8.4): a text below the name proves that it is ours. A program puts it into the DNS, or
//! an update that the zone's server takes (RFC 2136).
//!
//! An authority asks whichever server of the zone it likes, and remembers a "no" for as long as the zone says. So it
//! is told to look only when all of them have the text.

mod ask;
mod error;
mod name;
mod place;
mod program;
mod record;
mod update;
mod watch;

use std::net::SocketAddr;
use std::time::Duration;

use corral_config::tls::{DnsChallenge, DnsServer, DnsUpdate};
use hickory_proto::rr::Name;

pub use self::error::DnsError;
use self::name::{parse, text};
use self::place::Resolver;
pub use self::record::{Record, RecordAction};
use self::update::RecordChange;

/// How long a program may run where the configuration has no time.
const PROGRAM_LIMIT: Duration = Duration::from_secs(120);

/// Adds the record, beside those that are there. Returns when the servers of the zone have it and the configured
/// delay is over.
///
/// # Errors
/// When it could not be added, or is not seen in time. It may be there then: remove it all the same.
///
/// # Cancel safety
/// A program that still runs is killed when the future is dropped. An update that was sent may take effect.
pub async fn present(how: &DnsChallenge, record: &Record) -> Result<(), DnsError> {
    let name = parse(&record.name)?;
    let resolver = Resolver::new(how.resolver.as_deref()).await?;
    let looks = !how.timeout.is_zero();
    match &how.by {
        DnsUpdate::Program(words) => {
            program::run(words, RecordAction::Present, record, limit(how)).await?;
            if looks {
                let name = resolver.alias(&name).await;
                let servers = place::servers_by_resolver(&resolver, &name).await?;
                watch::until_all_have(&servers, &name, &record.value, how.timeout).await?;
            }
        }
        DnsUpdate::Server(server) => {
            let target = RecordTarget::find(&resolver, server, &name).await?;
            target.send(server, record, RecordChange::Add).await?;
            if looks {
                let servers = place::servers_by_server(&resolver, target.server, &target.zone).await;
                watch::until_all_have(&servers, &target.name, &record.value, how.timeout).await?;
            }
        }
    }
    tokio::time::sleep(how.delay).await;
    Ok(())
}

/// Removes the record; others of the name stay. Succeeds when there is none.
///
/// # Errors
/// When it could not be removed.
///
/// # Cancel safety
/// As [`present`].
pub async fn remove(how: &DnsChallenge, record: &Record) -> Result<(), DnsError> {
    let name = parse(&record.name)?;
    match &how.by {
        DnsUpdate::Program(words) => program::run(words, RecordAction::Remove, record, limit(how)).await,
        DnsUpdate::Server(server) => {
            let resolver = Resolver::new(how.resolver.as_deref()).await?;
            let target = RecordTarget::find(&resolver, server, &name).await?;
            target.send(server, record, RecordChange::Remove).await
        }
    }
}

/// Bytes of a DNS server, as fuzzing makes them up.
pub fn fuzz_answer(bytes: &[u8]) {
    ask::fuzz(bytes);
    update::fuzz(bytes);
    if let Ok(message) = hickory_proto::op::Message::from_vec(bytes) {
        let _ = place::zone_in(&message, &Name::root());
        let _ = watch::has(&message, "value");
    }
}

/// Where an update really goes.
struct RecordTarget {
    server: SocketAddr,
    zone: Name,
    /// Another one than the record's where that is an alias.
    name: Name,
}

impl RecordTarget {
    async fn find(resolver: &Resolver, how: &DnsServer, name: &Name) -> Result<Self, DnsError> {
        let server = place::address(&how.address).await?;
        let name = resolver.alias(name).await;
        let zone = match &how.zone {
            Some(zone) => parse(zone)?,
            None => place::zone_by_server(server, &name).await?,
        };
        if !zone.zone_of(&name) {
            return Err(DnsError::OutsideZone { name: text(&name), zone: text(&zone) });
        }
        Ok(Self { server, zone, name })
    }

    async fn send(&self, how: &DnsServer, record: &Record, change: RecordChange) -> Result<(), DnsError> {
        let Self { server, zone, name } = self;
        update::send(*server, how.key.as_ref(), zone, name, &record.value, change).await
    }
}

fn limit(how: &DnsChallenge) -> Duration {
    if how.timeout.is_zero() { PROGRAM_LIMIT } else { how.timeout }
}
