//! Finds out when a program is ready for requests: looks again and again, and never waits.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::task::Poll;
use std::time::{Duration, Instant};

use anyhow::Context;
use corral_config::plan::Ready;
use corral_ipc::message::WorkerId;
use corral_sys::signal::Pid;

use crate::endpoint::ProgramEndpoint;
use crate::folder::{ProgramFolder, SocketPath};

/// The readiness check of one program.
#[derive(Debug)]
pub(crate) struct Probe {
    way: ProbeKind,
    /// The reason why the program is not ready yet, for people.
    missing: String,
    pause: Duration,
    next_look: Instant,
}

#[derive(Debug)]
enum ProbeKind {
    /// With a connection that was not accepted yet.
    Connect(Option<OwnedFd>),
    Path {
        target: String,
        asking: Option<Asking>,
    },
    Notify {
        socket: UnixDatagram,
        path: SocketPath,
    },
}

/// A request on its way.
#[derive(Debug)]
struct Asking {
    connection: OwnedFd,
    is_sent: bool,
    received: Vec<u8>,
    since: Instant,
}

const FIRST_PAUSE: Duration = Duration::from_millis(2);
const LONGEST_PAUSE: Duration = Duration::from_millis(50);

/// An answer that takes longer is not waited for: the program may have been asked before it was itself.
const LONGEST_ANSWER: Duration = Duration::from_secs(5);

impl Probe {
    pub(crate) fn new(
        ready: &Ready,
        folder: Option<&ProgramFolder>,
        worker: WorkerId,
        now: Instant,
    ) -> anyhow::Result<Self> {
        let missing = match ready {
            Ready::Path(target) => format!("it does not answer {target}"),
            Ready::Connect | Ready::Notify => "nothing was found out yet".to_owned(),
        };
        let way = match ready {
            Ready::Connect => ProbeKind::Connect(None),
            Ready::Path(target) => ProbeKind::Path { target: target.clone(), asking: None },
            Ready::Notify => {
                let folder = folder.context("there is no folder for its notifications")?;
                let path = folder.socket(&format!("{}.notify", worker.0));
                let socket =
                    UnixDatagram::bind(path.path()).context("make the socket for its notifications")?;
                socket.set_nonblocking(true)?;
                ProbeKind::Notify { socket, path }
            }
        };
        Ok(Self { way, missing, pause: FIRST_PAUSE, next_look: now })
    }

    /// Where the program says that it is ready, if it is to say so.
    pub(crate) fn notify_path(&self) -> Option<&Path> {
        match &self.way {
            ProbeKind::Notify { path, .. } => Some(path.path()),
            ProbeKind::Connect(_) | ProbeKind::Path { .. } => None,
        }
    }

    /// The descriptor that becomes readable when there is something to look at.
    pub(crate) fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        match &self.way {
            ProbeKind::Connect(_) => None,
            ProbeKind::Path { asking, .. } => asking.as_ref().map(|asking| asking.connection.as_fd()),
            ProbeKind::Notify { socket, .. } => Some(socket.as_fd()),
        }
    }

    pub(crate) fn next_look(&self) -> Instant {
        self.next_look
    }

    /// The reason why the program is not ready yet.
    pub(crate) fn missing(&self) -> &str {
        &self.missing
    }

    /// Looks whether the program is ready by now.
    pub(crate) fn look(&mut self, endpoint: &ProgramEndpoint, program: Pid, now: Instant) -> bool {
        let found = match &mut self.way {
            ProbeKind::Connect(connection) => look_for_acceptance(connection, endpoint, program),
            ProbeKind::Path { target, asking } => ask(asking, target, || connect(endpoint, program), now),
            ProbeKind::Notify { socket, .. } => take_notifications(socket),
        };
        self.pause = LONGEST_PAUSE.min(self.pause * 2);
        self.next_look = now + self.pause;
        match found {
            Ok(()) => true,
            Err(missing) => {
                // An answer that is on its way tells nothing yet.
                if !missing.is_empty() {
                    self.missing = missing;
                }
                false
            }
        }
    }
}

fn connect(endpoint: &ProgramEndpoint, program: Pid) -> Result<OwnedFd, String> {
    endpoint.connect(program).map_err(|error| format!("nothing listens on {} ({error})", endpoint.describe()))
}

fn look_for_acceptance(
    connection: &mut Option<OwnedFd>,
    endpoint: &ProgramEndpoint,
    program: Pid,
) -> Result<(), String> {
    if connection.is_none() {
        *connection = Some(connect(endpoint, program)?);
    }
    if endpoint.is_attended() {
        Ok(())
    } else {
        Err(format!("it accepts nothing on {}", endpoint.describe()))
    }
}

