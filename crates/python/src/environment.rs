//! Virtual environments that were made for another Python: what they hold is not found by this one.

use std::fs;
use std::path::Path;

/// Why modules of a virtual environment are not found, and what helps; nothing if it is made for this Python. `own` is
/// this Python's version.
pub(crate) fn mismatch(home: &Path, own: &str) -> Option<String> {
    let own = major_minor(own)?;
    let config = fs::read_to_string(home.join("pyvenv.cfg")).ok()?;
    if home.join(format!("lib/python{own}/site-packages")).is_dir() {
        return None;
    }
    let theirs = version_in(&config).or_else(|| version_of_folder(home)).filter(|theirs| *theirs != own)?;
    let path = home.display();
    Some(format!(
        "the virtual environment \"{path}\" is for Python {theirs}, and this is Python {own}, which does not find \
        what is installed there: make it anew (python{own} -m venv --clear {path}) and install the requirements \
        again, or run the application with the module for Python {theirs}"
    ))
}

/// The version in the configuration of an environment: venv writes `version`, and virtualenv `version_info` too.
fn version_in(config: &str) -> Option<String> {
    let pairs = config.lines().filter_map(|line| line.split_once('='));
    let mut pairs = pairs.map(|(name, value)| (name.trim(), value.trim()));
    let (_, version) = pairs.find(|(name, _)| matches!(*name, "version" | "version_info"))?;
    major_minor(version)
}

/// The version in `lib/python3.9`, if there is only one.
fn version_of_folder(home: &Path) -> Option<String> {
    let names = fs::read_dir(home.join("lib")).ok()?.flatten().map(|entry| entry.file_name());
    let mut versions = names.filter_map(|name| major_minor(name.to_str()?.strip_prefix("python")?));
    versions.next().filter(|_| versions.next().is_none())
}

fn major_minor(version: &str) -> Option<String> {
    let mut numbers = version.split('.').map(str::parse::<u32>);
    let (Some(Ok(major)), Some(Ok(minor))) = (numbers.next(), numbers.next()) else { return None };
    Some(format!("{major}.{minor}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(config: &str, version: Option<&str>) {
        assert_eq!(version_in(config).as_deref(), version);
    }

    #[test]
    fn the_version_is_said_in_several_ways() {
        check("home = /usr/bin\nversion = 3.9.2\n", Some("3.9"));
        check("home=/usr/bin\nversion_info=3.12.0.final.0", Some("3.12"));
        check("home = /usr/bin", None);
        check("version = new", None);
        check("version = 3", None);
        check("", None);
    }
}
