//! The environment that the daemon was started with, and what of it others get.

use std::collections::BTreeSet;
use std::ffi::{CString, OsStr, OsString};

use corral_config::plan::AppSpec;
use corral_sys::user::{self, Credentials};

use super::{LaunchError, c_string};
use crate::{predecessor, service_manager};

/// The variables that this process was started with.
#[derive(Debug)]
pub(crate) struct Environment {
    all: Vec<(OsString, OsString)>,
    /// The variables that configuration files have read, which are often secrets.
    read: BTreeSet<String>,
}

/// Variables by which a service manager describes the folders, the log and the number of the process that it has
/// started.
const OF_THE_SERVICE: [&str; 13] = [
    "CREDENTIALS_DIRECTORY",
    "RUNTIME_DIRECTORY",
    "STATE_DIRECTORY",
    "CACHE_DIRECTORY",
    "LOGS_DIRECTORY",
    "CONFIGURATION_DIRECTORY",
    "INVOCATION_ID",
    "JOURNAL_STREAM",
    "MEMORY_PRESSURE_WATCH",
    "MEMORY_PRESSURE_WRITE",
    "SYSTEMD_EXEC_PID",
    "MAINPID",
    "FDSTORE",
];

/// Variables of the daemon's own tools.
const OF_THE_DAEMON: [&str; 3] = ["CORRAL_CONTROL", "CORRAL_CONTROL_TOKEN_FILE", "CORRAL_OPTIONS"];

/// Variables that are left of an environment that is not inherited.
const NEEDED: [&str; 3] = ["PATH", "LANG", "TZ"];

/// Variables that describe a user.
const PERSONAL: [&str; 4] = ["HOME", "USER", "LOGNAME", "SHELL"];

impl Environment {
    /// As it is now.
    pub(super) fn of_this_process() -> Self {
        let all = std::env::vars_os().filter(|(name, _)| name != predecessor::MARK).collect();
        Self { all, read: BTreeSet::new() }
    }

    /// Withholds what configuration files have read. What they have read before may still be a secret.
    pub(crate) fn withhold(&mut self, names: Vec<String>) {
        self.read.extend(names);
    }

    /// For a process of the daemon.
    pub(super) fn for_own(&self) -> Result<Vec<CString>, LaunchError> {
        self.all.iter().filter(|(name, _)| !is_of_service_manager(name)).map(to_variable).collect()
    }

    /// For the process that takes over from this one, whose number and descriptors it does not have.
    pub(super) fn for_successor(&self) -> Result<Vec<CString>, LaunchError> {
        let is_ours =
            |name: &OsString| name == "WATCHDOG_PID" || name.as_encoded_bytes().starts_with(b"LISTEN_");
        let inherited = self.all.iter().filter(|(name, _)| !is_ours(name));
        let mark = (predecessor::MARK.into(), predecessor::LANGUAGE.into());
        inherited.chain([&mark]).map(to_variable).collect()
    }

    /// For an application that runs as another user than this process, if there are `credentials`.
    pub(super) fn for_application(
        &self,
        spec: &AppSpec,
        credentials: Option<&Credentials>,
    ) -> Result<Vec<CString>, LaunchError> {
        let other = credentials.filter(|credentials| credentials.uid != user::effective_uid());
        let mut variables: Vec<_> =
            self.all.iter().filter(|(name, _)| self.is_for(spec, name)).cloned().collect();
        match other {
            Some(credentials) => personalise(&mut variables, credentials),
            None => complete(&mut variables),
        }
        variables.retain(|(name, _)| spec.environment.iter().all(|(other, _)| name != other.as_str()));
        let own = spec.environment.iter().map(|(name, value)| (name.into(), value.into()));
        variables.extend(own);
        variables.iter().map(to_variable).collect()
    }

    fn is_for(&self, spec: &AppSpec, name: &OsStr) -> bool {
        let is_one_of = |names: &[&str]| names.iter().any(|other| name == *other);
        let is_secret = name.to_str().is_some_and(|name| self.read.contains(name));
        let is_kept = spec.inherit_environment
            && !is_secret
            && !is_of_service_manager(name)
            && !is_one_of(&OF_THE_SERVICE)
            && !is_one_of(&OF_THE_DAEMON);
        is_kept || is_one_of(&NEEDED) || is_one_of(&PERSONAL)
    }
}

/// Whether a variable is meant for the process alone that the service manager has started.
fn is_of_service_manager(name: &OsStr) -> bool {
    service_manager::PREFIXES.iter().any(|prefix| name.as_encoded_bytes().starts_with(prefix.as_bytes()))
}

/// Adds the home and the name of this process's user where `HOME` and `USER` are not set, as in many containers.
fn complete(variables: &mut Vec<(OsString, OsString)>) {
    let lacks = |variables: &[(OsString, OsString)], name| variables.iter().all(|(other, _)| other != name);
    if !lacks(variables, "HOME") && !lacks(variables, "USER") {
        return;
    }
    let Ok(user) = user::user_by_uid(user::effective_uid()) else { return };
    for (name, value) in [("HOME", user.home), ("USER", user.name)] {
        if lacks(variables, name) {
            variables.push((name.into(), value.into()));
        }
    }
}

