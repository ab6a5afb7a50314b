//! TLS of listeners (contract 7): from bundles and settings to what rustls needs.
//!
//! Ordered certificates and answers to challenges are in one store for all generations and event loops, so a new
//! certificate rebuilds no listener's TLS, and sessions go on. A listener without `acme` costs a handshake one
//! comparison. A handshake for `acme-tls/1` alone gets settings of its own, only while there are challenges.

pub(crate) mod authorities;
mod bundle;
mod cache;
pub(crate) mod certificate_choice;
mod challenge;
mod fuzz;
mod issued_secrets;
mod names;
mod no_certificate;
mod ordered;
mod peer;
mod policy;
mod shared_map;
mod tickets;

use std::collections::HashMap;
use std::sync::Arc;

use anyhow::{Context as _, anyhow};
use corral_config::address::ListenAddress;
use corral_config::listener::{Http2, Listener};
use corral_config::plan::{Asset, Assets};
use corral_config::tls::{ClientAuth, TlsSettings, Verify};
use rustls::crypto::CryptoProvider;
use rustls::server::danger::ClientCertVerifier;
use rustls::server::{NoServerSessionStorage, WebPkiClientVerifier};
use rustls::sign::CertifiedKey;
use rustls::{RootCertStore, ServerConfig};
use rustls_pki_types::CertificateRevocationListDer;

use self::bundle::CertificateBundle;
use self::cache::SessionCache;
use self::certificate_choice::CertificateChoice;
pub(crate) use self::challenge::ACME_TLS_1;
use self::challenge::Challenges;
pub(crate) use self::fuzz::{hello as fuzz_hello, secret as fuzz_provision};
pub(crate) use self::issued_secrets::IssuedSecrets;
use self::names::ServerNames;
pub(crate) use self::no_certificate::NoCertificate;
use self::ordered::OrderedCertificates;
pub(crate) use self::peer::{CertificateNames, TlsPeer};
use self::tickets::Ticketer;
use crate::tls::authorities::TrustedAuthorities;
use crate::tls::authorities::clients::{ClientVerifier, DepthLimit};

/// The name of HTTP/2 in handshakes (RFC 9113 section 3.2).
pub(crate) const HTTP_2: &[u8] = b"h2";

/// The certificate of a bundle in PEM, and its key.
pub(crate) fn certified_key(pem: &[u8]) -> anyhow::Result<CertifiedKey> {
    let provider = rustls::crypto::aws_lc_rs::default_provider();
    CertificateBundle::parse(pem)?.certify(&provider).map(|(certified, _)| Arc::unwrap_or_clone(certified))
}

/// TLS of one listener.
pub(crate) struct TlsContext {
    /// The settings and bundles that it was made from.
    source: TlsSource,
    config: Arc<ServerConfig>,
    /// Where names are validated by handshakes.
    challenges: Option<Arc<Challenges>>,
}

#[derive(PartialEq, Eq)]
struct TlsSource {
    settings: TlsSettings,
    offers: ApplicationProtocols,
    /// The bundles that the settings name, in their order.
    bundles: Vec<Asset>,
}

/// The protocols that clients may ask for in a handshake (ALPN).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ApplicationProtocols {
    Http2,
    Http1,
    /// The listener does not know what is spoken, and has nothing to say about it.
    Unknown,
}

impl ApplicationProtocols {
    fn of(listener: &Listener) -> Self {
        match listener.http2 {
            _ if listener.layer4.is_some() => Self::Unknown,
            Http2::Off => Self::Http1,
            Http2::WithTls | Http2::PriorKnowledge => Self::Http2,
        }
    }

    fn names(self) -> &'static [&'static [u8]] {
        match self {
            Self::Http2 => &[HTTP_2, b"http/1.1", b"http/1.0"],
            Self::Http1 => &[b"http/1.1", b"http/1.0"],
            Self::Unknown => &[],
        }
    }
}