fn ask(
    asking: &mut Option<Asking>,
    target: &str,
    connect: impl FnOnce() -> Result<OwnedFd, String>,
    now: Instant,
) -> Result<(), String> {
    let current = match asking {
        Some(current) => current,
        None => {
            let connection = connect()?;
            asking.insert(Asking { connection, is_sent: false, received: Vec::new(), since: now })
        }
    };
    let is_late = now.saturating_duration_since(current.since) > LONGEST_ANSWER;
    let answer = match current.go_on(target) {
        Ok(Poll::Pending) if is_late => current.status(),
        Ok(Poll::Pending) => return Err(String::new()),
        Ok(Poll::Ready(())) => current.status(),
        Err(error) => Err(error),
    };
    *asking = None;
    match answer {
        Ok(Some(200..=399)) => Ok(()),
        Ok(Some(status)) => Err(format!("it answers {target} with {status}")),
        Ok(None) => Err(format!("it does not answer {target}")),
        Err(error) => Err(format!("it does not answer {target} ({error})")),
    }
}

impl Asking {
    /// Reads to the end: a program may complain of a client that does not.
    fn go_on(&mut self, target: &str) -> io::Result<Poll<()>> {
        if !self.is_sent {
            let request = format!(
                "GET {target} HTTP/1.1\r\nHost: localhost\r\nUser-Agent: corral\r\nConnection: close\r\n\r\n"
            );
            // It is short, and the first on its connection.
            rustix::io::write(&self.connection, request.as_bytes())?;
            self.is_sent = true;
        }
        let mut piece = [0; 4096];
        loop {
            match rustix::io::read(&self.connection, &mut piece) {
                Ok(0) => return Ok(Poll::Ready(())),
                Ok(n) => {
                    let n_kept = n.min(START_OF_RESPONSE.saturating_sub(self.received.len()));
                    self.received.extend_from_slice(&piece[..n_kept]);
                }
                Err(rustix::io::Errno::AGAIN) => return Ok(Poll::Pending),
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// The status, if it is there.
    fn status(&self) -> io::Result<Option<u16>> {
        status(&self.received).ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "that is not HTTP"))
    }
}

/// `HTTP/1.1 200`
const START_OF_RESPONSE: usize = 12;

/// The status of a response's beginning: `None` if the bytes are not a response, `Some(None)` if they are too few.
#[expect(clippy::option_option, reason = "wrong and unknown are different")]
fn status(received: &[u8]) -> Option<Option<u16>> {
    const START: &[u8] = b"HTTP/1.";
    let n_known = received.len().min(START.len());
    if received[..n_known] != START[..n_known] {
        return None;
    }
    let Some(digits) = received.get(9..12) else { return Some(None) };
    Some(Some(std::str::from_utf8(digits).ok()?.parse().ok()?))
}

fn take_notifications(socket: &UnixDatagram) -> Result<(), String> {
    let mut buffer = [0; 4096];
    while let Ok(n) = socket.recv(&mut buffer) {
        if buffer[..n].split(|byte| *byte == b'\n').any(|line| line == b"READY=1") {
            return Ok(());
        }
    }
    Err("it has not said READY=1 to $NOTIFY_SOCKET".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_is_known_as_soon_as_it_is_there() {
        for (received, expected) in [
            ("", Some(None)),
            ("HTTP/", Some(None)),
            ("HTTP/1.1 20", Some(None)),
            ("HTTP/1.1 204", Some(Some(204))),
            ("HTTP/1.0 503 Unavailable\r\n", Some(Some(503))),
            ("SSH-2.0", None),
            ("HTTP/2 200 OK", None),
            ("HTTP/1.1 abc", None),
        ] {
            assert_eq!(status(received.as_bytes()), expected, "{received}");
        }
    }

    #[test]
    fn readiness_may_come_with_other_news() {
        let folder = ProgramFolder::make().unwrap();
        let now = Instant::now();
        let mut probe = Probe::new(&Ready::Notify, Some(&folder), WorkerId(1), now).unwrap();
        let endpoint = ProgramEndpoint::Port(crate::port::LocalPort::v4(1));
        let program = UnixDatagram::unbound().unwrap();
        let mut say = |text: &str| {
            program.send_to(text.as_bytes(), probe.notify_path().unwrap()).unwrap();
            probe.look(&endpoint, Pid::INIT, now)
        };
        assert!(!say("STATUS=READY=1"));
        assert!(!say("READY=0"));
        assert!(say("STATUS=up\nREADY=1\nMAINPID=1"));
    }
}
