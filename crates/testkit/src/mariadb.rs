//! A MariaDB server in a temporary folder, on a Unix socket only.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use tempfile::TempDir;

use crate::processes::{Signal, signal};
use crate::site::{readable_temp_dir, set_mode};
use crate::wait::{PATIENCE, within};

const SERVER: &str = "/usr/sbin/mariadbd";

/// Ended when dropped.
#[derive(Debug)]
pub struct MariaDb {
    child: Child,
    dir: TempDir,
}

impl MariaDb {
    /// Prepares a data folder and starts the server; any user may connect as `corral` without a password.
    #[must_use]
    #[track_caller]
    pub fn start() -> Self {
        let dir = readable_temp_dir();
        let data = dir.path().join("data");
        install(dir.path(), &data);
        let log = File::create(dir.path().join("log")).expect("make the log");
        let child = Command::new(SERVER)
            .arg("--no-defaults")
            .arg(option("--datadir", &data))
            .arg(option("--socket", &dir.path().join("socket")))
            .arg(option("--pid-file", &dir.path().join("pid")))
            .arg(option("--tmpdir", dir.path()))
            .args(["--skip-networking", "--innodb-flush-log-at-trx-commit=0", "--skip-log-bin"])
            .args(as_user())
            .stdin(Stdio::null())
            .stdout(log.try_clone().expect("duplicate the log"))
            .stderr(log)
            .spawn()
            .expect("mariadbd starts: scripts/setup test");
        let server = Self { child, dir };
        server.await_ready();
        server.execute("CREATE USER corral@localhost; GRANT ALL ON *.* TO corral@localhost");
        server
    }

    /// The socket to connect to.
    #[must_use]
    pub fn socket(&self) -> PathBuf {
        self.dir.path().join("socket")
    }

    /// Runs statements as the administrator.
    #[track_caller]
    pub fn execute(&self, sql: &str) {
        let output = self.client().args(["-e", sql]).output().expect("the mariadb client runs");
        assert!(output.status.success(), "{sql}: {}", String::from_utf8_lossy(&output.stderr));
    }

    fn client(&self) -> Command {
        let mut command = Command::new("mariadb");
        command.args(["--no-defaults", "--user=root"]).arg(option("--socket", &self.socket()));
        command
    }

    #[track_caller]
    fn await_ready(&self) {
        let ready = within(PATIENCE, || {
            let done = self.client().args(["-e", "SELECT 1"]).output().expect("the mariadb client runs");
            done.status.success().then_some(())
        });
        let log = fs::read_to_string(self.dir.path().join("log")).unwrap_or_default();
        assert!(ready.is_some(), "MariaDB is not ready\n{log}");
    }
}

impl Drop for MariaDb {
    fn drop(&mut self) {
        signal(self.child.id(), Signal::TERM);
        if within(Duration::from_secs(20), || self.child.try_wait().ok().flatten()).is_none() {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

#[track_caller]
fn install(dir: &Path, data: &Path) {
    fs::create_dir(data).expect("make the data folder");
    if is_root() {
        // The server drops root, and its own user must be able to write.
        set_mode(dir, 0o777);
        set_mode(data, 0o777);
    }
    let output = Command::new("mariadb-install-db")
        .args(["--no-defaults", "--auth-root-authentication-method=normal", "--skip-test-db"])
        .arg(option("--datadir", data))
        // A server that starts removes what others have in a folder of temporary files that is theirs, too.
        .env("TMPDIR", dir)
        .args(as_user())
        .output()
        .expect("mariadb-install-db starts: scripts/setup test");
    assert!(output.status.success(), "mariadb-install-db: {}", String::from_utf8_lossy(&output.stderr));
}

fn as_user() -> Option<&'static str> {
    is_root().then_some("--user=mysql")
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

fn option(name: &str, path: &Path) -> String {
    format!("{name}={}", path.display())
}
