//! Files and folders that a configuration names and that are not on this machine.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::net::{TcpStream, ToSocketAddrs};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use corral_config::authentication::{KeySource, Method};
use corral_config::plan::{AppSpec, HttpSpec, PhpSpec, PhpTarget, ProgramKind, RuntimeSpec};
use corral_sys::user;

/// One sentence for each thing that an application lacks.
pub(super) fn of_application(app: &AppSpec) -> Vec<String> {
    let base = PathBase::of(app);
    let mut lacks: Vec<_> =
        app.working_directory.iter().filter_map(|path| base.lack(path, MissingKind::Folder)).collect();
    lacks.extend(of_accounts(app));
    match &app.runtime {
        RuntimeSpec::Php(php) => lacks.extend(of_php(&base, php)),
        RuntimeSpec::Python(python) => {
            let paths = python.path.iter().chain(&python.home);
            lacks.extend(paths.filter_map(|path| base.lack(path, MissingKind::Folder)));
        }
        RuntimeSpec::Perl(perl) => lacks.extend(base.lack(&perl.script, MissingKind::Anything)),
        RuntimeSpec::Ruby(ruby) => {
            let scripts = [Some(&ruby.script), ruby.hooks.as_ref()].into_iter().flatten();
            lacks.extend(scripts.filter_map(|script| base.lack(script, MissingKind::Anything)));
        }
        RuntimeSpec::Wasm(wasm) => lacks.extend(base.lack(&wasm.component, MissingKind::Anything)),
        RuntimeSpec::Http(http) => {
            lacks.extend(of_program(&base, http, app));
            lacks.extend(of_roots(&base, http));
        }
        RuntimeSpec::Process(_) | RuntimeSpec::Unusable(_) => {}
    }
    lacks
}

/// A number needs no account.
fn of_accounts(app: &AppSpec) -> impl Iterator<Item = String> {
    let is_name = |name: &&String| name.parse::<u32>().is_err();
    let user = app.user.as_ref().filter(is_name).filter(|name| user::user_by_name(name).is_err());
    let group = app.group.as_ref().filter(is_name).filter(|name| user::group_by_name(name).is_err());
    let user = user.map(|name| format!("There is no user \"{name}\"."));
    user.into_iter().chain(group.map(|name| format!("There is no group \"{name}\".")))
}

fn of_php(base: &PathBase<'_>, php: &PhpSpec) -> Vec<String> {
    let of_target = |target: &PhpTarget| {
        let root = &target.root;
        if target.root_varies {
            return None;
        }
        base.lack(root, MissingKind::Folder).or_else(|| match &target.script {
            Some(script) => base.lack(&root.join(script), MissingKind::Anything),
            None if target.worker.is_none() => base.lack_of_scripts(root, &target.index),
            None => None,
        })
    };
    let targets = php.targets.iter().filter_map(of_target);
    targets.chain(php.ini_file.iter().filter_map(|file| base.lack(file, MissingKind::Anything))).collect()
}

fn of_program(base: &PathBase<'_>, http: &HttpSpec, app: &AppSpec) -> Option<String> {
    match (&http.kind, http.executable_path()) {
        (ProgramKind::Java(java), _) => base.lack(&java.webapp, MissingKind::Anything),
        (ProgramKind::Cgi(_), _) => None,
        (_, Some(path)) => base.lack(path, MissingKind::Executable),
        (_, None) if base.root.is_some() => None,
        (_, None) => {
            let own = app.environment.iter().find(|(name, _)| name == "PATH").map(|(_, value)| value.into());
            let folders = own.or_else(|| std::env::var_os("PATH")).unwrap_or_default();
            let is_there =
                std::env::split_paths(&folders).any(|folder| is_executable(folder.join(&http.executable)));
            (!is_there)
                .then(|| format!("There is no \"{}\" in the folders of PATH.", http.executable.display()))
        }
    }
}

