//! The output of children: a pipe from each, read line by line into the log.

mod rate;

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use corral_ipc::log::{CONTINUATION, clean};
use corral_ipc::message::AppId;

use self::rate::Rate;

/// The source of lines, which decides where they go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Speaker {
    /// The controller or the router: finished lines of the log.
    Own,
    /// The router, where it shows requests: finished lines of this process's standard output.
    Requests,
    /// An application, by its name: each line becomes a message.
    App(String),
    /// The same, where it says what went wrong.
    Errors(String),
}

impl Speaker {
    /// The application whose lines these are.
    fn app(&self) -> Option<&str> {
        match self {
            Self::Own | Self::Requests => None,
            Self::App(name) | Self::Errors(name) => Some(name),
        }
    }
}

/// The reading end of one child's standard output and error, shared by its own children.
#[derive(Debug)]
pub(crate) struct Output {
    speaker: Speaker,
    pipe: File,
    /// The beginning of a line whose end has not come yet; shorter than [`LONGEST_LINE`].
    rest: Vec<u8>,
    /// Whether the next bytes go on with the line that was logged last, which was too long.
    is_within: bool,
    /// The instance that it is of.
    app: Option<AppId>,
    /// The last lines since lines were last forgotten.
    words: VecDeque<Word>,
    /// The rate of its lines, if it is an application.
    rate: Rate,
}

/// Whether there can be more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Drained {
    /// Nothing more for now.
    Empty,
    /// The writing end is closed everywhere.
    Ended,
}

impl Output {
    /// A new pipe: what is written to the second half comes out of the first.
    pub(crate) fn pipe(speaker: Speaker) -> io::Result<(Self, OwnedFd)> {
        let (reader, writer) = corral_sys::file::nonblocking_reader_pipe()?;
        let pipe = File::from(reader);
        Ok((
            Self {
                speaker,
                pipe,
                rest: Vec::new(),
                is_within: false,
                app: None,
                words: VecDeque::new(),
                rate: Rate::new(Instant::now()),
            },
            writer,
        ))
    }

    /// The output comes from this instance of an application.
    pub(crate) fn of(self, app: AppId) -> Self {
        Self { app: Some(app), ..self }
    }

    pub(crate) fn is_of(&self, app: AppId) -> bool {
        self.app == Some(app)
    }

    pub(crate) fn is_of_app(&self) -> bool {
        self.app.is_some()
    }

    /// Forgets the last lines: the next ones are about something new.
    pub(crate) fn forget_words(&mut self) {
        self.words.clear();
    }

    /// The last lines since lines were last forgotten, with those that have just come.
    pub(crate) fn last_words(&mut self) -> Vec<String> {
        self.words_since(None)
    }

    /// The same without those that came before a time.
    pub(crate) fn words_since(&mut self, since: Option<Instant>) -> Vec<String> {
        // Whether it goes on is asked again before the next sleep.
        self.drain(LONGEST_LISTENING);
        let is_wanted = |word: &&Word| since.is_none_or(|since| word.came >= since);
        self.words.iter().filter(is_wanted).map(|word| word.text.clone()).collect()
    }

    /// The last line since then that was logged, if it is an application's.
    pub(crate) fn last_word(&self) -> Option<&str> {
        self.app.and_then(|_| self.words.back()).map(|word| word.text.as_str())
    }

    /// Logs the lines that are there, up to a bound so that a chatty child cannot hold the loop: some are logged in any
    /// case, and more as long as there is time.
    pub(crate) fn drain(&mut self, time: Duration) -> Drained {
        let begin = Instant::now();
        let mut buffer = [0; PIECE];
        for _ in 0..MOST_PIECES {
            match self.pipe.read(&mut buffer) {
                Ok(0) => return self.end(),
                Ok(len) => self.take(&buffer[..len]),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return self.end(),
            }
            if begin.elapsed() >= time {
                break;
            }
        }
        Drained::Empty
    }

    fn end(&mut self) -> Drained {
        mention(&self.speaker, &mut self.rate);
        self.end_line();
        Drained::Ended
    }

    /// Nothing follows that belongs to the line which has begun.
    pub(crate) fn end_line(&mut self) {
        if !self.rest.is_empty() {
            let line = std::mem::take(&mut self.rest);
            log(&self.speaker, &line, self.is_within);
            note(&mut self.words, &line);
        }
        self.is_within = false;
    }

    fn take(&mut self, bytes: &[u8]) {
        let Self { speaker, rest, is_within, app, words, rate, .. } = self;
        let now = Instant::now();
        split_lines(rest, bytes, |line, is_whole| {
            let is_within = std::mem::replace(is_within, !is_whole);
            if speaker.app().is_none() || rate.admits(now) {
                mention(speaker, rate);
                log(speaker, line, is_within);
            }
            if app.is_some() {
                note(words, line);
            }
        });
    }
}

