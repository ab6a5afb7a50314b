//! Authorities, by the URLs of their directories: how much goes on with each, and which have to be left alone for a
//! while.

use std::collections::HashMap;
use std::time::{Duration, SystemTime};

use crate::failure::Failure;
use crate::jitter::Jitter;
use crate::pause;
use crate::time;

/// All that were ever asked.
#[derive(Default)]
pub(super) struct Authorities {
    by_directory: HashMap<String, AuthorityState>,
    n_running: usize,
}

#[derive(Default)]
struct AuthorityState {
    n_running: usize,
    pause: Option<Pause>,
}

struct Pause {
    n_failures: u32,
    until: SystemTime,
    error: String,
}

impl Authorities {
    /// Orders and questions that go on.
    pub(super) fn n_running(&self) -> usize {
        self.n_running
    }

    /// Whether another one may begin: after a failure a single one finds out whether the authority is back.
    pub(super) fn may_begin(&self, directory: &str) -> bool {
        let authority = self.by_directory.get(directory);
        authority.is_none_or(|authority| authority.pause.is_none() || authority.n_running == 0)
    }

    pub(super) fn begin(&mut self, directory: &str) {
        self.n_running += 1;
        self.by_directory.entry(directory.to_owned()).or_default().n_running += 1;
    }

    /// One that says nothing about the authority.
    pub(super) fn ended(&mut self, directory: &str) {
        self.end(directory);
    }

    fn end(&mut self, directory: &str) -> &mut AuthorityState {
        self.n_running = self.n_running.saturating_sub(1);
        let authority = self.by_directory.entry(directory.to_owned()).or_default();
        authority.n_running = authority.n_running.saturating_sub(1);
        authority
    }

    /// One that the authority has answered, whatever its answer was.
    pub(super) fn answered(&mut self, directory: &str) {
        self.end(directory).pause = None;
    }

    /// One that shows that no certificate is issued at all. Gives the end of the pause. Several that began together are
    /// one failure.
    pub(super) fn failed(
        &mut self,
        directory: &str,
        failure: &Failure,
        now: SystemTime,
        jitter: &mut Jitter,
    ) -> SystemTime {
        let authority = self.end(directory);
        let before = authority.pause.as_ref();
        if let Some(pause) =
            before.filter(|pause| time::unless_beyond(pause.until, now, LONGEST_PUT_OFF) > now)
        {
            return pause.until;
        }
        let n_failures = before.map_or(0, |pause| pause.n_failures).saturating_add(1);
        let until = now + pause::OF_AUTHORITY.after(n_failures, jitter);
        let until = failure.retry_at.map_or(until, |at| at.clamp(until, now + LONGEST_PUT_OFF));
        authority.pause = Some(Pause { n_failures, until, error: failure.words.clone() });
        until
    }

    /// The authority has given out enough, to one name or to all: another one finds out soon.
    pub(super) fn limited(
        &mut self,
        directory: &str,
        failure: &Failure,
        until: Option<SystemTime>,
        now: SystemTime,
        jitter: &mut Jitter,
    ) {
        let retry_at = until.map(|until| until.min(now + LONGEST_FOR_OTHERS));
        self.failed(directory, &Failure { retry_at, ..failure.clone() }, now, jitter);
    }

    /// Other settings are another try.
    pub(super) fn forgive(&mut self, directory: &str) {
        if let Some(authority) = self.by_directory.get_mut(directory) {
            authority.pause = None;
        }
    }

    /// 1970 when nothing keeps anybody from asking.
    pub(super) fn paused_until(&self, directory: &str, now: SystemTime) -> SystemTime {
        let until = self.pause(directory).map_or(SystemTime::UNIX_EPOCH, |pause| pause.until);
        time::unless_beyond(until, now, LONGEST_PUT_OFF)
    }

    /// Why the authority is left alone.
    pub(super) fn last_error(&self, directory: &str) -> Option<&str> {
        self.pause(directory).map(|pause| pause.error.as_str())
    }

    fn pause(&self, directory: &str) -> Option<&Pause> {
        self.by_directory.get(directory)?.pause.as_ref()
    }
}

/// The longest `Retry-After` of an authority that is heeded for all names.
const LONGEST_PUT_OFF: Duration = Duration::from_secs(86_400);

/// How long one name's rate limit keeps all others from trying.
const LONGEST_FOR_OTHERS: Duration = Duration::from_secs(10 * 60);
