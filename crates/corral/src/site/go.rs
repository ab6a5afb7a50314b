//! Recognises programs in Go: a module whose own folder is a program.

use std::fs;
use std::path::Path;

use super::folder::entries;

/// A program in Go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Go {
    /// The folder of the program, as the compiler is told.
    pub(crate) package: String,
    /// It has NGINX Unit's package, or Corral's of that name.
    pub(crate) for_unit: bool,
}

impl Go {
    /// Compiles it and takes its place. The executable has no name any more by then, so that nothing is left behind. A
    /// user without a home has no cache of the compiler's either.
    pub(crate) fn start(&self) -> String {
        format!(
            "d=$(mktemp -d) && {{ [ -w \"${{HOME:-/}}\" ] || export GOCACHE=\"$d/cache\" GOFLAGS=-buildvcs=false; }} \
             && go build -o \"$d/app\" \"{}\" && exec 9<\"$d/app\" && rm -r \"$d\" && exec /proc/self/fd/9",
            self.package
        )
    }
}

/// Looks for a program in a folder: its own, or the only one below `cmd`.
pub(super) fn find(project: &Path) -> Option<Go> {
    let module = fs::read_to_string(project.join("go.mod")).ok()?;
    let package = if is_program(project) { ".".to_owned() } else { only_command(project)? };
    Some(Go { package, for_unit: module.contains("unit.nginx.org/go") })
}

fn only_command(project: &Path) -> Option<String> {
    let mut folders = entries(&project.join("cmd")).into_iter().filter(|folder| is_program(folder));
    let only = folders.next().filter(|_| folders.next().is_none())?;
    let name = only.file_name()?.to_str()?;
    let is_plain = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte));
    is_plain.then(|| format!("./cmd/{name}"))
}

fn is_program(folder: &Path) -> bool {
    let is_main = |path: &Path| {
        let text = fs::read_to_string(path).unwrap_or_default();
        text.lines().any(|line| line.trim_end() == "package main")
    };
    let is_source = |path: &Path| path.extension().is_some_and(|name| name == "go");
    entries(folder).iter().any(|path| is_source(path) && is_main(path))
}
