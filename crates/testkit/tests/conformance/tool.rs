//! A command that is run to its end, with its environment, folder and standard input.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use corral_testkit::executables;

/// `corral`, or what it is called, in the making.
pub(crate) struct Tool {
    command: Command,
    input: Option<Vec<u8>>,
}

/// How it ended.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) success: bool,
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Tool {
    pub(crate) fn new(arguments: &[&str]) -> Self {
        Self::called("corral", arguments)
    }

    /// Under another name.
    pub(crate) fn called(name: &str, arguments: &[&str]) -> Self {
        use std::os::unix::process::CommandExt;
        let mut command = Command::new(&executables().corral);
        command.arg0(name).args(arguments);
        for variable in ["UNIT_CTRL", "CORRAL_CONTROL", "VISUAL", "EDITOR"] {
            command.env_remove(variable);
        }
        Self { command, input: None }
    }

    pub(crate) fn environment(mut self, name: &str, value: &str) -> Self {
        self.command.env(name, value);
        self
    }

    pub(crate) fn folder(mut self, path: &Path) -> Self {
        self.command.current_dir(path);
        self
    }

    pub(crate) fn input(mut self, input: impl Into<Vec<u8>>) -> Self {
        self.input = Some(input.into());
        self
    }

    #[track_caller]
    pub(crate) fn run(mut self) -> Ended {
        let stdin = if self.input.is_some() { Stdio::piped() } else { Stdio::null() };
        self.command.stdin(stdin).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = self.command.spawn().expect("corral starts");
        if let Some(input) = self.input {
            let mut stdin = child.stdin.take().expect("it was asked for");
            // A command that does not want all of it may have ended.
            let _ = stdin.write_all(&input);
        }
        let output = child.wait_with_output().expect("it is our child");
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("the output is text");
        Ended {
            success: output.status.success(),
            code: output.status.code(),
            stdout: text(output.stdout),
            stderr: text(output.stderr),
        }
    }

    /// The command's standard output; fails unless it succeeds.
    #[track_caller]
    pub(crate) fn output(self) -> String {
        let ended = self.run();
        assert!(ended.success, "{ended:#?}");
        ended.stdout
    }

    /// Fails unless it fails and standard error holds all of `texts`.
    #[track_caller]
    pub(crate) fn fails(self, texts: &[&str]) -> Ended {
        let ended = self.run();
        assert!(!ended.success, "{ended:#?}");
        for text in texts {
            assert!(ended.stderr.contains(text), "{text:?} is not in {ended:#?}");
        }
        ended
    }
}

pub(crate) fn text(path: &Path) -> &str {
    path.to_str().expect("the path is text")
}
