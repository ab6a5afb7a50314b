//! Memory and locks that a process shares with the processes that it forks, and copies of them for one of these.
//!
//! Shared memory without a name holds what it held at the fork, in memory of the copy's own: only the pages that were
//! in use then are copied. A lock of opcache, a memfd or a removed file that is locked but holds nothing, becomes
//! another one with the same number. A process that shares anything else has no copies that are set apart.

use std::fs;
use std::io;
use std::os::fd::{AsRawFd, RawFd};
use std::path::Path;
use std::ptr::{self, NonNull};

use rustix::fs::MemfdFlags;
use rustix::mm::{MapFlags, MremapFlags, ProtFlags};

/// How the kernel calls shared memory without a name.
const NAMELESS: &str = "/dev/zero (deleted)";

/// How opcache calls the file that it locks, a memfd or one in a folder of its settings.
const LOCKS: [&str; 2] = ["/memfd:opcache_lock (deleted)", ".ZendSem."];

/// Everything that a process shares with processes that it forks.
#[derive(Debug)]
pub struct SharedState {
    mappings: Vec<SharedMapping>,
    locks: Vec<RawFd>,
}

/// Shared memory without a name.
#[derive(Debug)]
struct SharedMapping {
    address: NonNull<u8>,
    len: usize,
    /// Offset and length of the parts that hold anything, in whole pages.
    used: Vec<(usize, usize)>,
}

/// Why a process has no copies that are set apart.
#[derive(Debug, thiserror::Error)]
pub enum Unshareable {
    /// The process has a mapping of another kind.
    #[error("it shares memory with the processes that it forks: {0}")]
    Memory(String),
    /// The process has a descriptor open.
    #[error("it shares \"{0}\" with the processes that it forks")]
    Descriptor(String),
    /// Some of its memory is in swap space, where it cannot be told what is in use.
    #[error("shared memory is in swap space")]
    Swapped,
    /// The system did not say what it has.
    #[error("find out what it shares with the processes that it forks")]
    Unknown(#[from] io::Error),
}

impl SharedState {
    /// Everything that this process shares, where all of it can be copied. `known` are descriptors that each copy
    /// gets others in the place of.
    ///
    /// # Errors
    /// The first thing that cannot be copied.
    pub fn find(known: &[RawFd]) -> Result<Self, Unshareable> {
        let locks = locks(known)?;
        let places = nameless(&fs::read_to_string("/proc/self/maps")?)?;
        let mappings = places.into_iter().map(SharedMapping::look).collect::<Result<_, _>>()?;
        // A page that was not in memory when it was looked for, and in swap space instead, still is.
        if is_swapped(&fs::read_to_string("/proc/self/smaps")?) {
            return Err(Unshareable::Swapped);
        }
        Ok(Self { mappings, locks })
    }

    /// Puts copies in the place of all of it, in a process that was just forked and has one thread.
    ///
    /// # Errors
    /// When memory or a descriptor is lacking: the process has to end.
    pub fn renew(&self) -> io::Result<()> {
        self.mappings.iter().try_for_each(SharedMapping::renew)?;
        self.locks.iter().try_for_each(|number| renew_lock(*number))
    }
}

impl SharedMapping {
    fn look((address, len): (usize, usize)) -> io::Result<Self> {
        let address = NonNull::new(ptr::with_exposed_provenance_mut::<u8>(address))
            .ok_or_else(|| io::Error::other("memory at address zero"))?;
        let page = rustix::param::page_size();
        let mut states = vec![0_u8; len.div_ceil(page)];
        // SAFETY: the mapping is there, and the vector has a byte for each page of it.
        if unsafe { libc::mincore(address.as_ptr().cast(), len, states.as_mut_ptr()) } != 0 {
            return Err(io::Error::last_os_error());
        }
        let mut used: Vec<(usize, usize)> = Vec::new();
        for idx in (0..states.len()).filter(|idx| states[*idx] & 1 != 0) {
            let offset = idx * page;
            // SAFETY: the page is within the mapping, whose length is a multiple of pages. This process has one
            // thread, and no other process writes there yet.
            let bytes = unsafe { std::slice::from_raw_parts(address.as_ptr().wrapping_add(offset), page) };
            if bytes.iter().all(|b| *b == 0) {
                continue;
            }
            match used.last_mut() {
                Some((start, len)) if *start + *len == offset => *len += page,
                _ => used.push((offset, page)),
            }
        }
        Ok(Self { address, len, used })
    }

