//! Bounds on the way to a file: of shares, of conditions and of `try`.

use crate::template::{PathFault, Template, Variables};

/// Bounds on the way to a shared file.
#[derive(Debug, Clone)]
pub struct Confinement {
    /// The folder that share paths must lie in, and that no link leads out of.
    pub chroot: Option<Template>,
    /// Symbolic links are followed.
    pub follow_symlinks: bool,
    /// Other mounts are entered.
    pub traverse_mounts: bool,
}

impl Confinement {
    /// Appends a path, and the folder that it must lie in if there is one, to two buffers.
    ///
    /// # Errors
    ///
    /// When a script throws, or a client's value would lead elsewhere.
    pub fn render(
        &self,
        path: &Template,
        variables: &mut dyn Variables,
        (path_out, chroot_out): (&mut Vec<u8>, &mut Vec<u8>),
    ) -> Result<(), PathFault> {
        path.render_path(variables, path_out)?;
        self.chroot.as_ref().map_or(Ok(()), |chroot| chroot.render_path(variables, chroot_out))
    }
}

impl Default for Confinement {
    fn default() -> Self {
        Self { chroot: None, follow_symlinks: true, traverse_mounts: true }
    }
}
