//! The reader of configuration files: starting it, and what it has read.

use std::time::Instant;

use corral_config::plan::Assets;
use corral_ipc::message::FromReader;
use corral_sys::signal::Signal;

use super::Supervisor;
use crate::files::Loaded;

impl Supervisor {
    pub(super) fn start_reader(&mut self) {
        let stored = self.stored.stored_assets();
        let Some(start) = self.files.reading(&self.programs.modules, &stored) else { return };
        let reader = &mut self.children.reader;
        match self.programs.launcher.start_reader(reader.name) {
            Ok((peer, outputs)) => {
                reader.started(peer, Instant::now());
                reader.send(&start);
                self.children.outputs.add(outputs);
            }
            Err(error) => reader.not_started(error, Instant::now()),
        }
    }

    /// Handles one message; false when there is none.
    pub(super) fn read_reader(&mut self) -> bool {
        let peer = self.children.reader.peer.as_mut();
        let Some((message, _)) = peer.and_then(|peer| peer.next_message()) else {
            return false;
        };
        match message {
            FromReader::Loaded { document, inserted, assets, variables } => {
                self.programs.launcher.environment.withhold(variables);
                self.on_loaded(Loaded { document, inserted }, &assets);
            }
            FromReader::Unusable { problems } => self.on_unusable(&problems),
        }
        true
    }

    fn on_loaded(&mut self, loaded: Loaded, assets: &Assets) {
        self.stored.replace_assets(assets);
        let is_in_force = self.configuration.in_force().is_some();
        self.stored.document = Some(loaded.document.clone()).filter(|_| !is_in_force);
        let is_first = self.files.load(loaded);
        if self.stopping.has_begun() {
            return;
        }
        if is_first { self.start_controller() } else { self.replace_by_files() }
    }

    /// Running applications go on; a daemon that runs nothing yet ends.
    fn on_unusable(&mut self, problems: &[String]) {
        if self.files.refuse(problems) {
            return;
        }
        self.audience.refuse_files(problems, self.inheritance.predecessor.as_ref());
        self.stopping.fails();
        self.on_stop_signal(Signal::TERM.as_raw());
    }

    /// Has the controller put in force what the files say.
    pub(super) fn replace_by_files(&mut self) {
        if let Some(message) = self.files.replacement(self.stored.assets()) {
            self.children.controller.send(&message);
        }
    }
}
