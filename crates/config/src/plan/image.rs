//! Images: interpreters that are loaded once for all applications that have enough in common.
//!
//! Settings of PHP that scripts can change, or that PHP looks up when it needs them, are made in the copy. All others
//! count while PHP starts, so that they are the image's. An application that is set apart in what its interpreter is
//! loaded from, or keeps its script in memory, loads its own.

use std::num::NonZeroU32;
use std::time::Duration;

use super::{AppSpec, Isolation, Limits, Namespaces, PhpSpec, PoolGrowth, Processes, Restart, RuntimeSpec};

/// Settings that can be made after PHP has started.
const LATE: [&str; 44] = [
    "allow_url_fopen",
    "allow_url_include",
    "assert.exception",
    "auto_append_file",
    "auto_prepend_file",
    "date.timezone",
    "default_charset",
    "default_socket_timeout",
    "display_errors",
    "error_append_string",
    "error_log",
    "error_prepend_string",
    "error_reporting",
    "file_uploads",
    "html_errors",
    "ignore_repeated_errors",
    "include_path",
    "log_errors",
    "mail.add_x_header",
    "mail.log",
    "max_execution_time",
    "max_file_uploads",
    "max_input_time",
    "max_input_vars",
    "memory_limit",
    "open_basedir",
    "output_buffering",
    "post_max_size",
    "request_order",
    "sendmail_from",
    "sendmail_path",
    "session.cookie_domain",
    "session.cookie_httponly",
    "session.cookie_lifetime",
    "session.cookie_path",
    "session.cookie_samesite",
    "session.cookie_secure",
    "session.gc_maxlifetime",
    "session.name",
    "session.save_path",
    "short_open_tag",
    "sys_temp_dir",
    "upload_max_filesize",
    "upload_tmp_dir",
];

impl AppSpec {
    /// The specification of the image that this application's prototype can be a copy of: equal for all that can have
    /// the same one. Nothing of the application is in there but what they all have.
    #[must_use]
    pub fn image(&self) -> Option<Self> {
        let RuntimeSpec::Php(php) = &self.runtime else { return None };
        let Isolation { namespaces, rootfs, filesystem, .. } = &self.isolation;
        let is_apart = *namespaces != Namespaces::default() || rootfs.is_some() || filesystem.is_some();
        let php = php.image();
        let values = php.admin.iter().chain(&php.user).chain(&self.environment).map(|(_, value)| value);
        // A path may lead to what the application's user has put there, and an image has other rights.
        if is_apart || self.has_worker_script() || values.into_iter().any(|value| value.contains('/')) {
            return None;
        }
        Some(Self {
            name: String::new(),
            module: self.module.clone(),
            user: None,
            group: None,
            working_directory: None,
            environment: self.environment.clone(),
            inherit_environment: self.inherit_environment,
            stdout: None,
            stderr: None,
            isolation: Isolation::default(),
            processes: Processes {
                max: NonZeroU32::MIN,
                spare: 0,
                idle_timeout: Duration::ZERO,
                growth: PoolGrowth::ByRequests,
            },
            limits: Limits::default(),
            restart: Restart::default(),
            runtime: RuntimeSpec::Php(php),
        })
    }

    fn has_worker_script(&self) -> bool {
        matches!(&self.runtime, RuntimeSpec::Php(php) if php.worker().is_some())
    }
}

impl PhpSpec {
    fn image(&self) -> Self {
        let early = |settings: &[(String, String)]| {
            settings.iter().filter(|(name, _)| !Self::is_late(name)).cloned().collect()
        };
        Self {
            ini_file: self.ini_file.clone(),
            admin: early(&self.admin),
            user: early(&self.user),
            sapi_name: self.sapi_name.clone(),
            shared_opcache: self.shared_opcache,
            ..Self::default()
        }
    }

    /// Whether a setting can be made after PHP has started.
    #[must_use]
    pub fn is_late(name: &str) -> bool {
        LATE.contains(&name)
    }
}

