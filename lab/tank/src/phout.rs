//! Raw data as `phout.txt` of Yandex.Tank: a line a request, times in microseconds, written by a thread of its own.

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::mpsc::{Sender, channel};
use std::thread::{self, JoinHandle};

use anyhow::{Context, Result, anyhow};

use crate::clock::{Clock, Nanos};
use crate::connection::between;
use crate::failure::Failure;
use crate::outcome::Outcome;

/// The size from which a thread's lines are handed over.
const CHUNK: usize = 64 * 1024;

/// The file, while threads send lines to it.
pub(crate) struct PhoutFile {
    lines: Sender<Vec<u8>>,
    writer: JoinHandle<std::io::Result<()>>,
}

impl PhoutFile {
    pub(crate) fn create(path: &Path) -> Result<Self> {
        let mut file = File::create(path).with_context(|| format!("create {}", path.display()))?;
        let (lines, chunks) = channel::<Vec<u8>>();
        let write = move || chunks.iter().try_for_each(|chunk| file.write_all(&chunk));
        let writer = thread::Builder::new().name("phout".to_owned()).spawn(write)?;
        Ok(Self { lines, writer })
    }

    pub(crate) fn lines(&self, clock: Clock) -> PhoutLines {
        PhoutLines { clock, chunk: Vec::new(), lines: self.lines.clone() }
    }

    /// Waits until all lines are written; all senders have to be gone.
    pub(crate) fn finish(self) -> Result<()> {
        drop(self.lines);
        let written = self.writer.join().map_err(|_| anyhow!("the writer of raw data panicked"))?;
        written.context("write raw data")
    }
}

/// The lines of one thread.
pub(crate) struct PhoutLines {
    clock: Clock,
    chunk: Vec<u8>,
    lines: Sender<Vec<u8>>,
}

impl PhoutLines {
    pub(crate) fn write(&mut self, outcome: &Outcome, tag: &str) {
        write_line(&mut self.chunk, &self.clock, outcome, tag);
        if self.chunk.len() >= CHUNK {
            self.flush();
        }
    }

    /// Hands over what there is. Once writing has failed, lines are lost, and [`PhoutFile::finish`] says why.
    pub(crate) fn flush(&mut self) {
        drop(self.lines.send(std::mem::take(&mut self.chunk)));
    }
}

fn write_line(line: &mut Vec<u8>, clock: &Clock, outcome: &Outcome, tag: &str) {
    let (job, marks) = (&outcome.job, &outcome.marks);
    let due = clock.wall(job.due);
    // A part that did not come about begins where the request ended.
    let or_end = |moment: Nanos| if moment == 0 { outcome.end } else { moment };
    let (ready, sent, answered) = (or_end(marks.ready), or_end(marks.sent), or_end(marks.answered));
    let mut number = itoa::Buffer::new();
    line.extend_from_slice(number.format(due.as_secs()).as_bytes());
    line.push(b'.');
    line.extend_from_slice(format_args_of_three(due.subsec_millis()).as_slice());
    line.push(b'\t');
    line.extend_from_slice(tag.as_bytes());
    let times = [
        outcome.response_time(),
        between(job.taken, ready),
        between(ready, sent),
        between(sent, answered),
        between(answered, outcome.end),
        outcome.service_time(),
    ];
    let times = times.map(|time| time / 1000);
    let codes = [outcome.failure.map_or(0, Failure::net_code), outcome.status].map(u64::from);
    for value in times.into_iter().chain([outcome.size_out, outcome.size_in]).chain(codes) {
        line.push(b'\t');
        line.extend_from_slice(number.format(value).as_bytes());
    }
    line.push(b'\n');
}

/// The digits of a number below 1000.
fn format_args_of_three(number: u32) -> [u8; 3] {
    [number / 100, number / 10 % 10, number % 10].map(|digit| b'0' + digit as u8)
}
