//! What children print: a pipe from each, read line by line into the log.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use corral_ipc::message::AppId;

/// Whose lines these are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Speaker {
    /// The controller or the router: finished lines of the log.
    Own,
    /// An application, by its name: each line becomes a message.
    App(String),
}

/// The reading end of one child's standard output and error, shared by its own children.
#[derive(Debug)]
pub(crate) struct Output {
    speaker: Speaker,
    pipe: File,
    /// The beginning of a line whose end has not come yet; shorter than [`LONGEST_LINE`].
    rest: Vec<u8>,
    /// The instance that it is of.
    app: Option<AppId>,
    /// Its last lines since they were last forgotten.
    words: VecDeque<String>,
}

/// Whether there can be more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Drained {
    /// Nothing more for now.
    Empty,
    /// Nobody has the writing end any more.
    Ended,
}

impl Output {
    /// A new pipe: what is written to the second half comes out of the first.
    pub(crate) fn pipe(speaker: Speaker) -> io::Result<(Self, OwnedFd)> {
        let (reader, writer) = corral_sys::file::nonblocking_reader_pipe()?;
        let pipe = File::from(reader);
        Ok((Self { speaker, pipe, rest: Vec::new(), app: None, words: VecDeque::new() }, writer))
    }

    /// It comes from this instance of an application.
    pub(crate) fn of(self, app: AppId) -> Self {
        Self { app: Some(app), ..self }
    }

    pub(crate) fn is_of(&self, app: AppId) -> bool {
        self.app == Some(app)
    }

    /// What is said from now on is about something new.
    pub(crate) fn forget_words(&mut self) {
        self.words.clear();
    }

    /// The last lines since then, with those that have just come.
    pub(crate) fn last_words(&mut self) -> Vec<String> {
        // Whether it goes on is asked again before the next sleep.
        self.drain();
        self.words.iter().cloned().collect()
    }

    /// Logs the lines that are there, up to a bound so that a chatty child cannot hold the loop.
    pub(crate) fn drain(&mut self) -> Drained {
        let mut buffer = [0; 16 * 1024];
        for _ in 0..4 {
            match self.pipe.read(&mut buffer) {
                Ok(0) => return self.end(),
                Ok(len) => self.take(&buffer[..len]),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return self.end(),
            }
        }
        Drained::Empty
    }

    fn end(&mut self) -> Drained {
        if !self.rest.is_empty() {
            let line = std::mem::take(&mut self.rest);
            log(&self.speaker, &line);
            note(&mut self.words, &line);
        }
        Drained::Ended
    }

    fn take(&mut self, bytes: &[u8]) {
        let Self { speaker, rest, app, words, .. } = self;
        split_lines(rest, bytes, |line| {
            log(speaker, line);
            if app.is_some() {
                note(words, line);
            }
        });
    }
}

fn note(words: &mut VecDeque<String>, line: &[u8]) {
    let line = String::from_utf8_lossy(&line[..line.len().min(LONGEST_WORD)]);
    if !line.trim().is_empty() {
        if words.len() == MOST_WORDS {
            words.pop_front();
        }
        words.push_back(line.trim_end().to_owned());
    }
}

/// Enough for the trace of an error in most languages.
const MOST_WORDS: usize = 20;
const LONGEST_WORD: usize = 300;

impl AsFd for Output {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.pipe.as_fd()
    }
}

/// Longer lines are cut into pieces of this many bytes.
const LONGEST_LINE: usize = 8 * 1024;

fn split_lines(rest: &mut Vec<u8>, bytes: &[u8], mut line: impl FnMut(&[u8])) {
    for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
        rest.extend_from_slice(piece);
        while rest.len() > LONGEST_LINE {
            line(&rest[..LONGEST_LINE]);
            rest.drain(..LONGEST_LINE);
        }
        if rest.last() == Some(&b'\n') {
            rest.pop();
            line(rest);
            rest.clear();
        }
    }
}

fn log(speaker: &Speaker, line: &[u8]) {
    match speaker {
        Speaker::Own => corral_ipc::log::write_line(&[line, b"\n"].concat()),
        Speaker::App(name) => {
            let line = String::from_utf8_lossy(line);
            tracing::info!(target: "app", "\"{name}\": {}", line.trim_end());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(chunks: &[&str], expected: &[&str], rest: &str) {
        let (mut lines, mut kept) = (Vec::new(), Vec::new());
        for chunk in chunks {
            split_lines(&mut kept, chunk.as_bytes(), |line| {
                lines.push(String::from_utf8(line.to_vec()).unwrap());
            });
        }
        assert_eq!(lines, expected);
        assert_eq!(String::from_utf8(kept).unwrap(), rest);
    }

    #[test]
    fn lines_are_put_together() {
        check(&["one\ntwo\n"], &["one", "two"], "");
        check(&["on", "e\nt", "wo"], &["one"], "two");
        check(&["\n\n"], &["", ""], "");
        check(&["", "x"], &[], "x");
    }

    #[test]
    fn endless_lines_are_cut() {
        let long = "x".repeat(LONGEST_LINE + 5);
        check(&[&long, "\n"], &[&long[..LONGEST_LINE], "xxxxx"], "");
        let exact = "x".repeat(LONGEST_LINE);
        check(&[&exact], &[], &exact);
    }

    #[test]
    fn the_last_words_are_remembered_until_they_are_forgotten() {
        let (output, writer) = Output::pipe(Speaker::App("a".into())).unwrap();
        let mut output = output.of(AppId(7));
        let mut writer = File::from(writer);
        let mut say = |text: &str| io::Write::write_all(&mut writer, text.as_bytes()).unwrap();
        say("old\n");
        assert_eq!(output.last_words(), ["old"]);
        output.forget_words();
        say("one  \n\n");
        assert_eq!(output.last_words(), ["one"]);
        say(&"more\n".repeat(MOST_WORDS - 1));
        say("last\nunfinished");
        let words = output.last_words();
        assert_eq!((words.len(), words.last().map(String::as_str)), (MOST_WORDS, Some("last")));
        assert_eq!(words[0], "more");
    }

    #[test]
    fn a_pipe_ends_when_the_last_writer_is_gone() {
        let (mut output, writer) = Output::pipe(Speaker::App("a".into())).unwrap();
        assert_eq!(output.drain(), Drained::Empty);
        let copy = writer.try_clone().unwrap();
        drop(writer);
        assert_eq!(output.drain(), Drained::Empty);
        drop(copy);
        assert_eq!(output.drain(), Drained::Ended);
    }
}
