//! Lines and measures about workers that run a request for too long or use too much memory.

use std::fmt;
use std::time::{Duration, Instant};

use corral_channel::message;
use corral_ipc::message::{EndCause, FromRouter, WorkerId};
use corral_sys::usage;

use super::app::AppInstance;
use super::mebibytes::Mebibytes;
use super::pool::verdict::{Finding, WorkerExcess, WorkerVerdict};

/// Most bytes of a request's target in a line; more is of no use, and messages to `main` are bounded.
const MAX_TARGET: usize = 512;

impl AppInstance {
    /// Whether `watch` has anything to do.
    pub(crate) fn is_watched(&self) -> bool {
        let limits = &self.spec.limits;
        limits.slow.is_some() || limits.kill_after.is_some() || limits.memory.is_some()
    }

    /// Reports what is slow, and has workers replaced or killed that have had too much of something.
    pub(crate) fn watch(&self, now: Instant) {
        let used = self.measure_memory();
        let (found, want_worker) = {
            let mut pool = self.pool.lock();
            let mut found = pool.watch(now);
            found.extend(pool.weigh(&used, now));
            let want_worker = !found.is_empty() && pool.want_worker();
            (found, want_worker)
        };
        if found.is_empty() {
            return;
        }
        self.wake_workers();
        found.iter().for_each(|finding| self.report(finding));
        if want_worker {
            self.start_worker();
        }
    }

    /// Asks the system outside of the lock: event loops need that.
    fn measure_memory(&self) -> Vec<(WorkerId, u64)> {
        if !self.spec.limits.memory.is_some() {
            return Vec::new();
        }
        let growing = self.pool.lock().growing();
        let measure = |(worker, pid)| Some((worker, usage::anonymous_memory(pid)?));
        growing.into_iter().filter_map(measure).collect()
    }

    pub(super) fn report(&self, finding: &Finding) {
        let (name, worker) = (&self.spec.name, finding.worker);
        match finding.verdict {
            WorkerVerdict::Kill(excess) => {
                let (option, cause) = match excess {
                    WorkerExcess::Time(_) => ("limits.kill_after", EndCause::KillAfter),
                    WorkerExcess::Memory(_) => ("limits.memory.hard", EndCause::Memory),
                };
                let reason = format!("{finding} ({option})");
                self.main.send(&FromRouter::KillWorker { app: self.id, worker, cause, reason });
            }
            WorkerVerdict::Replace(_) => {
                tracing::info!("\"{name}\": replacing a worker: {finding} (limits.memory.soft)");
            }
            WorkerVerdict::IsSlow(_) | WorkerVerdict::WasSlow(_) => {
                tracing::warn!("\"{name}\": slow: {finding} (limits.slow)");
            }
        }
    }
}

/// `process 123 has run GET "/a?b" for 1.2 s, script /srv/a.php`, or
/// `process 123 uses 64.5 MiB, running GET "/a?b", script /srv/a.php`
impl fmt::Display for Finding {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "process {} ", self.pid)?;
        match self.verdict {
            WorkerVerdict::WasSlow(elapsed) => self.write_time(out, "ran", elapsed)?,
            WorkerVerdict::IsSlow(elapsed) | WorkerVerdict::Kill(WorkerExcess::Time(elapsed)) => {
                self.write_time(out, "has run", elapsed)?;
            }
            WorkerVerdict::Replace(used) | WorkerVerdict::Kill(WorkerExcess::Memory(used)) => {
                self.write_memory(out, used)?;
            }
        }
        match &self.note[..] {
            [] => Ok(()),
            note => write!(out, ", script {}", String::from_utf8_lossy(note).escape_debug()),
        }
    }
}

impl Finding {
    fn write_time(&self, out: &mut fmt::Formatter<'_>, verb: &str, elapsed: Duration) -> fmt::Result {
        write!(out, "{verb} ")?;
        self.write_request(out)?;
        write!(out, " for {:.1} s", elapsed.as_secs_f64())
    }

    fn write_memory(&self, out: &mut fmt::Formatter<'_>, used: u64) -> fmt::Result {
        write!(out, "uses {}", Mebibytes(used))?;
        if self.payload.is_empty() {
            return Ok(());
        }
        write!(out, ", running ")?;
        self.write_request(out)
    }

    fn write_request(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        // It was encoded here.
        let Ok(view) = message::decode_request(&self.payload) else { return out.write_str("a request") };
        let target = view.head.target;
        let target = &target[..target.len().min(MAX_TARGET)];
        write!(out, "{} \"{}\"", view.head.method.escape_ascii(), target.escape_ascii())
    }
}
