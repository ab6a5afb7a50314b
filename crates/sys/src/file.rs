//! Files: sendfile, unlinked temporary files, opening what may be anything.

use std::ffi::OsStr;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags};
use rustix::io::Errno;

/// Sends up to `count` bytes of `file` from `offset` to a socket, and moves `offset` on.
///
/// # Errors
/// `WouldBlock` when the socket takes no more now. `Ok(0)` means that the file has ended.
pub fn sendfile(socket: impl AsFd, file: impl AsFd, offset: &mut u64, count: usize) -> io::Result<usize> {
    Ok(rustix::io::retry_on_intr(|| rustix::fs::sendfile(&socket, &file, Some(offset), count))?)
}

/// Opens a file for reading without ever waiting (a FIFO) or taking a terminal.
pub fn open_read(path: impl AsRef<Path>) -> io::Result<File> {
    OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY).open(path)
}

/// Opens a log file for appending, created with `mode`, without waiting (a FIFO without a reader
/// is an error) or taking a terminal.
pub fn open_append(path: impl AsRef<Path>, mode: u32) -> io::Result<File> {
    open_append_with(path.as_ref(), mode, 0)
}

fn open_append_with(path: &Path, mode: u32, flags: i32) -> io::Result<File> {
    let flags = libc::O_NONBLOCK | libc::O_NOCTTY | flags;
    let file = OpenOptions::new().append(true).create(true).mode(mode).custom_flags(flags).open(path)?;
    // The flag was for opening only: a log is written with blocking calls.
    rustix::fs::fcntl_setfl(&file, OFlags::APPEND)?;
    Ok(file)
}

/// Opens a file for writing, emptied or created with `mode`.
///
/// # Errors
/// When a symbolic link is in its place: a user who may write to the folder could have it lead anywhere.
pub fn create(path: impl AsRef<Path>, mode: u32) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true).mode(mode).custom_flags(libc::O_NOFOLLOW);
    options.open(path).map_err(|error| match error.raw_os_error() {
        Some(libc::ELOOP) => io::Error::other("it is a symbolic link, and none is followed here"),
        _ => error,
    })
}

/// As `open_append`, for a log that may lie in another user's folder: a symbolic link is followed if it belongs to root
/// or to this process' user, and not if another user has put it there.
pub fn open_log(path: impl AsRef<Path>, mode: u32) -> io::Result<File> {
    let mut path = path.as_ref().to_owned();
    for _ in 0..MOST_LINKS {
        match open_append_with(&path, mode, libc::O_NOFOLLOW) {
            Err(error) if error.raw_os_error() == Some(libc::ELOOP) => match trusted_target(&path)? {
                Target::Path(target) => path = target,
                Target::OpenFile => return open_append_with(&path, mode, 0),
            },
            opened => return opened,
        }
    }
    Err(Errno::LOOP.into())
}

const MOST_LINKS: usize = 8;

/// The meaning of a symbolic link.
enum Target {
    Path(PathBuf),
    /// Something that a process has open, such as the pipe behind `/dev/stdout`: its text is not a path.
    OpenFile,
}

/// Where a symbolic link leads. The link that is looked at is the one that is followed.
fn trusted_target(path: &Path) -> io::Result<Target> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let link = rustix::fs::openat(CWD, path, flags, Mode::empty())?;
    let owner = rustix::fs::fstat(&link)?.st_uid;
    if owner != 0 && owner != crate::user::effective_uid() {
        return Err(io::Error::new(
            io::ErrorKind::PermissionDenied,
            "it is a symbolic link of another user, and not followed",
        ));
    }
    if rustix::fs::fstatfs(&link)?.f_type == rustix::fs::PROC_SUPER_MAGIC {
        return Ok(Target::OpenFile);
    }
    let target = rustix::fs::readlinkat(&link, "", Vec::new())?;
    let folder = path.parent().unwrap_or(Path::new(""));
    Ok(Target::Path(folder.join(OsStr::from_bytes(target.as_bytes()))))
}

/// A pipe, the reading end first: reading never waits, writing does. Both ends are close-on-exec.
pub fn nonblocking_reader_pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    let (reader, writer) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
    rustix::fs::fcntl_setfl(&reader, OFlags::NONBLOCK)?;
    Ok((reader, writer))
}

/// A file in `directory` that has no name and is gone when it is closed.
pub fn temp_file(directory: impl AsRef<Path>) -> io::Result<File> {
    let directory = directory.as_ref();
    let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
    match rustix::fs::openat(CWD, directory, flags, Mode::RUSR | Mode::WUSR) {
        Ok(fd) => Ok(fd.into()),
        // Not every filesystem can (overlayfs before 6.1, NFS): a name that lives for a moment.
        Err(Errno::OPNOTSUPP | Errno::ISDIR) => named_temp_file(directory),
        Err(errno) => Err(errno.into()),
    }
}

