//! Everything that happens meanwhile: keys, signals, answers of the daemon. A thread waits for each kind, so that a
//! daemon that hangs holds no key up.

use std::io;
use std::os::fd::AsFd;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use corral_sys::poll::{self, Interest};
use corral_sys::signal::SignalFd;
use ratatui::crossterm::event::{self, Event, KeyEvent};
use serde_json::Value;

use super::workers::{EndOrder, Workers};
use crate::asset;
use crate::client::{ApiCall, Daemon};
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
    /// The daemon has told of the workers of an application, or has not, for this reason.
    Listed {
        application: String,
        answer: Result<Value, String>,
        at: Instant,
    },
    /// A worker was told to end, or was not, for this reason.
    Ended {
        order: EndOrder,
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

/// Asks the daemon in this interval. The workers of an application are asked for as long as it is open, and at once
/// when it is opened.
pub(super) fn watch_daemon(
    daemon: Daemon,
    interval: Duration,
    openings: Receiver<Option<String>>,
    sender: Sender<Happening>,
) {
    thread::spawn(move || {
        let mut opened = None;
        let mut next = Instant::now() + interval;
        loop {
            match openings.recv_timeout(next.saturating_duration_since(Instant::now())) {
                Ok(application) => opened = application,
                Err(RecvTimeoutError::Timeout) => {
                    send(&sender, ask(&daemon));
                    next = Instant::now() + interval;
                }
                Err(RecvTimeoutError::Disconnected) => return,
            }
            if let Some(application) = &opened {
                send(&sender, list(&daemon, application));
            }
        }
    });
}

fn ask(daemon: &Daemon) -> Happening {
    match status::read(daemon) {
        Ok(status) => Happening::Answered { status, at: Instant::now() },
        Err(error) => Happening::Unanswered(format!("{error:#}")),
    }
}

fn list(daemon: &Daemon, application: &str) -> Happening {
    let read = || -> anyhow::Result<Value> {
        let answer = daemon.get(&Workers::path(application))?;
        if answer.status == 404 {
            bail!("it is gone, or the daemon is an older one");
        }
        serde_json::from_slice(&answer.into_body()?).context("the answer is not JSON")
    };
    let answer = read().map_err(|error| format!("{error:#}"));
    Happening::Listed { application: application.to_owned(), answer, at: Instant::now() }
}

/// Has a worker end.
pub(super) fn end(daemon: Daemon, order: EndOrder, sender: Sender<Happening>) {
    thread::spawn(move || {
        let tell = || -> anyhow::Result<()> {
            let path = order.path();
            let call = ApiCall { method: "POST", path: &path, body: Some(b""), if_match: None };
            let answer = daemon.ask(call)?;
            if answer.status == 404 {
                bail!("it has ended already");
            }
            answer.into_body().map(drop)
        };
        let outcome = tell().map_err(|error| format!("{error:#}"));
        send(&sender, Happening::Ended { order, outcome });
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
