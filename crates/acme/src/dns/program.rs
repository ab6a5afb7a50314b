//! A program that changes the DNS: run with what to do, bounded in time.

use std::io;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::process::{Child, Command};
use tokio::time::timeout;

use super::error::DnsError;
use super::record::{Record, RecordAction};

/// Where commands are looked for when the daemon has no `PATH` of its own.
const DEFAULT_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// How many bytes of standard error are kept, and how much of them is shown.
const MAX_KEPT: usize = 64 * 1024;
const MAX_LINES: usize = 5;
const MAX_SHOWN: usize = 1000;

/// How long standard error is read after the program has ended: a process that it has started may hold it open.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// Runs `words[0]` with the other words, the action, the record's name and its value. Its environment has `PATH`, and
/// the latter three as `CORRAL_ACME_ACTION`, `CORRAL_ACME_RECORD` and `CORRAL_ACME_VALUE`. After `limit` it is killed,
/// with its process group.
///
/// # Cancel safety
/// The process group is killed when the future is dropped.
pub(super) async fn run(
    words: &[String],
    action: RecordAction,
    record: &Record,
    limit: Duration,
) -> Result<(), DnsError> {
    let Some((program, arguments)) = words.split_first() else {
        return Err(DnsError::ProgramMissing { program: String::new() });
    };
    let mut running = RunningProgram::start(program, arguments, action, record)?;
    let mut said = Vec::new();
    let ended = timeout(limit, running.ended(&mut said)).await;
    let (program, said) = (program.clone(), first_words(&said));
    match ended {
        Ok(Ok(status)) if status.success() => Ok(()),
        Ok(Ok(status)) => Err(DnsError::ProgramFailed { program, action, status, said }),
        Ok(Err(source)) => Err(DnsError::ProgramStart { program, source }),
        Err(_) => Err(DnsError::ProgramTimeout { program, action, limit, said }),
    }
}

/// A process group, killed when dropped before its first process has ended.
struct RunningProgram {
    child: Child,
    /// Forgotten once the process was reaped: its number may be another's then.
    group: Option<Pid>,
}

impl RunningProgram {
    fn start(
        program: &str,
        arguments: &[String],
        action: RecordAction,
        record: &Record,
    ) -> Result<Self, DnsError> {
        let path = std::env::var_os("PATH").unwrap_or_else(|| DEFAULT_PATH.into());
        let spawned = Command::new(program)
            .args(arguments)
            .args([&action.to_string(), &record.name, &record.value])
            .env_clear()
            .env("PATH", path)
            .env("CORRAL_ACME_ACTION", action.to_string())
            .env("CORRAL_ACME_RECORD", &record.name)
            .env("CORRAL_ACME_VALUE", &record.value)
            .current_dir("/")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true)
            .spawn();
        let child = spawned.map_err(|source| match source.kind() {
            io::ErrorKind::NotFound => DnsError::ProgramMissing { program: program.to_owned() },
            io::ErrorKind::PermissionDenied => DnsError::ProgramForbidden {
                program: program.to_owned(),
                user: rustix::process::geteuid().as_raw(),
            },
            _ => DnsError::ProgramStart { program: program.to_owned(), source },
        })?;
        let group = child.id().and_then(|pid| i32::try_from(pid).ok()).and_then(Pid::from_raw);
        Ok(Self { child, group })
    }

    /// Waits for its end, and reads its standard error meanwhile.
    async fn ended(&mut self, said: &mut Vec<u8>) -> io::Result<ExitStatus> {
        let Self { child, group } = self;
        let Some(mut stderr) = child.stderr.take() else { return child.wait().await };
        let mut reading = std::pin::pin!(read(&mut stderr, said));
        let (status, is_read) = tokio::select! {
            status = child.wait() => (status, false),
            () = &mut reading => (child.wait().await, true),
        };
        *group = None;
        if !is_read {
            // Without the rest, if another process holds it open.
            let _ = timeout(LAST_WORDS, reading).await;
        }
        status
    }
}

impl Drop for RunningProgram {
    fn drop(&mut self) {
        if let Some(group) = self.group {
            // Fails when all of it has ended meanwhile.
            let _ = kill_process_group(group, Signal::KILL);
        }
    }
}

/// Reads to the end; keeps the beginning.
async fn read(from: &mut (impl AsyncRead + Unpin), kept: &mut Vec<u8>) {
    let mut piece = [0; 4096];
    while let Ok(n) = from.read(&mut piece).await {
        if n == 0 {
            return;
        }
        let room = MAX_KEPT.saturating_sub(kept.len());
        kept.extend_from_slice(&piece[..n.min(room)]);
    }
}

/// The first lines that have something in them, as one.
fn first_words(said: &[u8]) -> String {
    let text = String::from_utf8_lossy(said);
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let joined = lines.take(MAX_LINES).collect::<Vec<_>>().join("; ");
    let shown: String = joined.chars().filter(|c| !c.is_control()).take(MAX_SHOWN).collect();
    if shown.is_empty() { "its standard error does not say why".to_owned() } else { shown }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_lines_are_shown() {
        assert_eq!(first_words(b"\n one \x1b[1m\n\ntwo\n"), "one [1m; two");
        assert_eq!(first_words(b"\xff\n"), "\u{fffd}");
        assert_eq!(first_words(b" \n"), "its standard error does not say why");
        assert_eq!(first_words("ä".repeat(5000).as_bytes()).chars().count(), MAX_SHOWN);
        assert_eq!(first_words(b"1\n2\n3\n4\n5\n6\n"), "1; 2; 3; 4; 5");
    }
}
