//! Workers between fork and readiness: what they say about it, through a pipe to their prototype.
//!
//! Python imports the application in each worker, since modules start threads and open connections. Main hears of a
//! worker only then: as one that was forked, or could not be.

use std::fs::File;
use std::io::{self, Read, Write};
use std::num::NonZeroU32;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use corral_ipc::message::WorkerId;
use corral_sys::file;
use corral_sys::forked::Passing;
use corral_sys::signal::Pid;

/// The first byte through the pipe of a worker that is ready. The number of requests that it runs at once follows in
/// four bytes, or nothing; any other text says why it is not ready.
const READY: u8 = 0;

/// How long a worker may take to get ready: as long as main lets a prototype load.
pub(crate) const LONGEST_START: Duration = Duration::from_secs(120);

/// Bytes of a reason that are read: a traceback fits, a flood does not.
const LONGEST_REASON: u64 = 64 * 1024;

/// The ways to reach a new worker.
#[derive(Debug)]
pub(crate) struct WorkerHandles {
    /// The memory of its channel.
    pub(crate) memory: OwnedFd,
    /// Rings the bell of its event loop, if it may have one.
    pub(crate) bell: Option<OwnedFd>,
    /// Where its files come, if it may send any.
    pub(crate) files: Option<OwnedFd>,
}

/// A worker as its prototype sees it.
#[derive(Debug)]
pub(crate) struct Starting {
    pub(crate) worker: WorkerId,
    pub(crate) pid: Pid,
    pub(crate) access: WorkerHandles,
    /// Absent once the worker has closed its end.
    pipe: Option<File>,
    said: Vec<u8>,
    /// When it is given up.
    deadline: Instant,
}

/// The report of a worker so far.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum ReadyReport {
    Nothing,
    /// The worker takes requests: so many at once in an event loop, or as its specification says.
    Ready(Option<NonZeroU32>),
    Failed(String),
}

/// The worker's end.
#[derive(Debug)]
pub(crate) enum ReadyPipe {
    Fresh(File),
    /// Withheld from processes that the application forks, which do not speak for the worker.
    Withheld(Passing<File>),
}

/// Both ends; each process drops the other's.
pub(crate) fn pipe() -> io::Result<(OwnedFd, ReadyPipe)> {
    let (reader, writer) = file::nonblocking_reader_pipe()?;
    Ok((reader, ReadyPipe::Fresh(writer.into())))
}

impl Starting {
    pub(crate) fn new(
        worker: WorkerId,
        pid: Pid,
        access: WorkerHandles,
        pipe: OwnedFd,
        now: Instant,
    ) -> Self {
        let deadline = now + LONGEST_START;
        Self { worker, pid, access, pipe: Some(pipe.into()), said: Vec::new(), deadline }
    }

    /// Whether it has had its time.
    pub(crate) fn is_overdue(&self, now: Instant) -> bool {
        self.deadline <= now
    }

    /// Time until it is overdue; none if it is already, as it has been told to end then.
    pub(crate) fn time_left(&self, now: Instant) -> Option<Duration> {
        (!self.is_overdue(now)).then(|| self.deadline - now)
    }

    /// Readable when there is something new.
    pub(crate) fn pipe(&self) -> Option<BorrowedFd<'_>> {
        self.pipe.as_ref().map(AsFd::as_fd)
    }

    /// The report so far, without waiting for more.
    pub(crate) fn word(&mut self) -> ReadyReport {
        if let Some(pipe) = &self.pipe {
            let room = LONGEST_REASON - self.said.len() as u64;
            // A pipe without news says so by an error; what came before it is kept.
            let is_open = pipe.take(room).read_to_end(&mut self.said).is_err();
            self.pipe = self.pipe.take().filter(|_| is_open);
        }
        match &self.said[..] {
            [] => ReadyReport::Nothing,
            [READY] => ReadyReport::Ready(None),
            [READY, concurrency @ ..] => ReadyReport::Ready(
                concurrency
                    .try_into()
                    .map_or(None, |concurrency| NonZeroU32::new(u32::from_ne_bytes(concurrency))),
            ),
            reason => ReadyReport::Failed(String::from_utf8_lossy(reason).into_owned()),
        }
    }
}

impl ReadyPipe {
    /// The worker takes requests. Without a prototype the report has no reader, and the worker finds that out by
    /// itself.
    pub(crate) fn ready(self, concurrency: Option<NonZeroU32>) {
        let mut word = vec![READY];
        word.extend(concurrency.into_iter().flat_map(|concurrency| concurrency.get().to_ne_bytes()));
        let _ = self.file().write_all(&word);
    }

    /// The worker is about to end.
    pub(crate) fn failed(self, reason: &str) {
        let _ = self.file().write_all(reason.as_bytes());
    }

    /// Keeps it from what the application forks while it starts.
    ///
    /// # Errors
    /// When memory is lacking.
    pub(crate) fn withheld_from_children(self) -> io::Result<Self> {
        match self {
            Self::Fresh(file) => Passing::new(file).map(Self::Withheld),
            Self::Withheld(_) => Ok(self),
        }
    }

    fn file(&self) -> &File {
        match self {
            Self::Fresh(file) => file,
            Self::Withheld(file) => file,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn starting() -> (Starting, ReadyPipe) {
        let (reader, report) = pipe().unwrap();
        let memory = File::open("/dev/null").unwrap().into();
        let pid = rustix::process::getpid();
        let access = WorkerHandles { memory, bell: None, files: None };
        (Starting::new(WorkerId(1), pid, access, reader, Instant::now()), report)
    }

    #[test]
    fn a_worker_has_its_time() {
        let (starting, _report) = starting();
        let begun = starting.deadline - LONGEST_START;
        assert_eq!(starting.time_left(begun), Some(LONGEST_START));
        assert!(!starting.is_overdue(begun + LONGEST_START / 2));
        let end = begun + LONGEST_START;
        assert_eq!((starting.is_overdue(end), starting.time_left(end)), (true, None));
    }

    #[test]
    fn a_worker_says_one_thing() {
        let (mut silent, report) = starting();
        assert_eq!(silent.word(), ReadyReport::Nothing);
        assert!(silent.pipe().is_some());
        drop(report);
        assert_eq!(silent.word(), ReadyReport::Nothing);
        assert!(silent.pipe().is_none(), "nothing will come any more");

        let (mut good, report) = starting();
        report.ready(None);
        assert_eq!((good.word(), good.word()), (ReadyReport::Ready(None), ReadyReport::Ready(None)));

        let (mut many, report) = starting();
        report.ready(NonZeroU32::new(70_000));
        assert_eq!(many.word(), ReadyReport::Ready(NonZeroU32::new(70_000)));

        let (mut bad, report) = starting();
        report.failed("no module");
        assert_eq!(bad.word(), ReadyReport::Failed("no module".into()));
    }
}
