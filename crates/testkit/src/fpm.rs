//! Debian's php-fpm with one pool, in the foreground and in a temporary folder.

use std::fs::{self, File};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use tempfile::TempDir;

use crate::address::Address;
use crate::executables::version_of;
use crate::processes::{Signal, descendants, signal};
use crate::site::{readable_temp_dir, set_mode};
use crate::wait::{PATIENCE, eventually, within};

/// Ended when dropped.
#[derive(Debug)]
pub struct PhpFpm {
    child: Child,
    dir: TempDir,
    address: String,
}

impl PhpFpm {
    /// Starts it at a Unix socket; `pool` are lines of the pool's configuration.
    #[must_use]
    #[track_caller]
    pub fn at_socket(pool: &str) -> Self {
        let dir = readable_temp_dir();
        set_mode(dir.path(), 0o777);
        let path = dir.path().join("fpm.sock");
        let address = format!("unix:{}", path.display());
        Self::start(dir, address, &path.display().to_string(), pool)
    }

    /// Starts it at a port.
    #[must_use]
    #[track_caller]
    pub fn at_port(pool: &str) -> Self {
        let address = Address::fresh().socket().to_string();
        Self::start(readable_temp_dir(), address.clone(), &address, pool)
    }

    #[track_caller]
    fn start(dir: TempDir, address: String, listen: &str, pool: &str) -> Self {
        let configuration = dir.path().join("fpm.conf");
        let log = dir.path().join("log");
        let text = format!(
            "[global]\nerror_log = {}\ndaemonize = no\n[www]\nlisten = {listen}\nlisten.mode = 0666\n\
             user = nobody\ngroup = nogroup\n{pool}\n",
            log.display()
        );
        fs::write(&configuration, text).expect("write the configuration");
        let output = File::create(dir.path().join("output")).expect("make the log");
        let child = Command::new(format!("/usr/sbin/php-fpm{}", version_of("php")))
            .args(["--nodaemonize", "--fpm-config"])
            .arg(&configuration)
            .stdin(Stdio::null())
            .stdout(output.try_clone().expect("duplicate the log"))
            .stderr(output)
            .spawn()
            .expect("php-fpm starts: scripts/setup test");
        let server = Self { child, dir, address };
        server.await_ready();
        server
    }

    /// As the action `fastcgi` takes it.
    #[must_use]
    pub fn address(&self) -> &str {
        &self.address
    }

    /// The processes of its pool.
    #[must_use]
    pub fn processes(&self) -> Vec<u32> {
        descendants(self.child.id()).into_iter().map(|process| process.pid).collect()
    }

    /// Has it read its configuration again, which replaces all processes, and waits until they are there.
    #[track_caller]
    pub fn reload(&self) {
        let before = self.processes();
        signal(self.child.id(), Signal::USR2);
        eventually("php-fpm has other processes", || {
            let now = self.processes();
            (!now.is_empty() && now.iter().all(|pid| !before.contains(pid))).then_some(())
        });
    }

    /// The log, with what went to standard output and error.
    #[must_use]
    pub fn log(&self) -> String {
        let read = |name: &str| fs::read_to_string(self.dir.path().join(name)).unwrap_or_default();
        read("log") + &read("output")
    }

    #[track_caller]
    fn await_ready(&self) {
        let accepts = || match self.address.strip_prefix("unix:") {
            Some(path) => UnixStream::connect(path).is_ok(),
            None => TcpStream::connect(&self.address).is_ok(),
        };
        let ready = within(PATIENCE, || accepts().then_some(()));
        assert!(ready.is_some(), "php-fpm is not ready\n{}", self.log());
    }
}

impl Drop for PhpFpm {
    fn drop(&mut self) {
        signal(self.child.id(), Signal::TERM);
        if within(Duration::from_secs(20), || self.child.try_wait().ok().flatten()).is_none() {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}
