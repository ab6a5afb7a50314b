//! The length of a queue: a program that prints it is run again and again, one at a time, and never for too long.

use std::io::{self, PipeReader, Read};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

use anyhow::Context;
use corral_config::plan::QueueSpec;
use corral_ipc::message::{Exit, FromPrototype, WorkerId};
use corral_worker::Keeper;

use crate::command::ProgramCommand;

/// The program among the children of its prototype; main numbers processes from 1.
pub(crate) const GAUGE: WorkerId = WorkerId(u32::MAX);

/// A number, and some blank lines.
const LONGEST_OUTPUT: usize = 4096;

/// Characters of an output that an error shows.
const SHOWN: usize = 80;

/// Longest pause after failures, unless the interval is longer.
const LONGEST_PAUSE: Duration = Duration::from_secs(300);

/// Failures in a row after which a pause grows no further, whatever the interval is.
const MOST_DOUBLINGS: u32 = 9;

/// Looks at the length of a queue.
pub(crate) struct Gauge {
    command: ProgramCommand,
    interval: Duration,
    timeout: Duration,
    next_at: Instant,
    n_failures: u32,
    reading: Option<Reading>,
}

/// A program that has not ended yet.
struct Reading {
    /// Until it is at its end, or too much has come.
    pipe: Option<PipeReader>,
    output: Vec<u8>,
    begun: Instant,
    /// The reason why it is being ended.
    failure: Option<String>,
}

impl Gauge {
    /// Finds the program.
    pub(crate) fn new(queue: &QueueSpec) -> anyhow::Result<Self> {
        Ok(Self {
            command: ProgramCommand::alone(&queue.command).context("the command of the queue")?,
            interval: queue.interval,
            timeout: queue.timeout,
            next_at: Instant::now(),
            n_failures: 0,
            reading: None,
        })
    }

    pub(crate) fn command(&self) -> &ProgramCommand {
        &self.command
    }

    /// The pipe that the program prints to.
    pub(crate) fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        self.reading.as_ref()?.pipe.as_ref().map(AsFd::as_fd)
    }

    /// When `look` has something to do.
    pub(crate) fn deadline(&self, is_stopping: bool) -> Option<Instant> {
        match &self.reading {
            Some(reading) if reading.failure.is_some() => None,
            Some(reading) => Some(reading.begun + self.timeout),
            None => Some(self.next_at).filter(|_| !is_stopping),
        }
    }

    /// Reads what has come, ends a program that takes too long, and runs the next one.
    pub(crate) fn look(&mut self, keeper: &mut Keeper, now: Instant) {
        let is_stopping = keeper.is_stopping();
        if let Some(reading) = &mut self.reading {
            reading.read();
            if reading.is_to_end(self.timeout, is_stopping, now) {
                keeper.children.end(GAUGE, now);
            }
        } else if !is_stopping && now >= self.next_at {
            self.start(keeper, now);
        }
    }

    fn start(&mut self, keeper: &mut Keeper, now: Instant) {
        match self.try_start(keeper, now) {
            Ok(reading) => self.reading = Some(reading),
            Err(error) => self.settle(keeper, now, Err(format!("{error:#}"))),
        }
    }

    fn try_start(&self, keeper: &mut Keeper, now: Instant) -> anyhow::Result<Reading> {
        let (reader, writer) = io::pipe().context("create a pipe")?;
        rustix::io::ioctl_fionbio(&reader, true).context("read a pipe without waiting")?;
        let pid = self.command.run_into(writer.as_fd())?;
        keeper.children.add(pid, GAUGE);
        Ok(Reading { pipe: Some(reader), output: Vec::new(), begun: now, failure: None })
    }

    /// The program has ended.
    pub(crate) fn ended(&mut self, keeper: &Keeper, exit: Exit) {
        let Some(mut reading) = self.reading.take() else { return };
        reading.read();
        let begun = reading.begun;
        self.settle(keeper, begun, reading.verdict(exit));
    }

    fn settle(&mut self, keeper: &Keeper, begun: Instant, length: Result<u64, String>) {
        self.n_failures = if length.is_ok() { 0 } else { self.n_failures.saturating_add(1) };
        self.next_at = begun + pause(self.interval, self.n_failures);
        if !keeper.is_stopping() {
            keeper.tell(&FromPrototype::QueueLength { length }, &[]);
        }
    }
}

