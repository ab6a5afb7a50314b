//! Processes that an application forks off its worker. What belongs to the worker alone, memory that it shares with others
//! and descriptors, is taken from them before any code of the application runs in them.

use std::any::Any;
use std::io;
use std::os::fd::RawFd;
use std::ptr::{self, NonNull};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

/// What children do not get.
pub struct Withheld {
    /// Shared memory: whole mappings by address and length.
    pub maps: Vec<(NonNull<u8>, usize)>,
    /// Descriptors by number.
    pub descriptors: Vec<RawFd>,
    /// Keeps all of them mapped and open for as long as the process lives, so that nothing else gets their places.
    pub owner: Box<dyn Any + Send + Sync>,
}

// SAFETY: the addresses are only given to the kernel, in a process of one thread.
unsafe impl Send for Withheld {}
// SAFETY: as for `Send`.
unsafe impl Sync for Withheld {}

/// A page that is one in this process, and zero in those that it forks.
struct Mark(NonNull<AtomicU32>);

// SAFETY: it leads to an atomic number, which stays mapped for ever.
unsafe impl Send for Mark {}
// SAFETY: as for `Send`.
unsafe impl Sync for Mark {}

static WITHHELD: OnceLock<(Mark, Withheld)> = OnceLock::new();

/// From now on, processes that this one forks have none of `withheld`, and know what they are ([`is_stranger`]). The first
/// call counts. Programs that are started by vfork(2) or posix_spawn(3) share this memory until they run, touch none of
/// it, and cost nothing.
///
/// # Errors
/// Those of mmap(2) and pthread_atfork(3).
///
/// # Safety
/// The mappings and descriptors are those of `withheld.owner`, which keeps them until it is dropped.
pub unsafe fn withhold(withheld: Withheld) -> io::Result<()> {
    let mark = Mark::new()?;
    if WITHHELD.set((mark, withheld)).is_err() {
        return Ok(());
    }
    // SAFETY: the handler does only what is allowed in the child of a process of several threads.
    match unsafe { libc::pthread_atfork(None, None, Some(in_child)) } {
        0 => Ok(()),
        error => Err(io::Error::from_raw_os_error(error)),
    }
}

/// Whether this is a process that the application has forked off its worker: it has no channel. Costs a load.
#[must_use]
pub fn is_stranger() -> bool {
    WITHHELD.get().is_some_and(|(mark, _)| !mark.is_set())
}

impl Mark {
    fn new() -> io::Result<Self> {
        let (protection, flags) =
            (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        // SAFETY: new memory at an address of the kernel's choice overlaps none of ours.
        let page = unsafe { libc::mmap(ptr::null_mut(), size_of::<AtomicU32>(), protection, flags, -1, 0) };
        if page == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        // Children that the C library does not know of (clone(2)) run no handler. A kernel before 4.14 does not wipe.
        // SAFETY: the page was just mapped.
        unsafe { libc::madvise(page, size_of::<AtomicU32>(), libc::MADV_WIPEONFORK) };
        let mark = Self(NonNull::new(page.cast()).expect("mmap never chooses address zero"));
        mark.set(1);
        Ok(mark)
    }

    fn set(&self, value: u32) {
        // SAFETY: the page stays mapped, is aligned, and any bits are a number.
        unsafe { self.0.as_ref() }.store(value, Ordering::Relaxed);
    }

    fn is_set(&self) -> bool {
        // SAFETY: as in `set`.
        unsafe { self.0.as_ref() }.load(Ordering::Relaxed) != 0
    }
}

/// The C library calls it in the child, before fork(2) returns there: there is one thread, and system calls alone are
/// allowed.
extern "C" fn in_child() {
    let Some((mark, withheld)) = WITHHELD.get() else { return };
    mark.set(0);
    withheld.maps.iter().for_each(|(address, len)| replace_map(*address, *len));
    replace_descriptors(&withheld.descriptors);
}

/// Puts memory of this process alone in the place of shared memory. Nothing can come into that place before, as something
/// could if the child did not inherit it (MADV_DONTFORK), and who looks there by mistake finds zeros.
fn replace_map(address: NonNull<u8>, len: usize) {
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED | libc::MAP_NORESERVE;
    // SAFETY: replaces a whole mapping whose owner is in `WITHHELD`. It is made of atomics and bytes that are only copied, so
    // that zeros are as good as anything.
    unsafe { libc::mmap(address.as_ptr().cast(), len, protection, flags, -1, 0) };
}

/// Puts a counter that nobody else knows in the place of each: the numbers stay taken, so that whoever closes one of them
/// closes nothing of the application's.
fn replace_descriptors(descriptors: &[RawFd]) {
    // SAFETY: makes a descriptor, or fails.
    let stand_in = unsafe { libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) };
    for &descriptor in descriptors {
        // SAFETY: the number is one of `WITHHELD`'s owner. It closes what was there, in this process alone.
        if stand_in < 0 || unsafe { libc::dup3(stand_in, descriptor, libc::O_CLOEXEC) } < 0 {
            // SAFETY: as above. Nothing of this process drops the owner.
            unsafe { libc::close(descriptor) };
        }
    }
    if stand_in >= 0 {
        // SAFETY: made above, and used by nobody else.
        unsafe { libc::close(stand_in) };
    }
}
