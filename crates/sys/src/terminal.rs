//! Terminals: the one that a person sits at, and pseudo-terminals for programs that must not have that one.

use std::fs::File;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

/// Both ends of a pseudo-terminal.
#[derive(Debug)]
pub struct Pair {
    /// The end of the person, which never blocks.
    pub master: File,
    /// The end of the program: its terminal.
    pub slave: OwnedFd,
}

/// The answer to what a program at a pseudo-terminal prints.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Output {
    /// New lines are put at the beginning of a line here, as the other terminal leaves all as it is.
    Finished,
    /// All is left as it is, as the other terminal does what is to be done.
    Untouched,
}

/// The size of a terminal in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size {
    /// Lines.
    pub rows: u16,
    /// Characters in each.
    pub columns: u16,
}

/// A terminal that hands on every key as it is, until this is dropped.
#[derive(Debug)]
pub struct Raw {
    terminal: OwnedFd,
    before: libc::termios,
}

/// Whether a descriptor leads to a terminal.
#[must_use]
pub fn is_terminal(fd: BorrowedFd<'_>) -> bool {
    settings(fd).is_ok()
}

/// Whether this process has the keyboard of a terminal: those in the background do not.
#[must_use]
pub fn is_in_foreground(terminal: BorrowedFd<'_>) -> bool {
    // SAFETY: only asks; fails for what is not a terminal of this session.
    let group = unsafe { libc::tcgetpgrp(terminal.as_raw_fd()) };
    // SAFETY: cannot fail.
    group == unsafe { libc::getpgrp() }
}

/// Makes a pseudo-terminal with the settings and the size of another terminal.
///
/// # Errors
/// When there are no more of them, or no descriptors.
pub fn pair_like(other: BorrowedFd<'_>, output: Output) -> io::Result<Pair> {
    // SAFETY: returns a new descriptor or -1.
    let master = unsafe { libc::posix_openpt(libc::O_RDWR | libc::O_NOCTTY | libc::O_CLOEXEC) };
    let master = File::from(owned(master)?);
    // SAFETY: the descriptor is a master of this process.
    done(unsafe { libc::unlockpt(master.as_raw_fd()) })?;
    let flags = libc::O_RDWR | libc::O_NOCTTY | libc::O_CLOEXEC;
    // SAFETY: the request takes flags of open(2), and returns a new descriptor of the other end, whatever is mounted at
    // /dev/pts.
    let slave = owned(unsafe { libc::ioctl(master.as_raw_fd(), libc::TIOCGPTPEER, flags) })?;
    let mut wanted = settings(other)?;
    if output == Output::Untouched {
        wanted.c_oflag &= !libc::OPOST;
    }
    set(slave.as_fd(), &wanted)?;
    if let Ok(size) = size(other) {
        resize(master.as_fd(), size)?;
    }
    rustix::io::ioctl_fionbio(&master, true)?;
    Ok(Pair { master, slave })
}

/// Gives a terminal's file to a user, whose programs may open it by its path.
///
/// # Errors
/// The errors of fchown(2).
pub fn give_to(terminal: BorrowedFd<'_>, uid: u32) -> io::Result<()> {
    Ok(rustix::fs::fchown(terminal, Some(rustix::fs::Uid::from_raw(uid)), None)?)
}

/// The size of a terminal.
///
/// # Errors
/// When it is none.
pub fn size(terminal: BorrowedFd<'_>) -> io::Result<Size> {
    let mut size = MaybeUninit::<libc::winsize>::uninit();
    // SAFETY: the request fills a structure of this type, for which there is room.
    done(unsafe { libc::ioctl(terminal.as_raw_fd(), libc::TIOCGWINSZ, size.as_mut_ptr()) })?;
    // SAFETY: the call has succeeded, so it has filled it.
    let size = unsafe { size.assume_init() };
    Ok(Size { rows: size.ws_row, columns: size.ws_col })
}

/// Changes the size of a terminal, which its programs are told by SIGWINCH.
///
/// # Errors
/// When it is none.
pub fn resize(terminal: BorrowedFd<'_>, size: Size) -> io::Result<()> {
    let size = libc::winsize { ws_row: size.rows, ws_col: size.columns, ws_xpixel: 0, ws_ypixel: 0 };
    // SAFETY: the request reads a structure of this type.
    done(unsafe { libc::ioctl(terminal.as_raw_fd(), libc::TIOCSWINSZ, &raw const size) })
}

