//! The standard streams of a command. A program of another user must not have this process's terminal, into which it
//! could type: it gets a pseudo-terminal, and a stream that is not a terminal is handed on as it is.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::FileTypeExt;

use corral_sys::terminal::{self, Output, Pair, Raw};

/// The streams of this process, and those of the command.
pub(super) struct Streams {
    /// This process's, which the command gets unless they are terminals.
    own: [File; 3],
    /// In place of a terminal whose keyboard is for another program.
    null: File,
    terminal: Option<ExecTerminal>,
}

/// The command's terminal, and the one that it stands for.
pub(super) struct ExecTerminal {
    /// This process's.
    outer: File,
    /// The other end of the command's.
    master: Option<File>,
    /// The command's, until the command alone has it.
    slave: Option<OwnedFd>,
    /// This process's keyboard, as long as it is for the command.
    keyboard: Option<File>,
    /// As long as the keyboard is the command's.
    raw: Option<Raw>,
}

impl Streams {
    /// The streams of this process, for a command of this user.
    pub(super) fn new(uid: u32) -> io::Result<Self> {
        let own = [io::stdin().as_fd(), io::stdout().as_fd(), io::stderr().as_fd()]
            .map(|fd| fd.try_clone_to_owned().map(File::from));
        let [stdin, stdout, stderr] = own;
        let own = [stdin?, stdout?, stderr?];
        let terminal = ExecTerminal::of(&own, uid)?;
        Ok(Self { own, null: File::options().read(true).open("/dev/null")?, terminal })
    }

    pub(super) fn has_terminal(&self) -> bool {
        self.terminal.is_some()
    }

    /// Whether the command has the keyboard.
    pub(super) fn has_keyboard(&self) -> bool {
        self.terminal.as_ref().is_some_and(|terminal| terminal.keyboard.is_some())
    }

    /// The streams that the command gets.
    pub(super) fn of_command(&self) -> [BorrowedFd<'_>; 3] {
        let slave = self.terminal.as_ref().and_then(|terminal| terminal.slave.as_ref());
        let [stdin, stdout, stderr] = self.own.each_ref().map(|own| match slave {
            Some(slave) if terminal::is_terminal(own.as_fd()) => slave.as_fd(),
            _ => own.as_fd(),
        });
        let is_closed = terminal::is_terminal(self.own[0].as_fd()) && !self.has_keyboard();
        [if is_closed { self.null.as_fd() } else { stdin }, stdout, stderr]
    }

    /// The command has its streams: the keyboard is its own from now on.
    pub(super) fn handed_over(self) -> io::Result<Option<ExecTerminal>> {
        let Some(mut terminal) = self.terminal else { return Ok(None) };
        terminal.slave = None;
        if let Some(keyboard) = &terminal.keyboard {
            terminal.raw = Some(Raw::of(keyboard.as_fd())?);
        }
        Ok(Some(terminal))
    }
}

impl ExecTerminal {
    /// One for the command, if this process has any.
    fn of(own: &[File; 3], uid: u32) -> io::Result<Option<Self>> {
        // What is written goes where output goes, if it can.
        let outer = [1, 2, 0].into_iter().map(|idx| &own[idx]).find(|own| terminal::is_terminal(own.as_fd()));
        let Some(outer) = outer else { return Ok(None) };
        let keyboard = is_keyboard_free(own).then(|| own[0].try_clone()).transpose()?;
        // While the keyboard is raw, this process's terminal leaves output as it is.
        let output = if keyboard.is_some() { Output::Finished } else { Output::Untouched };
        let Pair { master, slave } = terminal::pair_like(outer.as_fd(), output)?;
        // Programs open their terminal by its path, too. Where that is forbidden, they do without.
        let _ = terminal::give_to(slave.as_fd(), uid);
        let outer = outer.try_clone()?;
        Ok(Some(Self { outer, master: Some(master), slave: Some(slave), keyboard, raw: None }))
    }

    pub(super) fn master(&mut self) -> Option<&mut File> {
        self.master.as_mut()
    }

    pub(super) fn outer(&mut self) -> &mut File {
        &mut self.outer
    }

    pub(super) fn keyboard(&mut self) -> Option<&mut File> {
        self.keyboard.as_mut()
    }

    /// The descriptors to wait for: the keyboard, and the command's output.
    pub(super) fn ends(&self) -> (Option<BorrowedFd<'_>>, Option<BorrowedFd<'_>>) {
        (self.keyboard.as_ref().map(AsFd::as_fd), self.master.as_ref().map(AsFd::as_fd))
    }

    /// Nothing can be typed any more.
    pub(super) fn close_keyboard(&mut self) {
        self.keyboard = None;
    }

    /// The command can print nothing any more, or nothing that is seen.
    pub(super) fn close_screen(&mut self) {
        self.master = None;
        self.keyboard = None;
    }

    /// Gives the command's terminal the size of the other one.
    pub(super) fn resize(&self) {
        if let (Ok(size), Some(master)) = (terminal::size(self.outer.as_fd()), &self.master) {
            // A terminal without a size is used all the same.
            let _ = terminal::resize(master.as_fd(), size);
        }
    }
}

/// Whether the keyboard is for the command: not of a process in the background, and not before a pipe, as what is
/// behind that has it (`corral exec … | less`).
fn is_keyboard_free(own: &[File; 3]) -> bool {
    let stdin = own[0].as_fd();
    let is_piped = own[1].metadata().is_ok_and(|data| data.file_type().is_fifo());
    terminal::is_terminal(stdin) && terminal::is_in_foreground(stdin) && !is_piped
}
