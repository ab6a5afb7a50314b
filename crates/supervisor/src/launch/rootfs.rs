//! The folder that is `/` for an application, and what is mounted in it.

use std::ffi::CString;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use corral_config::plan::Isolation;
use corral_sys::confined::{self, PointKind};
use corral_sys::isolation::{Mount, Restrictions, Root, Source};

/// Why a root cannot be made ready.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RootError {
    /// The rootfs is not there.
    #[error("open the rootfs {}", path.display())]
    Open {
        /// As configured.
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    /// The mount point cannot be made in the rootfs.
    #[error("create the mount point {} in the rootfs {}", point.display(), path.display())]
    MountPoint {
        /// The rootfs.
        path: PathBuf,
        /// The place in it.
        point: PathBuf,
        #[source]
        source: io::Error,
    },
}

/// The mounts of the process, and the root that it changes to.
pub(super) struct Layout {
    pub(super) mounts: Vec<Mount>,
    pub(super) root: Option<Root>,
}

/// Unit's.
const TMPFS_SIZE: &str = "1m";

/// Looks at the folder.
pub(super) fn check(isolation: &Isolation) -> Result<(), RootError> {
    let Some(path) = &isolation.rootfs else { return Ok(()) };
    let opened = confined::open_folder(path).map(drop);
    opened.map_err(|source| RootError::Open { path: path.clone(), source })
}

/// Whether something is mounted, for which a namespace of mounts is needed.
pub(super) fn needs_mounts(isolation: &Isolation) -> bool {
    let automount = isolation.automount;
    isolation.rootfs.is_some() && (automount.language_deps || automount.procfs || automount.tmpfs)
}

/// Decides about mounts, and makes the places for them in the rootfs.
pub(super) fn prepare(isolation: &Isolation, dependencies: &[PathBuf]) -> Result<Layout, RootError> {
    let has_mounts = isolation.namespaces.mount || needs_mounts(isolation);
    let Some(path) = &isolation.rootfs else {
        // A namespace of processes is of little use beside a /proc that shows all the others.
        let shows_others = has_mounts && isolation.namespaces.pid && isolation.automount.procfs;
        let mounts = if shows_others { vec![processes(isolation)] } else { Vec::new() };
        return Ok(Layout { mounts, root: None });
    };
    let mounts = mounts(isolation, dependencies);
    let failed = |source| RootError::Open { path: path.clone(), source };
    let folder = confined::open_folder(path).map_err(failed)?;
    for mount in &mounts {
        let point = Path::new(std::ffi::OsStr::from_bytes(mount.target.as_bytes()));
        let made = confined::make_mount_point(folder.as_fd(), point, kind(&mount.source));
        made.map_err(|source| RootError::MountPoint { path: path.clone(), point: point.into(), source })?;
    }
    let path = c_string(path).ok_or_else(|| failed(io::ErrorKind::InvalidInput.into()))?;
    Ok(Layout { mounts, root: Some(Root { path, unmount_old: has_mounts }) })
}

fn mounts(isolation: &Isolation, dependencies: &[PathBuf]) -> Vec<Mount> {
    let automount = isolation.automount;
    let mut mounts = Vec::new();
    if automount.language_deps {
        let present = dependencies.iter().filter(|path| path.exists());
        mounts.extend(present.filter_map(|path| dependency(path)));
    }
    if automount.procfs {
        mounts.push(processes(isolation));
    }
    if automount.tmpfs {
        mounts.push(Mount {
            source: Source::Memory(CString::new(TMPFS_SIZE).expect("it has no NUL")),
            target: c"tmp".to_owned(),
            restrictions: Restrictions { read_only: false, no_devices: true, no_programs: true },
        });
    }
    mounts
}

/// The mount of something that the language needs, at the same path.
fn dependency(path: &Path) -> Option<Mount> {
    Some(Mount {
        source: Source::Tree(c_string(path)?),
        target: c_string(path.strip_prefix("/").ok()?)?,
        restrictions: Restrictions {
            read_only: true,
            no_devices: !path.starts_with("/dev"),
            no_programs: false,
        },
    })
}

