//! A disk that can be filled: memory, mounted over a folder for as long as the value lives.

use std::ffi::CString;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

use rustix::mount::{MountFlags, UnmountFlags};

/// A mounted file system of a few pages.
#[derive(Debug)]
pub struct SmallDisk {
    path: PathBuf,
}

impl SmallDisk {
    /// Mounts one of so many KiB, which every user may write to. Without root, the only user that may do that, the test
    /// that wants it is skipped, and says so.
    #[must_use]
    pub fn over(path: &Path, kib: u32) -> Option<Self> {
        if !rustix::process::geteuid().is_root() {
            eprintln!("skipped: only root may mount a file system");
            return None;
        }
        let options = CString::new(format!("size={kib}k,mode=1777")).expect("there is no NUL");
        rustix::mount::mount("tmpfs", path, "tmpfs", MountFlags::empty(), options.as_c_str())
            .unwrap_or_else(|error| panic!("mount over {}: {error}", path.display()));
        Some(Self { path: path.to_owned() })
    }

    /// Leaves no room.
    pub fn fill(&self) {
        let mut file = File::create(self.filler()).expect("make a file");
        // Whole pages, so that what is left of the last one of other files is theirs.
        while file.write_all(&[0; 4096]).is_ok() {}
    }

    /// Gives back what [`Self::fill`] took.
    pub fn free(&self) {
        fs::remove_file(self.filler()).expect("it was filled");
    }

    /// Makes it read-only, or writable again.
    pub fn set_read_only(&self, is_read_only: bool) {
        let flags = if is_read_only { MountFlags::RDONLY } else { MountFlags::empty() };
        rustix::mount::mount_remount(&self.path, flags, "").expect("mount again");
    }

    /// A path on it.
    #[must_use]
    pub fn path(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    fn filler(&self) -> PathBuf {
        self.path.join("filler")
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        // A process that uses it goes on with it.
        let _ = rustix::mount::unmount(&self.path, UnmountFlags::DETACH);
    }
}