    fn renew(&self) -> io::Result<()> {
        let access = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new mapping at an address of the kernel's choice overlaps no memory of ours.
        let copy =
            unsafe { rustix::mm::mmap_anonymous(ptr::null_mut(), self.len, access, MapFlags::SHARED) }?;
        for (offset, len) in &self.used {
            // SAFETY: both mappings are `self.len` bytes long, and the part is within that.
            unsafe {
                ptr::copy_nonoverlapping(
                    self.address.as_ptr().wrapping_add(*offset),
                    copy.cast::<u8>().wrapping_add(*offset),
                    *len,
                );
            }
        }
        // SAFETY: replaces a whole mapping by one of its size that holds the same bytes, so that what leads there
        // still finds them.
        unsafe {
            rustix::mm::mremap_fixed(
                copy,
                self.len,
                self.len,
                MremapFlags::MAYMOVE,
                self.address.as_ptr().cast(),
            )
        }?;
        Ok(())
    }
}

/// The descriptors that are opcache's locks.
fn locks(known: &[RawFd]) -> Result<Vec<RawFd>, Unshareable> {
    let mut locks = Vec::new();
    for number in open_descriptors()? {
        // The one by which the folder was read is closed by now.
        let Ok(leads_to) = fs::read_link(format!("/proc/self/fd/{number}")) else { continue };
        if known.contains(&number) {
            continue;
        }
        if !is_lock(&leads_to) {
            return Err(Unshareable::Descriptor(leads_to.display().to_string()));
        }
        locks.push(number);
    }
    Ok(locks)
}

fn open_descriptors() -> io::Result<Vec<RawFd>> {
    let number = |entry: io::Result<fs::DirEntry>| Ok(entry?.file_name().to_string_lossy().parse().ok());
    let numbers = fs::read_dir("/proc/self/fd")?.map(number).collect::<io::Result<Vec<_>>>()?;
    Ok(numbers.into_iter().flatten().collect())
}

fn is_lock(path: &Path) -> bool {
    let path = path.to_string_lossy();
    path == LOCKS[0] || (path.contains(LOCKS[1]) && path.ends_with(" (deleted)"))
}

/// Puts an empty file of this process alone in the place of a lock.
fn renew_lock(number: RawFd) -> io::Result<()> {
    let lock = rustix::fs::memfd_create("opcache_lock", MemfdFlags::CLOEXEC)?;
    // SAFETY: closes what had the number, a file that this process only locks by its number, and gives the number to
    // a file that is as good.
    if unsafe { libc::dup3(lock.as_raw_fd(), number, libc::O_CLOEXEC) } < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

/// Address and length of each shared mapping that can be written to, if all of them are without a name.
fn nameless(maps: &str) -> Result<Vec<(usize, usize)>, Unshareable> {
    let mut found = Vec::new();
    for line in maps.lines() {
        let mut words = line.splitn(6, ' ');
        let (range, access) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        let name = words.nth(3).unwrap_or_default().trim();
        match access {
            "rw-s" if name == NAMELESS => found.extend(parse_range(range)),
            // A file's: whatever is written there is written for everyone.
            "r--s" | "r-xs" if name != NAMELESS => {}
            access if access.ends_with('s') => return Err(Unshareable::Memory(format!("{access} {name}"))),
            _ => {}
        }
    }
    Ok(found)
}

fn parse_range(range: &str) -> Option<(usize, usize)> {
    let (start, end) = range.split_once('-')?;
    let start = usize::from_str_radix(start, 16).ok()?;
    let end = usize::from_str_radix(end, 16).ok()?;
    Some((start, end.checked_sub(start)?))
}

/// Whether a page of shared memory without a name is in swap space.
fn is_swapped(smaps: &str) -> bool {
    let mut is_nameless = false;
    smaps.lines().any(|line| match line.strip_prefix("Swap:") {
        Some(size) => is_nameless && size.trim() != "0 kB",
        None => {
            let begins_mapping = line.split(' ').next().is_some_and(|range| range.contains('-'));
            if begins_mapping {
                is_nameless = line.ends_with(NAMELESS);
            }
            false
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAPS: &str = "\
55d0c0000000-55d0c0001000 rw-p 00000000 00:00 0                          [heap]
7f0000000000-7f0000002000 rw-s 00000000 00:01 5                          /dev/zero (deleted)
7f0000004000-7f0000005000 r--s 00000000 08:01 7                          /usr/lib/gconv/gconv-modules.cache
";

    #[track_caller]
    fn check_refused(line: &str, expected: &str) {
        assert_eq!(nameless(&format!("{MAPS}{line}")).unwrap_err().to_string(), expected);
    }

    #[test]
    fn memory_without_a_name_is_found() {
        assert_eq!(nameless(MAPS).unwrap(), [(0x7f00_0000_0000, 0x2000)]);
    }

    #[test]
    fn what_cannot_be_copied_is_refused() {
        let message = "it shares memory with the processes that it forks: ";
        check_refused(
            "1000-2000 rw-s 0 00:01 5    /tmp/apc.x (deleted)",
            &format!("{message}rw-s /tmp/apc.x (deleted)"),
        );
        check_refused(
            "1000-2000 rwxs 0 00:01 5    /dev/zero (deleted)",
            &format!("{message}rwxs /dev/zero (deleted)"),
        );
        check_refused(
            "1000-2000 r--s 0 00:01 5    /dev/zero (deleted)",
            &format!("{message}r--s /dev/zero (deleted)"),
        );
    }

    #[test]
    fn swap_space_counts_where_memory_is_shared() {
        let smaps = |private: &str, shared: &str| {
            format!(
                "1000-2000 rw-p 0 00:00 0    [heap]\nSwap:     {private} kB\n\
                 3000-4000 rw-s 0 00:01 5    /dev/zero (deleted)\nSwap:     {shared} kB\nSwapPss:  0 kB\n"
            )
        };
        assert!(!is_swapped(&smaps("4", "0")));
        assert!(is_swapped(&smaps("0", "4")));
    }

    #[test]
    fn a_copy_holds_what_was_there() {
        let page = rustix::param::page_size();
        let (len, access) = (64 * page, ProtFlags::READ | ProtFlags::WRITE);
        // SAFETY: a new mapping at an address of the kernel's choice overlaps no memory of ours.
        let memory = unsafe { rustix::mm::mmap_anonymous(ptr::null_mut(), len, access, MapFlags::SHARED) };
        let memory = memory.unwrap().cast::<u8>();
        let write = |offset: usize, value: u8| {
            // SAFETY: the offset is within the mapping, which no other thread knows.
            unsafe { memory.wrapping_add(offset).write(value) };
        };
        for (offset, value) in [(0, 1), (page, 2), (5 * page + 7, 3), (9 * page, 0)] {
            write(offset, value);
        }
        let mapping = SharedMapping::look((memory.expose_provenance(), len)).unwrap();
        assert_eq!(mapping.used, [(0, 2 * page), (5 * page, page)], "a page of zeros holds nothing");
        mapping.renew().unwrap();
        // SAFETY: the copy is as long as the mapping was, and nothing writes there.
        let bytes = unsafe { std::slice::from_raw_parts(memory, len) };
        let held: Vec<_> = (0..len).filter(|offset| bytes[*offset] != 0).map(|at| (at, bytes[at])).collect();
        assert_eq!(held, [(0, 1), (page, 2), (5 * page + 7, 3)]);
        assert_eq!(SharedMapping::look((memory.expose_provenance(), len)).unwrap().used, mapping.used);
    }
}