impl Raw {
    /// Has a terminal hand on every key, also those that otherwise send signals, and show nothing by itself.
    ///
    /// # Errors
    /// When it is none.
    pub fn of(terminal: BorrowedFd<'_>) -> io::Result<Self> {
        let before = settings(terminal)?;
        let mut raw = before;
        // SAFETY: changes the structure alone, which is initialised.
        unsafe { libc::cfmakeraw(&raw mut raw) };
        let terminal = terminal.try_clone_to_owned()?;
        set(terminal.as_fd(), &raw)?;
        Ok(Self { terminal, before })
    }
}

impl Drop for Raw {
    fn drop(&mut self) {
        // A terminal that is gone needs no settings.
        let _ = set(self.terminal.as_fd(), &self.before);
    }
}

/// Makes standard input the terminal that controls the session of this process, which leads it. Async-signal-safe.
pub(crate) fn control_session() -> io::Result<()> {
    // SAFETY: the request takes a number, and changes what the session of this process is controlled by.
    done(unsafe { libc::ioctl(libc::STDIN_FILENO, libc::TIOCSCTTY, 0) })
}

fn settings(terminal: BorrowedFd<'_>) -> io::Result<libc::termios> {
    let mut settings = MaybeUninit::<libc::termios>::uninit();
    // SAFETY: fills a structure of this type, for which there is room.
    done(unsafe { libc::tcgetattr(terminal.as_raw_fd(), settings.as_mut_ptr()) })?;
    // SAFETY: the call has succeeded, so it has filled it.
    Ok(unsafe { settings.assume_init() })
}

fn set(terminal: BorrowedFd<'_>, settings: &libc::termios) -> io::Result<()> {
    // SAFETY: the settings are those of a terminal, changed in flags alone.
    done(unsafe { libc::tcsetattr(terminal.as_raw_fd(), libc::TCSANOW, settings) })
}

fn owned(fd: libc::c_int) -> io::Result<OwnedFd> {
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel has just returned this descriptor and nothing else knows it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

fn done(result: libc::c_int) -> io::Result<()> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};

    use super::*;

    /// A pseudo-terminal that stands for a person's.
    fn outer() -> Pair {
        // SAFETY: as in `pair_like`.
        let master = File::from(
            owned(unsafe { libc::posix_openpt(libc::O_RDWR | libc::O_NOCTTY | libc::O_CLOEXEC) }).unwrap(),
        );
        // SAFETY: as in `pair_like`.
        done(unsafe { libc::unlockpt(master.as_raw_fd()) }).unwrap();
        // SAFETY: as in `pair_like`.
        let slave =
            unsafe { libc::ioctl(master.as_raw_fd(), libc::TIOCGPTPEER, libc::O_RDWR | libc::O_NOCTTY) };
        Pair { master, slave: owned(slave).unwrap() }
    }

    #[test]
    fn a_pair_is_like_the_other_terminal() {
        let outer = outer();
        resize(outer.master.as_fd(), Size { rows: 31, columns: 97 }).unwrap();
        let pair = pair_like(outer.slave.as_fd(), Output::Finished).unwrap();
        assert!(is_terminal(pair.slave.as_fd()) && !is_terminal(File::open("/dev/null").unwrap().as_fd()));
        assert_eq!(size(pair.slave.as_fd()).unwrap(), Size { rows: 31, columns: 97 });
        let plain = settings(outer.slave.as_fd()).unwrap();
        assert_eq!(settings(pair.slave.as_fd()).unwrap().c_lflag, plain.c_lflag);
        assert_eq!(settings(pair.slave.as_fd()).unwrap().c_oflag, plain.c_oflag);
        let untouched = pair_like(outer.slave.as_fd(), Output::Untouched).unwrap();
        assert_eq!(settings(untouched.slave.as_fd()).unwrap().c_oflag & libc::OPOST, 0);
    }

    #[test]
    fn what_is_typed_arrives_and_nothing_blocks() {
        let outer = outer();
        let mut pair = pair_like(outer.slave.as_fd(), Output::Finished).unwrap();
        let nothing = pair.master.read(&mut [0; 8]).unwrap_err();
        assert_eq!(nothing.kind(), io::ErrorKind::WouldBlock);
        pair.master.write_all(b"a\n").unwrap();
        let mut line = [0; 8];
        assert_eq!(File::from(pair.slave).read(&mut line).unwrap(), 2);
    }

    #[test]
    fn raw_is_taken_back() {
        let outer = outer();
        let flags = || settings(outer.slave.as_fd()).unwrap().c_lflag;
        let before = flags();
        let raw = Raw::of(outer.slave.as_fd()).unwrap();
        assert_eq!(flags() & (libc::ICANON | libc::ECHO | libc::ISIG), 0);
        drop(raw);
        assert_eq!(flags(), before);
    }
}
