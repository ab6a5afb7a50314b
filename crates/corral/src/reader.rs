//! The reader of configuration files: a process that main starts for `--config`, as main itself
//! reads no document. It runs as the daemon's own user, because the files may be for that user alone.

use std::os::fd::AsFd;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use corral_config::plan::{AssetKind, Assets};
use corral_config::{Known, KnownModule};
use corral_ipc::link::Link;
use corral_ipc::message::{FromReader, Inserted, Module, ToReader};
use corral_manifest::Insertion;
use corral_sys::poll::{self, Interest};

use crate::files::{self, Problems, Seen};

/// Reads the files when it starts, when main asks for it, and when they have changed.
pub(crate) fn run(link: &Link) -> anyhow::Result<()> {
    let Some((first, _)) = link.recv().context("receive the first message of main")? else { return Ok(()) };
    let ToReader::Start { paths, watch, modules, certificates, scripts } = first else {
        bail!("the first message of main is not Start");
    };
    let known = known(modules);
    let mut reader = Reader { link, paths, known, certificates, scripts, last: None };
    let mut seen = reader.read_and_tell(ToldProblems::Always)?;
    loop {
        match wait(link, watch.then_some(&seen))? {
            Wake::Asked => seen = reader.read_and_tell(ToldProblems::Always)?,
            Wake::Changed => seen = reader.read_and_tell(ToldProblems::News)?,
            Wake::MainIsGone => return Ok(()),
        }
    }
}

/// The modules and abilities of this machine, without certificate bundles and JavaScript modules.
pub(crate) fn known(modules: Vec<Module>) -> Known {
    let module = |module: Module| KnownModule {
        language: module.language,
        version: module.version,
        path: module.path,
    };
    let known = Known::modules(modules.into_iter().map(module).collect());
    known.with_confinement(corral_sys::confined::can_confine())
}

struct Reader<'a> {
    link: &'a Link,
    paths: Vec<PathBuf>,
    known: Known,
    /// Names in the state directory.
    certificates: Vec<String>,
    scripts: Vec<String>,
    last: Option<Result<ReadFiles, Problems>>,
}

/// The outcome of reading configuration files that can be used.
#[derive(Clone, PartialEq)]
struct ReadFiles {
    document: Vec<u8>,
    inserted: Vec<Inserted>,
    assets: Assets,
    variables: Vec<String>,
}

/// Whether main is told what it knows.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ToldProblems {
    Always,
    News,
}

impl Reader<'_> {
    fn read_and_tell(&mut self, told: ToldProblems) -> anyhow::Result<Seen> {
        let seen = Seen::default();
        let found = self.read(&seen);
        if told == ToldProblems::Always || self.last.as_ref() != Some(&found) {
            let message = match found.clone() {
                Ok(ReadFiles { document, inserted, assets, variables }) => {
                    FromReader::Loaded { document, inserted, assets, variables }
                }
                Err(problems) => FromReader::Unusable { problems },
            };
            self.link.send(&message, &[]).context("tell main what the configuration files say")?;
        }
        self.last = Some(found);
        Ok(seen)
    }

    fn read(&self, seen: &Seen) -> Result<ReadFiles, Problems> {
        let mut found = files::read(&self.paths, seen)?;
        let all = |stored: &[String], kind| [stored, &files::names(&found.assets, kind)].concat();
        let known = self.known.clone().with_certificates(all(&self.certificates, AssetKind::Certificate));
        let known =
            known.with_scripts(all(&self.scripts, AssetKind::Script), corral_controller::check_expression);
        let known = known.with_folders(corral_controller::is_folder);
        let config = found.manifest.validate(&known).map_err(|faults| files::lines(&faults))?;
        files::check_authentication(&config, &found.manifest)?;
        let document = found.manifest.document().compact();
        let inserted = found.manifest.inserted().map(inserted).collect();
        Ok(ReadFiles { document, inserted, assets: found.assets, variables: seen.variables() })
    }
}

fn inserted(insertion: Insertion<'_>) -> Inserted {
    let Insertion { pointer, written, value } = insertion;
    Inserted { pointer: pointer.to_owned(), value: value.compact(), written: written.to_vec() }
}

enum Wake {
    /// Main wants the files read.
    Asked,
    /// The files have changed, and have not changed further for a moment.
    Changed,
    MainIsGone,
}

/// How often the files are looked at where the kernel does not tell of all changes, as on network file systems.
const INTERVAL: Duration = Duration::from_millis(500);

/// Files that have just changed may be changing still.
const SETTLED: Duration = Duration::from_millis(200);

fn wait(link: &Link, seen: Option<&Seen>) -> anyhow::Result<Wake> {
    let mut changed: Option<(Instant, Vec<files::FileState>)> = None;
    loop {
        // Before they are looked at, so that no change gets lost in between.
        let notice = seen.and_then(Seen::notice);
        if let Some(seen) = seen {
            changed = look(seen, changed);
        }
        if changed.as_ref().is_some_and(|(since, _)| since.elapsed() >= SETTLED) {
            return Ok(Wake::Changed);
        }
        let pause = match (&changed, &notice) {
            (Some(_), _) => Some(SETTLED / 2),
            (None, Some(_)) => None,
            (None, None) => seen.map(|_| INTERVAL),
        };
        // What has begun to change is looked at after a pause, however often that is told.
        let notice = notice.as_ref().filter(|_| changed.is_none());
        let sources: Vec<_> = [Some(link.as_fd()), notice.map(AsFd::as_fd)].into_iter().flatten().collect();
        let sources: Vec<_> = sources.into_iter().map(|source| (source, Interest::Read)).collect();
        if poll::wait(&sources, pause)?[0].readable {
            return match link.recv().context("receive a message of main")? {
                Some((ToReader::Read | ToReader::Start { .. }, _)) => Ok(Wake::Asked),
                None => Ok(Wake::MainIsGone),
            };
        }
    }
}

/// Since when the files have been as they are now, unless that is as they were read.
fn look(
    seen: &Seen,
    changed: Option<(Instant, Vec<files::FileState>)>,
) -> Option<(Instant, Vec<files::FileState>)> {
    let now = seen.now();
    match changed {
        Some((since, state)) if state == now => Some((since, state)),
        None if now == seen.before() => None,
        _ => Some((Instant::now(), now)),
    }
}
