//! Asks a host executable what it is.

use std::ffi::{CString, OsStr};
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::bail;
use corral_ipc::message::Module;
use corral_sys::file::nonblocking_reader_pipe;
use corral_sys::poll::{self, Interest};
use corral_sys::signal::{self, Ended, Pid, Signal};
use corral_sys::spawn::{Executable, Program};
use corral_sys::user::Credentials;

/// Loading a large interpreter from a cold disk takes seconds, not more.
const LONGEST_DESCRIPTION: Duration = Duration::from_secs(30);

const LONGEST_ANSWER: usize = 1 << 16;

/// Runs `describe` of a host, which loads what it was built for or says why it cannot.
pub(super) fn describe(path: &Path, user: Option<&Credentials>) -> anyhow::Result<Module> {
    let (answer, answer_writer) = nonblocking_reader_pipe()?;
    let (complaint, complaint_writer) = nonblocking_reader_pipe()?;
    let pid = start(path, user, &answer_writer, &complaint_writer)?;
    drop((answer_writer, complaint_writer));
    let mut outputs = PipeTexts { answer: PipeText::of(answer), complaint: PipeText::of(complaint) };
    let heard = outputs.read(Instant::now() + LONGEST_DESCRIPTION);
    if heard.is_err() {
        let _ = signal::kill(pid, Signal::KILL);
    }
    let ended = signal::wait_for(pid)?;
    heard?;
    let why = outputs.last_complaint();
    match ended {
        Ended::Code(0) => parse(path, &outputs.answer.text),
        Ended::Code(code) => bail!("`describe` exited with code {code}{why}"),
        Ended::Signal(number) => bail!("`describe` exited on signal {number}{why}"),
    }
}

fn start(path: &Path, user: Option<&Credentials>, stdout: &OwnedFd, stderr: &OwnedFd) -> anyhow::Result<Pid> {
    let executable = File::open(path)?;
    let null = File::open("/dev/null")?;
    let environment: Vec<_> =
        std::env::vars_os().filter_map(|(name, value)| variable(&name, &value)).collect();
    let pid = Program {
        executable: Executable::Open(executable.as_fd()),
        argv: &[CString::new(path.as_os_str().as_bytes())?, c"describe".to_owned()],
        environment: &environment,
        pid_variable: None,
        working_directory: Some(c"/"),
        credentials: user,
        no_new_privileges: true,
        wall: None,
        isolation: None,
        controlling_terminal: false,
        fds: &[(null.as_fd(), 0), (stdout.as_fd(), 1), (stderr.as_fd(), 2)],
    }
    .spawn()?;
    Ok(pid)
}

fn variable(name: &OsStr, value: &OsStr) -> Option<CString> {
    CString::new([name.as_bytes(), b"=", value.as_bytes()].concat()).ok()
}

/// One end of a pipe, and the beginning of the text that came through it.
struct PipeText {
    pipe: File,
    text: Vec<u8>,
    ended: bool,
}

impl PipeText {
    fn of(pipe: OwnedFd) -> Self {
        Self { pipe: File::from(pipe), text: Vec::new(), ended: false }
    }

    /// Takes what is there. Of more than an answer has, the rest is thrown away.
    fn drain(&mut self) -> io::Result<()> {
        let mut piece = [0; 4096];
        while !self.ended {
            match self.pipe.read(&mut piece) {
                Ok(0) => self.ended = true,
                Ok(n) => {
                    let room = LONGEST_ANSWER - self.text.len();
                    self.text.extend_from_slice(&piece[..n.min(room)]);
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

struct PipeTexts {
    answer: PipeText,
    complaint: PipeText,
}

impl PipeTexts {
    /// Reads until the answer has ended: a process that the host may have left behind can still complain.
    fn read(&mut self, deadline: Instant) -> anyhow::Result<()> {
        while !self.answer.ended {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                bail!("`describe` did not answer within {} s", LONGEST_DESCRIPTION.as_secs());
            }
            let both = [&self.answer, &self.complaint];
            let open: Vec<_> = both
                .into_iter()
                .filter(|output| !output.ended)
                .map(|output| (output.pipe.as_fd(), Interest::Read))
                .collect();
            poll::wait(&open, Some(left))?;
            self.answer.drain()?;
            self.complaint.drain()?;
        }
        Ok(())
    }

    /// To be asked when the host has ended: the loader and PHP say last what was wrong.
    fn last_complaint(&mut self) -> String {
        let _ = self.complaint.drain();
        let text = String::from_utf8_lossy(&self.complaint.text);
        let line = text.lines().map(str::trim).rfind(|line| !line.is_empty());
        line.map_or_else(String::new, |line| format!(": {line}"))
    }
}

/// `php 8.2.35` on the first line, then the paths of the files and folders that it consists of.
fn parse(path: &Path, answer: &[u8]) -> anyhow::Result<Module> {
    let text = String::from_utf8_lossy(answer);
    let mut lines = text.lines();
    let line = lines.next().unwrap_or_default();
    match line.split_ascii_whitespace().collect::<Vec<_>>()[..] {
        [language, version] => {
            let dependencies = lines.filter(|line| line.starts_with('/')).map(PathBuf::from).collect();
            Ok(Module {
                language: language.into(),
                version: version.into(),
                path: path.to_owned(),
                dependencies,
            })
        }
        _ => bail!("`describe` answered {line:?} in place of a language and a version"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(answer: &str, expected: Option<(&str, &str)>) {
        let module = parse(Path::new("/x"), answer.as_bytes()).ok();
        let found = module.as_ref().map(|module| (module.language.as_str(), module.version.as_str()));
        assert_eq!(found, expected);
    }

    #[test]
    fn descriptions_have_two_words() {
        check("php 8.2.29\n", Some(("php", "8.2.29")));
        check("php 8.2.29\nmore\n", Some(("php", "8.2.29")));
        check("php\n", None);
        check("", None);
        check("PHP Warning: something is wrong\nphp 8.2\n", None);
    }

    #[test]
    fn complaints_say_why() {
        let text = b"libphp.so: warning\n\nerror while loading shared libraries: libphp8.4.so\n \n".to_vec();
        let output = |text| PipeText { pipe: File::open("/dev/null").unwrap(), text, ended: true };
        let mut outputs = PipeTexts { answer: output(Vec::new()), complaint: output(text) };
        assert_eq!(outputs.last_complaint(), ": error while loading shared libraries: libphp8.4.so");
        outputs.complaint.text.clear();
        assert_eq!(outputs.last_complaint(), "");
    }
}
