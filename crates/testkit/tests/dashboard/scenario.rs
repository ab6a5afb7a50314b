//! Scenarios of `ui/tests`: programs of Node.js that drive Chromium, and fail by their status.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

use corral_testkit::{Signal, signal};

/// Seconds after which a scenario is ended; it has a shorter patience of its own.
const DEADLINE: &str = "300";

/// A scenario that runs.
#[derive(Debug)]
pub(crate) struct Scenario {
    name: String,
    child: Child,
    output: BufReader<ChildStdout>,
}

impl Scenario {
    /// Starts it with these arguments. Its words about failures go to this test's own output.
    #[track_caller]
    pub(crate) fn start(name: &str, arguments: &[&str]) -> Self {
        let ui = ui();
        let packages = Command::new(ui.join("../scripts/build-ui")).arg("tests").status();
        assert!(packages.expect("the script is there").success(), "packages of ui/ cannot be fetched");
        let picture = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("dashboard-{name}.png"));
        let mut child = Command::new("timeout")
            .args([DEADLINE, "node"])
            .arg(ui.join("tests").join(format!("{name}.mjs")))
            .args(arguments)
            .env("FAILURE_SCREENSHOT", picture)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("timeout(1) is there");
        let output = BufReader::new(child.stdout.take().expect("it is a pipe"));
        Self { name: name.to_owned(), child, output }
    }

    /// Waits until it prints this line.
    #[track_caller]
    pub(crate) fn expect_line(&mut self, wanted: &str) {
        let mut line = String::new();
        let n_bytes = self.output.read_line(&mut line).expect("scenarios print text");
        assert!(n_bytes > 0, "{}: it ended before {wanted:?}", self.name);
        assert_eq!(line.trim_end(), wanted, "{}", self.name);
    }

    /// Has it go on.
    #[track_caller]
    pub(crate) fn go_on(&mut self) {
        let input = self.child.stdin.as_mut().expect("it is a pipe");
        input.write_all(b"go on\n").expect("the scenario reads");
    }

    /// Waits for its end, prints what it has printed, and fails if it has failed.
    #[track_caller]
    pub(crate) fn expect_success(mut self) {
        let mut printed = String::new();
        self.output.read_to_string(&mut printed).expect("scenarios print text");
        let status = self.child.wait().expect("it is our child");
        println!("{printed}");
        assert!(status.success(), "{}: {status}: scripts/setup test", self.name);
    }
}

impl Drop for Scenario {
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(None)) {
            // timeout(1) hands it on.
            signal(self.child.id(), Signal::TERM);
            let _ = self.child.wait();
        }
    }
}

/// The folder of the page's sources.
pub(crate) fn ui() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../ui")
}
