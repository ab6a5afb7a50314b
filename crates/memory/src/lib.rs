//! The allocator of the executable, and how much memory it keeps ready in which process.
//!
//! mimalloc takes its memory from the system in one large piece, and by default asks for huge pages for it: the first
//! allocations of a process make two or three of them, megabytes that main, controller and reader never need. There it
//! asks for what it uses instead. The router, whose speed depends on it, has the default.

pub use mimalloc::MiMalloc as Allocator;

/// The settings have to be made before the first allocation, which the standard library makes before `main`. Only
/// glibc gives such functions the arguments of the process.
#[cfg(target_env = "gnu")]
mod outset {
    use std::ffi::{CStr, c_char, c_int, c_long};

    /// `mi_option_arena_eager_commit` of `mimalloc.h`.
    const ARENA_EAGER_COMMIT: c_int = 4;

    unsafe extern "C" {
        /// Of the library that `mimalloc` links.
        fn mi_option_set(option: c_int, value: c_long);
    }

    #[used]
    // SAFETY: the section is the one of pointers to functions of exactly this type.
    #[unsafe(link_section = ".init_array")]
    static CHOOSE: extern "C" fn(c_int, *const *const c_char) = choose;

    extern "C" fn choose(n_arguments: c_int, arguments: *const *const c_char) {
        // SAFETY: glibc calls this once, with the arguments that the process was started with.
        if !unsafe { is_router(n_arguments, arguments) } {
            // SAFETY: this is what `mimalloc.h` declares, and the option is one of it. It stores a number, and there is
            // one thread.
            unsafe { mi_option_set(ARENA_EAGER_COMMIT, 0) };
        }
    }

    /// Whether the process was started as `NAME internal router`. Allocates nothing.
    ///
    /// # Safety
    /// There are so many arguments, each a string that ends with a zero.
    unsafe fn is_router(n_arguments: c_int, arguments: *const *const c_char) -> bool {
        if n_arguments < 3 || arguments.is_null() {
            return false;
        }
        // SAFETY: the caller promises that there are so many, and at least three were just counted.
        let [_, first, second] = *unsafe { &*arguments.cast::<[*const c_char; 3]>() };
        // SAFETY: the caller promises strings.
        let first = unsafe { CStr::from_ptr(first) };
        // SAFETY: as the one before.
        let second = unsafe { CStr::from_ptr(second) };
        first == c"internal" && second == c"router"
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[track_caller]
        fn check(arguments: &[&CStr], expect: bool) {
            let pointers: Vec<_> = arguments.iter().map(|argument| argument.as_ptr()).collect();
            // SAFETY: there are as many strings.
            let found = unsafe { is_router(pointers.len() as c_int, pointers.as_ptr()) };
            assert_eq!(found, expect, "{arguments:?}");
        }

        #[test]
        fn the_router_is_known_by_its_arguments() {
            check(&[c"corral: router", c"internal", c"router"], true);
            check(&[c"corral: router", c"internal", c"router", c"--console"], true);
            check(&[c"corral: controller", c"internal", c"controller"], false);
            check(&[c"corral", c"run", c"internal"], false);
            check(&[c"corral"], false);
            check(&[], false);
        }
    }
}
