//! Images, and prototypes that are copies of them.

use std::fs;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use corral_config::plan::{AppSpec, RuntimeSpec};
use corral_ipc::link::Link;
use corral_ipc::message::{Identity, ToImage};
use corral_sys::limits;
use corral_sys::signal::Pid;

use super::{
    Launch, LaunchError, Launcher, Membership, Setting, StartedProcess, Stdout, c_string, isolation, streams,
};
use crate::output::{Output, Speaker};
use crate::peer::{OutboxLimit, Peer};

/// Room for the titles of prototypes, which are written over the arguments of the image.
const ROOM_FOR_TITLES: usize = 100;

/// A prototype that an image is to become a copy of, on this process's side.
pub(crate) struct OrderedCopy {
    name: String,
    link: Link,
    outputs: Vec<Output>,
    membership: Option<Membership>,
    identity: Identity,
    /// The descriptors that the copy is told of with its identity.
    bounds: Vec<OwnedFd>,
}

impl Launcher {
    /// The specification of the image that an application's prototype can be a copy of. No image reads settings that
    /// other users could have written.
    pub(crate) fn image(&self, spec: &AppSpec) -> Option<AppSpec> {
        let image = spec.image()?;
        let RuntimeSpec::Php(php) = &image.runtime else { return None };
        let is_safe = self.users.is_none() || php.ini_file.as_deref().is_none_or(is_roots);
        is_safe.then_some(image)
    }

    /// Starts an image with the rights of this process.
    pub(crate) fn start_image(&self, spec: &AppSpec) -> Result<(Peer, Vec<Output>), LaunchError> {
        let executable = fs::File::open(&spec.module)
            .map_err(|source| LaunchError::Executable { path: spec.module.clone(), source })?;
        let (mut peer, outputs) = self.launch(Launch {
            name: "image",
            executable: executable.as_fd(),
            arguments: ["corral: image", "image", &" ".repeat(ROOM_FOR_TITLES)]
                .into_iter()
                .map(|text| c_string(text, "an argument"))
                .collect::<Result<_, _>>()?,
            environment: self.environment.for_application(spec, None)?,
            working_directory: None,
            credentials: None,
            no_new_privileges: false,
            wall: None,
            isolation: None,
            stdout: Stdout::Errors,
            speaker: Speaker::Errors("image".to_owned()),
        })?;
        peer.send(&ToImage::Load { spec: spec.clone() }, &[]);
        Ok((peer, outputs))
    }

    /// Orders a copy of an image that is to become the prototype of an application.
    pub(crate) fn order_copy(
        &self,
        image: &mut Peer,
        spec: &AppSpec,
        dependencies: &[PathBuf],
    ) -> Result<OrderedCopy, LaunchError> {
        let Setting { credentials, environment, is_walled, .. } = self.setting(spec, dependencies)?;
        let (isolation, membership) = isolation::prepare(
            &spec.isolation,
            credentials.as_ref(),
            self.rights(),
            dependencies,
            &self.cgroups,
        )?;
        let wall = self.wall.as_ref().filter(|_| is_walled);
        let wall = wall.map(OwnedFd::try_clone).transpose().map_err(LaunchError::Plumbing)?;
        let (ours, theirs) = Link::pair().map_err(LaunchError::Plumbing)?;
        let (_, speaker) = streams(spec);
        let (errors, stderr) = Output::pipe(speaker).map_err(LaunchError::Plumbing)?;
        let (output, stdout) =
            Output::pipe(Speaker::App(spec.name.clone())).map_err(LaunchError::Plumbing)?;
        let ordered = OrderedCopy {
            name: format!("prototype of \"{}\"", spec.name),
            link: ours,
            outputs: vec![output, errors],
            membership,
            identity: Identity {
                environment,
                limits: limits::current(),
                has_cgroup: isolation.cgroup.is_some(),
                credentials: credentials.map(Into::into),
                no_new_privileges: spec.isolation.new_privs == Some(false) || is_walled,
                has_wall: wall.is_some(),
                working_directory: spec.working_directory.clone(),
            },
            bounds: isolation.cgroup.into_iter().chain(wall).collect(),
        };
        image.send(&ToImage::Fork, &[theirs.as_fd(), stdout.as_fd(), stderr.as_fd()]);
        Ok(ordered)
    }
}

impl OrderedCopy {
    /// The copy was made: it hears what it is to become.
    pub(crate) fn made(self, pid: Pid) -> StartedProcess {
        let mut peer = Peer::new(self.name, pid, self.link, OutboxLimit::Small);
        let bounds: Vec<_> = self.bounds.iter().map(AsFd::as_fd).collect();
        peer.send(&self.identity, &bounds);
        StartedProcess { peer, outputs: self.outputs, membership: self.membership }
    }
}

/// Whether root alone decides what is at a path: no other user may write to the file, or to a folder on the way to it
/// that is not sticky.
fn is_roots(path: &Path) -> bool {
    let Ok(path) = path.canonicalize() else { return false };
    path.ancestors().all(|part| {
        let Ok(data) = part.symlink_metadata() else { return false };
        let is_closed = data.mode() & 0o022 == 0 || (data.is_dir() && data.mode() & 0o1000 != 0);
        data.uid() == 0 && is_closed
    })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, chown};

    use super::*;

    #[test]
    fn roots_files_are_not_for_others_to_write() {
        if !corral_sys::user::can_change_user() {
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("php.ini");
        fs::write(&file, "").unwrap();
        let set = |path: &Path, mode: u32, owner: u32| {
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
            chown(path, Some(owner), None).unwrap();
        };
        let check = |folder_mode: u32, mode: u32, owner: u32, expected: bool| {
            set(folder.path(), folder_mode, 0);
            set(&file, mode, owner);
            assert_eq!(is_roots(&file), expected, "{folder_mode:o} {mode:o} {owner}");
        };
        check(0o755, 0o644, 0, true);
        check(0o1777, 0o644, 0, true);
        check(0o777, 0o644, 0, false);
        check(0o755, 0o664, 0, false);
        check(0o755, 0o644, 65534, false);
        assert!(!is_roots(&folder.path().join("lost")));
    }
}