/// Time from the begin of one program to the next one.
fn pause(interval: Duration, n_failures: u32) -> Duration {
    let longest = LONGEST_PAUSE.max(interval);
    interval.saturating_mul(1 << n_failures.saturating_sub(1).min(MOST_DOUBLINGS)).min(longest)
}

impl Reading {
    fn read(&mut self) {
        let Some(pipe) = &mut self.pipe else { return };
        let mut room = [0; LONGEST_OUTPUT];
        while self.output.len() <= LONGEST_OUTPUT {
            match pipe.read(&mut room) {
                Ok(0) => break,
                Ok(n) => self.output.extend_from_slice(&room[..n]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(_) => break,
            }
        }
        self.pipe = None;
    }

    /// Whether the program has to be told to end now.
    fn is_to_end(&mut self, timeout: Duration, is_stopping: bool, now: Instant) -> bool {
        if self.failure.is_some() {
            return false;
        }
        if self.output.len() > LONGEST_OUTPUT {
            self.failure = Some(format!("its command has printed more than {LONGEST_OUTPUT} bytes"));
        } else if now >= self.begun + timeout {
            let limit = timeout.as_secs();
            self.failure = Some(format!("its command has taken more than {limit} s (queue.timeout)"));
        } else if is_stopping {
            self.failure = Some("the application is stopping".to_owned());
        }
        self.failure.is_some()
    }

    fn verdict(self, exit: Exit) -> Result<u64, String> {
        match (self.failure, exit) {
            (Some(failure), _) => Err(failure),
            (None, Exit::Code(0)) => number(&self.output),
            (None, Exit::Code(code)) => Err(format!("its command exited with code {code}")),
            (None, Exit::Signal(number)) => Err(format!("its command exited on signal {number}")),
        }
    }
}

/// The number that a program has printed, and nothing else.
fn number(output: &[u8]) -> Result<u64, String> {
    let text = String::from_utf8_lossy(output);
    let text = text.trim();
    text.parse().map_err(|_| match text {
        "" => "its command has printed nothing".to_owned(),
        _ => {
            let shown: String = text.chars().take(SHOWN).collect();
            format!("its command has printed {shown:?}, and not a number")
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_number_is_a_length() {
        let length = |text: &str| number(text.as_bytes());
        assert_eq!((length("7"), length(" 12\n\n"), length("0\r\n")), (Ok(7), Ok(12), Ok(0)));
        assert_eq!(length("\n").unwrap_err(), "its command has printed nothing");
        for text in ["-1", "1.5", "1e3", "7 jobs", "(integer) 3", "1\n2", "99999999999999999999"] {
            assert!(length(text).unwrap_err().contains("not a number"), "{text}");
        }
        let long = length(&"\u{1b}[31m".repeat(1000)).unwrap_err();
        assert!(long.len() < 1000 && !long.contains('\u{1b}'), "{long}");
        assert!(number(&[0xff, 0]).is_err());
    }

    #[test]
    fn an_exit_code_decides_before_the_output() {
        let verdict = |output: &str, failure: Option<&str>, exit| {
            let (output, failure) = (output.as_bytes().to_vec(), failure.map(str::to_owned));
            Reading { pipe: None, output, begun: Instant::now(), failure }.verdict(exit)
        };
        assert_eq!(verdict("3", None, Exit::Code(0)), Ok(3));
        assert_eq!(verdict("3", None, Exit::Code(1)).unwrap_err(), "its command exited with code 1");
        assert_eq!(verdict("3", None, Exit::Signal(9)).unwrap_err(), "its command exited on signal 9");
        assert_eq!(verdict("3", Some("too late"), Exit::Code(0)).unwrap_err(), "too late");
    }

    #[test]
    fn failures_make_longer_pauses() {
        let seconds = |interval, n_failures| pause(Duration::from_secs(interval), n_failures).as_secs();
        let pauses = [0, 1, 2, 3, 4, 5, 6, 7, u32::MAX].map(|n_failures| seconds(10, n_failures));
        assert_eq!(pauses, [10, 10, 20, 40, 80, 160, 300, 300, 300]);
        assert_eq!((seconds(3600, 9), seconds(1, 5)), (3600, 16));
    }
}
