//! What a person at a terminal is told of `corral run`: that it goes on starting, that it serves, or why it cannot.

use std::io::Write;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use super::Supervisor;

/// What has been said of a start that takes long.
#[derive(Debug)]
pub(super) struct Progress {
    since: Instant,
    /// When something is said next, and how long that was waited for.
    next: (Instant, Duration),
}

/// How long nobody wonders.
const FIRST_PAUSE: Duration = Duration::from_secs(3);

impl Progress {
    pub(super) fn new(now: Instant) -> Self {
        Self { since: now, next: (now + FIRST_PAUSE, FIRST_PAUSE) }
    }

    /// How long it has taken, if it is time to say so. Each pause is twice the one before.
    fn is_due(&mut self, now: Instant) -> Option<Duration> {
        let (at, pause) = self.next;
        if now < at {
            return None;
        }
        self.next = (now + 2 * pause, 2 * pause);
        Some(now.saturating_duration_since(self.since))
    }
}

impl Supervisor {
    fn is_starting_for_console(&self) -> bool {
        let is_silent = self.parts.console.as_ref().is_some_and(|console| !console.announcement.is_empty());
        is_silent && self.stop.is_none()
    }

    /// When a start that goes on is mentioned.
    pub(super) fn next_word(&self) -> Option<Instant> {
        self.is_starting_for_console().then_some(self.progress.next.0)
    }

    /// Says that a start goes on, and what was said last.
    pub(super) fn speak_on_time(&mut self, now: Instant) {
        if !self.is_starting_for_console() {
            return;
        }
        let Some(taken) = self.progress.is_due(now) else { return };
        let word = self.outputs.iter().rev().find_map(|output| output.last_word());
        let word = word
            .map_or_else(|| "it has printed nothing yet".to_owned(), |word| format!("its last line: {word}"));
        say(&format!("still starting after {} s; {word}", taken.as_secs()));
    }

    /// `corral run` is told when its site is served.
    pub(super) fn announce_to_console(&mut self) {
        if let Some(console) = &mut self.parts.console
            && !console.announcement.is_empty()
        {
            say(&std::mem::take(&mut console.announcement));
        }
    }

    /// `corral run` ends when its site cannot be served, as does a process that cannot take over; the one before
    /// it has the reason in its log.
    pub(super) fn give_up(&mut self, reason: &str) {
        match &self.parts.predecessor {
            Some(predecessor) => predecessor.failed(reason),
            None => {
                let hint = if reason.starts_with("listener") { " (--listen ADDRESS)" } else { "" };
                let _ = writeln!(std::io::stderr(), "corral: {reason}{hint}");
            }
        }
        self.exit_code = ExitCode::FAILURE;
        self.end_all();
    }
}

/// A closed terminal does not want to hear it.
pub(super) fn say(line: &str) {
    let mut stdout = std::io::stdout().lock();
    let _ = writeln!(stdout, "{line}").and_then(|()| stdout.flush());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_start_is_mentioned_ever_less_often() {
        let now = Instant::now();
        let mut progress = Progress::new(now);
        let mut said = Vec::new();
        for second in 0..40 {
            said.extend(progress.is_due(now + Duration::from_secs(second)).map(|taken| taken.as_secs()));
        }
        assert_eq!(said, [3, 9, 21]);
    }
}
