//! Configuration files (`--config`): a process of its own reads them, as this one reads no document.

use std::io::Write;
use std::process::ExitCode;
use std::time::Instant;

use corral_config::plan::{AssetKind, Assets};
use corral_ipc::message::{ConfigFiles, FromReader, Inserted, ToController, ToReader};
use corral_sys::signal::Signal;

use super::Supervisor;
use crate::store::Store;

/// What the files said when they were read last.
pub(super) struct Loaded {
    document: Vec<u8>,
    inserted: Vec<Inserted>,
}

impl Supervisor {
    pub(super) fn start_reader(&mut self) {
        let Some(files) = &self.parts.files else { return };
        match self.parts.launcher.start_reader(self.reader.name) {
            Ok((mut peer, outputs)) => {
                self.reader.backoff.started(Instant::now());
                let stored = self.parts.store.as_ref().map(Store::assets).unwrap_or_default();
                let names = |kind| stored.of_kind(kind).iter().map(|asset| asset.name.clone()).collect();
                let start = ToReader::Start {
                    paths: files.paths.clone(),
                    watch: files.watch,
                    modules: self.parts.modules.clone(),
                    certificates: names(AssetKind::Certificate),
                    scripts: names(AssetKind::Script),
                };
                peer.send(&start, &[]);
                self.reader.peer = Some(peer);
                self.outputs.extend(outputs);
            }
            Err(error) => {
                self.reader.backoff.failed(Instant::now());
                tracing::error!(target: "alert", "start the reader: {:#}", anyhow::Error::new(error));
            }
        }
    }

    pub(super) fn forget_reader(&mut self) {
        self.reader.peer = None;
        self.reader.backoff.failed(Instant::now());
    }

    /// SIGHUP: what a terminal says when it is closed, and otherwise a request to read the files again.
    pub(super) fn on_hangup(&mut self) {
        if self.parts.terminal.has_hung_up() {
            return self.on_stop_signal(Signal::TERM.as_raw());
        }
        match &mut self.reader.peer {
            Some(peer) => {
                tracing::info!(target: "notice", "signal HUP received, reading the configuration files");
                peer.send(&ToReader::Read, &[]);
            }
            // A new reader reads them anyway.
            None if self.parts.files.is_some() => {}
            None => tracing::info!(target: "notice", "signal HUP received, ignored"),
        }
    }

    /// Handles one message; false when there is none.
    pub(super) fn read_reader(&mut self) -> bool {
        let Some((message, _)) = self.reader.peer.as_mut().and_then(|peer| peer.next_message()) else {
            return false;
        };
        match message {
            FromReader::Loaded { document, inserted, assets, variables } => {
                self.parts.launcher.environment.withhold(variables);
                self.on_loaded(Loaded { document, inserted }, &assets);
            }
            FromReader::Unusable { problems } => self.on_unusable(&problems),
        }
        true
    }

    fn on_loaded(&mut self, loaded: Loaded, assets: &Assets) {
        let is_first = self.loaded.is_none();
        self.assets = self.parts.store.as_ref().map(Store::assets).unwrap_or_default();
        for kind in [AssetKind::Certificate, AssetKind::Script] {
            for asset in assets.of_kind(kind) {
                self.assets.set(kind, &asset.name, Some(asset.bytes.clone()));
            }
        }
        self.troubles.files = None;
        self.stored = Some(loaded.document.clone()).filter(|_| self.in_force.is_none());
        self.loaded = Some(loaded);
        if self.stop.is_some() {
            return;
        }
        if is_first { self.start_controller() } else { self.replace_by_files() }
    }

    /// What runs goes on running; a daemon that runs nothing yet ends.
    fn on_unusable(&mut self, problems: &[String]) {
        for problem in problems {
            tracing::error!("{problem}");
        }
        if self.loaded.is_some() {
            tracing::error!("the configuration files cannot be used; what ran before still runs");
            self.troubles.files =
                Some(format!("the configuration files cannot be used: {}", problems.join(" ")));
            return;
        }
        let reason = format!("the configuration files cannot be used:\n  {}", problems.join("\n  "));
        match (self.parts.starter.take(), &self.parts.predecessor) {
            (Some(starter), _) => starter.failed(&reason),
            (None, Some(predecessor)) => predecessor.failed(&reason),
            (None, None) => {
                if let Some(log) = &self.parts.log {
                    log.tell(&format!("corral: {reason}"));
                }
                drop(writeln!(std::io::stderr(), "corral: the configuration files cannot be used"));
            }
        }
        self.exit_code = ExitCode::FAILURE;
        self.on_stop_signal(Signal::TERM.as_raw());
    }

    /// Has the controller put in force what the files say.
    pub(super) fn replace_by_files(&mut self) {
        let Some(Loaded { document, inserted }) = &self.loaded else { return };
        let (document, inserted, assets) = (document.clone(), inserted.clone(), self.assets.clone());
        self.tell_controller(&ToController::Replace { document, inserted, assets });
    }

    /// What the controller has to know of the files.
    pub(super) fn config_files(&self) -> Option<ConfigFiles> {
        let files = self.parts.files.as_ref()?;
        let names: Vec<_> = files.paths.iter().map(|path| path.display().to_string()).collect();
        let inserted = self.loaded.as_ref().map(|loaded| loaded.inserted.clone()).unwrap_or_default();
        Some(ConfigFiles { names: names.join(", "), is_writable: files.is_writable, inserted })
    }
}