#[cfg(test)]
mod tests {
    use crate::plan::{PhpTarget, PhpWorker};

    use super::*;

    fn pair(name: &str, value: &str) -> (String, String) {
        (name.to_owned(), value.to_owned())
    }

    fn spec(name: &str, change: impl FnOnce(&mut AppSpec, &mut PhpSpec)) -> AppSpec {
        let target = PhpTarget {
            name: String::new(),
            root: format!("/srv/{name}").into(),
            root_varies: false,
            script: None,
            index: "index.php".to_owned(),
            worker: None,
        };
        let mut php = PhpSpec { targets: vec![target], ..PhpSpec::default() };
        let mut spec = AppSpec {
            name: name.to_owned(),
            module: "/modules/corral-php".into(),
            user: Some(name.to_owned()),
            group: None,
            working_directory: Some(format!("/srv/{name}").into()),
            environment: vec![],
            inherit_environment: true,
            stdout: None,
            stderr: Some(format!("/log/{name}").into()),
            isolation: Isolation::default(),
            processes: Processes {
                max: NonZeroU32::MIN,
                spare: 1,
                idle_timeout: Duration::from_secs(15),
                growth: PoolGrowth::ByRequests,
            },
            limits: Limits::default(),
            restart: Restart::default(),
            runtime: RuntimeSpec::Unusable(String::new()),
        };
        change(&mut spec, &mut php);
        AppSpec { runtime: RuntimeSpec::Php(php), ..spec }
    }

    /// Whether two applications have the same image, of which only the second one is changed.
    #[track_caller]
    fn check(expected: bool, change: impl FnOnce(&mut AppSpec, &mut PhpSpec)) {
        let (a, b) = (spec("a", |_, _| {}).image().unwrap(), spec("b", change).image().unwrap());
        assert_eq!(a == b, expected);
    }

    #[test]
    fn sites_share_an_image_whatever_is_their_own() {
        check(true, |_, _| {});
        check(true, |_, php| php.admin = vec![pair("open_basedir", "/srv/b"), pair("memory_limit", "64M")]);
        check(true, |_, php| php.user = vec![pair("display_errors", "0")]);
        check(true, |spec, _| spec.processes.spare = 0);
    }

    #[test]
    fn what_counts_at_the_start_makes_another_image() {
        check(false, |_, php| php.admin = vec![pair("opcache.memory_consumption", "64")]);
        check(false, |_, php| php.user = vec![pair("disable_functions", "exec")]);
        check(false, |_, php| php.ini_file = Some("/etc/php.ini".into()));
        check(false, |_, php| php.sapi_name = Some("fpm-fcgi".to_owned()));
        check(false, |_, php| php.shared_opcache = true);
        check(false, |spec, _| spec.environment = vec![pair("A", "b")]);
        check(false, |spec, _| spec.inherit_environment = false);
        check(false, |spec, _| spec.module = "/modules/corral-php8.4".into());
    }

    #[track_caller]
    fn check_own(change: impl FnOnce(&mut AppSpec, &mut PhpSpec)) {
        assert_eq!(spec("a", change).image(), None);
    }

    #[test]
    fn some_load_their_own_interpreter() {
        check_own(|spec, _| spec.isolation.rootfs = Some("/srv/a".into()));
        check_own(|spec, _| spec.isolation.namespaces.network = true);
        check_own(|_, php| php.admin = vec![pair("extension", "/srv/a/own.so")]);
        check_own(|spec, _| spec.environment = vec![pair("LD_PRELOAD", "/srv/a/own.so")]);
        let worker = PhpWorker {
            script: "worker.php".into(),
            max_requests: None,
            watch: vec![],
            environment: vec![],
            compatibility: false,
            guard: super::super::Guard::Off,
        };
        check_own(|_, php| php.targets[0].worker = Some(worker));
    }

    #[test]
    fn an_image_has_nothing_of_an_application() {
        let image = spec("secret", |_, php| php.admin = vec![pair("error_log", "/log/secret")]).image();
        assert!(!format!("{image:?}").contains("secret"));
    }
}
