//! The Java virtual machine of an application with a root of its own: where it is, and which files outside of its
//! folder its own lead to.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::path::{Component, Path, PathBuf};

/// A virtual machine, as it is in the daemon's root.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Jdk {
    /// The folder that `JAVA_HOME` is to name.
    pub(super) home: PathBuf,
    /// The files that are to be in the other root, at the same paths.
    pub(super) files: Vec<PathBuf>,
}

/// The program, below its home.
const PROGRAM: &str = "bin/java";

/// So deep are the folders of a virtual machine.
const DEEPEST: usize = 8;

impl Jdk {
    /// Finds the machine of `JAVA_HOME`, or the first in `PATH`; none if the other root has one of its own there.
    pub(super) fn find(java_home: Option<&OsStr>, path: Option<&OsStr>, rootfs: &Path) -> Option<Self> {
        let within = |path: &Path| rootfs.join(path.strip_prefix("/").unwrap_or(path));
        if let Some(home) = java_home.filter(|home| !home.is_empty()) {
            let home = PathBuf::from(home);
            let is_there = fs::symlink_metadata(within(&home.join(PROGRAM))).is_ok();
            return if is_there { None } else { Self::at(home) };
        }
        let folders: Vec<_> = std::env::split_paths(path?).collect();
        if folders.iter().any(|folder| fs::symlink_metadata(within(&folder.join("java"))).is_ok()) {
            return None;
        }
        let program = folders.iter().find_map(|folder| folder.join("java").canonicalize().ok())?;
        Self::at(program.parent()?.parent()?.to_owned())
    }

    fn at(home: PathBuf) -> Option<Self> {
        // It finds its own files beside the program, wherever links to that lead.
        let program = home.join(PROGRAM).canonicalize().ok()?;
        let real = program.parent()?.parent()?.to_owned();
        let mut files = BTreeSet::from([home.clone(), real]);
        let mut linked = BTreeSet::new();
        for folder in &files {
            collect_links(folder, DEEPEST, &mut linked);
        }
        files.extend(linked);
        let mut outermost: Vec<PathBuf> = Vec::new();
        // A folder comes before what is in it.
        for path in files {
            if outermost.iter().all(|folder| !path.starts_with(folder)) {
                outermost.push(path);
            }
        }
        Some(Self { home, files: outermost })
    }
}

/// Where links in a folder lead to, at any depth.
fn collect_links(folder: &Path, depth: usize, into: &mut BTreeSet<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        match entry.file_type() {
            Ok(kind) if kind.is_symlink() => into.extend(target(&path)),
            Ok(kind) if kind.is_dir() && depth > 0 => collect_links(&path, depth - 1, into),
            _ => {}
        }
    }
}

/// The path that a link names, absolute and without steps back.
fn target(link: &Path) -> Option<PathBuf> {
    let named = fs::read_link(link).ok()?;
    let mut path = PathBuf::new();
    for component in link.parent()?.join(named).components() {
        match component {
            Component::ParentDir => drop(path.pop()),
            Component::CurDir => {}
            other => path.push(other),
        }
    }
    Some(path).filter(|path| path.exists())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    /// A machine at `jdk` whose settings are in `etc`, and a root.
    struct Scene(tempfile::TempDir);

    impl Scene {
        fn new() -> Self {
            let scene = Self(tempfile::tempdir().unwrap());
            for folder in ["jdk/bin", "jdk/conf/security", "etc/java", "root", "bin", "jdk/legal"] {
                fs::create_dir_all(scene.path(folder)).unwrap();
            }
            for file in ["jdk/bin/java", "etc/java/java.security", "jdk/legal/one"] {
                fs::write(scene.path(file), "").unwrap();
            }
            symlink(scene.path("etc/java/java.security"), scene.path("jdk/conf/security/java.security"))
                .unwrap();
            symlink("../../etc/java", scene.path("jdk/conf/more")).unwrap();
            symlink("one", scene.path("jdk/legal/two")).unwrap();
            symlink("/no/such/file", scene.path("jdk/src.zip")).unwrap();
            symlink(scene.path("jdk/bin/java"), scene.path("bin/java")).unwrap();
            scene
        }

        fn path(&self, path: &str) -> PathBuf {
            self.0.path().canonicalize().unwrap().join(path)
        }

        fn find(&self, java_home: Option<&str>, path: &str) -> Option<Jdk> {
            let java_home = java_home.map(|home| self.path(home));
            let java_home = java_home.as_ref().map(|home| home.as_os_str());
            Jdk::find(java_home, Some(self.path(path).as_os_str()), &self.path("root"))
        }
    }

    #[test]
    fn it_consists_of_its_folder_and_of_what_that_leads_to() {
        let scene = Scene::new();
        let files = ["etc/java", "jdk"].map(|path| scene.path(path)).to_vec();
        let expected = Jdk { home: scene.path("jdk"), files };
        assert_eq!(scene.find(None, "bin").as_ref(), Some(&expected));
        assert_eq!(scene.find(Some("jdk"), "no-such"), Some(expected));
    }

    #[test]
    fn a_home_of_links_is_there_with_what_it_leads_to() {
        let scene = Scene::new();
        fs::create_dir_all(scene.path("home/bin")).unwrap();
        symlink(scene.path("jdk/bin/java"), scene.path("home/bin/java")).unwrap();
        let found = scene.find(Some("home"), "bin").unwrap();
        let files = ["etc/java", "home", "jdk"].map(|path| scene.path(path));
        assert_eq!((found.home, found.files), (scene.path("home"), files.to_vec()));
    }

    #[test]
    fn a_root_that_has_one_keeps_it() {
        let scene = Scene::new();
        assert_eq!(scene.find(Some("no-such"), "bin"), None);
        assert_eq!(scene.find(None, "no-such"), None);
        let own = scene.path("root").join(scene.path("bin").strip_prefix("/").unwrap());
        fs::create_dir_all(&own).unwrap();
        symlink("/usr/lib/own/bin/java", own.join("java")).unwrap();
        assert_eq!(scene.find(None, "bin"), None);
    }
}