/// `/proc` of the application's own namespace of processes; where it has none, the one that is there: only root may
/// mount a second one.
fn processes(isolation: &Isolation) -> Mount {
    let source = if isolation.namespaces.pid { Source::Processes } else { Source::Tree(c"/proc".to_owned()) };
    let restrictions = Restrictions { read_only: false, no_devices: true, no_programs: true };
    Mount { source, target: c"proc".to_owned(), restrictions }
}

fn kind(source: &Source) -> PointKind {
    match source {
        Source::Tree(path) if !Path::new(std::ffi::OsStr::from_bytes(path.as_bytes())).is_dir() => {
            PointKind::File
        }
        Source::Tree(_) | Source::Processes | Source::Memory(_) => PointKind::Folder,
    }
}

fn c_string(path: &Path) -> Option<CString> {
    CString::new(path.as_os_str().as_bytes()).ok()
}

#[cfg(test)]
mod tests {
    use corral_config::plan::{Automount, Namespaces};

    use super::*;

    /// Sources and targets, as text.
    #[track_caller]
    fn check(isolation: &Isolation, expected: &[(&str, &str)]) {
        let dependencies = ["/etc/passwd", "/usr/lib", "/no/such/folder"].map(PathBuf::from);
        let layout = prepare(isolation, &dependencies).unwrap();
        let found = layout.mounts.iter().map(|mount| {
            let source = match &mount.source {
                Source::Tree(path) => path.to_str().unwrap(),
                Source::Processes => "proc",
                Source::Memory(_) => "tmpfs",
            };
            (source, mount.target.to_str().unwrap())
        });
        assert_eq!(found.collect::<Vec<_>>(), expected);
    }

    fn with(pid: bool, mount: bool, rootfs: Option<&Path>) -> Isolation {
        let namespaces = Namespaces { pid, mount, ..Namespaces::default() };
        Isolation { namespaces, rootfs: rootfs.map(Path::to_owned), ..Isolation::default() }
    }

    #[test]
    fn a_rootfs_gets_what_the_language_needs() {
        let folder = tempfile::tempdir().unwrap();
        let root = Some(folder.path());
        let dependencies = [("/etc/passwd", "etc/passwd"), ("/usr/lib", "usr/lib")];
        check(
            &with(false, false, root),
            &[&dependencies[..], &[("/proc", "proc"), ("tmpfs", "tmp")]].concat(),
        );
        check(&with(true, true, root), &[&dependencies[..], &[("proc", "proc"), ("tmpfs", "tmp")]].concat());
        assert!(folder.path().join("etc/passwd").is_file() && folder.path().join("usr/lib").is_dir());

        let none = Automount { language_deps: false, procfs: false, tmpfs: false };
        let bare = Isolation { automount: none, ..with(true, false, root) };
        check(&bare, &[]);
        assert!(!prepare(&bare, &[]).unwrap().root.unwrap().unmount_old, "a plain chroot");
        assert!(prepare(&with(false, false, root), &[]).unwrap().root.unwrap().unmount_old);
    }

    #[test]
    fn without_a_rootfs_only_proc_may_be_new() {
        check(&with(true, true, None), &[("proc", "proc")]);
        check(&with(true, false, None), &[]);
        check(&with(false, true, None), &[]);
    }

    #[test]
    fn links_in_a_rootfs_lead_nowhere_else() {
        let folder = tempfile::tempdir().unwrap();
        let outside = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink(outside.path(), folder.path().join("usr")).unwrap();
        let error = prepare(&with(false, false, Some(folder.path())), &["/usr/lib".into()]).err().unwrap();
        assert!(error.to_string().starts_with("create the mount point usr/lib in the rootfs"), "{error}");
        assert_eq!(std::fs::read_dir(outside.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_missing_rootfs_is_named() {
        let missing = with(false, false, Some(Path::new("/no/such/root")));
        assert_eq!(check_error(&missing), "open the rootfs /no/such/root");
        let file = with(false, false, Some(Path::new("/etc/passwd")));
        assert_eq!(check_error(&file), "open the rootfs /etc/passwd");
    }

    fn check_error(isolation: &Isolation) -> String {
        super::check(isolation).unwrap_err().to_string()
    }
}
