//! Writing lines to a file that may be full: the next line that fits begins at the beginning of one.

use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};

/// The state of a file that lines are written to.
#[derive(Debug, Default)]
pub struct LineFile {
    /// Only its beginning is there.
    is_torn: AtomicBool,
}

impl LineFile {
    /// Nothing was written yet.
    #[must_use]
    pub const fn new() -> Self {
        Self { is_torn: AtomicBool::new(false) }
    }

    /// Writes whole lines, each with its end, in one system call if that takes them.
    ///
    /// # Errors
    /// Errors of the file. A line that was written in part is closed off before the next one.
    pub fn write(&self, mut file: impl Write, lines: &[u8]) -> io::Result<()> {
        if self.is_torn.load(Ordering::Relaxed) {
            file.write_all(b"\n")?;
            self.is_torn.store(false, Ordering::Relaxed);
        }
        let mut rest = lines;
        while !rest.is_empty() {
            let written = match file.write(rest) {
                Ok(0) => Err(io::ErrorKind::WriteZero.into()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                written => written,
            };
            rest = &rest[written.inspect_err(|_| self.note_end(lines, rest))?..];
        }
        Ok(())
    }

    fn note_end(&self, lines: &[u8], rest: &[u8]) {
        let written = &lines[..lines.len() - rest.len()];
        self.is_torn.store(written.last().is_some_and(|byte| *byte != b'\n'), Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Takes so many bytes.
    struct Disk {
        content: Vec<u8>,
        room: usize,
    }

    impl Write for &mut Disk {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let n = bytes.len().min(self.room);
            self.room -= n;
            self.content.extend_from_slice(&bytes[..n]);
            if n == 0 { Err(io::ErrorKind::StorageFull.into()) } else { Ok(n) }
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_line_that_did_not_fit_does_not_spoil_the_next() {
        let (lines, mut disk) = (LineFile::new(), Disk { content: Vec::new(), room: 10 });
        for (room, line, is_written) in [
            (0, "one\n", true),
            (0, "two and\n", false),
            (0, "three\n", false),
            (100, "four\n", true),
            (0, "five\n", true),
        ] {
            disk.room += room;
            assert_eq!(lines.write(&mut disk, line.as_bytes()).is_ok(), is_written, "{line}");
        }
        assert_eq!(String::from_utf8_lossy(&disk.content), "one\ntwo an\nfour\nfive\n");
    }

    #[test]
    fn a_line_that_did_not_begin_leaves_no_gap() {
        let (lines, mut disk) = (LineFile::new(), Disk { content: Vec::new(), room: 4 });
        lines.write(&mut disk, b"one\n").unwrap();
        lines.write(&mut disk, b"two\n").unwrap_err();
        disk.room = 6;
        lines.write(&mut disk, b"three\n").unwrap();
        assert_eq!(disk.content, b"one\nthree\n");
    }
}
