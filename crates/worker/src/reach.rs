//! Folders that keep an application from its own files: those that its user may not enter.

use std::path;

use corral_config::plan::AppSpec;
use corral_sys::{folder, user};

/// The first folder that bars the way, in words.
pub(crate) fn obstacle(spec: &AppSpec) -> Option<String> {
    let paths = spec.runtime.paths();
    let paths = paths.into_iter().filter_map(|path| path::absolute(path).ok());
    let (path, folder) = paths.filter_map(|path| Some((folder::obstacle(&path)?, path))).next()?;
    let uid = user::effective_uid();
    let name = user::user_by_uid(uid).map_or_else(|_| uid.to_string(), |user| user.name);
    Some(format!(
        "the user \"{name}\" may not enter \"{}\", which \"{}\" is in: let it in (chmod o+x), or set \"user\"",
        path.display(),
        folder.display()
    ))
}
