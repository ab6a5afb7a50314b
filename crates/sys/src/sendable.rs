//! Files that another process has opened and an event loop may send: reading them waits for nothing but a disk, and so
//! does closing them.

use std::fs::File;
use std::io;
use std::ops::Deref;
use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{AtFlags, FileType, OFlags, Statx, StatxAttributes, StatxFlags};

use crate::deferred_close;

/// The length of a file that may be sent; nothing for any other: one that is not regular, cannot be read, or is on a
/// file system that is not known to be of this machine alone. Never waits, whatever it is.
///
/// # Errors
/// Errors of statx(2) and its like, where a descriptor is none.
pub fn size(file: impl AsFd) -> io::Result<Option<u64>> {
    let flags = rustix::fs::fcntl_getfl(&file)?;
    let is_readable = !flags.contains(OFlags::PATH) && flags & OFlags::RWMODE != OFlags::WRONLY;
    // A file system of a network or of FUSE would ask others for what it does not know.
    let how = AtFlags::EMPTY_PATH | AtFlags::STATX_DONT_SYNC;
    let status = rustix::fs::statx(&file, c"", how, StatxFlags::BASIC_STATS)?;
    let is_regular = FileType::from_raw_mode(status.stx_mode.into()) == FileType::RegularFile;
    if !is_readable || !is_regular || !answers_itself(&file, &status) || !is_local(&file)? {
        return Ok(None);
    }
    Ok(Some(status.stx_size))
}

/// Whether the kernel answers all questions about the file by itself: it has seals, and so is memory; or is in a file
/// system with attributes as those of disks have them. File systems that ask another machine or program have neither. A
/// disk alone says nothing: FUSE may have one, too.
fn answers_itself(file: impl AsFd, status: &Statx) -> bool {
    let attributes = StatxAttributes::IMMUTABLE | StatxAttributes::APPEND;
    status.stx_attributes_mask.contains(attributes) || rustix::fs::fcntl_get_seals(file).is_ok()
}

/// A file that was sent. One without a name may be the last of a large one, which takes long to be removed: it is
/// closed in another thread.
#[derive(Debug)]
pub struct Sent(Option<File>);

impl From<OwnedFd> for Sent {
    fn from(file: OwnedFd) -> Self {
        Self(Some(file.into()))
    }
}

impl Deref for Sent {
    type Target = File;

    fn deref(&self) -> &File {
        self.0.as_ref().expect("it is there until it is dropped")
    }
}

impl Drop for Sent {
    fn drop(&mut self) {
        let has_no_name = |file: &File| rustix::fs::fstat(file).is_ok_and(|status| status.st_nlink == 0);
        if let Some(file) = self.0.take_if(|file| has_no_name(file)) {
            deferred_close::close([file.into()]);
        }
    }
}

fn is_local(file: impl AsFd) -> io::Result<bool> {
    let kind = rustix::fs::fstatfs(file)?.f_type;
    // The kernel's own numbers have 32 bits, and its structure has a word of the machine for them.
    Ok(LOCAL.contains(&(kind as u32)))
}

/// The types that fstatfs(2) gives for file systems on disks and in memory. File systems of a network wait for others,
/// FUSE waits for a program of any user, and layers (overlayfs) may lie above either.
pub(crate) const LOCAL: [u32; 10] = [
    // ext2, ext3 and ext4
    0xef53,
    // XFS
    0x5846_5342,
    // Btrfs
    0x9123_683e,
    // F2FS
    0xf2f5_2010,
    // ZFS
    0x2fc1_2fc1,
    // Bcachefs
    0xca45_1a4e,
    // tmpfs
    0x0102_1994,
    // ramfs
    0x8584_58f6,
    // EROFS
    0xe0f5_e1e2,
    // SquashFS
    0x7371_7368,
];

#[cfg(test)]
mod tests {
    use std::fs::OpenOptions;
    use std::os::unix::fs::OpenOptionsExt;

    use super::*;
    use crate::{memory::SharedMemory, socket};

    fn here() -> std::path::PathBuf {
        std::env::temp_dir().join(format!("corral-sendable-{}", std::process::id()))
    }

    #[test]
    fn regular_files_that_can_be_read_are() {
        let path = here();
        std::fs::write(&path, "12345").unwrap();
        // In an image of a container it may be on layers.
        let is_local = is_local(File::open(&path).unwrap()).unwrap();
        let expect = is_local.then_some(5);
        assert_eq!(size(File::open(&path).unwrap()).unwrap(), expect);
        let both = OpenOptions::new().read(true).write(true).open(&path).unwrap();
        assert_eq!(size(both).unwrap(), expect);
        assert_eq!(size(OpenOptions::new().write(true).open(&path).unwrap()).unwrap(), None);
        let place = OpenOptions::new().read(true).custom_flags(libc::O_PATH).open(&path).unwrap();
        assert_eq!(size(place).unwrap(), None);
        std::fs::remove_file(&path).unwrap();
    }

    #[test]
    fn files_in_memory_are() {
        let (_, memory) = SharedMemory::create("sendable", 8192).unwrap();
        assert_eq!(size(memory).unwrap(), Some(8192));
    }

    #[test]
    fn everything_else_is_not() {
        let (reader, writer) = rustix::pipe::pipe().unwrap();
        let (one, other) = socket::seqpacket_pair().unwrap();
        let open = |path: &str| OwnedFd::from(File::open(path).unwrap());
        let others = [reader, writer, one, other, open("/dev/zero"), open("/"), open("/proc/version")];
        for (n, other) in others.iter().enumerate() {
            assert_eq!(size(other).unwrap(), None, "number {n}");
        }
    }
}
