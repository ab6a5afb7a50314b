//! Everything that happens meanwhile: keys, signals, answers of the daemon. A thread waits for each kind, so that a
//! daemon that hangs holds no key up.

use std::io;
use std::os::fd::AsFd;
use std::sync::mpsc::Sender;
use std::thread;
use std::time::{Duration, Instant};

use corral_sys::poll::{self, Interest};
use corral_sys::signal::SignalFd;
use ratatui::crossterm::event::{self, Event, KeyEvent};
use serde_json::Value;

use crate::asset;
use crate::client::Daemon;
use crate::status;

/// A thing that has happened.
#[derive(Debug)]
pub(super) enum Happening {
    Key(KeyEvent),
    /// The terminal has another size.
    Resized,
    /// The daemon has answered with its figures.
    Answered {
        status: Value,
        at: Instant,
    },
    /// The daemon has not answered, for this reason.
    Unanswered(String),
    /// An application has new processes, or has not got them for this reason.
    Restarted {
        application: String,
        outcome: Result<(), String>,
    },
    /// A signal with this number asks this process to end.
    Signal(i32),
    /// Keys or signals cannot be read.
    Deaf(io::Error),
}

/// Waits for keys.
pub(super) fn watch_keys(sender: Sender<Happening>) {
    thread::spawn(move || {
        loop {
            let happening = match event::read() {
                Ok(Event::Key(key)) if key.is_press() => Happening::Key(key),
                Ok(Event::Resize(..)) => Happening::Resized,
                Ok(_) => continue,
                Err(error) => return send(&sender, Happening::Deaf(error)),
            };
            if sender.send(happening).is_err() {
                return;
            }
        }
    });
}

/// Waits for signals.
pub(super) fn watch_signals(mut signals: SignalFd, sender: Sender<Happening>) {
    thread::spawn(move || {
        loop {
            let waited = poll::wait(&[(signals.as_fd(), Interest::Read)], None);
            match waited.and_then(|_| signals.next_signal()) {
                Ok(Some(number)) => send(&sender, Happening::Signal(number)),
                Ok(None) => {}
                Err(error) => return send(&sender, Happening::Deaf(error)),
            }
        }
    });
}

/// Asks the daemon in this interval.
pub(super) fn watch_daemon(daemon: Daemon, interval: Duration, sender: Sender<Happening>) {
    thread::spawn(move || {
        loop {
            thread::sleep(interval);
            let happening = match status::read(&daemon) {
                Ok(status) => Happening::Answered { status, at: Instant::now() },
                Err(error) => Happening::Unanswered(format!("{error:#}")),
            };
            if sender.send(happening).is_err() {
                return;
            }
        }
    });
}

/// Restarts an application.
pub(super) fn restart(daemon: Daemon, application: String, sender: Sender<Happening>) {
    thread::spawn(move || {
        let outcome = asset::replace_processes(&application, &daemon);
        let outcome = outcome.map_err(|error| format!("{error:#}"));
        send(&sender, Happening::Restarted { application, outcome });
    });
}

/// A command that has ended meanwhile needs nothing.
fn send(sender: &Sender<Happening>, happening: Happening) {
    let _ = sender.send(happening);
}
