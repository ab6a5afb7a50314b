//! The end of a file that grows, and that another one may take the place of.

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use anyhow::{Context, anyhow};

/// A file that is followed.
pub(super) struct Tail {
    path: PathBuf,
    /// The application whose lines are meant; all lines without one.
    app: Option<String>,
    file: Option<File>,
    /// The beginning of a line whose end has not been written yet.
    rest: Vec<u8>,
    /// Whether the last line was meant, which a line that goes on with it then is, too.
    is_meant: bool,
}

/// No more of the past is looked through.
const MOST_BYTES: u64 = 8 * 1024 * 1024;

/// No more is taken at once of what is new, or of a line without an end.
const PIECE: u64 = 1024 * 1024;

impl Tail {
    pub(super) fn new(path: PathBuf, app: Option<String>) -> Self {
        Self { path, app, file: None, rest: Vec::new(), is_meant: false }
    }

    /// The last lines, at most this many.
    pub(super) fn last(&mut self, n_lines: usize) -> anyhow::Result<Vec<u8>> {
        let mut file = self.open()?;
        let len = file.seek(SeekFrom::End(0))?;
        let start = len.saturating_sub(MOST_BYTES);
        file.seek(SeekFrom::Start(start))?;
        let mut text = Vec::new();
        (&file).take(len - start).read_to_end(&mut text)?;
        // What the look begins within is not a whole line.
        let begin =
            if start == 0 { 0 } else { text.iter().position(|byte| *byte == b'\n').map_or(0, |at| at + 1) };
        self.file = Some(file);
        let lines = self.take(text.get(begin..).unwrap_or_default());
        let all: Vec<_> = lines.split_inclusive(|byte| *byte == b'\n').collect();
        Ok(all.get(all.len().saturating_sub(n_lines)..).unwrap_or_default().concat())
    }

    /// Whole lines that have come since then.
    pub(super) fn more(&mut self) -> anyhow::Result<Vec<u8>> {
        let mut text = Vec::new();
        if let Some(file) = &self.file {
            file.take(PIECE).read_to_end(&mut text)?;
        }
        if text.is_empty() && self.is_replaced()? {
            // It is made anew in a moment if it is not there.
            self.file = self.open().ok();
            self.rest.clear();
        }
        Ok(self.take(&text))
    }

    fn open(&self) -> anyhow::Result<File> {
        File::open(&self.path).map_err(|error| match error.kind() {
            io::ErrorKind::PermissionDenied => {
                anyhow!("this user may not read the log \"{}\": try sudo", self.path.display())
            }
            _ => anyhow::Error::from(error).context(format!("open the log \"{}\"", self.path.display())),
        })
    }

    /// Whether the path leads to another file by now, or this one was emptied.
    fn is_replaced(&mut self) -> anyhow::Result<bool> {
        let Some(file) = &mut self.file else { return Ok(true) };
        let data = file.metadata().context("look at the log")?;
        let other = fs::metadata(&self.path)
            .is_ok_and(|other| (other.dev(), other.ino()) != (data.dev(), data.ino()));
        Ok(other || file.stream_position()? > data.len())
    }

    /// Whole lines that are meant.
    fn take(&mut self, text: &[u8]) -> Vec<u8> {
        let mut found = Vec::new();
        for piece in text.split_inclusive(|byte| *byte == b'\n') {
            self.rest.extend_from_slice(piece);
            if !self.rest.ends_with(b"\n") && self.rest.len() as u64 <= PIECE {
                continue;
            }
            let line = std::mem::take(&mut self.rest);
            self.is_meant = self.means(&line);
            if self.is_meant {
                found.extend(line);
            }
        }
        found
    }

    fn means(&self, line: &[u8]) -> bool {
        let Some(app) = &self.app else { return true };
        let line = String::from_utf8_lossy(line);
        let message = message(&line);
        if message.starts_with(CONTINUATION) {
            return self.is_meant;
        }
        // As messages quote a name, and as they do within JSON.
        line.contains(&format!("\"{app}\"")) || line.contains(&format!("\\\"{app}\\\""))
    }
}

/// A line with this before its message goes on with the one before it.
const CONTINUATION: &str = corral_ipc::log::CONTINUATION;

/// The message of a line, without time, level, process and connection.
fn message(line: &str) -> &str {
    let Some((_, rest)) = line.split_once("] ") else { return line };
    let Some((_process, message)) = rest.split_once(' ') else { return rest };
    match message.strip_prefix('*').and_then(|connection| connection.split_once(' ')) {
        Some((number, message)) if number.bytes().all(|byte| byte.is_ascii_digit()) => message,
        _ => message,
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn texts(bytes: Vec<u8>) -> String {
        String::from_utf8(bytes).unwrap()
    }

    const LOG: &str = "2026/01/02 03:04:05 [notice] 7#7 \"shop\": one\n\
        2026/01/02 03:04:05 [notice] 7#7   more of it\n\
        2026/01/02 03:04:05 [notice] 7#7 \"blog\": two\n\
        2026/01/02 03:04:05 [notice] 7#7   more of that\n\
        2026/01/02 03:04:05 [error] 7#7 *12 application \"shop\" ended\n\
        2026/01/02 03:04:05 [error] 7#7 *12   for a reason\n\
        {\"message\":\"\\\"shop\\\": three\"}\n";

    #[test]
    fn the_last_lines_are_shown_and_those_that_come() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        fs::write(&path, "one\ntwo\nthree\nfo").unwrap();
        let mut tail = Tail::new(path.clone(), None);
        assert_eq!(texts(tail.last(2).unwrap()), "two\nthree\n");
        assert_eq!(texts(tail.more().unwrap()), "");
        let mut file = File::options().append(true).open(&path).unwrap();
        file.write_all(b"ur\nfive\n").unwrap();
        assert_eq!(texts(tail.more().unwrap()), "four\nfive\n");
        // Moved away, and made anew.
        fs::rename(&path, folder.path().join("old")).unwrap();
        assert_eq!(texts(tail.more().unwrap()), "");
        fs::write(&path, "six\n").unwrap();
        let found = (0..3).map(|_| texts(tail.more().unwrap())).collect::<String>();
        assert_eq!(found, "six\n");
        // Emptied.
        fs::write(&path, "").unwrap();
        tail.more().unwrap();
        fs::write(&path, "7\n").unwrap();
        let found = (0..3).map(|_| texts(tail.more().unwrap())).collect::<String>();
        assert_eq!(found, "7\n");
        assert_eq!(texts(Tail::new(path, None).last(0).unwrap()), "");
    }

    #[test]
    fn lines_of_one_application_are_shown_with_what_goes_on() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        fs::write(&path, LOG).unwrap();
        let shown = texts(Tail::new(path, Some("shop".to_owned())).last(100).unwrap());
        for text in ["one", "more of it", "ended", "for a reason", "three"] {
            assert!(shown.contains(text), "{text} is not in {shown}");
        }
        assert!(!shown.contains("blog") && !shown.contains("more of that"), "{shown}");
    }

    #[test]
    fn a_file_that_cannot_be_read_is_named() {
        let error = Tail::new("/nonexistent/log".into(), None).last(1).unwrap_err();
        assert!(format!("{error:#}").contains("/nonexistent/log"));
    }

    #[test]
    fn a_line_without_an_end_is_cut() {
        let mut tail = Tail::new("/nonexistent".into(), None);
        let long = "x".repeat(PIECE as usize + 1);
        assert_eq!(tail.take(long.as_bytes()).len(), long.len());
        assert!(tail.rest.is_empty());
    }
}
