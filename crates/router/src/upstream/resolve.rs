//! Host names of servers: looked up off the event loops, again when their time is over, and kept when that
//! fails.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

use corral_config::upstream::UpstreamHost;
use hickory_resolver::TokioResolver;
use hickory_resolver::net::NetError;
use tokio::runtime::Handle;
use tokio::sync::watch;

/// A look-up holds for at least and at most this long, whatever its records say: the first for the sake of the
/// name servers, the second because a file of hosts has no time to live.
const MIN_TTL: Duration = Duration::from_secs(1);
const MAX_TTL: Duration = Duration::from_secs(300);

/// How soon a look-up that has failed is made again, at first and at last.
const FIRST_RETRY: Duration = Duration::from_secs(1);
const LAST_RETRY: Duration = Duration::from_secs(30);

/// All names that are looked up.
pub(crate) struct NameResolver {
    names: Mutex<HashMap<String, Weak<ResolvedName>>>,
    /// Where names are looked up, which no event loop waits for.
    runtime: Handle,
}

/// Names that are looked up at a time: requests may name as many as they like.
const MOST_NAMES: usize = 10_000;

/// A host name and what it stands for. Looked up as long as it exists.
pub(crate) struct ResolvedName {
    host: String,
    known: watch::Sender<KnownAddresses>,
}

#[derive(Debug, Clone, Default)]
struct KnownAddresses {
    addresses: Arc<[IpAddr]>,
    /// An answer has come, if only that there is no such name.
    tried: bool,
}

/// A name's addresses as one event loop sees them.
#[derive(Clone)]
pub(crate) struct LoopAddresses {
    known: watch::Receiver<KnownAddresses>,
    current: Arc<[IpAddr]>,
}

impl NameResolver {
    pub(crate) fn new(runtime: Handle) -> Self {
        Self { names: Mutex::default(), runtime }
    }

    /// Whether so many names are looked up that requests get no further one.
    pub(crate) fn is_full(&self) -> bool {
        self.names.lock().unwrap_or_else(PoisonError::into_inner).len() >= MOST_NAMES
    }

    /// The name of a host, if it is one. A new name is looked up at once.
    pub(crate) fn name(&self, host: &UpstreamHost) -> Option<Arc<ResolvedName>> {
        let UpstreamHost::Named { name: host, .. } = host else { return None };
        let mut names = self.names.lock().unwrap_or_else(PoisonError::into_inner);
        names.retain(|_, name| name.strong_count() > 0);
        if let Some(name) = names.get(host).and_then(Weak::upgrade) {
            return Some(name);
        }
        let name = Arc::new(ResolvedName {
            host: host.clone(),
            known: watch::Sender::new(KnownAddresses::default()),
        });
        names.insert(host.clone(), Arc::downgrade(&name));
        self.runtime.spawn(keep_up(Arc::downgrade(&name), system));
        Some(name)
    }
}

impl ResolvedName {
    /// The name's addresses, now and later.
    pub(crate) fn addresses(&self) -> LoopAddresses {
        let mut known = self.known.subscribe();
        known.mark_changed();
        LoopAddresses { known, current: Arc::default() }
    }

    async fn look_up(&self, resolver: &TokioResolver) -> Result<(Vec<IpAddr>, Duration), NetError> {
        let found = resolver.lookup_ip(format!("{}.", self.host)).await;
        // A name without dots may be completed by the system's search list.
        let found = match found {
            Err(_) if !self.host.contains('.') => resolver.lookup_ip(self.host.as_str()).await,
            found => found,
        }?;
        let ttl = found.valid_until().saturating_duration_since(Instant::now());
        Ok((found.iter().collect(), ttl.clamp(MIN_TTL, MAX_TTL)))
    }

    /// Looks the name up; how long that holds, or what went wrong.
    async fn refresh(&self, resolver: Result<TokioResolver, NetError>) -> Result<Duration, String> {
        let found = match &resolver {
            Ok(resolver) => self.look_up(resolver).await.map_err(|error| error.to_string()),
            Err(error) => Err(error.to_string()),
        };
        let (mut addresses, ttl) = match found {
            Ok((addresses, _)) if addresses.is_empty() => {
                self.known.send_modify(|known| known.tried = true);
                return Err("it has no addresses".to_owned());
            }
            Ok(found) => found,
            Err(error) => {
                self.known.send_modify(|known| known.tried = true);
                return Err(error);
            }
        };
        addresses.sort_unstable();
        addresses.dedup();
        self.known.send_if_modified(|known| {
            let has_changed = !known.tried || *known.addresses != *addresses;
            *known = KnownAddresses { addresses: addresses.into(), tried: true };
            has_changed
        });
        Ok(ttl)
    }
}

/// The resolver with the name servers that the system is set up with.
fn system() -> Result<TokioResolver, NetError> {
    TokioResolver::builder_tokio()?.build()
}

/// Looks a name up until it is not needed any more, each time with a new resolver: the system's files may have
/// changed, and its cache has nothing that would hold.
async fn keep_up(name: Weak<ResolvedName>, resolver: impl Fn() -> Result<TokioResolver, NetError>) {
    let mut retry = FIRST_RETRY;
    loop {
        let Some(name) = name.upgrade() else { return };
        let pause = match name.refresh(resolver()).await {
            Ok(ttl) => {
                retry = FIRST_RETRY;
                ttl
            }
            Err(error) => {
                let kept = name.known.borrow().addresses.len();
                tracing::error!("look up \"{}\": {error}; {kept} known addresses are kept", name.host);
                retry = (retry * 2).min(LAST_RETRY);
                retry / 2
            }
        };
        let mut in_use = name.known.subscribe();
        drop(name);
        let dropped = async { while in_use.changed().await.is_ok() {} };
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            () = dropped => return,
        }
    }
}

impl LoopAddresses {
    /// The present addresses. Free of locks unless they have changed.
    pub(crate) fn current(&mut self) -> &[IpAddr] {
        if self.known.has_changed().unwrap_or(false) {
            self.current = Arc::clone(&self.known.borrow_and_update().addresses);
        }
        &self.current
    }

    /// Waits for the first answer. Cancel safe.
    pub(crate) async fn wait(&mut self) {
        // An error means that the name is gone, and with it the hope for an answer.
        let _ = self.known.wait_for(|known| known.tried).await;
    }
}

#[cfg(test)]
mod tests;
