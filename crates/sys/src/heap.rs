//! The allocator of the C library, which interpreters use.

use std::hint::black_box;

/// From now on, blocks of up to `len` bytes come from the heap, and what was freed at its end goes back to the kernel
/// only when it is twice as much. Otherwise a program that takes and frees blocks of 64 KiB again and again has the
/// kernel clear their pages each time.
///
/// glibc learns it from the first larger block that is freed (mallopt(3), `M_MMAP_THRESHOLD`), and goes on learning;
/// setting it by mallopt would end that.
pub fn keep_blocks_of(len: usize) {
    // SAFETY: Any length may be asked for.
    let block = black_box(unsafe { libc::malloc(len) });
    // SAFETY: It was just given, and nothing else has it; freeing null does nothing.
    unsafe { libc::free(block) };
}

#[cfg(test)]
#[cfg(target_env = "gnu")]
mod tests {
    use super::*;

    const LEN: usize = 512 * 1024;

    /// Blocks of this process that are mappings of their own.
    fn n_mapped() -> usize {
        // SAFETY: It has no preconditions.
        unsafe { libc::mallinfo2() }.hblks
    }

    #[test]
    fn blocks_come_from_the_heap() {
        let before = n_mapped();
        let block = black_box(vec![0_u8; LEN - 4096]);
        assert_eq!(n_mapped(), before + 1);
        drop(block);
        keep_blocks_of(LEN);
        let _block = black_box(vec![0_u8; LEN - 4096]);
        assert_eq!(n_mapped(), before);
    }
}
