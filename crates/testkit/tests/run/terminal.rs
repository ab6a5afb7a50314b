//! A pseudo-terminal with `corral run` in it: `script` makes one for the command that it is given.

use std::fs::{self, File};
use std::io::Write as _;
use std::process::{Child, Command, Stdio};

use corral_testkit::{Address, Client, PATIENCE, Site, descendants, eventually, executables, within};

/// `corral run` at a terminal; both end when it is dropped.
pub(crate) struct Terminal {
    script: Child,
    output: std::path::PathBuf,
    pub(crate) address: Address,
    _folder: Site,
}

impl Terminal {
    /// Starts it on a site.
    #[track_caller]
    pub(crate) fn start(site: &Site, more: &[&str]) -> Self {
        let address = Address::fresh();
        let (root, listen) = (site.root(), address.to_string());
        Self::command(address, &[&["run", &root, "--listen", &listen], more].concat())
    }

    /// Starts `corral` with these arguments, which serves at this address.
    #[track_caller]
    pub(crate) fn command(address: Address, arguments: &[&str]) -> Self {
        Self::running(address, Command::new(&executables().corral).args(arguments))
    }

    /// Starts any command that serves at this address.
    #[track_caller]
    pub(crate) fn running(address: Address, command: &Command) -> Self {
        let folder = corral_testkit::site();
        let output = folder.path("output");
        let words = std::iter::once(command.get_program()).chain(command.get_args());
        let quoted = |word: &std::ffi::OsStr| word.display().to_string().replace('\'', r"'\''");
        let words: Vec<_> = words.map(|word| format!("'{}'", quoted(word))).collect();
        let line = format!("exec {}", words.join(" "));
        let mut script = Command::new("script");
        if let Some(folder) = command.get_current_dir() {
            script.current_dir(folder);
        }
        let script = script
            .args(["--quiet", "--flush", "--return", "--command", &line, "/dev/null"])
            .envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))))
            .env("SHELL", "/bin/sh")
            // Nothing is typed, and the input does not end.
            .stdin(Stdio::piped())
            .stdout(File::create(&output).expect("make the output file"))
            .stderr(Stdio::null())
            .spawn()
            .expect("script is installed");
        Self { script, output, address, _folder: folder }
    }

    /// The output so far.
    pub(crate) fn shown(&self) -> String {
        String::from_utf8_lossy(&fs::read(&self.output).expect("the output is there")).into_owned()
    }

    /// Waits until something is shown.
    #[track_caller]
    pub(crate) fn expect(&mut self, text: &str) {
        let found = within(PATIENCE, || self.shown().contains(text).then_some(()));
        assert!(found.is_some(), "{text:?} did not appear\n{}", self.shown());
    }

    /// A client of what is served.
    #[track_caller]
    pub(crate) fn client(&mut self) -> Client {
        self.expect(&format!("http://{}", self.address));
        eventually("it accepts connections", || Client::try_connect(self.address.socket()).ok())
    }

    /// All processes of the terminal, `corral` itself first.
    pub(crate) fn processes(&self) -> Vec<u32> {
        descendants(self.script.id()).iter().map(|process| process.pid).collect()
    }

    /// Types Ctrl-C: the kernel sends SIGINT to all that have not left the terminal's group.
    pub(crate) fn interrupt(&mut self) {
        self.types("\x03");
    }

    /// Types these keys.
    pub(crate) fn types(&mut self, keys: &str) {
        let input = self.script.stdin.as_mut().expect("it is piped");
        input.write_all(keys.as_bytes()).and_then(|()| input.flush()).expect("it takes what is typed");
    }

    /// Closes the window: the kernel sends SIGHUP.
    pub(crate) fn close(mut self) {
        self.script.kill().expect("it runs");
        self.script.wait().expect("it is our child");
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.script.kill();
        let _ = self.script.wait();
    }
}
