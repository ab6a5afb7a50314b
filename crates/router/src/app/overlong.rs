//! What is said and done about requests that run for too long.

use std::fmt;
use std::time::Instant;

use corral_channel::message;
use corral_ipc::message::FromRouter;

use super::App;
use super::pool::{Overlong, Verdict};

/// More of a request's target helps nobody, and messages to `main` are bounded.
const MAX_TARGET: usize = 512;

impl App {
    /// Whether `watch` has anything to do.
    pub(crate) fn is_watched(&self) -> bool {
        self.spec.limits.slow.is_some() || self.spec.limits.kill_after.is_some()
    }

    /// Reports slow requests, and has workers killed that run one for too long.
    pub(crate) fn watch(&self, now: Instant) {
        let (found, want_worker) = {
            let mut pool = self.pool.lock();
            let found = pool.watch(now);
            let want_worker = !found.is_empty() && pool.want_worker();
            (found, want_worker)
        };
        if found.is_empty() {
            return;
        }
        self.wake_workers();
        found.iter().for_each(|overlong| self.report(overlong));
        if want_worker {
            self.start_worker();
        }
    }

    pub(super) fn report(&self, overlong: &Overlong) {
        let worker = overlong.worker;
        match overlong.verdict {
            Verdict::Kill => {
                let reason = format!("{overlong} (limits.kill_after)");
                self.main.send(&FromRouter::KillWorker { app: self.id, worker, reason });
            }
            Verdict::IsSlow | Verdict::WasSlow => {
                tracing::warn!("\"{}\": slow: {overlong} (limits.slow)", self.spec.name);
            }
        }
    }
}

/// `process 123 has run GET "/a?b" for 1.2 s, script /srv/a.php`
impl fmt::Display for Overlong {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verb = if self.verdict == Verdict::WasSlow { "ran" } else { "has run" };
        write!(out, "process {} {verb} ", self.pid)?;
        match message::decode_request(&self.payload) {
            Ok(view) => {
                let target = view.head.target;
                let target = &target[..target.len().min(MAX_TARGET)];
                write!(out, "{} \"{}\"", view.head.method.escape_ascii(), target.escape_ascii())?;
            }
            // It was encoded here.
            Err(_) => out.write_str("a request")?,
        }
        write!(out, " for {:.1} s", self.elapsed.as_secs_f64())?;
        match &self.note[..] {
            [] => Ok(()),
            note => write!(out, ", script {}", String::from_utf8_lossy(note).escape_debug()),
        }
    }
}
