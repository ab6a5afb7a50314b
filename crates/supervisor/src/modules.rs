//! Finds the host executables and asks each what it is.

use std::ffi::{CString, OsStr};
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use corral_ipc::message::Module;
use corral_sys::poll::{self, Interest};
use corral_sys::signal::{self, Ended, Signal};
use corral_sys::spawn::{Executable, Program};
use corral_sys::user::Credentials;

/// What was found in a folder.
#[derive(Debug, Default)]
pub struct Found {
    /// The hosts that answered, in the order of their file names.
    pub modules: Vec<Module>,
    /// One line for each host that did not.
    pub problems: Vec<String>,
}

/// Runs `describe` of every executable `corral-*` in `folder`, as `user` if given, and looks for the launcher of Java.
///
/// # Errors
/// When the folder cannot be read. A host that fails is only a problem.
pub fn detect(folder: &Path, user: Option<&Credentials>) -> anyhow::Result<Found> {
    let mut found = Found::default();
    for path in
        candidates(folder).with_context(|| format!("read the modules' folder {}", folder.display()))?
    {
        match describe(&path, user) {
            Ok(module) => found.modules.push(module),
            Err(error) => found.problems.push(format!("module \"{}\": {error:#}", path.display())),
        }
    }
    found.modules.extend(java(folder));
    // Of two with the same language and version the first counts (contract 20).
    let mut seen = Vec::new();
    found.modules.retain(|module| {
        let name = (module.language.clone(), module.version.clone());
        let is_new = !seen.contains(&name);
        seen.push(name);
        is_new
    });
    Ok(found)
}

/// The launcher of web applications is no executable: a folder beside the others, or where `make install` puts it.
fn java(folder: &Path) -> Option<Module> {
    let folders = [folder.join("corral-java"), folder.join("../share/corral/java")];
    let folder = folders.into_iter().find(|folder| folder.join(LAUNCHER).is_file())?;
    let folder = fs::canonicalize(folder).ok()?;
    // That of the container of servlets.
    let version = fs::read_to_string(folder.join("version")).ok()?.trim().to_owned();
    let path = folder.join(LAUNCHER);
    Some(Module { language: "java".to_owned(), version, path, dependencies: vec![folder] })
}

const LAUNCHER: &str = "launcher.jar";

fn candidates(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut paths = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let is_named_so = path.file_name().is_some_and(|name| name.as_bytes().starts_with(b"corral-"));
        if is_named_so && is_program(&path) {
            paths.push(path);
        }
    }
    paths.sort();
    Ok(paths)
}

/// An ELF file that may be executed: build folders hold debug data and notes with similar names.
fn is_program(path: &Path) -> bool {
    let may_run =
        fs::metadata(path).is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0);
    let mut magic = [0; 4];
    let read = File::open(path).and_then(|mut file| file.read_exact(&mut magic));
    may_run && read.is_ok() && &magic == b"\x7fELF"
}

fn describe(path: &Path, user: Option<&Credentials>) -> anyhow::Result<Module> {
    let executable = File::open(path)?;
    let null = File::options().read(true).write(true).open("/dev/null")?;
    let (reader, writer) = corral_sys::file::nonblocking_reader_pipe()?;
    let environment: Vec<_> =
        std::env::vars_os().filter_map(|(name, value)| variable(&name, &value)).collect();
    let pid = Program {
        executable: Executable::Open(executable.as_fd()),
        argv: &[CString::new(path.as_os_str().as_bytes())?, c"describe".to_owned()],
        environment: &environment,
        pid_variable: None,
        working_directory: Some(c"/"),
        credentials: user,
        no_new_privileges: true,
        wall: None,
        isolation: None,
        fds: &[(null.as_fd(), 0), (writer.as_fd(), 1), (null.as_fd(), 2)],
    }
    .spawn()?;
    drop(writer);
    let answer = read_until_end(reader, Instant::now() + LONGEST_DESCRIPTION);
    if answer.is_err() {
        let _ = signal::kill(pid, Signal::KILL);
    }
    let ended = signal::wait_for(pid)?;
    let answer = answer?;
    match ended {
        Ended::Code(0) => parse_description(path, &answer),
        Ended::Code(code) => bail!("`describe` exited with code {code}"),
        Ended::Signal(number) => bail!("`describe` exited on signal {number}"),
    }
}

/// Loading a large interpreter from a cold disk takes seconds, not more.
const LONGEST_DESCRIPTION: Duration = Duration::from_secs(30);

