//! The output of all children.

use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

use corral_ipc::message::AppId;

use crate::output::{Drained, Output};

/// The pipes of all children.
#[derive(Debug, Default)]
pub(crate) struct Outputs(Vec<Output>);

impl Outputs {
    pub(crate) fn add(&mut self, outputs: Vec<Output>) {
        self.0.extend(outputs);
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// The descriptor that the output at this place is read from.
    pub(crate) fn descriptor(&self, idx: usize) -> BorrowedFd<'_> {
        self.0[idx].as_fd()
    }

    /// Logs what children printed; forgets the pipes that have no writer any more.
    pub(crate) fn drain(&mut self, time: Duration, is_ready: impl Fn(usize) -> bool) {
        let mut idx = 0;
        self.0.retain_mut(|output| {
            let keep = !is_ready(idx) || output.drain(time) == Drained::Empty;
            idx += 1;
            keep
        });
    }

    /// Forgets the last lines of an instance: the next ones are about something new.
    pub(crate) fn forget_words_of(&mut self, app: AppId) {
        self.0.iter_mut().filter(|output| output.is_of(app)).for_each(Output::forget_words);
    }

    /// The last lines of an instance since then.
    pub(crate) fn last_words_of(&mut self, app: AppId) -> Vec<String> {
        let output = self.0.iter_mut().find(|output| output.is_of(app));
        output.map_or_else(Vec::new, Output::last_words)
    }

    /// The last lines of an instance of which nothing runs any more, the last one whether it has an end or not.
    pub(crate) fn all_words_of(&mut self, app: AppId) -> Vec<String> {
        let Some(output) = self.0.iter_mut().find(|output| output.is_of(app)) else { return Vec::new() };
        output.last_words();
        output.end_line();
        output.last_words()
    }

    /// The last lines of all applications, or those that came since then.
    pub(crate) fn words_of_apps(&mut self, since: Option<Instant>) -> Vec<String> {
        let outputs = self.0.iter_mut().filter(|output| output.is_of_app());
        outputs.flat_map(|output| output.words_since(since)).collect()
    }

    /// The last line that an application has printed.
    pub(crate) fn last_word(&self) -> Option<&str> {
        self.0.iter().rev().find_map(Output::last_word)
    }
}
