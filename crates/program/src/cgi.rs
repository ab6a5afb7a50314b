//! The parent of scripts of CGI (RFC 3875): one process for each request, which has the request's connection for its
//! standard input and output. Nothing is copied here: a request's body is behind its head on the connection, and the
//! response is what the script writes.
//!
//! The parent is a process with one thread. It keeps each connection until its script has ended and the router has seen
//! that; a process that the script has started may hold the connection longer.

mod arrival;
mod script;

use std::collections::HashMap;
use std::ffi::{CString, OsString};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::Context;
use corral_sys::process;
use corral_sys::signal::{self, ChildChange, Ended, Pid, Signal, SignalFd};
use corral_worker::complain;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{RecvFlags, Shutdown, SocketFlags};

use self::arrival::{Arrival, BodyProgress};
use self::script::ScriptRequest;

/// Runs scripts for the router until it is told to end. Descriptor 0 is a socket that listens.
///
/// # Errors
/// When it has none, or descriptors or signals cannot be used.
pub fn run() -> anyhow::Result<ExitCode> {
    let listener = io::stdin().as_fd().try_clone_to_owned().context("take the socket over")?;
    rustix::net::sockopt::socket_acceptconn(&listener).context("this command is for the daemon itself")?;
    rustix::io::ioctl_fionbio(&listener, true).context("take the socket over")?;
    // What scripts have started and left behind ends here.
    let _ = process::become_subreaper();
    // A title that could not be set costs nothing but a nicer `ps`.
    let _ = process::set_title("corral: scripts of CGI");
    let signals = SignalFd::new(&[Signal::CHILD, Signal::TERM]).context("listen to signals")?;
    let host = CgiHost {
        listener: Some(listener),
        signals,
        environment: environment()?,
        arrivals: Vec::new(),
        scripts: HashMap::new(),
        leaving: Vec::new(),
    };
    host.serve().context("wait")
}

/// The application's environment, without what could be taken for a request's.
fn environment() -> anyhow::Result<Vec<CString>> {
    let is_kept = |name: &OsString| !name.as_bytes().starts_with(b"HTTP_");
    let variables = std::env::vars_os().filter(|(name, _)| is_kept(name));
    let texts = variables.map(|(name, value)| [name.as_bytes(), b"=", value.as_bytes()].concat());
    texts.map(|text| CString::new(text).context("a variable contains a null character")).collect()
}

struct CgiHost {
    /// Empty once nothing more is to be started.
    listener: Option<OwnedFd>,
    signals: SignalFd,
    environment: Vec<CString>,
    /// Connections whose requests are on their way.
    arrivals: Vec<Arrival>,
    scripts: HashMap<Pid, RunningScript>,
    /// Connections whose scripts have ended, until the router closes them.
    leaving: Vec<OwnedFd>,
}

/// A script that runs.
struct RunningScript {
    connection: OwnedFd,
    /// For messages.
    name: String,
    /// When it is killed, if it has been told to end.
    deadline: Option<Instant>,
}

/// Time for a script to end after SIGTERM.
const GRACE: Duration = Duration::from_secs(2);

/// Connections that are accepted at a time, before others are looked at.
const AT_A_TIME: usize = 16;

impl CgiHost {
    fn serve(mut self) -> io::Result<ExitCode> {
        while !self.is_done() {
            self.sleep()?;
            while let Some(number) = self.signals.next_signal()? {
                if number == Signal::TERM.as_raw() {
                    self.stop();
                }
            }
            for (pid, change) in signal::changes() {
                if let ChildChange::Ended(ended) = change {
                    self.ended(pid, ended);
                }
            }
            self.look();
            self.kill_overdue(Instant::now());
        }
        Ok(ExitCode::SUCCESS)
    }

    fn is_done(&self) -> bool {
        self.listener.is_none() && self.scripts.is_empty()
    }

    /// Sleeps until there is something to look at.
    fn sleep(&self) -> io::Result<()> {
        let readable = |fd| PollFd::from_borrowed_fd(fd, PollFlags::IN);
        // Of a script's connection its end alone: the rest is the script's.
        let ended = |fd| PollFd::from_borrowed_fd(fd, PollFlags::empty());
        let mut fds = vec![readable(self.signals.as_fd())];
        fds.extend(self.listener.iter().map(|listener| readable(listener.as_fd())));
        fds.extend(self.arrivals.iter().map(|arrival| readable(arrival.connection.as_fd())));
        fds.extend(self.leaving.iter().map(|connection| readable(connection.as_fd())));
        let wanted = self.scripts.values().filter(|running| running.deadline.is_none());
        fds.extend(wanted.map(|running| ended(running.connection.as_fd())));
        let next = self.scripts.values().filter_map(|running| running.deadline).min();
        let limit = next.map(|at| at.saturating_duration_since(Instant::now()) + TICK);
        let limit = limit.and_then(|limit| Timespec::try_from(limit).ok());
        match poll(&mut fds, limit.as_ref()) {
            Err(error) if error != Errno::INTR => Err(error.into()),
            _ => Ok(()),
        }
    }