const LONGEST_ANSWER: usize = 1 << 16;

fn variable(name: &OsStr, value: &OsStr) -> Option<CString> {
    CString::new([name.as_bytes(), b"=", value.as_bytes()].concat()).ok()
}

fn read_until_end(pipe: OwnedFd, deadline: Instant) -> anyhow::Result<Vec<u8>> {
    let mut pipe = File::from(pipe);
    let mut answer = vec![0; LONGEST_ANSWER];
    let mut len = 0;
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            bail!("`describe` did not answer within {} s", LONGEST_DESCRIPTION.as_secs());
        }
        poll::wait(&[(pipe.as_fd(), Interest::Read)], Some(left))?;
        match pipe.read(&mut answer[len..]) {
            Ok(0) => break,
            Ok(n) => len += n,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error.into()),
        }
    }
    answer.truncate(len);
    Ok(answer)
}

/// `php 8.2.35` on the first line, then the paths of the files and folders that it consists of.
fn parse_description(path: &Path, answer: &[u8]) -> anyhow::Result<Module> {
    let text = String::from_utf8_lossy(answer);
    let mut lines = text.lines();
    let line = lines.next().unwrap_or_default();
    match line.split_ascii_whitespace().collect::<Vec<_>>()[..] {
        [language, version] => {
            let dependencies = lines.filter(|line| line.starts_with('/')).map(PathBuf::from).collect();
            Ok(Module {
                language: language.into(),
                version: version.into(),
                path: path.to_owned(),
                dependencies,
            })
        }
        _ => bail!("`describe` answered {line:?} in place of a language and a version"),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[track_caller]
    fn check(answer: &str, expected: Option<(&str, &str)>) {
        let module = parse_description(Path::new("/x"), answer.as_bytes()).ok();
        let found = module.as_ref().map(|module| (module.language.as_str(), module.version.as_str()));
        assert_eq!(found, expected);
    }

    #[test]
    fn descriptions_have_two_words() {
        check("php 8.2.29\n", Some(("php", "8.2.29")));
        check("php 8.2.29\nmore\n", Some(("php", "8.2.29")));
        check("php\n", None);
        check("", None);
        check("PHP Warning: something is wrong\nphp 8.2\n", None);
    }

    #[test]
    fn only_executables_of_that_name_are_asked() {
        let folder = tempfile::tempdir().unwrap();
        let link = |name: &str, to: &str| symlink(to, folder.path().join(name)).unwrap();
        link("corral", "/bin/echo");
        link("corral-echo", "/bin/echo");
        link("corral-false", "/bin/false");
        link("corral-folder", "/bin");
        link("corral-text", "/etc/passwd");
        link("corral-lost", "/no/such/file");
        link("other", "/bin/false");
        fs::write(folder.path().join("corral-notes.d"), "text").unwrap();
        let found = detect(folder.path(), None).unwrap();
        // `echo describe` prints one word, `false` nothing.
        let asked =
            ["corral-echo", "corral-false"].map(|name| folder.path().join(name).display().to_string());
        assert_eq!(
            found.problems,
            [
                format!(
                    "module \"{}\": `describe` answered \"describe\" in place of a language and a version",
                    asked[0]
                ),
                format!("module \"{}\": `describe` exited with code 1", asked[1]),
            ]
        );
        assert!(found.modules.is_empty());
        assert!(detect(Path::new("/no/such/folder"), None).is_err());
    }

    #[test]
    fn the_launcher_of_java_is_found_in_both_places() {
        for place in ["bin/corral-java", "share/corral/java"] {
            let prefix = tempfile::tempdir().unwrap();
            let (bin, folder) = (prefix.path().join("bin"), prefix.path().join(place));
            fs::create_dir_all(&bin).unwrap();
            fs::create_dir_all(&folder).unwrap();
            fs::write(folder.join("version"), "12.0\n").unwrap();
            assert!(detect(&bin, None).unwrap().modules.is_empty());
            fs::write(folder.join(LAUNCHER), "").unwrap();
            let found = detect(&bin, None).unwrap().modules;
            assert_eq!(found.len(), 1, "{place}");
            assert_eq!((&*found[0].language, &*found[0].version), ("java", "12.0"));
            assert!(found[0].path.ends_with(Path::new(place).join(LAUNCHER)), "{:?}", found[0].path);
        }
    }
}
