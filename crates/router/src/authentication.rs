//! The means by which clients are known: password files, keys of tokens, and what other servers have permitted. All
//! event loops share them, and a new configuration goes on with those that it names again.
//!
//! Which requests are asked, and how a refusal is answered, belongs to `answer::authenticate`.
//!
//! Passwords are hashed by a few threads, behind a queue that is short for all and shorter for each client. A right
//! password is remembered as a keyed hash, for one state of its file. Keys of an issuer are fetched in a task of their
//! own, and requests wait only where there have never been any. A mistake in a file is logged and never stops a start;
//! the control API and `corral check` read the files beforehand.

mod hash_queue;
pub(crate) mod keys;
mod no_keys;
mod password_checks;
pub(crate) mod passwords;
pub(crate) mod permissions;
mod remote_keys;
mod secret_cache;
pub(crate) mod watched_file;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use anyhow::Context as _;
use corral_auth::files::{self, FileFault};
use corral_auth::jwt::{Keys, Rules};
use corral_auth::links::LinkSecrets;
use corral_config::authentication::{Authentication, Jwt, KeySource, Method};
use corral_config::table::{Key, Table};
use corral_ipc::message::RemoteKeyFigures;

pub(crate) use self::hash_queue::n_checks as n_password_checks;
use self::keys::KeyStore;
use self::passwords::PasswordFile;
use self::permissions::Permissions;
use self::remote_keys::RemoteKeys;
use self::watched_file::WatchedFile;
use crate::log_throttle::LogThrottle;
use crate::upstream::TlsTrust;

/// The means of a generation.
#[derive(Default)]
pub(crate) struct Authenticators {
    each: Table<Authentication, Authenticator>,
    password_files: HashMap<PathBuf, Arc<PasswordFile>>,
    key_files: HashMap<KeySource, Arc<WatchedFile<Keys>>>,
    secret_files: HashMap<PathBuf, Arc<WatchedFile<LinkSecrets>>>,
    remotes: HashMap<KeySource, Arc<RemoteKeys>>,
}

/// The means of one place.
pub(crate) struct Authenticator {
    /// In the order of its methods.
    pub(crate) means: Vec<AuthMeans>,
    /// About clients that are not let pass.
    pub(crate) refusals: LogThrottle,
    /// Bounds the lines about faults that keep all clients out.
    pub(crate) failures: LogThrottle,
}

/// The means of one method.
pub(crate) enum AuthMeans {
    Passwords(Arc<PasswordFile>),
    Keys(KeyStore, Rules),
    Permissions(Box<Permissions>),
    Certificate,
    Secrets(Arc<WatchedFile<LinkSecrets>>),
}

impl Authenticators {
    /// The means of a configuration; those that `previous` has, too, go on with all that they know.
    ///
    /// # Errors
    ///
    /// When a server of keys cannot be spoken to, because the authorities to trust are unknown.
    pub(crate) fn new(
        authentications: &Table<Authentication>,
        previous: Option<&Self>,
        trust: &mut TlsTrust<'_>,
    ) -> anyhow::Result<Self> {
        let mut all = Self::default();
        for Authentication { place, methods } in authentications {
            let means = methods.iter().map(|method| all.means(method, previous, trust));
            let means = means.collect::<anyhow::Result<_>>().with_context(|| place.clone())?;
            let (refusals, failures) = (LogThrottle::default(), LogThrottle::default());
            all.each.push(Authenticator { means, refusals, failures });
        }
        Ok(all)
    }

    pub(crate) fn get(&self, key: Key<Authentication>) -> Option<&Authenticator> {
        self.each.get(key)
    }

    /// Fetches keys before the first request asks for them. Whether that succeeds is in the log.
    pub(crate) fn prefetch(&self) {
        self.remotes.values().for_each(RemoteKeys::prefetch);
    }

    /// Figures of the keys that servers have, for each place that uses some.
    pub(crate) fn remote_keys(
        &self,
        places: &Table<Authentication>,
        now: Instant,
    ) -> impl Iterator<Item = RemoteKeyFigures> {
        places.iter().zip(self.each.iter()).filter_map(move |(authentication, authenticator)| {
            let remotes = authenticator.means.iter().filter_map(|means| match means {
                AuthMeans::Keys(KeyStore::Remote(remote, _), _) => Some(remote.figures(now)),
                _ => None,
            });
            let worst = remotes.reduce(|one, other| one.joined(&other))?;
            Some(RemoteKeyFigures { place: authentication.place.clone(), ..worst })
        })
    }

    fn means(
        &mut self,
        method: &Method,
        previous: Option<&Self>,
        trust: &mut TlsTrust<'_>,
    ) -> anyhow::Result<AuthMeans> {
        Ok(match method {
            Method::Basic(basic) => {
                let known = previous.and_then(|previous| previous.password_files.get(&basic.file));
                let file = self.password_files.entry(basic.file.clone()).or_insert_with(|| {
                    known.cloned().unwrap_or_else(|| Arc::new(PasswordFile::new(basic.file.clone())))
                });
                AuthMeans::Passwords(Arc::clone(file))
            }
            Method::Jwt(jwt) => AuthMeans::Keys(self.keys(jwt, previous, trust)?, rules(jwt)),
            Method::Forward(_) => AuthMeans::Permissions(Box::default()),
            Method::Certificate(_) => AuthMeans::Certificate,
            Method::SignedLink(rules) => {
                let known = previous.and_then(|previous| previous.secret_files.get(&rules.secrets));
                let file = self.secret_files.entry(rules.secrets.clone()).or_insert_with(|| {
                    let parse = |content: &[u8]| LinkSecrets::parse(content).map_err(FileFault::from);
                    known.cloned().unwrap_or_else(|| Arc::new(WatchedFile::new(rules.secrets.clone(), parse)))
                });
                AuthMeans::Secrets(Arc::clone(file))
            }
        })
    }

    fn keys(
        &mut self,
        jwt: &Jwt,
        previous: Option<&Self>,
        trust: &mut TlsTrust<'_>,
    ) -> anyhow::Result<KeyStore> {
        let source = &jwt.keys;
        let (url, tls) = match source {
            KeySource::Url { url, tls } => (url, tls),
            KeySource::Secret(path) | KeySource::Pem(path) | KeySource::Set(path) => {
                let known = previous.and_then(|previous| previous.key_files.get(source));
                let file = self.key_files.entry(source.clone()).or_insert_with(|| {
                    let source = source.clone();
                    let parse = move |content: &[u8]| files::keys(&source, content);
                    known.cloned().unwrap_or_else(|| Arc::new(WatchedFile::new(path.clone(), parse)))
                });
                return Ok(KeyStore::File(Arc::clone(file)));
            }
        };
        let known = [Some(&*self), previous].into_iter().flatten().find_map(|all| all.remotes.get(source));
        let remote = match known {
            Some(remote) => Arc::clone(remote),
            None => Arc::new(RemoteKeys::new(url, tls, trust)?),
        };
        self.remotes.insert(source.clone(), Arc::clone(&remote));
        Ok(KeyStore::Remote(remote, jwt.refetch_interval))
    }
}

fn rules(jwt: &Jwt) -> Rules {
    Rules {
        leeway: jwt.leeway.as_secs(),
        issuers: jwt.issuers.clone(),
        audiences: jwt.audiences.clone(),
        // The names were validated.
        algorithms: jwt.algorithms.iter().filter_map(|name| name.parse().ok()).collect(),
    }
}
