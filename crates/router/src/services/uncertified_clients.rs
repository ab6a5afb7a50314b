//! Clients that get no certificate: the lines about them, and the names that main is told of.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

use corral_ipc::message::FromRouter;
use corral_syntax::is_public_name;
use parking_lot::Mutex;

use crate::clock::Millis;
use crate::log_throttle::LogThrottle;
use crate::main_link::MainSender;
use crate::services::wanted::WantedNames;
use crate::tls::NoCertificate;

/// Notes them for all event loops.
pub(crate) struct UncertifiedClients {
    main: MainSender,
    wanted: Mutex<WantedNames>,
    /// Names of the configuration that have none yet.
    missing: LogThrottle,
    /// Names that main was told of.
    told: LogThrottle,
    /// All others: a client can ask for anything.
    unknown: LogThrottle,
}

impl UncertifiedClients {
    pub(crate) fn new(main: MainSender) -> Arc<Self> {
        let [missing, told, unknown] = Default::default();
        Arc::new(Self { main, wanted: Mutex::default(), missing, told, unknown })
    }

    /// A client has got none for this name in lower case, which is empty where it has sent none.
    pub(crate) fn note(&self, name: &str, reason: NoCertificate, client: Option<SocketAddr>, now: Instant) {
        let now = Millis::of(now);
        match reason {
            NoCertificate::NotYet | NoCertificate::NothingYet => self.warn(name, now),
            NoCertificate::OnDemand if is_public_name(name) => self.want(name, client, now),
            NoCertificate::OnDemand
            | NoCertificate::Unknown
            | NoCertificate::Nameless
            | NoCertificate::NoChallenge => {
                self.mention(name, reason, now);
            }
        }
    }

    fn warn(&self, name: &str, now: Millis) {
        let Some(suppressed) = self.missing.admit(now) else { return };
        if name.is_empty() {
            tracing::warn!(
                "a client that names no host got no certificate, as none is there yet: see \
                /status/certificates{suppressed}"
            );
        } else {
            tracing::warn!(
                "there is no certificate for \"{name}\" yet: see /status/certificates{suppressed}"
            );
        }
    }

    fn mention(&self, name: &str, reason: NoCertificate, now: Millis) {
        let Some(suppressed) = self.unknown.admit(now) else { return };
        match reason {
            NoCertificate::Nameless => {
                tracing::info!(
                    "a client got no certificate, as it names no host, and that decides here{suppressed}"
                );
            }
            NoCertificate::NoChallenge => {
                tracing::info!(
                    "a client wants to validate \"{name}\", for which nothing was ordered{suppressed}"
                );
            }
            _ => tracing::info!(
                "a client got no certificate, as \"{name}\" is not a name that is served{suppressed}"
            ),
        }
    }

    fn want(&self, name: &str, client: Option<SocketAddr>, now: Millis) {
        let client = client.map(|client| client.ip());
        if !self.wanted.lock().admit(name, client, now) {
            return;
        }
        if let Some(suppressed) = self.told.admit(now) {
            tracing::info!(
                "there is no certificate for \"{name}\" yet, which a client wants: see /status/certificates{suppressed}"
            );
        }
        self.main.send(&FromRouter::CertificateWanted { name: name.to_owned(), client });
    }
}
