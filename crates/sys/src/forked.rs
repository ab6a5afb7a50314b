//! Processes that an application forks off its worker. What belongs to the worker alone, memory that it shares with
//! others and descriptors, is taken from them before any code of the application runs in them.

use std::any::Any;
use std::io;
use std::ops::Deref;
use std::os::fd::{AsFd, AsRawFd, RawFd};
use std::ptr::{self, NonNull};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicI32, AtomicU32, Ordering};

/// Descriptors that children do not get.
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

static MARK: OnceLock<Mark> = OnceLock::new();

static WITHHELD: OnceLock<Withheld> = OnceLock::new();

/// The number of a place that no descriptor has.
const FREE: RawFd = -1;

/// Descriptors that are withheld for a while: a prototype's link to main, and what a worker says that it is ready with.
static PASSING: [AtomicI32; 2] = [const { AtomicI32::new(FREE) }; 2];

/// A descriptor that is withheld for as long as it is in here. Then this process may fork its like again.
#[derive(Debug)]
pub struct Passing<T> {
    descriptor: T,
    place: &'static AtomicI32,
}

impl<T: AsFd> Passing<T> {
    /// Withholds it from now on.
    ///
    /// # Errors
    /// The errors of mmap(2) and pthread_atfork(3), and when too many are withheld in this way.
    pub fn new(descriptor: T) -> io::Result<Self> {
        prepare()?;
        let number = descriptor.as_fd().as_raw_fd();
        let takes = |place: &&AtomicI32| {
            place.compare_exchange(FREE, number, Ordering::Relaxed, Ordering::Relaxed).is_ok()
        };
        let place = PASSING.iter().find(takes).ok_or_else(|| io::Error::other("too many are withheld"))?;
        Ok(Self { descriptor, place })
    }
}

impl<T> Deref for Passing<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.descriptor
    }
}

impl<T> Drop for Passing<T> {
    /// Before it is closed: its number may be the application's at once.
    fn drop(&mut self) {
        self.place.store(FREE, Ordering::Relaxed);
    }
}

/// From now on, processes that this one forks have none of `withheld`, and know what they are ([`is_stranger`]). The
/// first call counts. Programs that are started by vfork(2) or posix_spawn(3) share this memory until they run, touch
/// none of it, and cost nothing.
///
/// # Errors
/// The errors of mmap(2) and pthread_atfork(3).
///
/// # Safety
/// The mappings and descriptors are those of `withheld.owner`, which keeps them until it is dropped.
pub unsafe fn withhold(withheld: Withheld) -> io::Result<()> {
    prepare()?;
    // Whatever is named first stays.
    let _ = WITHHELD.set(withheld);
    Ok(())
}

/// Marks this process as the worker itself, whatever its parent was, and has its children look at themselves.
fn prepare() -> io::Result<()> {
    if let Some(mark) = MARK.get() {
        mark.set(1);
        return Ok(());
    }
    if MARK.set(Mark::new()?).is_err() {
        return Ok(());
    }
    // SAFETY: the handler does only what is allowed in the child of a process of several threads.
    match unsafe { libc::pthread_atfork(None, None, Some(in_child)) } {
        0 => Ok(()),
        error => Err(io::Error::from_raw_os_error(error)),
    }
}

/// Whether anything is kept from children. A prototype that forks a worker keeps nothing from it.
fn withholds() -> bool {
    WITHHELD.get().is_some() || PASSING.iter().any(|place| place.load(Ordering::Relaxed) != FREE)
}

/// Whether this is a process that the application has forked off its worker or prototype: it has no channel, and no
/// link to main. Costs two loads in a worker.
#[must_use]
pub fn is_stranger() -> bool {
    withholds() && MARK.get().is_some_and(|mark| !mark.is_set())
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
    if !withholds() {
        return;
    }
    if let Some(mark) = MARK.get() {
        mark.set(0);
    }
    if let Some(withheld) = WITHHELD.get() {
        withheld.maps.iter().for_each(|(address, len)| replace_map(*address, *len));
        replace_descriptors(withheld.descriptors.iter().copied());
    }
    let passing = PASSING.iter().map(|place| place.load(Ordering::Relaxed));
    replace_descriptors(passing.filter(|number| *number != FREE));
}

/// Puts memory of this process alone in the place of shared memory. Nothing can come into that place before, as
/// something could if the child did not inherit it (MADV_DONTFORK), and code that looks there by mistake finds zeros.
fn replace_map(address: NonNull<u8>, len: usize) {
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED | libc::MAP_NORESERVE;
    // SAFETY: replaces a whole mapping whose owner is in `WITHHELD`. It is made of atomics and bytes that are only
    // copied, so that zeros are as good as anything.
    unsafe { libc::mmap(address.as_ptr().cast(), len, protection, flags, -1, 0) };
}

/// Puts a counter of this process alone in the place of each: the numbers stay taken, so that code which closes one of
/// them closes nothing of the application's.
fn replace_descriptors(descriptors: impl Iterator<Item = RawFd>) {
    // SAFETY: makes a descriptor, or fails.
    let stand_in = unsafe { libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) };
    for descriptor in descriptors {
        // SAFETY: the number is one of `WITHHELD`'s owner, or of a `Passing`. It closes what was there, in this process
        // alone.
        if stand_in < 0 || unsafe { libc::dup3(stand_in, descriptor, libc::O_CLOEXEC) } < 0 {
            // SAFETY: as above. Nothing of this process drops the owner.
            unsafe { libc::close(descriptor) };
        }
    }
    if stand_in >= 0 {
        // SAFETY: made above, and used nowhere else.
        unsafe { libc::close(stand_in) };
    }
}
