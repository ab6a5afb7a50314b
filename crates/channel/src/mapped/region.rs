//! Typed and checked views of memory that another process can write at any time.
//!
//! Two kinds of views exist. [`SharedView`] is for structures made of atomics: whatever the other side
//! writes there is a valid value. [`SharedBytes`] is for data: it is only ever copied, in or out, and
//! never referred to.

use std::alloc::{self, Layout};
use std::ops::Deref;
use std::ptr::{self, NonNull};
use std::sync::Arc;

use corral_sys::memory::SharedMemory;

use crate::mapped::layout::PAGE;

/// A piece of memory, mapped from a descriptor or from the heap.
#[derive(Debug)]
pub(crate) struct Region {
    base: NonNull<u8>,
    len: usize,
    owner: RegionOwner,
}

#[derive(Debug)]
enum RegionOwner {
    /// Unmapped when dropped.
    Mapping { _memory: SharedMemory },
    /// For fuzzing, and for tests that must run without system calls.
    Heap(Layout),
}

// SAFETY: The region only owns the memory; access goes through `SharedView` and `SharedBytes`, which answer
// for races.
unsafe impl Send for Region {}
// SAFETY: As for `Send`; there is nothing in a `Region` that a method changes.
unsafe impl Sync for Region {}

impl Region {
    pub(crate) fn mapped(memory: SharedMemory) -> Arc<Self> {
        let (base, len) = (memory.as_ptr(), memory.len());
        Arc::new(Self { base, len, owner: RegionOwner::Mapping { _memory: memory } })
    }

    /// Zeroed memory of this process alone.
    pub(crate) fn heap(len: usize) -> Arc<Self> {
        let layout = Layout::from_size_align(len, PAGE).expect("a layout of the channel is some MiB at most");
        assert!(len > 0, "a region has at least one byte");
        // SAFETY: The size is not zero.
        let base = unsafe { alloc::alloc_zeroed(layout) };
        let Some(base) = NonNull::new(base) else { alloc::handle_alloc_error(layout) };
        Arc::new(Self { base, len, owner: RegionOwner::Heap(layout) })
    }

    /// Where it is, and how long.
    pub(crate) fn span(&self) -> (NonNull<u8>, usize) {
        (self.base, self.len)
    }

    /// # Panics
    /// If `len` bytes at `offset` are not inside. Offsets come from `layout`, never from the memory.
    fn at(&self, offset: usize, len: usize) -> NonNull<u8> {
        assert!(offset.checked_add(len).is_some_and(|end| end <= self.len), "a view leaves the region");
        // SAFETY: `offset` is within the allocation, as just checked.
        unsafe { self.base.add(offset) }
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        if let RegionOwner::Heap(layout) = self.owner {
            // SAFETY: `heap` allocated this with the same layout, and every view holds an `Arc` of us.
            unsafe { alloc::dealloc(self.base.as_ptr(), layout) };
        }
    }
}

/// Marks types that may lie in shared memory.
///
/// # Safety
/// `repr(C)` or `repr(transparent)`, without pointers, made of atomics alone, so that every pattern of bits is
/// valid and writes by others are not undefined behaviour.
pub(crate) unsafe trait SharedType: Sync {}

/// A structure of atomics in a region, kept mapped while this lives.
#[derive(Debug)]
pub(crate) struct SharedView<T> {
    address: NonNull<T>,
    region: Arc<Region>,
}

// SAFETY: It is a reference to a `Sync` value which the `Arc` keeps alive.
unsafe impl<T: SharedType> Send for SharedView<T> {}
// SAFETY: As for `Send`.
unsafe impl<T: SharedType> Sync for SharedView<T> {}

impl<T: SharedType> SharedView<T> {
    /// # Panics
    /// If there is no such place in the region, see [`Region::at`].
    pub(crate) fn new(region: &Arc<Region>, offset: usize) -> Self {
        let address = region.at(offset, size_of::<T>()).cast::<T>();
        assert!(address.is_aligned(), "a view is not aligned");
        Self { address, region: Arc::clone(region) }
    }

    pub(crate) fn region(&self) -> &Arc<Region> {
        &self.region
    }
}

impl<T> Clone for SharedView<T> {
    fn clone(&self) -> Self {
        Self { address: self.address, region: Arc::clone(&self.region) }
    }
}

impl<T: SharedType> Deref for SharedView<T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: In bounds and aligned (checked in `new`), mapped while `region` lives, initialised
        // (new memory is zeros, and by `SharedType` every pattern is a value), and only ever changed
        // through atomics.
        unsafe { self.address.as_ref() }
    }
}