/// The TLS of all listeners.
pub(crate) struct Contexts {
    /// In the order of the listeners.
    pub(crate) each: Vec<Option<Arc<TlsContext>>>,
    /// Listeners that cannot have theirs.
    pub(crate) failed: Vec<(ListenAddress, anyhow::Error)>,
}

/// The TLS of all listeners. Those that are as before keep what `before` has for them, and with it the sessions
/// that they remember. Certificates that were ordered are looked up in `secrets` for each handshake.
pub(crate) fn contexts(
    listeners: &[Listener],
    assets: &Assets,
    secrets: &Arc<IssuedSecrets>,
    before: &[(&Listener, Option<&Arc<TlsContext>>)],
) -> Contexts {
    let mut known: HashMap<_, Vec<_>> = HashMap::new();
    for (listener, context) in before {
        known.entry(&listener.address).or_default().extend(*context);
    }
    let context = |listener: &Listener| {
        let Some(settings) = &listener.tls else { return Ok(None) };
        let source = TlsSource::new(settings, ApplicationProtocols::of(listener), assets)?;
        let known = known.get(&listener.address).map_or(&[][..], Vec::as_slice);
        if let Some(context) = known.iter().find(|context| context.source == source) {
            return Ok(Some(Arc::clone(*context)));
        }
        let akin = known.iter().find(|context| context.source.is_akin(&source));
        TlsContext::new(source, secrets, akin.copied()).map(|context| Some(Arc::new(context)))
    };
    let mut failed = Vec::new();
    let each = listeners.iter().map(|listener| {
        context(listener).unwrap_or_else(|error| {
            let error = error.context(format!("listener \"{}\"", listener.address));
            failed.push((listener.address.clone(), error));
            None
        })
    });
    Contexts { each: each.collect(), failed }
}

impl TlsSource {
    fn new(settings: &TlsSettings, offers: ApplicationProtocols, assets: &Assets) -> anyhow::Result<Self> {
        let authorities = settings.client.iter().flat_map(ClientAuth::bundles);
        let names = settings.certificates.iter().chain(authorities);
        let bundle = |name: &String| {
            assets.certificate(name).cloned().with_context(|| format!("certificate \"{name}\" is missing"))
        };
        let bundles = names.map(bundle).collect::<Result<_, _>>()?;
        Ok(Self { settings: settings.clone(), offers, bundles })
    }

    /// Whether the two differ in nothing but certificates that are ordered: a session of one counts for the other.
    fn is_akin(&self, other: &Self) -> bool {
        let without = |settings: &TlsSettings| TlsSettings { acme: None, ..settings.clone() };
        self.offers == other.offers
            && self.bundles == other.bundles
            && without(&self.settings) == without(&other.settings)
    }
}

impl TlsContext {
    /// The sessions of one that is `akin` can be resumed.
    fn new(
        source: TlsSource,
        secrets: &Arc<IssuedSecrets>,
        akin: Option<&Arc<Self>>,
    ) -> anyhow::Result<Self> {
        let TlsSource { settings, offers, bundles } = &source;
        let provider = Arc::new(policy::provider(&settings.policy));
        let (own, authorities) = bundles.split_at(settings.certificates.len());
        let uploaded = names(own, &provider)?;
        let acme = settings.acme.as_ref();
        let ordered = acme.map(|acme| OrderedCertificates::new(acme, Arc::clone(secrets)));
        let builder = ServerConfig::builder_with_provider(Arc::clone(&provider));
        let builder = builder
            .with_protocol_versions(&policy::versions(&settings.policy))
            .context("choose the protocol versions")?;
        let builder = match &settings.client {
            Some(client) => builder.with_client_cert_verifier(verifier(client, authorities, provider)?),
            None => builder.with_no_client_auth(),
        };
        let choice = CertificateChoice { uploaded, ordered, rejects_unknown: settings.reject_unknown };
        let mut config = builder.with_cert_resolver(Arc::new(choice));
        config.ignore_client_order = settings.policy.server_preference;
        // A client that asks for something else alone is told so (RFC 7301 section 3.2).
        config.alpn_protocols = offers.names().iter().map(|name| name.to_vec()).collect();
        remember_sessions(&mut config, settings, authorities)?;
        if let Some(akin) = akin {
            config.session_storage = Arc::clone(&akin.config.session_storage);
        }
        let challenges = acme.map(|_| Arc::clone(&secrets.challenges));
        Ok(Self { config: Arc::new(config), challenges, source })
    }

