//! Recognises programs in Go: a module whose own folder is a program.

use std::fs;
use std::path::Path;

use super::entries;

/// A program in Go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Go {
    /// It has NGINX Unit's package, or Corral's of that name.
    pub(crate) for_unit: bool,
}

/// Compiles it and takes its place. The executable has no name any more by then, so that nothing is left behind. A user
/// without a home has no cache of the compiler's either.
pub(crate) const START: &str = "d=$(mktemp -d) && { [ -w \"${HOME:-/}\" ] || export GOCACHE=\"$d/cache\" GOFLAGS=-buildvcs=false; } && go build -o \"$d/app\" . && exec 9<\"$d/app\" && rm -r \"$d\" && exec /proc/self/fd/9";

/// Looks for a program in a folder.
pub(crate) fn find(project: &Path) -> Option<Go> {
    let module = fs::read_to_string(project.join("go.mod")).ok()?;
    let is_program = |path: &Path| {
        let text = fs::read_to_string(path).unwrap_or_default();
        text.lines().any(|line| line.trim_end() == "package main")
    };
    let mut sources = entries(project).into_iter();
    let has_program =
        sources.any(|path| path.extension().is_some_and(|name| name == "go") && is_program(&path));
    has_program.then(|| Go { for_unit: module.contains("unit.nginx.org/go") })
}
