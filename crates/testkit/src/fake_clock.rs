//! A clock that a test turns, and that programs see in the place of the system's.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The library that shows a program another time. It reads how far that is away from a file, again and again.
const LIBRARY: &str = "libfaketime.so.1";

/// A clock that runs as fast as the system's, some time ahead of it. Time that is counted from a start is left alone.
#[derive(Debug)]
pub struct FakeClock {
    file: PathBuf,
}

impl FakeClock {
    /// A clock that shows the system's time, by a file in this folder.
    ///
    /// # Panics
    /// When the file cannot be written.
    #[must_use]
    #[track_caller]
    pub fn new(folder: &Path) -> Self {
        let clock = Self { file: folder.join("clock") };
        clock.set("+0");
        clock
    }

    /// Shows a time ahead of the system's, such as `+8d`.
    ///
    /// # Panics
    /// When the file cannot be written.
    #[track_caller]
    pub fn set(&self, ahead: &str) {
        fs::write(&self.file, format!("{ahead}\n")).expect("write the time");
    }

    /// The variables that a program has to have in its environment to see the clock.
    ///
    /// # Panics
    /// When faketime is not installed.
    #[must_use]
    #[track_caller]
    pub fn environment(&self) -> [(&'static str, String); 4] {
        let output = Command::new("sh").args(["-c", &format!("ls /usr/lib/*/faketime/{LIBRARY}")]).output();
        let found = String::from_utf8(output.expect("sh is there").stdout).expect("a path");
        assert!(!found.is_empty(), "faketime is installed: scripts/setup test");
        [
            ("LD_PRELOAD", found.trim().to_owned()),
            ("FAKETIME_TIMESTAMP_FILE", self.file.to_str().expect("a path in UTF-8").to_owned()),
            ("FAKETIME_NO_CACHE", "1".to_owned()),
            ("FAKETIME_DONT_FAKE_MONOTONIC", "1".to_owned()),
        ]
    }
}