    /// The settings for a handshake that begins with these bytes, a whole record.
    pub(crate) fn config_for(&self, received: &[u8]) -> Arc<ServerConfig> {
        let challenges = self.challenges.as_ref().filter(|challenges| challenges.are_wanted(received));
        Arc::clone(challenges.map_or(&self.config, |challenges| &challenges.config))
    }
}

fn names(bundles: &[Asset], provider: &CryptoProvider) -> anyhow::Result<ServerNames> {
    let mut names = ServerNames::new();
    for asset in bundles {
        let bundle = CertificateBundle::parse(&asset.bytes).and_then(|bundle| bundle.certify(provider));
        let (certified, host_names) = bundle.with_context(|| format!("certificate \"{}\"", asset.name))?;
        names.add(certified, host_names);
    }
    Ok(names)
}

/// The verifier of clients; `bundles` are those of the authorities, then those of revocation lists.
fn verifier(
    client: &ClientAuth,
    bundles: &[Asset],
    provider: Arc<CryptoProvider>,
) -> anyhow::Result<Arc<dyn ClientCertVerifier>> {
    let (authorities, lists) = bundles.split_at(client.ca.len());
    let mut roots = RootCertStore::empty();
    let mut trusted = Vec::new();
    for asset in authorities {
        let bundle = CertificateBundle::parse(&asset.bytes)
            .with_context(|| format!("certificate \"{}\"", asset.name))?;
        for certificate in bundle.chain {
            roots.add(certificate.clone()).map_err(|error| {
                anyhow!("certificate \"{}\" cannot be used as an authority: {error}", asset.name)
            })?;
            trusted.push(certificate);
        }
    }
    let algorithms = provider.signature_verification_algorithms;
    let authorities = TrustedAuthorities::new(trusted, algorithms);
    let roots = Arc::new(roots);
    let depth = client.depth.map(|most| DepthLimit { most, roots: Arc::clone(&roots), algorithms });
    let builder = WebPkiClientVerifier::builder_with_provider(roots, provider)
        .with_crls(revocation_lists(lists)?)
        .enforce_revocation_expiration();
    let builder = match client.verify {
        Verify::Required => builder,
        Verify::Optional => builder.allow_unauthenticated(),
    };
    let usual = builder.build().context("build the verification of client certificates")?;
    Ok(Arc::new(ClientVerifier { usual, depth, authorities }))
}

fn revocation_lists(bundles: &[Asset]) -> anyhow::Result<Vec<CertificateRevocationListDer<'static>>> {
    let mut lists = Vec::new();
    for asset in bundles {
        let found = bundle::revocation_lists(&asset.bytes);
        lists.extend(found.with_context(|| format!("certificate \"{}\"", asset.name))?);
    }
    Ok(lists)
}

/// How sessions are resumed: with tickets if they are on, else from the server's memory.
fn remember_sessions(
    config: &mut ServerConfig,
    settings: &TlsSettings,
    authorities: &[Asset],
) -> anyhow::Result<()> {
    let session = &settings.session;
    config.session_storage = match session.cache_size {
        0 => Arc::new(NoServerSessionStorage {}),
        size => SessionCache::new(size, session.timeout),
    };
    let resumes = settings.gives_tickets() || session.cache_size > 0;
    config.send_tls13_tickets = if resumes { settings.policy.n_tickets } else { 0 };
    if settings.gives_tickets() {
        // What a client has proven to one listener must not count for another that asks for something else.
        let scope = settings.client.as_ref().map(|client| (client.verify, authorities));
        config.ticketer = Arc::new(Ticketer::new(&session.tickets, session.timeout, scope)?);
    }
    Ok(())
}