/// A server of keys that does not even accept a connection.
pub(super) fn of_method(method: &Method) -> Option<String> {
    let Method::Jwt(jwt) = method else { return None };
    let KeySource::Url { url, .. } = &jwt.keys else { return None };
    let (scheme, rest) = url.split_once("://")?;
    let place = rest.split('/').next()?;
    let port = if scheme == "https" { 443 } else { 80 };
    let has_port = place.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
    let place = if has_port { place.to_owned() } else { format!("{place}:{port}") };
    let connected = place.to_socket_addrs().and_then(|addresses| {
        let mut last = io::Error::from(io::ErrorKind::NotFound);
        for address in addresses {
            match TcpStream::connect_timeout(&address, PATIENCE) {
                Ok(_) => return Ok(()),
                Err(error) => last = error,
            }
        }
        Err(last)
    });
    connected.err().map(|error| format!("\"{url}\" cannot be reached: {error}."))
}

/// For a connection to another server.
const PATIENCE: Duration = Duration::from_secs(2);

/// Folders of scripts that programs are told of.
fn of_roots(base: &PathBase<'_>, http: &HttpSpec) -> Vec<String> {
    http.roots().filter_map(|root| base.lack(root, MissingKind::Folder)).collect()
}

/// The path where a `share` or `chroot` begins, if that does not depend on the request.
pub(super) fn of_share(text: &str) -> Option<String> {
    let (path, kind) = beginning_of_share(text)?;
    PathBase { folder: None, root: None }.lack(Path::new(path), kind)
}

/// The folder where a `share` or `chroot` begins.
pub(super) fn folder_of_share(text: &str) -> Option<&Path> {
    beginning_of_share(text).map(|(path, _)| Path::new(path))
}

/// The constant beginning: as far as the first variable, and a folder.
fn beginning_of_share(text: &str) -> Option<(&str, MissingKind)> {
    if text.starts_with('`') {
        return None;
    }
    let end = text.find('$').unwrap_or(text.len());
    let (constant, variable) = text.split_at(end);
    // Of these, each value begins with a slash.
    let is_whole = variable.is_empty()
        || ["$uri", "$request_uri", "${uri}"].iter().any(|name| variable.starts_with(name));
    let path = if is_whole { constant } else { &constant[..=constant.rfind('/')?] };
    let kind =
        if variable.is_empty() && !path.ends_with('/') { MissingKind::Anything } else { MissingKind::Folder };
    Some((path, kind))
}

/// Where the paths of an application begin.
struct PathBase<'a> {
    /// Where relative paths begin.
    folder: Option<&'a Path>,
    /// Where absolute paths begin.
    root: Option<&'a Path>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum MissingKind {
    Folder,
    Executable,
    Anything,
}

impl<'a> PathBase<'a> {
    fn of(app: &'a AppSpec) -> Self {
        Self { folder: app.working_directory.as_deref(), root: app.isolation.rootfs.as_deref() }
    }

    /// A path as this process sees it. Where the daemon will be started is not known.
    fn whole(&self, path: &Path) -> Option<PathBuf> {
        let path = if path.is_absolute() { path.to_owned() } else { self.folder?.join(path) };
        Some(match self.root {
            Some(root) => root.join(path.strip_prefix("/").unwrap_or(&path)),
            None => path,
        })
    }

    /// A folder in which PHP would find nothing to run. One with scripts may do without an index.
    fn lack_of_scripts(&self, root: &Path, index: &str) -> Option<String> {
        let root = self.whole(root)?;
        let mut entries = fs::read_dir(&root).ok()?.flatten();
        let is_script = |path: &Path| path.is_dir() || path.extension().is_some_and(|end| end == "php");
        if root.join(index).exists() || entries.any(|entry| is_script(&entry.path())) {
            return None;
        }
        Some(format!("There is neither \"{index}\" nor another script in \"{}\".", root.display()))
    }

    /// The fault of a path, as far as this user can see.
    fn lack(&self, path: &Path, kind: MissingKind) -> Option<String> {
        let path = self.whole(path)?;
        let name = path.display();
        match fs::metadata(&path) {
            Err(error) if is_missing(&error) => Some(format!("\"{name}\" does not exist.")),
            Err(_) => None,
            Ok(found) if kind == MissingKind::Folder && !found.is_dir() => {
                Some(format!("\"{name}\" is not a folder."))
            }
            Ok(_) if kind == MissingKind::Executable && !is_executable(&path) => {
                Some(format!("\"{name}\" cannot be executed."))
            }
            Ok(_) => None,
        }
    }
}

