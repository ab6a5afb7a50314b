//! Passes lines of the daemon on to standard error, in the form that Octane reads.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::Child;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};

use super::lines::OutputLines;

/// Lines that are not written yet; more are lost, so that a slow reader of standard error does not slow the daemon
/// down.
const MAX_LINES: usize = 10_000;

/// Threads that turn the daemon's output into lines on standard error.
pub(super) fn pass_on(child: &mut Child, lines: OutputLines) -> Vec<JoinHandle<()>> {
    let (sender, receiver) = sync_channel(MAX_LINES);
    let printed = child.stdout.take().map(|output| {
        let (lines, sender) = (lines.clone(), sender.clone());
        thread::spawn(move || read(output, &sender, |line| lines.printed(line)))
    });
    let logged = child
        .stderr
        .take()
        .map(|output| thread::spawn(move || read(output, &sender, |line| lines.logged(line))));
    let written = thread::spawn(move || write(&receiver));
    printed.into_iter().chain(logged).chain([written]).collect()
}

fn read(output: impl Read, sender: &SyncSender<String>, form: impl Fn(&str) -> Option<String>) {
    let mut output = BufReader::new(output);
    let mut line = Vec::new();
    while output.read_until(b'\n', &mut line).is_ok_and(|n| n > 0) {
        let text = String::from_utf8_lossy(&line);
        if let Some(text) = form(text.trim_end_matches(['\n', '\r'])) {
            let _ = sender.try_send(text);
        }
        line.clear();
    }
}

fn write(lines: &Receiver<String>) {
    for line in lines {
        // A terminal that is gone does not want to hear it.
        let _ = writeln!(std::io::stderr(), "{line}");
    }
}
