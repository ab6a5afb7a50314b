//! Relays keys and output between two terminals, and signals to the command, while it runs.

use std::io::{self, Read, Write};
use std::os::fd::AsFd;

use anyhow::{Context, bail};
use corral_ipc::link::Link;
use corral_ipc::message::{FromExec, ToExec};
use corral_sys::poll::{self, Interest, Readiness};
use corral_sys::signal::{self, Signal, SignalFd};

use super::streams::ExecTerminal;

/// Signals that are meant for the command. What this process was told to ignore it ignores.
pub(super) fn signals() -> Vec<Signal> {
    let all =
        [Signal::INT, Signal::TERM, Signal::HUP, Signal::QUIT, Signal::USR1, Signal::USR2, Signal::WINCH];
    all.into_iter().filter(|signal| !signal::is_ignored(*signal)).collect()
}

/// Bytes that are moved at a time.
const PIECE: usize = 64 * 1024;

/// Output that is shown after the command has ended, in bytes: far more than a terminal holds, and an end to what a
/// process that was left behind prints.
const MOST_AT_THE_END: usize = 1024 * 1024;

pub(super) struct TerminalRelay<'a> {
    pub(super) link: &'a Link,
    pub(super) signals: SignalFd,
    pub(super) terminal: Option<ExecTerminal>,
    /// Keys that the command's terminal has not taken yet.
    pub(super) typed: Vec<u8>,
}

impl TerminalRelay<'_> {
    /// Goes on until the command has ended.
    pub(super) fn run(mut self) -> anyhow::Result<FromExec> {
        loop {
            let is_typed = self.wait().context("wait")?;
            while let Some(number) = self.signals.next_signal().context("read a signal")? {
                self.take_signal(number);
            }
            if is_typed {
                self.read_keyboard();
            }
            self.type_on();
            self.show(PIECE);
            match self.link.take::<FromExec>() {
                Ok(Some((end, _))) => {
                    self.show(MOST_AT_THE_END);
                    return Ok(end);
                }
                Ok(None) => bail!("the process beside the command has ended before it"),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(error).context("listen to the process beside the command"),
            }
        }
    }

    /// Waits for something to do; says whether something is typed.
    fn wait(&self) -> io::Result<bool> {
        let mut fds = vec![(self.link.as_fd(), Interest::Read), (self.signals.as_fd(), Interest::Read)];
        let (keyboard, master) = self.terminal.as_ref().map(ExecTerminal::ends).unwrap_or_default();
        let interest = if self.typed.is_empty() { Interest::Read } else { Interest::ReadWrite };
        fds.extend(master.map(|master| (master, interest)));
        let keyboard = keyboard.filter(|_| self.typed.is_empty());
        fds.extend(keyboard.map(|keyboard| (keyboard, Interest::Read)));
        let ready = poll::wait(&fds, None)?;
        Ok(keyboard.is_some() && ready.last().is_some_and(|Readiness { readable, .. }| *readable))
    }

    fn take_signal(&mut self, number: i32) {
        if number == Signal::WINCH.as_raw() {
            return self.terminal.iter().for_each(ExecTerminal::resize);
        }
        // It may have ended, which is heard next.
        let _ = self.link.try_send(&ToExec::Signal { number }, &[]);
    }

    fn read_keyboard(&mut self) {
        let Some(terminal) = &mut self.terminal else { return };
        let Some(keyboard) = terminal.keyboard() else { return };
        let mut piece = [0; 1024];
        match keyboard.read(&mut piece) {
            Ok(len) if len > 0 => self.typed.extend_from_slice(&piece[..len]),
            Err(error) if is_temporary(&error) => {}
            // The window is closed.
            Ok(_) | Err(_) => {
                terminal.close_keyboard();
                self.take_signal(Signal::HUP.as_raw());
            }
        }
    }

    fn type_on(&mut self) {
        let master = self.terminal.as_mut().and_then(ExecTerminal::master).filter(|_| !self.typed.is_empty());
        let Some(master) = master else { return };
        match master.write(&self.typed) {
            Ok(len) => drop(self.typed.drain(..len)),
            Err(error) if is_temporary(&error) => {}
            Err(_) => self.typed.clear(),
        }
    }

    /// Shows what the command has printed, about as much as this.
    fn show(&mut self, most: usize) {
        let Some(terminal) = &mut self.terminal else { return };
        let mut piece = [0; PIECE];
        let mut n_shown = 0;
        while n_shown < most {
            let Some(master) = terminal.master() else { return };
            match master.read(&mut piece) {
                Ok(len) if len > 0 && terminal.outer().write_all(&piece[..len]).is_ok() => n_shown += len,
                Err(error) if is_temporary(&error) => return,
                Ok(_) | Err(_) => return terminal.close_screen(),
            }
        }
    }
}

fn is_temporary(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
}