fn is_missing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

fn is_executable(path: impl AsRef<OsStr>) -> bool {
    fs::metadata(Path::new(path.as_ref()))
        .is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use corral_config::{Known, json, validate};

    use super::*;

    #[track_caller]
    fn check_share(text: &str, expected: Option<&str>) {
        assert_eq!(of_share(text).as_deref(), expected, "{text}");
    }

    #[test]
    fn a_share_begins_with_a_folder() {
        for text in [
            "/usr$uri",
            "/usr/$host$uri",
            "/usr/lib-$host/x",
            "/etc/passwd",
            "/usr/",
            "`${uri}`",
            "relative$uri",
        ] {
            check_share(text, None);
        }
        check_share("/no/such$uri", Some("\"/no/such\" does not exist."));
        check_share("/no/such/$host$uri", Some("\"/no/such/\" does not exist."));
        check_share("/etc/passwd$uri", Some("\"/etc/passwd\" is not a folder."));
        check_share("/no/such/file.html", Some("\"/no/such/file.html\" does not exist."));
    }

    /// `expected` are all sentences about one application.
    #[track_caller]
    fn check(application: &str, expected: &[&str]) {
        let document =
            json::parse(format!(r#"{{"applications": {{"a": {application}}}}}"#).as_bytes()).unwrap();
        let config = validate(&document, &Known::validated_elsewhere()).unwrap();
        assert_eq!(of_application(&config.applications.values()[0]), expected, "{application}");
    }

    #[test]
    fn applications_lack_roots_scripts_and_executables() {
        check(r#"{"type": "php", "root": "/usr"}"#, &[]);
        check(
            r#"{"type": "php", "root": "/usr", "user": "no-such-user", "group": "no-such-group"}"#,
            &["There is no user \"no-such-user\".", "There is no group \"no-such-group\"."],
        );
        check(r#"{"type": "php", "root": "/usr", "user": "65500", "group": "65500"}"#, &[]);
        check(r#"{"type": "php", "root": "/no/such"}"#, &["\"/no/such\" does not exist."]);
        check(
            r#"{"type": "php", "root": "/usr", "script": "none.php"}"#,
            &["\"/usr/none.php\" does not exist."],
        );
        check(
            r#"{"type": "php", "working_directory": "/no", "targets": {"x": {"root": "/no/x"}, "y": {"root": "/usr"}}}"#,
            &["\"/no\" does not exist.", "\"/no/x\" does not exist."],
        );
        check(
            r#"{"type": "python", "module": "x", "path": ["/usr", "/no"], "home": "/etc/passwd"}"#,
            &["\"/no\" does not exist.", "\"/etc/passwd\" is not a folder."],
        );
        check(r#"{"type": "perl", "script": "/no/app.psgi"}"#, &["\"/no/app.psgi\" does not exist."]);
        check(
            r#"{"type": "ruby", "script": "config.ru", "working_directory": "/usr"}"#,
            &["\"/usr/config.ru\" does not exist."],
        );
        check(r#"{"type": "ruby", "script": "config.ru"}"#, &[]);
        check(r#"{"type": "http", "executable": "/etc/passwd"}"#, &["\"/etc/passwd\" cannot be executed."]);
        check(r#"{"type": "http", "executable": "sh"}"#, &[]);
        check(
            r#"{"type": "http", "executable": "no-such-program"}"#,
            &["There is no \"no-such-program\" in the folders of PATH."],
        );
        check(
            r#"{"type": "http", "executable": "sh", "environment": {"PATH": "/no"}}"#,
            &["There is no \"sh\" in the folders of PATH."],
        );
        check(
            r#"{"type": "fastcgi", "executable": "sh", "root": "/no/scripts"}"#,
            &["\"/no/scripts\" does not exist."],
        );
        check(r#"{"type": "cgi", "root": "/etc/passwd"}"#, &["\"/etc/passwd\" is not a folder."]);
        check(
            r#"{"type": "perl", "script": "/app.psgi", "isolation": {"rootfs": "/no/root"}}"#,
            &["\"/no/root/app.psgi\" does not exist."],
        );
    }
}
