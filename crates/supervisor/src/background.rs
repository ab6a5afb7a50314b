//! Going to the background: the process that was started waits until the daemon serves, and says
//! so with its exit code.

use std::fs::File;
use std::io::{self, PipeWriter, Read, Write};

use corral_sys::process::{self, Standard};
use corral_sys::signal::Pid;
use corral_sys::spawn::{self, Fork};

/// The end on which the daemon tells the process that was started how it went. Dropped without a
/// word, it means failure.
#[derive(Debug)]
pub(crate) struct Starter(PipeWriter);

/// Which of the two processes this is.
#[derive(Debug)]
pub(crate) enum DetachSide {
    /// The one that was started: it has nothing left to do but to exit. The daemon is the process with this number,
    /// if it serves.
    Foreground(Option<Pid>),
    /// The daemon, in a session of its own.
    Background(Starter),
}

/// Forks. Standard input and output of the daemon lead nowhere; standard error stays.
pub(crate) fn enter() -> io::Result<DetachSide> {
    let (reader, writer) = io::pipe()?;
    match spawn::fork()? {
        Fork::Parent(daemon) => {
            drop(writer);
            Ok(DetachSide::Foreground(wait_for_daemon(reader).then_some(daemon)))
        }
        Fork::Child => {
            drop(reader);
            process::new_session()?;
            let null = File::options().read(true).write(true).open("/dev/null")?;
            process::replace_standard(Standard::Input, &null)?;
            process::replace_standard(Standard::Output, &null)?;
            Ok(DetachSide::Background(Starter(writer)))
        }
    }
}

/// Whether the daemon serves.
fn wait_for_daemon(mut reader: impl Read) -> bool {
    let mut word = Vec::new();
    match reader.read_to_end(&mut word) {
        Ok(_) if word == READY => true,
        _ => {
            let reason = String::from_utf8_lossy(&word);
            let reason = if word.is_empty() { "the daemon ended; its log says why".into() } else { reason };
            // A user who closed standard error does not want to hear it.
            let _ = writeln!(io::stderr(), "corral: {reason}");
            false
        }
    }
}

impl Starter {
    /// The daemon serves.
    pub(crate) fn ready(mut self) {
        // The other process may have been killed meanwhile; the daemon goes on.
        let _ = self.0.write_all(READY);
    }

    /// The daemon cannot start.
    pub(crate) fn failed(mut self, reason: &str) {
        let _ = self.0.write_all(reason.as_bytes());
    }
}

const READY: &[u8] = b"\0";

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(tell: impl FnOnce(Starter), expected: bool) {
        let (reader, writer) = io::pipe().unwrap();
        tell(Starter(writer));
        assert_eq!(wait_for_daemon(reader), expected);
    }

    #[test]
    fn the_starter_says_whether_the_daemon_serves() {
        check(Starter::ready, true);
        check(|starter| starter.failed("bind the control socket"), false);
        check(drop, false);
    }
}
