//! The end of the log's file, and what is added to it: main opens it, this process reads it. Read only while a viewer
//! wants lines.

use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::sync::Arc;
use std::time::{Duration, Instant};

use jiff::tz::TimeZone;
use tokio::time::timeout;

use super::log_lines::LogLine;
use super::log_rank::LogRank;
use crate::main_link::{MainError, MainLink};

/// Bytes of the end of the file that are read at first.
const FIRST: u64 = 64 * 1024;

/// Most bytes that are read at once: what is added faster is left out.
const MOST_READ: u64 = 256 * 1024;

/// Bytes of lines that are remembered for viewers that come later.
const MOST_REMEMBERED: usize = 256 * 1024;

/// Lines that a new viewer gets.
const MOST_AT_FIRST: usize = 200;

/// How often the file is opened anew: it may have been moved away.
const REOPENING: Duration = Duration::from_secs(10);

/// How long main may take to open it.
const LONGEST_OPENING: Duration = Duration::from_secs(2);

/// The log as far as it was read.
pub(super) struct LogTail {
    zone: TimeZone,
    source: Source,
    opened: Option<Instant>,
    pieces: Pieces,
    /// Oldest first.
    recent: VecDeque<LogLine>,
}

enum Source {
    /// The log is not a file, or cannot be read; viewers were told.
    None,
    File(OpenLog),
}

struct OpenLog {
    file: Arc<File>,
    /// Device and number.
    identity: (u64, u64),
    offset: u64,
}

/// Bytes on their way to lines.
#[derive(Default)]
struct Pieces {
    /// The beginning of a line.
    rest: Vec<u8>,
    /// Whether the beginning of the first line is missing.
    is_cut: bool,
}

impl LogTail {
    pub(super) fn new() -> Self {
        Self {
            zone: TimeZone::system(),
            source: Source::None,
            opened: None,
            pieces: Pieces::default(),
            recent: VecDeque::new(),
        }
    }

    /// Whether it was tried to open it.
    pub(super) fn is_open(&self) -> bool {
        self.opened.is_some()
    }

    /// The last lines of a level and above.
    pub(super) fn last(&self, least: LogRank) -> Vec<&LogLine> {
        let fitting: Vec<_> = self.recent.iter().filter(|line| line.is_for(least)).collect();
        let begin = fitting.len().saturating_sub(MOST_AT_FIRST);
        fitting.into_iter().skip(begin).collect()
    }

    /// Reads what was added, and returns it as lines.
    pub(super) async fn read(&mut self, main: &MainLink, now: Instant) -> Vec<LogLine> {
        let is_due = self.opened.is_none_or(|at| now.duration_since(at) >= REOPENING);
        let opened = if is_due { Some(self.open(main).await) } else { None };
        let mut lines = Vec::new();
        // The end of a file that was moved away comes first.
        self.read_file(&mut lines).await;
        match opened {
            Some(Ok(Some(log))) => self.take(log, &mut lines).await,
            Some(Ok(None)) => self.miss(
                "the log is not a file; where systemd runs the daemon, `journalctl -u corral` shows it"
                    .to_owned(),
                &mut lines,
            ),
            Some(Err(error)) => self.miss(format!("the log cannot be read: {error}"), &mut lines),
            None => {}
        }
        if is_due {
            self.opened = Some(now);
        }
        self.remember(&lines);
        lines
    }

    async fn open(&self, main: &MainLink) -> Result<Option<OpenLog>, String> {
        let Ok(opened) = timeout(LONGEST_OPENING, main.open_log()).await else {
            return Err("main does not answer".to_owned());
        };
        let file = match opened {
            Ok(Some(file)) => File::from(file),
            Ok(None) => return Ok(None),
            Err(MainError::Refused(reason)) => return Err(reason),
            Err(error) => return Err(error.to_string()),
        };
        let meta = file.metadata().map_err(|error| error.to_string())?;
        Ok(Some(OpenLog { file: Arc::new(file), identity: (meta.dev(), meta.ino()), offset: 0 }))
    }

    /// Goes on with this file, unless it is the one that is read already.
    async fn take(&mut self, log: OpenLog, lines: &mut Vec<LogLine>) {
        let is_first = match &self.source {
            Source::File(current) if current.identity == log.identity => return,
            Source::File(_) => false,
            Source::None => true,
        };
        self.pieces = Pieces::default();
        self.source = Source::File(log);
        if is_first {
            self.skip_to_end();
        }
        self.read_file(lines).await;
    }

    fn skip_to_end(&mut self) {
        let Source::File(log) = &mut self.source else { return };
        let len = log.file.metadata().map_or(0, |meta| meta.len());
        log.offset = len.saturating_sub(FIRST);
        self.pieces.is_cut = log.offset > 0;
    }

    /// Says once that there is nothing to read.
    fn miss(&mut self, text: String, lines: &mut Vec<LogLine>) {
        let was_read = matches!(self.source, Source::File(_));
        if was_read || self.opened.is_none() {
            lines.push(LogLine::about_log(text));
        }
        self.source = Source::None;
    }

