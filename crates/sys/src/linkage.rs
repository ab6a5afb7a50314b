//! The shared libraries that this program consists of.

use std::ffi::{CStr, OsStr};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

/// Where the loader found each library of this process, and the loader itself.
#[must_use]
pub fn loaded_libraries() -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = Vec::new();
    // SAFETY: `note` is called before this returns, with the vector that the pointer leads to and that nothing else
    // uses meanwhile.
    unsafe { libc::dl_iterate_phdr(Some(note), (&raw mut found).cast()) };
    found
}

unsafe extern "C" fn note(
    info: *mut libc::dl_phdr_info,
    _size: libc::size_t,
    found: *mut libc::c_void,
) -> libc::c_int {
    // SAFETY: the loader hands over a valid structure.
    let name = unsafe { (*info).dlpi_name };
    if name.is_null() {
        return 0;
    }
    // SAFETY: names of the loader are NUL-terminated strings.
    let name = unsafe { CStr::from_ptr(name) };
    // The program itself and what the kernel provides are not files by their names.
    if name.to_bytes().starts_with(b"/") {
        // SAFETY: `loaded_libraries` passed a pointer to its vector, and waits.
        let found = unsafe { &mut *found.cast::<Vec<PathBuf>>() };
        found.push(PathBuf::from(OsStr::from_bytes(name.to_bytes())));
    }
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_c_library_and_the_loader_are_among_them() {
        let found = loaded_libraries();
        let has = |start: &str| {
            found
                .iter()
                .any(|path| path.exists() && path.file_name().unwrap().to_str().unwrap().starts_with(start))
        };
        assert!(has("libc.so") && has("ld-linux"), "{found:?}");
    }
}
