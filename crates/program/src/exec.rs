//! The process beside a command of `corral exec`: runs it in the application's place, hands on signals, and says how it
//! has ended. It ends the command when `corral exec` is gone.
//!
//! The process has one thread and runs as the application's user. In a namespace of processes it is the first one,
//! which a command could not be: the kernel keeps signals from that.

mod folder;

use std::io;
use std::os::fd::AsFd;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use corral_ipc::link::Link;
use corral_ipc::message::{FromExec, ToExec};
use corral_ipc::reason;
use corral_sys::poll::{self, Interest};
use corral_sys::process;
use corral_sys::signal::{self, ChildChange, Ended, Pid, Signal, SignalFd};
use corral_worker::confine;

use self::folder::enter;
use crate::command::ProgramCommand;
use crate::own_files;

/// Time for a command to end when `corral exec` is gone, until it is killed.
const GRACE: Duration = Duration::from_secs(10);

/// Signals that this process hands on to the command, as nothing else is meant.
const HANDED_ON: [Signal; 6] =
    [Signal::TERM, Signal::HUP, Signal::INT, Signal::QUIT, Signal::USR1, Signal::USR2];

/// Runs one command for `corral exec`.
///
/// # Errors
/// When it was not started by that, or signals cannot be used.
pub fn run() -> anyhow::Result<ExitCode> {
    let link = Link::inherited().context("this command is for `corral exec`")?;
    let Some((first, _)) = link.recv::<ToExec>().context("wait for the command")? else {
        return Ok(ExitCode::SUCCESS);
    };
    // What the command leaves behind is ended here, if it has to be.
    let _ = process::become_subreaper();
    let signals = [&HANDED_ON[..], &[Signal::CHILD]].concat();
    let signals = SignalFd::new(&signals).context("listen to signals")?;
    match start(first) {
        Ok(command) => ExecHost { link, signals, command, deadline: None }.serve().context("wait"),
        Err(error) => {
            let failed = FromExec::Failed { reason: reason::cut(format!("{error:#}")), code: code(&error) };
            link.send(&failed, &[]).context("tell of a failure")?;
            Ok(ExitCode::FAILURE)
        }
    }
}

fn start(first: ToExec) -> anyhow::Result<Pid> {
    let ToExec::Start { spec, dependencies, folder, words, controlling_terminal } = first else {
        bail!("the first message is {first:?}, not Start");
    };
    let _ = process::set_title(&format!("corral: \"{}\" exec", spec.name));
    enter(&spec, &folder);
    let command = ProgramCommand::of_words(&words)?;
    let readable = [own_files(), dependencies, vec![command.path().to_owned()]].concat();
    let terminal = controlling_terminal.then(|| "/dev/tty".into());
    confine(&spec, readable, terminal.into_iter().collect())?;
    command.run_attached(controlling_terminal)
}

/// The code that shells have for a command that could not be run.
fn code(error: &anyhow::Error) -> u8 {
    let refused = error.chain().filter_map(|error| error.downcast_ref::<io::Error>());
    let is_refused = refused.map(io::Error::kind).any(|kind| kind != io::ErrorKind::NotFound);
    if is_refused { 126 } else { 127 }
}

struct ExecHost {
    link: Link,
    signals: SignalFd,
    /// The command leads its group.
    command: Pid,
    /// When it is killed, if `corral exec` is gone.
    deadline: Option<Instant>,
}

impl ExecHost {
    fn serve(mut self) -> io::Result<ExitCode> {
        loop {
            self.sleep()?;
            while let Some(number) = self.signals.next_signal()? {
                if number != Signal::CHILD.as_raw() {
                    self.hand_on(number);
                }
            }
            for (pid, change) in signal::changes() {
                if let ChildChange::Ended(ended) = change
                    && pid == self.command
                {
                    return Ok(self.ended(ended));
                }
            }
            self.listen();
            if self.deadline.is_some_and(|deadline| deadline <= Instant::now()) {
                return Ok(self.kill());
            }
        }
    }

    fn sleep(&self) -> io::Result<()> {
        let mut fds = vec![(self.signals.as_fd(), Interest::Read)];
        if self.deadline.is_none() {
            fds.push((self.link.as_fd(), Interest::Read));
        }
        let left = self.deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        poll::wait(&fds, left).map(drop)
    }

    fn listen(&mut self) {
        while self.deadline.is_none() {
            match self.link.try_recv::<ToExec>() {
                Ok(Some((ToExec::Signal { number }, _))) => self.hand_on(number),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Ok(Some((ToExec::Start { .. }, _)) | None) | Err(_) => self.end(),
            }
        }
    }

    fn hand_on(&self, number: i32) {
        if let Some(signal) = Signal::from_named_raw(number) {
            // It has ended, and that is seen next.
            let _ = signal::kill_group(self.command, signal);
        }
    }

    /// Ends the command: `corral exec` is gone, and the command's output is not seen any more.
    fn end(&mut self) {
        self.deadline = Some(Instant::now() + GRACE);
        for signal in [Signal::HUP, Signal::TERM, Signal::CONT] {
            self.hand_on(signal.as_raw());
        }
    }

    fn kill(&self) -> ExitCode {
        self.hand_on(Signal::KILL.as_raw());
        for left in process::children() {
            signal::kill_child(left, Signal::KILL);
        }
        ExitCode::FAILURE
    }

    fn ended(&self, ended: Ended) -> ExitCode {
        if self.deadline.is_some() {
            return self.kill();
        }
        // `corral exec` may be gone this very moment.
        let _ = self.link.send(&FromExec::Ended { exit: ended.into() }, &[]);
        ExitCode::SUCCESS
    }
}
