//! Memory shared between processes: a sealed memfd and its mapping.
//!
//! The layout of the memory, and a reader's protection against the other side, are for `channel`.

use std::ffi::c_void;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::ptr::{self, NonNull};

use rustix::fs::{MemfdFlags, SealFlags};
use rustix::io::Errno;
use rustix::mm::{MapFlags, ProtFlags};

/// Seals that keep the memory's size as it is. Without these a peer could shrink the file and kill us by SIGBUS.
const SEALS: SealFlags = SealFlags::SHRINK.union(SealFlags::GROW).union(SealFlags::SEAL);

/// The type that fstatfs(2) gives for memory in pages of the usual size.
const TMPFS: u32 = 0x0102_1994;

/// A shared, writable mapping of a whole memfd; unmapped when dropped. A forked child shares it.
#[derive(Debug)]
pub struct SharedMemory {
    address: NonNull<u8>,
    len: usize,
}

// SAFETY: The mapping belongs to the process, not to a thread, and this type gives out nothing but its address: code
// that reads or writes through that answers for the races.
unsafe impl Send for SharedMemory {}
// SAFETY: As for `Send`; no method changes the mapping through a shared reference.
unsafe impl Sync for SharedMemory {}

impl SharedMemory {
    /// Makes `len` bytes of zeroed memory, sealed to this size, and maps them. `name` is shown in `/proc`.
    ///
    /// # Errors
    /// Errors of memfd_create(2), ftruncate(2), fcntl(2) and mmap(2).
    pub fn create(name: &str, len: usize) -> io::Result<(Self, OwnedFd)> {
        let fd = create_memfd(name)?;
        rustix::fs::ftruncate(&fd, len as u64)?;
        rustix::fs::fcntl_add_seals(&fd, SEALS)?;
        let memory = Self::map_checked(fd.as_fd(), len)?;
        Ok((memory, fd))
    }

    /// Maps memory that another process made, after checking that it has exactly `len` bytes for ever.
    ///
    /// # Errors
    /// `InvalidData` when the size is another one or is not sealed, or the memory is in huge pages, of which there may
    /// be none left when they are needed; else those of fstat(2), fcntl(2) and mmap(2).
    pub fn map(fd: BorrowedFd<'_>, len: usize) -> io::Result<Self> {
        let seals = rustix::fs::fcntl_get_seals(fd)?;
        if !seals.contains(SealFlags::SHRINK | SealFlags::GROW) {
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                "the size of shared memory is not sealed",
            ));
        }
        // Nothing but memory has seals, so these calls do not wait.
        if rustix::fs::fstatfs(fd)?.f_type as u32 != TMPFS {
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                "shared memory has pages of another size",
            ));
        }
        let size = rustix::fs::fstat(fd)?.st_size;
        if u64::try_from(size).ok() != Some(len as u64) {
            let reason = format!("shared memory has {size} bytes in place of {len}");
            return Err(io::Error::new(io::ErrorKind::InvalidData, reason));
        }
        Self::map_checked(fd, len)
    }

    fn map_checked(fd: BorrowedFd<'_>, len: usize) -> io::Result<Self> {
        // SAFETY: A new mapping at an address of the kernel's choice overlaps no memory of ours.
        let address = unsafe {
            rustix::mm::mmap(
                ptr::null_mut(),
                len,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::SHARED,
                fd,
                0,
            )
        }?;
        let address = NonNull::new(address.cast()).expect("mmap never chooses address zero");
        Ok(Self { address, len })
    }

    /// The first byte. Page-aligned, valid for `len` bytes while `self` lives.
    #[must_use]
    pub fn as_ptr(&self) -> NonNull<u8> {
        self.address
    }

    /// Bytes in the mapping; never zero.
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "a mapping is never empty")]
    pub fn len(&self) -> usize {
        self.len
    }
}

impl Drop for SharedMemory {
    fn drop(&mut self) {
        // SAFETY: `address` and `len` are those that mmap gave, and nothing borrowed from `self` is left.
        let unmapped = unsafe { rustix::mm::munmap(self.address.as_ptr().cast::<c_void>(), self.len) };
        debug_assert!(unmapped.is_ok(), "a whole mapping can always be unmapped");
    }
}

/// Linux 6.3 wants to hear whether a memfd may be executed; older kernels refuse the flag.
fn create_memfd(name: &str) -> io::Result<OwnedFd> {
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    match rustix::fs::memfd_create(name, flags | MemfdFlags::NOEXEC_SEAL) {
        Err(Errno::INVAL) => Ok(rustix::fs::memfd_create(name, flags)?),
        made => Ok(made?),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn memfd(len: u64, seals: SealFlags) -> OwnedFd {
        let fd = create_memfd("test").unwrap();
        rustix::fs::ftruncate(&fd, len).unwrap();
        rustix::fs::fcntl_add_seals(&fd, seals).unwrap();
        fd
    }

    #[track_caller]
    fn check_refused(fd: &OwnedFd, len: usize) {
        assert_eq!(SharedMemory::map(fd.as_fd(), len).unwrap_err().kind(), io::ErrorKind::InvalidData);
    }

    #[test]
    fn two_mappings_show_the_same_bytes() {
        let (our_mapping, fd) = SharedMemory::create("test", 8192).unwrap();
        let their_mapping = SharedMemory::map(fd.as_fd(), 8192).unwrap();
        // SAFETY: The mapping is 8192 bytes long.
        let ours = unsafe { our_mapping.as_ptr().add(5000) };
        // SAFETY: As above.
        let theirs = unsafe { their_mapping.as_ptr().add(5000) };
        // SAFETY: The address is within a live mapping that no other thread knows.
        unsafe { ours.write(7) };
        // SAFETY: As above.
        assert_eq!(unsafe { theirs.read() }, 7);
    }

    #[test]
    fn memory_that_could_shrink_is_refused() {
        check_refused(&memfd(4096, SealFlags::empty()), 4096);
        check_refused(&memfd(4096, SealFlags::GROW), 4096);
        check_refused(&memfd(4096, SealFlags::SHRINK), 4096);
    }

    #[test]
    fn memory_in_huge_pages_is_refused() {
        let flags =
            MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING | MemfdFlags::HUGETLB | MemfdFlags::HUGE_2MB;
        // Not every kernel has them; none of them need be free.
        let Ok(fd) = rustix::fs::memfd_create("test", flags) else { return };
        rustix::fs::ftruncate(&fd, 2 << 20).unwrap();
        rustix::fs::fcntl_add_seals(&fd, SEALS).unwrap();
        check_refused(&fd, 2 << 20);
    }

    #[test]
    fn memory_of_another_size_is_refused() {
        check_refused(&memfd(4096, SEALS), 8192);
        check_refused(&memfd(8192, SEALS), 4096);
        check_refused(&memfd(0, SEALS), 4096);
    }

    #[test]
    fn created_memory_keeps_its_size() {
        let (_memory, fd) = SharedMemory::create("test", 4096).unwrap();
        assert_eq!(rustix::fs::ftruncate(&fd, 0), Err(Errno::PERM));
        assert_eq!(rustix::fs::fcntl_add_seals(&fd, SealFlags::WRITE), Err(Errno::PERM));
    }
}