    fn look(&mut self) {
        self.accept();
        let mut idx = 0;
        while idx < self.arrivals.len() {
            match self.arrivals[idx].progress() {
                BodyProgress::Waiting => idx += 1,
                BodyProgress::Gone => drop(self.arrivals.swap_remove(idx)),
                BodyProgress::Complete => {
                    let arrival = self.arrivals.swap_remove(idx);
                    self.start(arrival);
                }
            }
        }
        let now = Instant::now();
        for (pid, running) in &mut self.scripts {
            if running.deadline.is_none() && corral_sys::poll::has_hung_up(running.connection.as_fd()) {
                running.end(*pid, now);
            }
        }
        self.leaving.retain(|connection| !is_over(connection.as_fd()));
    }

    fn accept(&mut self) {
        let Some(listener) = &self.listener else { return };
        for _ in 0..AT_A_TIME {
            match rustix::net::accept_with(listener, SocketFlags::CLOEXEC) {
                Ok(connection) => self.arrivals.push(Arrival::new(connection)),
                Err(Errno::AGAIN | Errno::INTR | Errno::CONNABORTED) => return,
                Err(error) => {
                    complain(format_args!("cannot take a request: {error}"));
                    // It is there again at once, and the lack is hardly over.
                    return std::thread::sleep(Duration::from_millis(50));
                }
            }
        }
    }

    fn start(&mut self, arrival: Arrival) {
        let Arrival { connection, head, .. } = arrival;
        let started =
            ScriptRequest::parse(&head, &self.environment).and_then(|request| request.start(&connection));
        match started {
            Ok((pid, name)) => {
                self.scripts.insert(pid, RunningScript { connection, name, deadline: None });
            }
            Err(refusal) => {
                complain(&refusal);
                // The router may have closed the connection, and needs no answer then.
                let _ = rustix::net::send(
                    &connection,
                    refusal.response().as_bytes(),
                    rustix::net::SendFlags::NOSIGNAL,
                );
                self.leave(connection);
            }
        }
    }

    /// A script has ended, and so has its response.
    fn ended(&mut self, pid: Pid, ended: Ended) {
        let Some(running) = self.scripts.remove(&pid) else { return };
        if running.deadline.is_some() {
            // The processes that it has started were told, too. The group's number cannot be that of another group so
            // soon.
            let _ = signal::kill_group(pid, Signal::KILL);
        } else {
            match ended {
                Ended::Code(0) => {}
                Ended::Code(code) => complain(format_args!("{} exited with code {code}", running.name)),
                Ended::Signal(number) => complain(format_args!("{} exited on signal {number}", running.name)),
            }
        }
        self.leave(running.connection);
    }

    /// Ends a response, even if another process has the connection, too. What the script has not read of the request is
    /// read here: a connection that is closed before loses the end of the response.
    fn leave(&mut self, connection: OwnedFd) {
        let _ = rustix::net::shutdown(&connection, Shutdown::Write);
        if !is_over(connection.as_fd()) {
            self.leaving.push(connection);
        }
    }

    fn stop(&mut self) {
        self.listener = None;
        self.arrivals.clear();
        let now = Instant::now();
        for (pid, running) in &mut self.scripts {
            running.end(*pid, now);
        }
    }

    fn kill_overdue(&mut self, now: Instant) {
        for (pid, running) in &mut self.scripts {
            if running.deadline.is_some_and(|deadline| deadline <= now) {
                let _ = signal::kill_group(*pid, Signal::KILL);
                running.deadline = Some(now + GRACE);
            }
        }
    }
}

/// Deadlines are not looked at a moment too early.
const TICK: Duration = Duration::from_millis(1);

impl RunningScript {
    /// Tells the script, and what it has started, to end.
    fn end(&mut self, pid: Pid, now: Instant) {
        if self.deadline.is_none() {
            let _ = signal::kill_group(pid, Signal::TERM);
            self.deadline = Some(now + GRACE);
        }
    }
}

/// Reads and drops what is left. Returns whether the other side has closed the connection.
fn is_over(connection: BorrowedFd<'_>) -> bool {
    let mut piece = [0; 64 * 1024];
    loop {
        match rustix::net::recv(connection, &mut piece, RecvFlags::DONTWAIT) {
            Ok((_, 0)) => return corral_sys::poll::has_hung_up(connection),
            Ok(_) => {}
            Err(Errno::AGAIN) => return false,
            Err(Errno::INTR) => {}
            Err(_) => return true,
        }
    }
}
