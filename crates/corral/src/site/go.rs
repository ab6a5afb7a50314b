//! Recognises programs in Go: a module whose own folder is a program.

use std::path::{Path, PathBuf};

use super::folder::{MOST_SOURCES, entries, has, read_text};

/// A program in Go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Go {
    /// The folder of the program, as the compiler is told.
    pub(crate) package: String,
    /// Whether the program has NGINX Unit's package, or Corral's of that name.
    pub(crate) for_unit: bool,
}

impl Go {
    /// A command of the shell that compiles the program and takes its place. Nothing is left behind: the executable has
    /// no name any more when it runs, and the folder is removed, too, if it does not compile or the shell is ended.
    pub(crate) fn start(&self) -> String {
        format!(
            "echo \"compiling {}\"; d=$(mktemp -d) && trap 'rm -rf \"$d\"' EXIT && trap 'exit 1' HUP INT TERM \
             && ({WITHOUT_HOME}; GOTMPDIR=\"$d\" exec go build -o \"$d/app\" \"{}\") && exec 9<\"$d/app\" \
             && rm -r \"$d\" && exec /proc/self/fd/9",
            self.what(),
            self.package
        )
    }

    /// The program, as a person is told.
    fn what(&self) -> &str {
        if self.package == "." { "the program" } else { &self.package }
    }
}

/// A user without a home has no caches of the compiler's either. They are worth keeping, as without them each start
/// compiles the whole standard library, but a folder of that name that belongs to another user is not used.
const WITHOUT_HOME: &str = "[ -w \"${HOME:-/}\" ] || { c=\"${TMPDIR:-/tmp}/corral-go-$(id -u)\"; \
    mkdir -m 700 \"$c\" 2>/dev/null; [ -O \"$c\" ] && [ ! -L \"$c\" ] || c=\"$d\"; \
    export GOCACHE=\"$c/build\" GOMODCACHE=\"$c/modules\" GOFLAGS=\"-buildvcs=false -modcacherw\"; }";

/// Looks for a program in a folder: its own, or the only one below `cmd`.
pub(super) fn find(project: &Path) -> Option<Go> {
    let module = has(project, "go.mod").then(|| read_text(&project.join("go.mod")))?;
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
    let is_main = |path: &PathBuf| {
        let text = read_text(path);
        text.lines().any(|line| line.trim_end() == "package main")
    };
    let is_source = |path: &&PathBuf| path.extension().is_some_and(|name| name == "go");
    let entries = entries(folder);
    entries.iter().filter(is_source).take(MOST_SOURCES).any(is_main)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;
    use std::process::Command;

    use super::*;

    /// Starts a program with a compiler that is this script, and says what is in the folder for temporary files then.
    fn left_behind(compiler: &str) -> Vec<String> {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        fs::create_dir(path("bin")).unwrap();
        fs::create_dir(path("tmp")).unwrap();
        fs::write(path("bin/go"), format!("#!/bin/sh\n{compiler}\n")).unwrap();
        fs::set_permissions(path("bin/go"), fs::Permissions::from_mode(0o755)).unwrap();
        let search = format!("{}:/usr/bin:/bin", path("bin").display());
        let start = Go { package: ".".to_owned(), for_unit: false }.start();
        let mut shell = Command::new("/bin/sh");
        shell.args(["-c", &start]).env("PATH", search).env("HOME", "/nonexistent").env("TMPDIR", path("tmp"));
        shell.status().unwrap();
        let names = entries(&path("tmp")).into_iter().map(|path| path.file_name().unwrap().to_owned());
        names.map(|name| name.into_string().unwrap()).collect()
    }

    #[test]
    fn only_the_compiler_s_caches_are_left_behind() {
        let cache = format!("corral-go-{}", corral_sys::user::effective_uid());
        let builds = "mkdir -p \"$GOCACHE\" \"$GOMODCACHE\" && cp /bin/true \"$3\"";
        for compiler in
            [builds, "touch \"$GOTMPDIR/a\"; exit 1", "touch \"$GOTMPDIR/a\"; kill $PPID; sleep 1"]
        {
            assert_eq!(left_behind(compiler), [&*cache], "{compiler}");
        }
    }
}
