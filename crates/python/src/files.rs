//! Files that Python opens by itself.

use std::path::PathBuf;

/// The executable whose installation is used, and so the value of `sys.executable` without a virtual environment.
pub(crate) const EXECUTABLE: &str = env!("CORRAL_PYTHON_EXECUTABLE");

/// The standard library and the packages beside it.
pub(crate) fn of_python() -> Vec<PathBuf> {
    let folders = env!("CORRAL_PYTHON_FOLDERS").split(':');
    folders.filter(|folder| !folder.is_empty()).map(PathBuf::from).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_standard_library_is_among_them() {
        let has = |name: &str| of_python().iter().any(|folder| folder.join(name).exists());
        assert!(has("os.py") && has("encodings/__init__.py"), "{:?}", of_python());
        assert!(std::path::Path::new(EXECUTABLE).is_absolute(), "{EXECUTABLE}");
    }
}
