//! `corral top`: the figures of a running daemon at a terminal as they change, restarts of its applications, and the
//! end of single workers.

mod answers;
mod figures;
mod happening;
mod history;
mod interval;
mod look;
mod mark;
mod rows;
mod screen;
mod state;
mod view;
mod worker_choice;
mod workers;

use std::io::{self, IsTerminal};
use std::process::ExitCode;
use std::sync::mpsc::{self, Receiver, Sender};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use corral_sys::signal::{Signal, SignalFd};
use ratatui::crossterm::event::KeyEvent;

use self::answers::Answers;
use self::happening::Happening;
use self::look::Look;
use self::screen::Screen;
use self::state::{KeyEffect, TopState};
use self::view::View;
use crate::client::Daemon;
use crate::status;

/// Signals that would end this process and leave the terminal as it is.
const ENDING: [Signal; 4] = [Signal::INT, Signal::TERM, Signal::HUP, Signal::QUIT];

/// Added to the number of a signal, as shells do.
const BY_SIGNAL: i32 = 128;

/// How often the picture is drawn while nothing happens: it says how long the daemon has been silent.
const TICK: Duration = Duration::from_secs(1);

/// Asks the daemon in this interval, until a key or a signal ends the command.
pub(crate) fn command(daemon: &Daemon, interval: Duration) -> anyhow::Result<ExitCode> {
    if !io::stdin().is_terminal() || !io::stdout().is_terminal() {
        bail!(
            "a terminal is needed; for programs there is `corral status --json`, and `corral status --watch` shows \
             the figures again and again"
        );
    }
    // A daemon that is not there at the beginning is told as by other commands.
    let first = status::read(daemon)?;
    let answers = Answers::new(&first, Instant::now(), interval);
    // Threads have the signals blocked that are blocked when they start.
    let signals = SignalFd::new(&ENDING).context("listen to signals")?;
    let look = Look::of_environment();
    let mut screen = Screen::open(look).context("take the terminal over")?;
    let (sender, happenings) = mpsc::channel();
    happening::watch_keys(sender.clone());
    happening::watch_signals(signals, sender.clone());
    let (openings, opened) = mpsc::channel();
    happening::watch_daemon(daemon.clone(), interval, opened, sender.clone());
    let top = Top { daemon, answers, state: TopState::default(), view: View::new(look), sender, openings };
    top.run(&mut screen, &happenings)
}

/// The command while it runs.
struct Top<'a> {
    daemon: &'a Daemon,
    answers: Answers,
    state: TopState,
    view: View,
    /// For threads that are started later.
    sender: Sender<Happening>,
    /// The application that is opened, for the thread that asks for its workers.
    openings: Sender<Option<String>>,
}

impl Top<'_> {
    fn run(mut self, screen: &mut Screen, happenings: &Receiver<Happening>) -> anyhow::Result<ExitCode> {
        loop {
            let (state, answers) = (&self.state, &self.answers);
            let drawn = screen.draw(|frame| self.view.render(frame, state, answers, Instant::now()));
            drawn.context("draw on the terminal")?;
            let first = happenings.recv_timeout(TICK).ok();
            for happening in first.into_iter().chain(happenings.try_iter()) {
                if let Some(code) = self.take(happening)? {
                    return Ok(code);
                }
            }
        }
    }

    /// Takes what has happened. With an exit code, the command ends.
    fn take(&mut self, happening: Happening) -> anyhow::Result<Option<ExitCode>> {
        match happening {
            Happening::Key(key) => return Ok(self.press(key)),
            Happening::Resized => {}
            Happening::Answered { status, at } => self.answers.add(&status, at),
            Happening::Unanswered(reason) => self.answers.fail(&reason),
            Happening::Restarted { application, outcome } => self.state.restarted(&application, outcome),
            Happening::Listed { application, answer, at } => {
                if self.state.opened.as_ref() == Some(&application) {
                    self.answers.add_workers(&application, answer, at);
                }
            }
            Happening::Ended { order, outcome } => {
                self.state.ended(&order, outcome);
                self.ask_for_workers();
            }
            Happening::Signal(number) => return Ok(Some(by_signal(number))),
            Happening::Deaf(error) => return Err(error).context("listen to keys and signals"),
        }
        Ok(None)
    }

    fn press(&mut self, key: KeyEvent) -> Option<ExitCode> {
        let before = self.state.opened.clone();
        let effect = self.state.press(key, &self.answers);
        if self.state.opened != before {
            self.answers.forget_workers();
            self.ask_for_workers();
        }
        match effect {
            KeyEffect::Nothing => None,
            KeyEffect::Quit => Some(ExitCode::SUCCESS),
            KeyEffect::Restart(application) => {
                happening::restart(self.daemon.clone(), application, self.sender.clone());
                None
            }
            KeyEffect::End(order) => {
                happening::end(self.daemon.clone(), order, self.sender.clone());
                None
            }
        }
    }

    /// Has the workers of the application that is open asked for at once.
    fn ask_for_workers(&self) {
        // The thread ends with this process.
        let _ = self.openings.send(self.state.opened.clone());
    }
}

fn by_signal(number: i32) -> ExitCode {
    u8::try_from(BY_SIGNAL + number).map_or(ExitCode::FAILURE, ExitCode::from)
}
