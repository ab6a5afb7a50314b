//! Shares that name a folder, whatever is asked for: hardly ever what is meant.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use corral_config::Config;

/// Says of each folder that a new configuration shares so what to write in its place.
pub(crate) fn warn(config: &Config, before: Option<&Config>) {
    let known = before.map(constants).unwrap_or_default();
    for path in constants(config).difference(&known) {
        if Path::new(OsStr::from_bytes(path)).is_dir() {
            tracing::warn!("{}", remark(&String::from_utf8_lossy(path)));
        }
    }
}

fn remark(path: &str) -> String {
    let folder = path.trim_end_matches('/');
    let effect = if folder.len() < path.len() {
        "its index answers every request"
    } else {
        "every request is redirected, and no file of it is served"
    };
    format!("\"share\" is the folder \"{path}\" itself: {effect}; \"{folder}$uri\" serves its files")
}

/// Paths that are the same for every request.
fn constants(config: &Config) -> BTreeSet<&[u8]> {
    let mut paths = BTreeSet::new();
    let steps = config.routes.iter().flat_map(|route| route.steps()).map(|step| &step.action);
    for action in steps.chain(config.all_defaults()) {
        action.visit_shares(&mut |share| {
            paths.extend(
                share.paths.iter().filter_map(|path| path.is_constant()).filter(|path| !path.is_empty()),
            );
        });
    }
    paths
}

#[cfg(test)]
mod tests {
    use super::remark;

    #[test]
    fn the_remedy_is_the_folder_with_what_was_asked_for() {
        let slash = remark("/srv/www/");
        assert!(
            slash.contains("its index answers every request") && slash.contains("\"/srv/www$uri\""),
            "{slash}"
        );
        let plain = remark("/srv/www");
        assert!(
            plain.contains("redirected") && plain.contains("\"/srv/www$uri\" serves its files"),
            "{plain}"
        );
    }
}
