//! The audience of this process, which hears how it is doing: the process that has started it, a person at a terminal,
//! the service manager.

use std::fs::File;
use std::io::Write;
use std::time::Instant;

use crate::background::Starter;
use crate::decide::progress::Progress;
use crate::log_file::{self, LogFile};
use crate::options::ConsoleOptions;
use crate::predecessor::Predecessor;
use crate::service_manager::ServiceManager;
use crate::sharing::Sharing;
use crate::terminal::Terminal;

/// All of them.
pub(crate) struct Audience {
    /// The process that went to the background with this one.
    starter: Option<Starter>,
    /// The caller of `corral run`.
    pub(crate) console: Option<ConsoleOptions>,
    pub(crate) terminal: Terminal,
    log: Option<LogFile>,
    pub(crate) service_manager: ServiceManager,
    /// The words that were said of a start that takes long.
    progress: Progress,
    /// The words that were said of applications that have the daemon's user.
    pub(crate) sharing: Sharing,
}

impl Audience {
    pub(crate) fn new(
        starter: Option<Starter>,
        console: Option<ConsoleOptions>,
        terminal: Terminal,
        log: Option<LogFile>,
    ) -> Self {
        let now = Instant::now();
        Self {
            starter,
            console,
            terminal,
            log,
            service_manager: ServiceManager::new(now),
            progress: Progress::new(now),
            sharing: Sharing::default(),
        }
    }

    /// When a start that goes on is mentioned next at the terminal where it is waited for.
    pub(crate) fn next_word(&self) -> Option<Instant> {
        let waits = self.console.as_ref().is_some_and(|console| !console.announcement.is_empty());
        waits.then(|| self.progress.next())
    }

    /// The file that lines go to.
    pub(crate) fn log_path(&self) -> Option<String> {
        self.log.as_ref()?.path()
    }

    /// The file that lines go to, or standard error if that is a file, for reading.
    pub(crate) fn open_log(&self) -> std::io::Result<Option<File>> {
        log_file::open_for_reading()
    }

    pub(crate) fn reopen_log(&self) {
        if let Some(log) = &self.log
            && let Err(error) = log.reopen()
        {
            tracing::error!(target: "alert", "reopen the log: {error:#}");
        }
    }

    /// Says that a start goes on, and what was printed last.
    pub(crate) fn speak(&mut self, last_word: Option<&str>, now: Instant) {
        let Some(taken) = self.progress.is_due(now) else { return };
        let word = last_word
            .map_or_else(|| "it has printed nothing yet".to_owned(), |word| format!("its last line: {word}"));
        say(&format!("still starting after {} s; {word}", taken.as_secs()));
    }

    /// `corral run` is told when its site is served.
    pub(crate) fn announce(&mut self) {
        if let Some(console) = &mut self.console
            && !console.announcement.is_empty()
        {
            say(&std::mem::take(&mut console.announcement));
            if let Some(act) = console.once_served.take() {
                act();
            }
        }
    }

    /// The control API can be used.
    pub(crate) fn ready(&mut self) {
        self.service_manager.ready();
        if let Some(starter) = self.starter.take() {
            starter.ready();
        }
    }

    /// The site cannot be served; a process that cannot take over has the reason in the log of the one before it.
    pub(crate) fn give_up(&self, reason: &str, predecessor: Option<&Predecessor>) {
        match predecessor {
            Some(predecessor) => predecessor.failed(reason),
            None => {
                let hint = if reason.starts_with("listener") { " (--listen ADDRESS)" } else { "" };
                let _ = writeln!(std::io::stderr(), "corral: {reason}{hint}");
            }
        }
    }

    /// The configuration files cannot be used, and nothing runs yet.
    pub(crate) fn refuse_files(&mut self, problems: &[String], predecessor: Option<&Predecessor>) {
        let reason = format!("the configuration files cannot be used:\n  {}", problems.join("\n  "));
        match (self.starter.take(), predecessor) {
            (Some(starter), _) => starter.failed(&reason),
            (None, Some(predecessor)) => predecessor.failed(&reason),
            (None, None) => {
                if let Some(log) = &self.log {
                    log.tell(&format!("corral: {reason}"));
                }
                drop(writeln!(std::io::stderr(), "corral: the configuration files cannot be used"));
            }
        }
    }
}

/// A closed terminal does not want to hear it.
pub(crate) fn say(line: &str) {
    let mut stdout = std::io::stdout().lock();
    let _ = writeln!(stdout, "{line}").and_then(|()| stdout.flush());
}