/// Puts the application's user in place of the user who has started the daemon.
fn personalise(variables: &mut Vec<(OsString, OsString)>, credentials: &Credentials) {
    let has_shell = variables.iter().any(|(name, _)| name == "SHELL");
    variables.retain(|(name, _)| PERSONAL.iter().all(|other| name != *other));
    let mut set = |name: &str, value: String| variables.push((name.into(), value.into()));
    match user::user_by_uid(credentials.uid) {
        Ok(user) => {
            set("HOME", user.home);
            set("USER", user.name.clone());
            set("LOGNAME", user.name);
            if has_shell {
                set("SHELL", user.shell);
            }
        }
        // A number has no name, and nothing of its own.
        Err(_) => set("HOME", "/".to_owned()),
    }
}

fn to_variable((name, value): &(OsString, OsString)) -> Result<CString, LaunchError> {
    let mut text = name.clone();
    text.push("=");
    text.push(value);
    c_string(text, "a variable of the environment")
}

#[cfg(test)]
mod tests {
    use crate::testing::spec;

    use super::*;

    fn environment(variables: &[(&str, &str)]) -> Environment {
        let all = variables.iter().map(|(name, value)| (name.into(), value.into())).collect();
        Environment { all, read: BTreeSet::from(["DB".to_owned(), "PATH".to_owned()]) }
    }

    const ALL: &[(&str, &str)] = &[
        ("PATH", "/bin"),
        ("A", "1"),
        ("B", "2"),
        ("DB", "secret"),
        ("HOME", "/root"),
        ("SHELL", "/bin/zsh"),
        ("USER", "root"),
        ("NOTIFY_SOCKET", "/run/x"),
        ("LISTEN_FDS", "1"),
        ("LISTEN_PIDFDID", "1"),
        ("WATCHDOG_USEC", "1"),
        ("CREDENTIALS_DIRECTORY", "/run/credentials/corral.service"),
        ("CORRAL_CONTROL_TOKEN_FILE", "/etc/token"),
        ("CORRAL_OPTIONS", "--config /etc/corral"),
    ];

    #[track_caller]
    fn check(spec: &AppSpec, uid: Option<u32>, expected: &[&str]) {
        let credentials = uid.map(|uid| Credentials { uid, gid: uid, groups: vec![] });
        let found = environment(ALL).for_application(spec, credentials.as_ref()).unwrap();
        let found: Vec<_> = found.iter().map(|text| text.to_str().unwrap()).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn an_application_overrides_the_environment() {
        let environment = [("B".to_owned(), "3=4".to_owned()), ("C".to_owned(), String::new())];
        let spec = AppSpec { environment: environment.into(), ..spec("a=/a") };
        let root = ["HOME=/root", "SHELL=/bin/zsh", "USER=root"];
        check(&spec, None, &[&["PATH=/bin", "A=1"][..], &root, &["B=3=4", "C="]].concat());
    }

    #[test]
    fn it_has_its_user_s_home_and_names() {
        let personal = ["HOME=/nonexistent", "USER=nobody", "LOGNAME=nobody", "SHELL=/usr/sbin/nologin"];
        check(&spec("a=/a"), Some(65534), &[&["PATH=/bin", "A=1", "B=2"][..], &personal].concat());
        check(&spec("a=/a"), Some(3_999_999_999), &["PATH=/bin", "A=1", "B=2", "HOME=/"]);
        let home = ("HOME".to_owned(), "/srv".to_owned());
        let own = AppSpec { environment: vec![home], ..spec("a=/a") };
        check(&own, Some(3_999_999_999), &["PATH=/bin", "A=1", "B=2", "HOME=/srv"]);
    }

    #[test]
    fn it_knows_its_user_even_if_nobody_has_said_so() {
        let Ok(own) = user::user_by_uid(user::effective_uid()) else { return };
        let found =
            environment(&[("PATH", "/bin"), ("HOME", "/srv")]).for_application(&spec("a=/a"), None).unwrap();
        let found: Vec<_> = found.iter().map(|text| text.to_str().unwrap()).collect();
        assert_eq!(found, ["PATH=/bin", "HOME=/srv", &format!("USER={}", own.name)]);
    }

    #[test]
    fn it_may_inherit_nothing_but_what_everybody_needs() {
        let environment = vec![("DB".to_owned(), "its own".to_owned())];
        let spec = AppSpec { inherit_environment: false, environment, ..spec("a=/a") };
        check(&spec, Some(3_999_999_999), &["PATH=/bin", "HOME=/", "DB=its own"]);
    }

    #[test]
    fn processes_of_the_daemon_have_all_but_what_is_for_main() {
        let found = environment(ALL).for_own().unwrap();
        assert!(found.contains(&c"DB=secret".to_owned()) && found.contains(&c"A=1".to_owned()));
        assert!(!found.iter().any(|text| text.to_str().unwrap().starts_with("NOTIFY_SOCKET")));
        let found = environment(ALL).for_successor().unwrap();
        assert!(found.contains(&c"NOTIFY_SOCKET=/run/x".to_owned()));
        assert!(!found.iter().any(|text| text.to_str().unwrap().starts_with("LISTEN_")));
    }
}