    async fn read_file(&mut self, lines: &mut Vec<LogLine>) {
        let Source::File(log) = &mut self.source else { return };
        let (file, offset) = (Arc::clone(&log.file), log.offset);
        // Another file system than that of memory may take its time.
        let read = tokio::task::spawn_blocking(move || added(&file, offset)).await;
        let Ok(Ok(Added { bytes, left_out, end })) = read else { return };
        log.offset = end;
        if left_out > 0 {
            self.pieces = Pieces { rest: Vec::new(), is_cut: true };
            lines.push(LogLine::about_log(format!("{left_out} bytes of the log are left out here")));
        }
        for line in self.pieces.split(&bytes) {
            let before = lines.last().or(self.recent.back());
            lines.extend(LogLine::of(&String::from_utf8_lossy(&line), before, &self.zone));
        }
    }

    fn remember(&mut self, lines: &[LogLine]) {
        self.recent.extend(lines.iter().cloned());
        let mut size: usize = self.recent.iter().map(LogLine::cost).sum();
        while size > MOST_REMEMBERED
            && let Some(oldest) = self.recent.pop_front()
        {
            size -= oldest.cost();
        }
    }
}

/// Bytes that were added to a file.
struct Added {
    bytes: Vec<u8>,
    /// Bytes before them that are too many.
    left_out: u64,
    end: u64,
}

fn added(file: &File, offset: u64) -> io::Result<Added> {
    let len = file.metadata()?.len();
    // A file that was emptied begins anew.
    let offset = if len < offset { 0 } else { offset };
    let begin = offset.max(len.saturating_sub(MOST_READ));
    let mut bytes = vec![0; usize::try_from(len - begin).unwrap_or_default()];
    let mut n_read = 0;
    while n_read < bytes.len() {
        match file.read_at(&mut bytes[n_read..], begin + n_read as u64) {
            Ok(0) => break,
            Ok(n) => n_read += n,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    bytes.truncate(n_read);
    Ok(Added { bytes, left_out: begin - offset, end: begin + n_read as u64 })
}

impl Pieces {
    /// The lines that are whole now.
    fn split(&mut self, bytes: &[u8]) -> Vec<Vec<u8>> {
        let mut lines = Vec::new();
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.rest.extend_from_slice(piece);
            if piece.last() == Some(&b'\n') {
                let mut line = std::mem::take(&mut self.rest);
                line.pop();
                if !std::mem::take(&mut self.is_cut) {
                    lines.push(line);
                }
            }
        }
        // No line is that long: whatever it is, it is not remembered.
        if self.rest.len() as u64 > MOST_READ {
            *self = Self { rest: Vec::new(), is_cut: true };
        }
        lines
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    fn split(pieces: &mut Pieces, bytes: &str) -> Vec<String> {
        pieces.split(bytes.as_bytes()).into_iter().map(|line| String::from_utf8(line).unwrap()).collect()
    }

    #[test]
    fn lines_are_put_together_and_a_cut_one_is_left_out() {
        let mut pieces = Pieces::default();
        assert_eq!(split(&mut pieces, "one\ntw"), ["one"]);
        assert_eq!(split(&mut pieces, "o\n\n"), ["two", ""]);
        let mut pieces = Pieces { is_cut: true, ..Pieces::default() };
        assert!(split(&mut pieces, "end of a li").is_empty());
        assert_eq!(split(&mut pieces, "ne\nwhole\n"), ["whole"]);
        assert!(split(&mut pieces, &"x".repeat(MOST_READ as usize + 1)).is_empty());
        assert!(pieces.rest.is_empty());
        assert_eq!(split(&mut pieces, "x\nnext\n"), ["next"]);
    }

    #[test]
    fn what_is_added_is_read_once_and_too_much_is_left_out() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(b"one\n").unwrap();
        let first = added(&file, 0).unwrap();
        assert_eq!((first.bytes.as_slice(), first.left_out, first.end), (&b"one\n"[..], 0, 4));
        assert!(added(&file, 4).unwrap().bytes.is_empty());
        file.write_all(&vec![b'x'; MOST_READ as usize + 10]).unwrap();
        let much = added(&file, 4).unwrap();
        assert_eq!((much.bytes.len() as u64, much.left_out), (MOST_READ, 10));
        file.set_len(2).unwrap();
        assert_eq!(added(&file, much.end).unwrap().bytes, b"on", "it was emptied");
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        let mut tail = LogTail::new();
        let line = |n: usize| LogLine::about_log(format!("{n} {}", "x".repeat(1000)));
        for n in 0..1000 {
            tail.remember(&[line(n)]);
        }
        let size: usize = tail.recent.iter().map(LogLine::cost).sum();
        assert!(size <= MOST_REMEMBERED && tail.recent.len() > 100, "{}", tail.recent.len());
        assert_eq!(tail.last(LogRank::Alert).len(), MOST_AT_FIRST.min(tail.recent.len()));
    }
}