fn named_temp_file(directory: &Path) -> io::Result<File> {
    let pid = std::process::id();
    for attempt in 0..1000 {
        let path = directory.join(format!(".corral-{pid}-{}-{attempt}", crate::process::thread_id()));
        match OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(&path) {
            Ok(file) => {
                std::fs::remove_file(&path)?;
                return Ok(file);
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::Error::from(io::ErrorKind::AlreadyExists))
}

/// Whether this process or the system has no descriptor left.
#[must_use]
pub fn are_descriptors_lacking(error: &io::Error) -> bool {
    let number = error.raw_os_error();
    [Errno::MFILE, Errno::NFILE].iter().any(|lacking| number == Some(lacking.raw_os_error()))
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Seek, Write};
    use std::os::unix::net::UnixStream;

    use super::*;

    #[track_caller]
    fn check_temp(mut file: File) {
        file.write_all(b"body").unwrap();
        file.rewind().unwrap();
        assert_eq!(io::read_to_string(&file).unwrap(), "body");
        assert_eq!(rustix::fs::fstat(&file).unwrap().st_nlink, 0);
    }

    #[test]
    fn temporary_files_have_no_name() {
        let folder = std::env::temp_dir();
        check_temp(temp_file(&folder).unwrap());
        check_temp(named_temp_file(&folder).unwrap());
        assert_eq!(temp_file("/no/such/folder").unwrap_err().kind(), io::ErrorKind::NotFound);
    }

    /// As behind `/dev/stdout` in a container.
    #[test]
    fn a_log_may_be_an_open_pipe() {
        let (reader, writer) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).unwrap();
        let path = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&writer));
        open_log(path, 0o600).unwrap().write_all(b"a line").unwrap();
        drop(writer);
        assert_eq!(io::read_to_string(File::from(reader)).unwrap(), "a line");
    }

    #[test]
    fn sendfile_stops_at_the_end_and_at_a_full_socket() {
        let mut file = temp_file(std::env::temp_dir()).unwrap();
        file.write_all(&[7; 3_000_000]).unwrap();
        let (sender, mut receiver) = UnixStream::pair().unwrap();
        sender.set_nonblocking(true).unwrap();
        let mut offset = 2_999_990;
        assert_eq!(sendfile(&sender, &file, &mut offset, 1000).unwrap(), 10);
        assert_eq!(sendfile(&sender, &file, &mut offset, 1000).unwrap(), 0);
        receiver.read_exact(&mut [0; 10]).unwrap();
        offset = 0;
        let error = (0..100).find_map(|_| sendfile(&sender, &file, &mut offset, 1 << 20).err());
        assert_eq!(error.expect("the socket is full").kind(), io::ErrorKind::WouldBlock);
        assert!(offset > 0);
    }

    #[test]
    fn a_link_is_followed_where_nobody_else_can_have_put_it() {
        let folder = std::env::temp_dir().join(format!("corral-links-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let path = |name: &str| folder.join(name);
        std::fs::write(path("kept"), "content").unwrap();
        std::os::unix::fs::symlink("kept", path("link")).unwrap();
        std::os::unix::fs::symlink("link", path("further")).unwrap();
        std::os::unix::fs::symlink("round", path("round")).unwrap();
        assert!(create(path("link"), 0o600).unwrap_err().to_string().contains("symbolic link"));
        create(path("new"), 0o600).unwrap().write_all(b"1").unwrap();
        create(path("new"), 0o600).unwrap().write_all(b"2").unwrap();
        assert_eq!(std::fs::read(path("new")).unwrap(), b"2");
        open_log(path("further"), 0o600).unwrap().write_all(b", more").unwrap();
        open_log(path("log"), 0o600).unwrap().write_all(b"a line").unwrap();
        assert!(open_log(path("round"), 0o600).is_err());
        if crate::user::effective_uid() == 0 {
            std::os::unix::fs::lchown(path("link"), Some(4001), None).unwrap();
            let refused = open_log(path("further"), 0o600).unwrap_err();
            assert!(refused.to_string().contains("of another user"), "{refused}");
        }
        assert_eq!(std::fs::read(path("kept")).unwrap(), b"content, more");
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn a_fifo_does_not_block() {
        let path = std::env::temp_dir().join(format!("corral-fifo-{}", std::process::id()));
        rustix::fs::mkfifoat(CWD, &path, Mode::RUSR | Mode::WUSR).unwrap();
        assert!(open_append(&path, 0o600).is_err(), "nobody reads it");
        assert!(open_read(&path).is_ok());
        std::fs::remove_file(&path).unwrap();
    }
}