/// Bytes in a region which are only copied, never referred to.
///
/// A well-behaved peer leaves alone what we copy: the cursors see to that. One that writes there all
/// the same can only change *which* bytes our private copy gets. `settle` makes sure that the copy is
/// what is used afterwards, so that a check and the use that follows it see the same bytes.
#[derive(Debug)]
pub(crate) struct SharedBytes {
    address: NonNull<u8>,
    len: usize,
    _region: Arc<Region>,
}

// SAFETY: The address stays valid on every thread while the `Arc` lives. It is not `Sync`: two threads
// could write at once.
unsafe impl Send for SharedBytes {}

impl SharedBytes {
    /// # Panics
    /// If there is no such place in the region, see [`Region::at`].
    pub(crate) fn new(region: &Arc<Region>, offset: usize, len: usize) -> Self {
        Self { address: region.at(offset, len), len, _region: Arc::clone(region) }
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// # Panics
    /// If `len` bytes at `at` are not inside.
    fn at(&self, at: usize, len: usize) -> *mut u8 {
        assert!(at <= self.len && len <= self.len - at, "a copy leaves the ring");
        // SAFETY: `at` is within the view, as just checked, and the view is within the region.
        unsafe { self.address.as_ptr().add(at) }
    }

    pub(crate) fn write(&self, at: usize, bytes: &[u8]) {
        let to = self.at(at, bytes.len());
        // SAFETY: `at` checked the target; `bytes` is private memory, so the two do not overlap; no
        // reference to the target exists.
        unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), to, bytes.len()) };
    }

    /// Appends `len` bytes to `out`.
    pub(crate) fn read(&self, at: usize, len: usize, out: &mut Vec<u8>) {
        let from = self.at(at, len);
        out.reserve(len);
        let to = out.spare_capacity_mut().as_mut_ptr().cast::<u8>();
        // SAFETY: `at` checked the source; `to` has room for `len` bytes after `reserve`, is private,
        // and overlaps nothing.
        unsafe { ptr::copy_nonoverlapping(from, to, len) };
        settle(to);
        // SAFETY: The copy has initialised `len` bytes behind the old end, within the capacity.
        unsafe { out.set_len(out.len() + len) };
    }

    pub(crate) fn read_array<const N: usize>(&self, at: usize) -> [u8; N] {
        let mut bytes = [0; N];
        let from = self.at(at, N);
        // SAFETY: `at` checked the source; the target is a local of the same size.
        unsafe { ptr::copy_nonoverlapping(from, bytes.as_mut_ptr(), N) };
        settle(bytes.as_mut_ptr());
        bytes
    }
}

/// Ends the compiler's knowledge of where the bytes at `copy` came from: without it, it may read the shared
/// memory a second time in place of the copy. Costs no instruction.
#[inline(always)]
fn settle(copy: *mut u8) {
    #[cfg(not(miri))]
    // SAFETY: No instruction. For the compiler it may have changed all memory reachable from `copy`.
    unsafe {
        std::arch::asm!("/* {} */", in(reg) copy, options(nostack, preserves_flags));
    }
    #[cfg(miri)]
    let _ = copy;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_copied_in_and_out() {
        let bytes = SharedBytes::new(&Region::heap(256), 64, 128);
        bytes.write(120, b"12345678");
        let mut out = b"0".to_vec();
        bytes.read(121, 3, &mut out);
        assert_eq!(out, b"0234");
        assert_eq!(&bytes.read_array::<4>(124), b"5678");
        bytes.read(128, 0, &mut out);
        assert_eq!(out, b"0234");
    }

    #[test]
    fn nothing_leaves_the_region() {
        #[track_caller]
        fn check(leaves: fn(&Arc<Region>)) {
            let region = Region::heap(256);
            assert!(std::panic::catch_unwind(|| leaves(&region)).is_err());
        }
        check(|region| drop(SharedBytes::new(region, 200, 57)));
        check(|region| drop(SharedBytes::new(region, usize::MAX, 2)));
        check(|region| SharedBytes::new(region, 128, 128).write(127, b"12"));
        check(|region| assert_eq!(SharedBytes::new(region, 128, 64).read_array::<8>(60), [0; 8]));
        check(|region| SharedBytes::new(region, 0, 64).read(usize::MAX, 2, &mut Vec::new()));
    }
}