/// Says how many lines were left out.
fn mention(speaker: &Speaker, rate: &mut Rate) {
    if let (Some(name), Some(number)) = (speaker.app(), rate.take_left_out()) {
        let most = rate::PER_SECOND;
        tracing::warn!(
            "application \"{name}\" prints more than {most} lines a second: {number} were left out"
        );
    }
}

/// A line that is remembered.
#[derive(Debug)]
struct Word {
    came: Instant,
    text: String,
}

fn note(words: &mut VecDeque<Word>, line: &[u8]) {
    let line = String::from_utf8_lossy(&line[..line.len().min(LONGEST_WORD)]);
    if !line.trim().is_empty() && !is_frame(&line) {
        if words.len() == MOST_WORDS {
            words.pop_front();
        }
        words.push_back(Word { came: Instant::now(), text: line.trim_end().to_owned() });
    }
}

/// Whether this is a frame of a stack as Java and Node.js print it. The causes before and between them say more.
fn is_frame(line: &str) -> bool {
    let frame = line.trim_start();
    let is_counted = frame.starts_with("... ") && frame.trim_end().ends_with(" more");
    frame.len() < line.len() && (frame.starts_with("at ") || is_counted)
}

/// Bytes that are read at once: as many lines, if they are empty, are logged in two milliseconds.
const PIECE: usize = 1024;

/// Pieces at most before others get their turn.
const MOST_PIECES: usize = 64;

/// How long the loop listens to one child whose last words it wants.
const LONGEST_LISTENING: Duration = Duration::from_millis(5);

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

/// Splits bytes into lines. The first pieces of a line that is too long are not whole.
fn split_lines(rest: &mut Vec<u8>, bytes: &[u8], mut line: impl FnMut(&[u8], bool)) {
    for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
        rest.extend_from_slice(piece);
        while rest.len() > LONGEST_LINE {
            line(&rest[..LONGEST_LINE], false);
            rest.drain(..LONGEST_LINE);
        }
        if rest.last() == Some(&b'\n') {
            rest.pop();
            line(rest, true);
            rest.clear();
        }
    }
}

fn log(speaker: &Speaker, line: &[u8], is_within: bool) {
    let line = String::from_utf8_lossy(line);
    match speaker {
        Speaker::Own => {
            let indent = if is_within { CONTINUATION } else { "" };
            corral_ipc::log::write_line(format!("{indent}{}\n", clean(&line)).as_bytes());
        }
        // One that is gone does not want to know. The router has escaped what clients say, and adds colours.
        Speaker::Requests => drop(writeln!(io::stdout(), "{line}")),
        Speaker::App(name) => tracing::info!(target: "app", "\"{name}\": {}", line.trim_end()),
        Speaker::Errors(name) => tracing::error!(target: "app", "\"{name}\": {}", line.trim_end()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(chunks: &[&str], expected: &[&str], rest: &str) {
        let (mut lines, mut kept) = (Vec::new(), Vec::new());
        for chunk in chunks {
            split_lines(&mut kept, chunk.as_bytes(), |line, _| {
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
        let mut say = |text: &str| Write::write_all(&mut writer, text.as_bytes()).unwrap();
        say("old\n");
        assert_eq!(output.last_words(), ["old"]);
        output.forget_words();
        say("one  \n\n");
        assert_eq!(output.last_words(), ["one"]);
        say(&"more\n".repeat(MOST_WORDS - 1));
        output.last_words();
        let since = Instant::now();
        say("last\nunfinished");
        assert_eq!(output.words_since(Some(since)), ["last"]);
        let words = output.last_words();
        assert_eq!((words.len(), words.last().map(String::as_str)), (MOST_WORDS, Some("last")));
        assert_eq!(words[0], "more");
        output.end_line();
        assert_eq!(output.last_words().last().map(String::as_str), Some("unfinished"));
    }

    #[test]
    fn the_frames_of_a_stack_are_no_words() {
        let mut words = VecDeque::new();
        let frames = "\tat a.B.c(B.java:1)\n    at Module._compile (node:1)\n\t... 12 more\n".repeat(20);
        let trace = format!("x: failed\n{frames}Caused by: y\n{frames}at last\n  ... 12 others\n");
        trace.lines().for_each(|line| note(&mut words, line.as_bytes()));
        let words: Vec<_> = words.iter().map(|word| word.text.as_str()).collect();
        assert_eq!(words, ["x: failed", "Caused by: y", "at last", "  ... 12 others"]);
    }

    #[test]
    fn a_pipe_ends_when_the_last_writer_is_gone() {
        let (mut output, writer) = Output::pipe(Speaker::App("a".into())).unwrap();
        assert_eq!(output.drain(LONGEST_LISTENING), Drained::Empty);
        let copy = writer.try_clone().unwrap();
        drop(writer);
        assert_eq!(output.drain(LONGEST_LISTENING), Drained::Empty);
        drop(copy);
        assert_eq!(output.drain(LONGEST_LISTENING), Drained::Ended);
    }
}
