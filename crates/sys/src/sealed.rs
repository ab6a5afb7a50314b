//! Bytes that are handed to another process in a memfd which cannot be changed any more.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::fs::FileExt;

use rustix::fs::{MemfdFlags, SealFlags};

/// Neither the size nor the content changes during a read.
const SEALS: SealFlags =
    SealFlags::SHRINK.union(SealFlags::GROW).union(SealFlags::WRITE).union(SealFlags::SEAL);

/// Puts `bytes` into sealed memory. `name` is shown in `/proc`.
pub fn seal(name: &str, bytes: &[u8]) -> io::Result<OwnedFd> {
    let fd = rustix::fs::memfd_create(name, MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?;
    let mut file = File::from(fd);
    file.write_all(bytes)?;
    rustix::fs::fcntl_add_seals(&file, SEALS)?;
    Ok(file.into())
}

/// The whole content of sealed memory of at most `max_len` bytes.
///
/// # Errors
/// `InvalidData` when it is longer or not sealed, `InvalidInput` when it is not a memfd.
pub fn read(fd: BorrowedFd<'_>, max_len: u64) -> io::Result<Vec<u8>> {
    if !rustix::fs::fcntl_get_seals(fd)?.contains(SEALS) {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "the memory is not sealed"));
    }
    let len = len(fd)?;
    if len > max_len {
        let reason = format!("{len} bytes are more than the {max_len} allowed");
        return Err(io::Error::new(io::ErrorKind::InvalidData, reason));
    }
    let len = usize::try_from(len).map_err(|_| io::ErrorKind::OutOfMemory)?;
    let mut bytes = vec![0; len];
    let file = File::from(fd.try_clone_to_owned()?);
    file.read_exact_at(&mut bytes, 0)?;
    Ok(bytes)
}

/// How many bytes the memory has.
///
/// # Errors
/// Errors of fstat(2).
pub fn len(fd: BorrowedFd<'_>) -> io::Result<u64> {
    Ok(rustix::fs::fstat(fd)?.st_size.unsigned_abs())
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;

    use super::*;

    #[test]
    fn bytes_come_back_and_cannot_be_changed() {
        let fd = seal("test", b"content").unwrap();
        assert_eq!(read(fd.as_fd(), 7).unwrap(), b"content");
        assert!(File::from(fd.try_clone().unwrap()).write_at(b"x", 0).is_err());
    }

    #[track_caller]
    fn check_refused(fd: impl AsFd, max_len: u64, expected: io::ErrorKind) {
        assert_eq!(read(fd.as_fd(), max_len).unwrap_err().kind(), expected);
    }

    #[test]
    fn what_could_change_or_is_too_long_is_refused() {
        check_refused(seal("test", b"content").unwrap(), 6, io::ErrorKind::InvalidData);
        let open = rustix::fs::memfd_create("test", MemfdFlags::ALLOW_SEALING).unwrap();
        check_refused(open, 6, io::ErrorKind::InvalidData);
        check_refused(File::open("/etc/passwd").unwrap(), 1 << 20, io::ErrorKind::InvalidInput);
    }
}
