//! A set of keys that a server has (JWKS): fetched aside, kept when the server is down, fetched anew when it is old or
//! lacks a key that a token names.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use bytes::Bytes;
use corral_auth::jwt::{KeyOrigin, Keys};
use corral_config::upstream::UpstreamTls;
use corral_ipc::message::RemoteKeyFigures;
use http::{HeaderMap, Request, StatusCode, Uri, header};
use http_body_util::{BodyExt, Empty, Limited};
use hyper_rustls::{FixedServerNameResolver, HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use parking_lot::Mutex;
use rustls_pki_types::ServerName;
use tokio::sync::watch;

use super::no_keys::NoKeys;
use crate::upstream::{HTTP1, TlsTrust};

/// One server of keys.
pub(crate) struct RemoteKeys {
    url: String,
    uri: Uri,
    client: Client<HttpsConnector<HttpConnector>, Empty<Bytes>>,
    state: Mutex<FetchState>,
    /// How many fetches have ended.
    ended: watch::Sender<u64>,
}

#[derive(Default)]
struct FetchState {
    keys: Option<Arc<Keys>>,
    /// When they came.
    fetched: Option<Instant>,
    n_failures: u64,
    /// When the keys are to be fetched again.
    fresh_until: Option<Instant>,
    /// When the last fetch has begun.
    begun: Option<Instant>,
    is_fetching: bool,
}

impl RemoteKeys {
    pub(super) fn new(url: &str, tls: &UpstreamTls, trust: &mut TlsTrust<'_>) -> anyhow::Result<Self> {
        let uri: Uri = url.parse().with_context(|| format!("the URL \"{url}\""))?;
        let is_secured = uri.scheme_str() == Some("https");
        // Without TLS there is no identity to prove, and no authorities are needed.
        let plain = UpstreamTls { verify: false, ..UpstreamTls::default() };
        let config = trust.config(if is_secured { tls } else { &plain }, HTTP1);
        let mut config = (*config.with_context(|| format!("keys from \"{url}\""))?).clone();
        // The connector says itself what is spoken.
        config.alpn_protocols.clear();
        let builder = HttpsConnectorBuilder::new().with_tls_config(config).https_or_http();
        let connector = match &tls.server_name {
            None => builder.enable_http1().build(),
            Some(name) => {
                let name = ServerName::try_from(name.clone());
                let name = name.with_context(|| format!("the server name of \"{url}\""))?;
                builder.with_server_name_resolver(FixedServerNameResolver::new(name)).enable_http1().build()
            }
        };
        // A connection would belong to the event loop that has made it.
        let client = Client::builder(TokioExecutor::new()).pool_max_idle_per_host(0).build(connector);
        let (ended, _) = watch::channel(0);
        Ok(Self { url: url.to_owned(), uri, client, state: Mutex::default(), ended })
    }

    /// The age of the keys and the failures, of no place yet.
    pub(super) fn figures(&self, now: Instant) -> RemoteKeyFigures {
        let state = self.state.lock();
        let age = state.fetched.map(|at| now.saturating_duration_since(at).as_secs());
        RemoteKeyFigures { place: String::new(), age, failures: state.n_failures }
    }

    /// Fetches the keys if there are none yet.
    pub(super) fn prefetch(self: &Arc<Self>) {
        let mut state = self.state.lock();
        if state.keys.is_none() {
            self.begin(&mut state);
        }
    }

    /// The keys, however old they are; old ones are fetched anew meanwhile. Waits only where there have never been any.
    pub(super) async fn keys(self: &Arc<Self>, interval: Duration) -> Result<Arc<Keys>, NoKeys> {
        let mut ended = self.ended.subscribe();
        {
            let mut state = self.state.lock();
            let now = Instant::now();
            let interval = if state.keys.is_some() { interval } else { interval.min(FIRST_INTERVAL) };
            if state.fresh_until.is_none_or(|until| now >= until) && state.may_begin(now, interval) {
                self.begin(&mut state);
            }
            match &state.keys {
                Some(keys) => return Ok(Arc::clone(keys)),
                None if !state.is_fetching => return Err(NoKeys::Remote(self.url.clone())),
                None => {}
            }
        }
        // Ends with the fetch, which has a limit of its own.
        let _ = ended.changed().await;
        self.state.lock().keys.clone().ok_or_else(|| NoKeys::Remote(self.url.clone()))
    }

    /// The keys of another fetch than these, unless the last one was a moment ago.
    pub(super) async fn newer(self: &Arc<Self>, known: &Arc<Keys>, interval: Duration) -> Option<Arc<Keys>> {
        let is_other = |keys: &Option<Arc<Keys>>| keys.clone().filter(|keys| !Arc::ptr_eq(keys, known));
        let mut ended = self.ended.subscribe();
        {
            let mut state = self.state.lock();
            if let Some(keys) = is_other(&state.keys) {
                return Some(keys);
            }
            if state.may_begin(Instant::now(), interval) {
                self.begin(&mut state);
            }
            if !state.is_fetching {
                return None;
            }
        }
        let _ = ended.changed().await;
        is_other(&self.state.lock().keys)
    }

    /// The fetch goes on whether or not a request still waits for it.
    fn begin(self: &Arc<Self>, state: &mut FetchState) {
        state.is_fetching = true;
        state.begun = Some(Instant::now());
        let fetching = Fetching(Arc::clone(self));
        tokio::spawn(async move { fetching.run().await });
    }

    async fn fetch(&self) -> anyhow::Result<(Keys, Duration)> {
        let request = Request::get(self.uri.clone()).header(header::ACCEPT, "application/json");
        let mut request = request.header(header::USER_AGENT, PRODUCT).body(Empty::new())?;
        let mut interim = Interim::of(&mut request);
        let response = tokio::select! {
            response = self.client.request(request) => response.map_err(anyhow::Error::from)?,
            () = interim.too_many() => bail!("it has more than {MOST_INTERIM} responses before its response"),
        };
        let (head, body) = response.into_parts();
        if head.status != StatusCode::OK {
            bail!("it answers with status {}", head.status.as_u16());
        }
        let body = Limited::new(body, MOST_BYTES).collect().await;
        let body = body.map_err(|error| anyhow::anyhow!("read the answer: {error}"))?.to_bytes();
        let keys =
            Keys::of_set(&body, KeyOrigin::Server).map_err(|fault| anyhow::anyhow!("its answer {fault}"))?;
        Ok((keys, lifetime(&head.headers)))
    }
}

/// Counts what a server says before its response.
struct Interim(watch::Receiver<u32>);

impl Interim {
    fn of(request: &mut Request<Empty<Bytes>>) -> Self {
        let (count, counted) = watch::channel(0);
        hyper::ext::on_informational(request, move |_| count.send_modify(|n| *n += 1));
        Self(counted)
    }

    /// Waits until that is more than makes sense, which is never if the response comes before.
    async fn too_many(&mut self) {
        if self.0.wait_for(|n| *n > MOST_INTERIM).await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

impl FetchState {
    fn may_begin(&self, now: Instant, interval: Duration) -> bool {
        let is_due = self.begun.is_none_or(|begun| now.saturating_duration_since(begun) >= interval);
        !self.is_fetching && is_due
    }
}

/// A fetch. Requests that wait for it are told when it ends, even if its event loop does.
struct Fetching(Arc<RemoteKeys>);

impl Fetching {
    async fn run(self) {
        let remote = &self.0;
        let result = match tokio::time::timeout(TIMEOUT, remote.fetch()).await {
            Ok(result) => result,
            Err(_) => Err(anyhow::anyhow!("no answer within {TIMEOUT:?}")),
        };
        let mut state = remote.state.lock();
        match result {
            Ok((keys, lifetime)) => {
                state.keys = Some(Arc::new(keys));
                let now = Instant::now();
                (state.fetched, state.fresh_until) = (Some(now), Some(now + lifetime));
            }
            Err(error) => {
                state.n_failures = state.n_failures.saturating_add(1);
                let effect = match state.keys {
                    Some(_) => "the last good ones are used",
                    None => "requests with tokens get 503",
                };
                tracing::error!("fetch keys from \"{}\": {error:#}; {effect}", remote.url);
            }
        }
    }
}

impl Drop for Fetching {
    fn drop(&mut self) {
        self.0.state.lock().is_fetching = false;
        self.0.ended.send_modify(|n_ended| *n_ended += 1);
    }
}

/// How long keys are good, as the server has said (RFC 9111 section 5.2.2.1), within bounds.
fn lifetime(headers: &HeaderMap) -> Duration {
    let values = headers.get_all(header::CACHE_CONTROL).iter().filter_map(|value| value.to_str().ok());
    let mut directives = values.flat_map(|value| value.split(',')).map(str::trim);
    let seconds = directives.find_map(|directive| directive.strip_prefix("max-age=")?.parse().ok());
    seconds.map_or(USUAL_LIFETIME, Duration::from_secs).clamp(LEAST_LIFETIME, MOST_LIFETIME)
}

const PRODUCT: &str = concat!("Corral/", env!("CARGO_PKG_VERSION"));

/// For one fetch.
const TIMEOUT: Duration = Duration::from_secs(5);

/// Responses before the response of one fetch.
const MOST_INTERIM: u32 = 100;

/// Sets of keys have a few kilobytes.
const MOST_BYTES: usize = 1024 * 1024;

/// As long as there are no keys, a fetch is tried again this often at least: no client is served meanwhile.
const FIRST_INTERVAL: Duration = Duration::from_secs(1);

const USUAL_LIFETIME: Duration = Duration::from_secs(300);
const LEAST_LIFETIME: Duration = Duration::from_secs(10);
const MOST_LIFETIME: Duration = Duration::from_secs(24 * 3600);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn max_age_is_heeded_within_bounds() {
        for (value, seconds) in [
            ("max-age=600", 600),
            ("public, max-age=3600, must-revalidate", 3600),
            ("max-age=0", 10),
            ("no-store", 300),
            ("max-age=99999999", 24 * 3600),
            ("max-age=x", 300),
        ] {
            let headers = HeaderMap::from_iter([(header::CACHE_CONTROL, value.parse().unwrap())]);
            assert_eq!(lifetime(&headers), Duration::from_secs(seconds), "{value}");
        }
    }
}
