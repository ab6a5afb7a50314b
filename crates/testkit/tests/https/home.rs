//! A user with a home of its own, and so with a local authority and stores of certificates of its own.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Command, Output};

use corral_testkit::{Run, RunOutcome, Site, executables, site};

/// Standard output of a site on which nothing else is said.
pub(crate) const PAGE: &str = "<!DOCTYPE html><title>page</title><p>the page</p>";

/// The user.
pub(crate) struct Home(Site);

impl Home {
    pub(crate) fn new() -> Self {
        Self(site().file("site/index.html", PAGE))
    }

    /// A path below the home.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path(name)
    }

    pub(crate) fn read(&self, name: &str) -> String {
        self.0.read(name)
    }

    /// A folder with a page.
    pub(crate) fn site(&self) -> String {
        self.path("site").display().to_string()
    }

    /// The folder of the authority.
    pub(crate) fn authority(&self) -> PathBuf {
        self.path(".local/share/corral/authority")
    }

    /// A command of this user.
    pub(crate) fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new(program);
        command.env("HOME", self.0.root());
        for variable in ["XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME"] {
            command.env_remove(variable);
        }
        command
    }

    pub(crate) fn corral(&self, arguments: &[&str]) -> Command {
        let mut command = self.command(&executables().corral);
        command.args(arguments);
        command
    }

    /// Runs a command to its end.
    #[track_caller]
    pub(crate) fn to_end(&self, arguments: &[&str]) -> RunOutcome {
        Run::spawn(&mut self.corral(arguments)).ended()
    }

    /// Serves the page by HTTPS, and waits until it does.
    #[track_caller]
    pub(crate) fn serve(&self, listen: SocketAddr, more: &[&str]) -> Run {
        let (site, listen) = (self.site(), listen.to_string());
        let arguments = ["run", &site, "--https", "--listen", &listen];
        let mut run = Run::spawn(&mut self.corral(&[&arguments, more].concat()));
        run.expect_output("https://");
        run
    }

    /// Asks with curl, which trusts what `more` names.
    pub(crate) fn curl(&self, url: &str, more: &[&str]) -> Output {
        self.command("curl")
            .args(["--silent", "--show-error", "--noproxy", "*", "--max-time", "60"])
            .args(["--write-out", "\n%{http_code} %{http_version}"])
            .args(more)
            .arg(url)
            .output()
            .expect("curl is installed: scripts/setup test")
    }

    /// The output of curl for a page that it gets over HTTP/2, from a server that it trusts.
    #[track_caller]
    pub(crate) fn expect_page(&self, url: &str, more: &[&str]) {
        let output = self.curl(url, more);
        let (page, errors) =
            (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert_eq!(page, format!("{PAGE}\n200 2"), "{errors}");
    }
}
