//! An access log: an entry for each request that its condition holds for, written at once or gathered.

mod entry;
mod gather;
mod lost_entries;

use std::fs::File;
use std::io;
use std::sync::Arc;
use std::time::Instant;

use corral_channel::Lane;
use corral_config::access_log::{AccessLog as Settings, Format};
use corral_config::condition::Condition;
use corral_config::template::Variables;
use corral_ipc::lines::LineFile;
use parking_lot::RwLock;

use self::gather::EntryBuffer;
use self::lost_entries::LostEntries;
pub(crate) use self::lost_entries::n_lost;
use crate::control_waker::ControlWaker;
use crate::storage::buffers;
use crate::variables::script;

/// An open log; its file is in append mode, so that entries of several event loops do not mix.
pub(crate) struct AccessLogWriter {
    /// Exchanged when log files are reopened.
    file: RwLock<File>,
    lines: LineFile,
    format: Format,
    condition: Option<Condition>,
    gatherer: Option<EntryBuffer>,
    lost: LostEntries,
    /// Woken for gathered entries, which are to be written some time.
    control_waker: Arc<ControlWaker>,
}

impl AccessLogWriter {
    pub(crate) fn new(
        file: File,
        settings: &Settings,
        n_lanes: usize,
        control_waker: Arc<ControlWaker>,
    ) -> Self {
        let Settings { path: _, format, condition, buffer } = settings;
        Self {
            file: RwLock::new(file),
            lines: LineFile::new(),
            format: format.clone(),
            condition: condition.clone(),
            gatherer: buffer.map(|buffer| EntryBuffer::new(buffer, n_lanes)),
            lost: LostEntries::default(),
            control_waker,
        }
    }

    /// Goes on in another file; what was gathered goes to the one before.
    pub(crate) fn replace_file(&self, file: File) {
        self.flush();
        *self.file.write() = file;
    }

    /// Writes the entry of one request. A log that cannot be written never fails a request.
    pub(crate) fn write(&self, lane: Lane, variables: &mut dyn Variables) {
        let mut entry = buffers::take();
        if self.applies(variables, &mut entry) {
            match entry::append(&self.format, variables, &mut entry) {
                Ok(()) => self.put(lane, &entry),
                Err(exception) => script::report(&exception),
            }
        }
        buffers::give(entry);
    }

    /// A condition that throws counts as one that holds: rather too much is logged than too little.
    fn applies(&self, variables: &mut dyn Variables, scratch: &mut Vec<u8>) -> bool {
        let holds = self.condition.as_ref().map_or(Ok(true), |condition| condition.holds(variables));
        scratch.clear();
        holds.unwrap_or_else(|exception| {
            script::report(&exception);
            true
        })
    }

    fn put(&self, lane: Lane, entry: &[u8]) {
        let written = match &self.gatherer {
            Some(gatherer) => {
                let written = gatherer.add(lane, entry, |entries| self.append(entries));
                self.control_waker.want();
                written
            }
            None => self.append(entry),
        };
        self.lost.note(written);
    }

    fn append(&self, entries: &[u8]) -> io::Result<()> {
        self.lines.write(&*self.file.read(), entries).inspect_err(|_| lost_entries::count(entries))
    }

    /// Writes what has been gathered for long enough. Called from time to time.
    pub(crate) fn tick(&self, now: Instant) {
        if self.gatherer.as_ref().is_some_and(|gatherer| gatherer.is_due(now)) {
            self.flush();
        }
    }

    /// Whether nothing waits to be written.
    pub(crate) fn is_at_rest(&self) -> bool {
        self.gatherer.as_ref().is_none_or(EntryBuffer::is_empty)
    }

    /// Writes all that has been gathered.
    pub(crate) fn flush(&self) {
        if let Some(gatherer) = &self.gatherer {
            self.lost.note(gatherer.drain(|entries| self.append(entries)));
        }
    }
}

impl Drop for AccessLogWriter {
    fn drop(&mut self) {
        self.flush();
    }
}
