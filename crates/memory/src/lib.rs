//! The allocator of the executable, and how it takes its memory from the system.
//!
//! mimalloc takes it in one large piece, and by default asks for huge pages for that: whatever is used of two
//! megabytes, all of them count. A router with some thousand connections takes up to three times as much, and main,
//! controller and reader take megabytes that they never need. So it asks for what it uses.

pub use mimalloc::MiMalloc as Allocator;

/// The setting has to be made before the first allocation, which the standard library makes before `main`.
#[cfg(target_env = "gnu")]
mod outset {
    use std::ffi::{c_int, c_long};

    /// `mi_option_arena_eager_commit` of `mimalloc.h`.
    const ARENA_EAGER_COMMIT: c_int = 4;

    unsafe extern "C" {
        /// A function of the library that `mimalloc` links.
        fn mi_option_set(option: c_int, value: c_long);
    }

    #[used]
    // SAFETY: the section is the one of pointers to functions that glibc may call as one of exactly this type: what it
    // passes beside is ignored by the C calling convention.
    #[unsafe(link_section = ".init_array")]
    static CHOOSE: extern "C" fn() = choose;

    extern "C" fn choose() {
        // SAFETY: this is what `mimalloc.h` declares, and the option is one of it. It stores a number, and there is one
        // thread.
        unsafe { mi_option_set(ARENA_EAGER_COMMIT, 0) };
    }
}
